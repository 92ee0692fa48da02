"""Prices: which entry of which table holds for a call, and what the call cost.

    PriceTable.default().price(provider="openai", models=["gpt-4o"], usage=usage, at_ns=ns, kind=StepKind.LLM)

Nothing here reads a clock or the environment; genai-prices is imported at the first look-up that needs it.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from otel_runlog.model import Cost, CostStatus, StepKind, Usage
from otel_runlog.pricing.cache import BoundedCache
from otel_runlog.pricing.days import DAY_NS, midnight_ns
from otel_runlog.pricing.genai import GenaiPrices
from otel_runlog.pricing.match import MAX_NAME_CHARS
from otel_runlog.pricing.quotes import Quote, Served, Source, is_standard, served_at
from otel_runlog.pricing.rates import Rates, RateTier, lifetime_note
from otel_runlog.pricing.tables import read_table

__all__ = ["BUNDLED", "PriceTable", "Priced", "Quote", "RateTier", "Rates"]


class _Bundled(enum.Enum):
    BUNDLED = enum.auto()


BUNDLED = _Bundled.BUNDLED
"""Stands for `PriceTable.default()`."""


class Priced(msgspec.Struct, frozen=True):
    """The estimated cost of a call, and notes (`code: text`) on what had to be assumed.

    The cost's status is `estimated` with the table that priced it; `unpriced` where no table has a price for the model;
    `none` where the call's usage is unknown, so that there was nothing to price.
    """

    cost: Cost
    notes: tuple[str, ...] = ()


_Call: TypeAlias = tuple[str | None, tuple[str | None, ...], int | None, str | None]
"""What a look-up depends on: provider, models, UTC day, service tier."""
_ESTIMATED = CostStatus.ESTIMATED


class _Found(msgspec.Struct, frozen=True):
    quote: Quote
    served: Served


class PriceTable:
    """Price tables one over the other; the first that has a price for a model on a day is taken.

    Instances remember what they looked up, bounded, and may be used from several threads.
    """

    def __init__(self, sources: Iterable[Source] = ()) -> None:
        self.sources = tuple(sources)
        self._cache: BoundedCache[_Call, _Found | None] = BoundedCache()

    @classmethod
    def default(cls) -> PriceTable:
        """The data of the installed genai-prices."""
        return cls((GenaiPrices(),))

    @classmethod
    def load(cls, paths: Iterable[Path | str], base: PriceTable | _Bundled | None = BUNDLED) -> PriceTable:
        """Read tables of one's own, the first lying uppermost, over `base` (None: over nothing).

        Raises:
            RatesError: a file cannot be read or has something wrong in it; file, table and key are named.
        """
        own = [read_table(Path(path)) for path in paths]
        below = cls.default() if base is BUNDLED else base
        return cls((*own, *(below.sources if isinstance(below, PriceTable) else ())))

    @property
    def name(self) -> str:
        """The names of the tables, uppermost first, joined with `+`."""
        return "+".join(source.name for source in self.sources)

    @property
    def version(self) -> str:
        """The versions of the tables, in the order of `name`."""
        return "+".join(source.version for source in self.sources)

    def price(
        self,
        *,
        provider: str | None,
        models: Sequence[str | None],
        usage: Usage,
        at_ns: int | None,
        kind: StepKind = StepKind.LLM,
        service_tier: str | None = None,
        requested_tier: str | None = None,
    ) -> Priced:
        """What a call cost.

        Args:
            provider: as the telemetry names it; None and names of frameworks stand for any.
            models: names of the model, the best first (the one that answered, then the one asked for).
            usage: the call's token counts.
            at_ns: when the call was made, ns since the epoch; None: the newest rates hold.
            kind: the step's kind.
            service_tier: the tier that served the call. It alone selects rates.
            requested_tier: the tier that was asked for, which changes no rate and is noted.
        """
        found = self._found(provider, models, at_ns, service_tier)
        if found is None:
            return Priced(Cost(status=CostStatus.UNPRICED if usage else CostStatus.NONE))
        usd = found.served.rates.cost(usage, kind=kind, factor=found.served.factor)
        if usd is None:
            known = usage.input_tokens is not None and usage.output_tokens is not None
            return Priced(Cost(status=CostStatus.UNPRICED if known else CostStatus.NONE))
        quote = found.quote
        cost = Cost(usd, _ESTIMATED, quote.table, quote.version, estimated_usd=usd)
        return Priced(cost, _notes(found.served, usage, service_tier, requested_tier))

    def lookup(self, provider: str | None, model: str, on: dt.date) -> Quote | None:
        """The entry that holds for a model at the start of a UTC day; None where no table has one."""
        return self._quote(_cut(provider), model, midnight_ns(on)) if len(model) <= MAX_NAME_CHARS else None

    def quotes(self, model: str) -> list[Quote]:
        """Every entry of every table for a model, whatever the provider and the day."""
        if len(model) > MAX_NAME_CHARS:
            return []
        return [quote for source in self.sources for quote in source.quotes(model)]

    def _found(
        self, provider: str | None, models: Sequence[str | None], at_ns: int | None, tier: str | None
    ) -> _Found | None:
        """Looked up once per day, as that takes 50 times as long as the arithmetic; by the hour where rates are so."""
        call = (provider, tuple(models), None if at_ns is None else at_ns // DAY_NS, tier)
        try:
            return self._cache[call]
        except KeyError:
            call = _short(call)
        if call in self._cache:
            return self._cache[call]
        found = self._find(call, at_ns)
        return found if found and found.quote.by_hour else self._cache.remember(call, found)

    def _find(self, call: _Call, at_ns: int | None) -> _Found | None:
        provider, models, _, tier = call
        quotes = (self._quote(provider, model, at_ns) for model in models if model)
        quote = next((quote for quote in quotes if quote is not None), None)
        return None if quote is None else _Found(quote, served_at(quote, tier))

    def _quote(self, provider: str | None, model: str, at_ns: int | None) -> Quote | None:
        quotes = (source.quote(provider, model, at_ns) for source in self.sources)
        return next((quote for quote in quotes if quote is not None), None)


def _short(call: _Call) -> _Call:
    """A call as it is remembered, the same where its names are no longer than names are."""
    provider, models, day, tier = call
    names = tuple(None if model is None or len(model) > MAX_NAME_CHARS else model for model in models)
    return _cut(provider), names, day, _cut(tier)


def _cut(name: str | None) -> str | None:
    return None if name is None else name[:MAX_NAME_CHARS]


def _notes(served: Served, usage: Usage, service_tier: str | None, requested_tier: str | None) -> tuple[str, ...]:
    assumed = None
    if requested_tier and service_tier is None and not is_standard(requested_tier):
        assumed = f"service_tier_assumed: {_cut(requested_tier)} was asked for, which tier served is unknown"
    return tuple(filter(None, (served.note, lifetime_note(usage, served.rates), assumed)))
