"""Price tables of one's own, in TOML (CONTRACT, Price tables). What cannot be right is refused, naming its place."""

from __future__ import annotations

import datetime as dt
import fnmatch
import re
import tomllib
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path

import msgspec

from otel_runlog.errors import RatesError
from otel_runlog.pricing.days import day_of
from otel_runlog.pricing.match import provider_names, spellings
from otel_runlog.pricing.quotes import Quote
from otel_runlog.pricing.rates import EXACT, Rates, RateTier

MAX_RATE = Decimal(1_000_000_000)
MAX_DECIMALS = 18
TOKEN_RATE_KEYS = ("input", "output", "cache_read", "cache_write_5m", "cache_write_1h")
TABLE_KEYS = ("name", "version", "model")
MODEL_KEYS = ("provider", "match", "from", *TOKEN_RATE_KEYS, "request", "tier", "service_tier")
TIER_KEYS = ("above_input_tokens", "at_least_input_tokens", *TOKEN_RATE_KEYS)


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One `[[model]]` of a table."""

    match: str
    pattern: re.Pattern[str]
    rates: Rates
    provider: str | None = None
    providers: frozenset[str] = frozenset()
    first_day: dt.date | None = None

    def holds_on(self, day: dt.date) -> bool:
        """Whether the entry is in force on a UTC day."""
        return self.first_day is None or self.first_day <= day

    def sold_by(self, providers: frozenset[str]) -> bool:
        """Whether the entry is for one of these names of a provider; no names stand for any provider."""
        return not self.providers or not providers or not self.providers.isdisjoint(providers)


class OwnTable(msgspec.Struct, frozen=True):
    """A table that was read from a file."""

    name: str
    version: str
    entries: tuple[Entry, ...]

    def quote(self, provider: str | None, model: str, at_ns: int | None) -> Quote | None:
        """The first entry that matches; of the entries with its match and provider, the newest in force that day."""
        day, providers = day_of(at_ns), provider_names(provider)
        for name in spellings(model):
            for entry in self.entries:
                if entry.holds_on(day) and entry.sold_by(providers) and entry.pattern.fullmatch(name):
                    return self._quote(self._newest(entry, day))
        return None

    def quotes(self, model: str) -> list[Quote]:
        """Every entry that matches, in the order of the file."""
        names = spellings(model)
        return [self._quote(entry) for entry in self.entries if any(map(entry.pattern.fullmatch, names))]

    def _newest(self, first: Entry, day: dt.date) -> Entry:
        same = [e for e in self.entries if (e.match, e.provider) == (first.match, first.provider) and e.holds_on(day)]
        return max(same, key=lambda entry: entry.first_day or dt.date.min)

    def _quote(self, entry: Entry) -> Quote:
        return Quote(
            table=self.name,
            version=self.version,
            provider=entry.provider,
            entry=entry.match,
            first_day=entry.first_day,
            rates=entry.rates,
        )


class _Table:
    """One table of a TOML file, and where it stands, for errors that name the place."""

    def __init__(self, file: Path, place: str, values: object, known: tuple[str, ...] | None) -> None:
        self.file, self.place = file, place
        if not isinstance(values, dict):
            raise RatesError(f"{file}: {place}: expected a table, got {values!r}")
        self.values: Mapping[str, object] = values
        unknown = [] if known is None else [(key, known) for key in values if key not in known]
        for key, keys in unknown:
            raise self.error(key, f"unknown key; known are {', '.join(keys)}")

    def error(self, key: str, reason: str) -> RatesError:
        where = f"{self.place}.{key}" if self.place else key
        return RatesError(f"{self.file}: {where}: {reason}")

    def text(self, key: str) -> str | None:
        value = self.values.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise self.error(key, f"expected a text that is not empty, got {value!r}")
        return value.strip()

    def required_text(self, key: str) -> str:
        value = self.text(key)
        if value is None:
            raise self.error(key, "missing")
        return value

    def money(self, key: str) -> Decimal | None:
        value = self.values.get(key)
        return None if value is None else self.decimal(key, value)

    def decimal(self, key: str, value: object) -> Decimal:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            raise self.error(key, f'expected a number such as "2.50", got {value!r}')
        try:
            number = Decimal(repr(value) if isinstance(value, float) else value)
        except InvalidOperation:
            raise self.error(key, f'expected a number such as "2.50", got {value!r}') from None
        if not number.is_finite() or number < 0 or number > MAX_RATE:
            raise self.error(key, f"expected a number from 0 to {MAX_RATE}, got {value!r}")
        if number != number.quantize(Decimal(1).scaleb(-MAX_DECIMALS, EXACT), context=EXACT):
            raise self.error(key, f"expected at most {MAX_DECIMALS} decimals, got {value!r}")
        return number

    def day(self, key: str) -> dt.date | None:
        value = self.values.get(key)
        if isinstance(value, str):
            try:
                return dt.date.fromisoformat(value)
            except ValueError:
                raise self.error(key, f"expected a day such as 2026-11-05, got {value!r}") from None
        if value is None or (isinstance(value, dt.date) and not isinstance(value, dt.datetime)):
            return value
        raise self.error(key, f"expected a day such as 2026-11-05, got {value!r}")

    def tokens(self, key: str) -> int:
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise self.error(key, f"expected a whole number of tokens, got {value!r}")
        return value

    def tables(self, key: str, known: tuple[str, ...]) -> Iterator[_Table]:
        value = self.values.get(key, [])
        if not isinstance(value, list):
            raise self.error(key, f"expected [[{key}]] tables, got {value!r}")
        prefix = f"{self.place}.{key}" if self.place else key
        for number, values in enumerate(value, 1):
            yield _Table(self.file, f"{prefix}[{number}]", values, known)


def read_table(path: Path) -> OwnTable:
    """Read a price table.

    Raises:
        RatesError: the file cannot be read, is no TOML, or has an unknown key, a missing key, a rate that is negative
            or no number, or a bad date. The message names file, table and key; tables are counted from 1.
    """
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise RatesError(f"{path}: the price table cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RatesError(f"{path}: the price table is no TOML: {error}") from error
    table = _Table(path, "", values, TABLE_KEYS)
    entries = tuple(_entry(model) for model in table.tables("model", MODEL_KEYS))
    return OwnTable(table.required_text("name"), table.required_text("version"), entries)


def _entry(model: _Table) -> Entry:
    match, provider = model.required_text("match").lower(), model.text("provider")
    return Entry(
        match=match,
        pattern=re.compile(f"{re.escape(match)}|{fnmatch.translate(match)}"),
        provider=provider,
        providers=provider_names(provider),
        first_day=model.day("from"),
        rates=_rates(model),
    )


def _rates(model: _Table) -> Rates:
    values = {key: model.money(key) for key in TOKEN_RATE_KEYS}
    if values["input"] is None:
        raise model.error("input", 'missing; write "0" where input is free')
    return Rates(
        **values,
        request=model.money("request"),
        tiers=tuple(_tier(tier, values["input"], values["output"]) for tier in model.tables("tier", TIER_KEYS)),
        service_tiers=_service_tiers(model),
    )


def _tier(tier: _Table, base_input: Decimal, base_output: Decimal | None) -> RateTier:
    """A tier's own rates; only input and output are taken from below where it does not name them."""
    bounds = [key for key in TIER_KEYS[:2] if key in tier.values]
    if len(bounds) != 1:
        raise tier.error(TIER_KEYS[0], f"expected exactly one of {TIER_KEYS[0]} and {TIER_KEYS[1]}")
    values = {key: tier.money(key) for key in TOKEN_RATE_KEYS}
    if values["input"] is None:
        values["input"] = base_input
    if values["output"] is None:
        values["output"] = base_output
    return RateTier(threshold=tier.tokens(bounds[0]), inclusive=bounds[0] == TIER_KEYS[1], **values)


def _service_tiers(model: _Table) -> dict[str, Decimal]:
    if "service_tier" not in model.values:
        return {}
    factors = _Table(model.file, f"{model.place}.service_tier", model.values["service_tier"], None)
    return {name.lower(): factors.decimal(name, value) for name, value in factors.values.items()}
