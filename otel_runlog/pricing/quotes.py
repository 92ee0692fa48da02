"""A quote: which entry of which price table says what a model cost on a day."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Protocol

import msgspec

from otel_runlog.pricing.rates import ONE, Rates

STANDARD_TIERS = frozenset({"", "default", "standard", "standard_only", "auto", "on_demand", "unspecified"})
"""Names under which providers serve a request at their list price."""


class Quote(msgspec.Struct, frozen=True, kw_only=True):
    """The rates of one model and the entry they stand in.

    `entry` is the entry's own name for the model (its `match`, or the id in genai-prices), `first_day` the first UTC
    day it holds, None: always. `hours` are the UTC hours of a rate that depends on the time of day, and `by_hour` says
    that the model has such rates. `tier_rates` are full price lists of service tiers, where the table has those
    instead of factors.
    """

    table: str
    version: str
    provider: str | None
    entry: str
    first_day: dt.date | None
    rates: Rates
    hours: str | None = None
    by_hour: bool = False
    tier_rates: dict[str, Rates] = {}


class Served(msgspec.Struct, frozen=True):
    """What a service tier makes of a quote: rates, a factor on them, and a note where the tier is not listed."""

    rates: Rates
    factor: Decimal = ONE
    note: str | None = None


class Source(Protocol):
    """One price table. A source reads no clock: `at_ns` None stands for the newest rates it has."""

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def version(self) -> str:
        """The table's version."""

    def quote(self, provider: str | None, model: str, at_ns: int | None) -> Quote | None:
        """The entry that holds for a model at a time (ns since the epoch); None where the table has none."""

    def quotes(self, model: str) -> list[Quote]:
        """Every entry for a model, of any provider and day."""


def served_at(quote: Quote, service_tier: str | None) -> Served:
    """The rates for the tier that served a request. An unlisted tier costs the list price and is noted."""
    tier = (service_tier or "").strip().lower()
    if (rates := quote.tier_rates.get(tier)) is not None:
        return Served(rates)
    if (factor := quote.rates.service_tiers.get(tier)) is not None:
        return Served(quote.rates, factor)
    if is_standard(tier):
        return Served(quote.rates)
    note = f"service_tier_unknown: {tier} is not in {quote.table} for {quote.entry}, priced at the standard rates"
    return Served(quote.rates, note=note)


def is_standard(service_tier: str | None) -> bool:
    """Whether a service tier's name means the list price. None and the empty string do."""
    tier = (service_tier or "").strip().lower().replace("-", "_")
    return tier.removeprefix("service_tier_") in STANDARD_TIERS
