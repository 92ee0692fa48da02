"""Rates of one model, and the arithmetic from token counts to US dollars. Decimal all through; nothing is rounded."""

from __future__ import annotations

from decimal import Context, Decimal

import msgspec

from otel_runlog.model import StepKind, Usage

EXACT = Context(prec=100)
"""Digits enough for any product of a 64-bit count, a rate and a factor that tables may hold. All arithmetic names it,
so that the application's decimal context changes nothing; to make it the thread's for a while takes 0.9 us."""
_times, _plus = EXACT.multiply, EXACT.add
ONE = Decimal(1)
ZERO = Decimal(0)


class TokenRates(msgspec.Struct, frozen=True, kw_only=True):
    """US dollars per 1M tokens. None: the price list names no such rate (see `Rates.cost` for what then holds)."""

    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    reasoning: Decimal | None = None


class RateTier(TokenRates, frozen=True, kw_only=True):
    """Rates of a request with more than `threshold` input tokens, or exactly that many where `inclusive`."""

    threshold: int
    inclusive: bool = False

    def applies(self, input_tokens: int) -> bool:
        """Whether a request with so many input tokens, cached ones included, is priced at this tier."""
        return input_tokens >= self.threshold if self.inclusive else input_tokens > self.threshold


class Rates(TokenRates, frozen=True, kw_only=True):
    """The rates of one model. `request` is US dollars per call; `service_tiers` are factors on everything."""

    request: Decimal | None = None
    tiers: tuple[RateTier, ...] = ()
    service_tiers: dict[str, Decimal] = {}

    def at(self, input_tokens: int) -> TokenRates:
        """The rates for the whole of a request with so many input tokens: those of the highest tier that applies."""
        applying = [tier for tier in self.tiers if tier.applies(input_tokens)]
        return max(applying, key=lambda tier: (tier.threshold, not tier.inclusive)) if applying else self

    def cost(self, usage: Usage, *, kind: StepKind = StepKind.LLM, factor: Decimal = ONE) -> Decimal | None:
        """The cost of one call in US dollars, exact; None where the usage or a needed rate is unknown.

        `usage` is in this package's normal form: input includes cached reads and writes, output includes reasoning.
        Without a rate of their own, cached reads and writes cost the input rate of the same tier, 1-hour writes the
        5-minute rate, reasoning the output rate. Writes of unknown lifetime cost the 5-minute rate.

        Args:
            usage: the token counts of the call.
            kind: an embedding has no output tokens, so theirs may be unknown.
            factor: what the service tier multiplies the whole cost with.
        """
        if usage.input_tokens is None or self.input is None:
            return None
        rates = self.at(usage.input_tokens)
        output = _output_cost(usage, rates, kind)
        if output is None:
            return None
        usd = EXACT.scaleb(_plus(_input_cost(usage, rates), output), -6)
        if self.request is not None:
            usd = _plus(usd, self.request)
        return usd if factor is ONE else _times(usd, factor)


class CacheWrites(msgspec.Struct, frozen=True):
    """Cache writes of a call in tokens, by the lifetime of what was written."""

    five_minutes: int = 0
    one_hour: int = 0
    unknown: int = 0

    @property
    def total(self) -> int:
        """All written tokens."""
        return self.five_minutes + self.one_hour + self.unknown


_NO_WRITES = CacheWrites()


def cache_writes(usage: Usage) -> CacheWrites:
    """The written tokens by lifetime; what neither part claims is of unknown lifetime."""
    five, hour = usage.cache_write_5m_tokens or 0, usage.cache_write_1h_tokens or 0
    if not (five or hour or usage.cache_write_tokens):
        return _NO_WRITES  # most calls write none
    return CacheWrites(five, hour, max(0, (usage.cache_write_tokens or 0) - five - hour))


def lifetime_note(usage: Usage, rates: Rates) -> str | None:
    """The note `cache_ttl_assumed: ...` where the lifetime of cache writes mattered and was not known or not listed."""
    if not (usage.cache_write_tokens or usage.cache_write_1h_tokens):
        return None
    writes, at = cache_writes(usage), rates.at(usage.input_tokens or 0)
    if at.cache_write_1h is None:
        if writes.one_hour and at.cache_write_5m is not None:
            return f"cache_ttl_assumed: {writes.one_hour} tokens written for 1 h cost the 5-minute rate, the only one"
        return None
    if writes.unknown and at.cache_write_1h != at.cache_write_5m:
        return f"cache_ttl_assumed: {writes.unknown} cache write tokens of unknown lifetime cost the 5-minute rate"
    return None


def _input_cost(usage: Usage, rates: TokenRates) -> Decimal:
    """In millionths of a dollar. Plain conditions: this runs for every call, and a helper per rate doubles it."""
    fresh_rate = ZERO if rates.input is None else rates.input
    read, writes = usage.cache_read_tokens or 0, cache_writes(usage)
    fresh = (usage.input_tokens or 0) - read - writes.total
    usd = _times(fresh_rate, max(0, fresh))
    if read:
        usd = _plus(usd, _times(fresh_rate if rates.cache_read is None else rates.cache_read, read))
    if writes is _NO_WRITES:
        return usd
    write_rate = fresh_rate if rates.cache_write_5m is None else rates.cache_write_5m
    hour_rate = write_rate if rates.cache_write_1h is None else rates.cache_write_1h
    usd = _plus(usd, _times(write_rate, writes.five_minutes + writes.unknown))
    return _plus(usd, _times(hour_rate, writes.one_hour))


def _output_cost(usage: Usage, rates: TokenRates, kind: StepKind) -> Decimal | None:
    """In millionths of a dollar. Unknown tokens cost nothing only where output is not charged at all."""
    if usage.output_tokens is None:
        return ZERO if kind is StepKind.EMBEDDING or not rates.output else None
    if rates.output is None:
        return ZERO if kind is StepKind.EMBEDDING or not usage.output_tokens else None
    if rates.reasoning is None:
        return _times(rates.output, usage.output_tokens)
    reasoning = min(usage.reasoning_tokens or 0, usage.output_tokens)
    said = _times(rates.output, usage.output_tokens - reasoning)
    return _plus(said, _times(rates.reasoning, reasoning))
