"""The bundled data of genai-prices as a price table. The package is imported at the first look-up, not before.

Its providers and their matching are used directly, never its snapshot: a snapshot may be exchanged at run time, which
would make the version say something untrue, and it remembers every name it was ever asked for.
"""

from __future__ import annotations

import datetime as dt
import importlib.metadata
from collections.abc import Iterator
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import asdict

from otel_runlog.pricing.cache import BoundedCache
from otel_runlog.pricing.days import instant_of
from otel_runlog.pricing.match import GATEWAYS, LOCAL_SERVERS, provider_id, spellings, vendors
from otel_runlog.pricing.quotes import Quote
from otel_runlog.pricing.rates import EXACT, ZERO, Rates, RateTier, TokenRates

if TYPE_CHECKING:
    from genai_prices.types import (
        ModelInfo,
        ModelPrice,
        PriceVariant,
        Provider,
        StartDateConstraint,
        TimeOfDateConstraint,
    )

    Constraint: TypeAlias = StartDateConstraint | TimeOfDateConstraint
    _Entry: TypeAlias = tuple[Provider, ModelInfo]

PACKAGE = "genai-prices"
PRICE_KEYS = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write_5m": "cache_write_mtok",
    "cache_write_1h": "cache_write_1h_mtok",
    "reasoning": "output_reasoning_mtok",
}
"""Our rates to genai-prices' keys. Modalities, searches, pages and seconds are not in `Usage` and so not priced; a
model that is priced by those alone has no price here."""
TIER_CONTEXTS = ("service_tier", "processing", "speed")
"""Keys of genai-prices' price variants whose values are names of service tiers (flex, priority, batch, fast)."""
FREE_WORDS = (":free", "(free)", "free of charge", "included in the subscription")
"""What an entry without any rate must say of itself to count as free; others are unpriced."""


class GenaiPrices:
    """The rates of genai-prices: what `genai_prices.calc_price` would charge for the same token counts."""

    name = PACKAGE

    def __init__(self) -> None:
        self._found: BoundedCache[tuple[str | None, str], _Entry | None] = BoundedCache()

    @cached_property
    def version(self) -> str:
        """The version of the installed package, which is the version of its data."""
        return importlib.metadata.version(PACKAGE)

    @cached_property
    def _providers(self) -> list[Provider]:
        from genai_prices.data import providers

        return providers

    def quote(self, provider: str | None, model: str, at_ns: int | None) -> Quote | None:
        """The entry of the named provider, else of the one the model's name points to, else of the model's maker."""
        found = self._find(provider, model)
        return None if found is None else self._quote(*found, instant_of(at_ns))

    def quotes(self, model: str) -> list[Quote]:
        """Every provider's entries for a model, and every day on which their rates changed."""
        found = ((provider, _model(provider, model)) for provider in self._providers)
        return [quote for provider, info in found if info is not None for quote in self._history(provider, info)]

    def _find(self, provider: str | None, model: str) -> _Entry | None:
        """Matching takes longer than all else and depends on no day, so it is remembered."""
        try:
            return self._found[provider, model]
        except KeyError:
            return self._found.remember((provider, model), self._search(provider_id(provider), model))

    def _search(self, named: str | None, model: str) -> _Entry | None:
        if named in LOCAL_SERVERS:
            return None
        host = self._provider(named)
        candidates = self._elsewhere(model) if host is None or host.id in GATEWAYS else iter(())
        for provider in (host, *candidates):
            if provider is not None and (info := _model(provider, model, self._providers)) is not None:
                return provider, info
        return None

    def _elsewhere(self, model: str) -> Iterator[Provider]:
        """Providers that the model's own name points to, then those that claim such a name as of their making."""
        for vendor in vendors(model):
            if (provider := self._provider(vendor)) is not None:
                yield provider
        for name in spellings(model):
            yield from (p for p in self._providers if p.model_match is not None and p.model_match.is_match(name))

    @cached_property
    def _by_id(self) -> dict[str, Provider]:
        return {provider.id.replace("_", "-"): provider for provider in self._providers}

    def _provider(self, name: str | None) -> Provider | None:
        from genai_prices.data_snapshot import find_provider_by_id

        if name is None:
            return None
        return self._by_id.get(name) or find_provider_by_id(self._providers, name)

    def _quote(self, provider: Provider, info: ModelInfo, at: dt.datetime) -> Quote | None:
        rates = _rates(info, info.get_prices(at))
        if rates is None:
            return None
        return Quote(
            table=self.name,
            version=self.version,
            provider=provider.id,
            entry=info.id,
            first_day=_first_day(info, at),
            rates=rates,
            by_hour=_by_hour(info),
            tier_rates=_tier_rates(info, at) if any(info is own for own in provider.models) else {},
        )

    def _history(self, provider: Provider, info: ModelInfo) -> Iterator[Quote]:
        conditions = _conditions(info)
        for prices, constraint in conditions:
            if (rates := _rates(info, prices)) is not None:
                yield Quote(
                    table=self.name,
                    version=self.version,
                    provider=provider.id,
                    entry=info.id,
                    first_day=getattr(constraint, "start_date", None),
                    rates=rates,
                    hours=_hours(constraint),
                    by_hour=_by_hour(info),
                )


def _model(provider: Provider, model: str, fallbacks: list[Provider] | None = None) -> ModelInfo | None:
    """A provider's entry for a model, or one of the provider it resells. A price for `m` is none for `m:free`."""
    for name in spellings(model):
        info = provider.find_model(name, all_providers=fallbacks)
        if info is not None and name.endswith(":free") == info.id.lower().endswith(":free"):
            return info
    return None


def _rates(info: ModelInfo, prices: ModelPrice) -> Rates | None:
    """Our rates for a genai-prices price; None where it charges by something else than tokens.

    genai-prices prices the whole request at the highest tier whose start the input tokens exceed, each rate by its
    own tiers. A list without an output rate does not charge output.
    """
    listed = {key: price for key, price in vars(prices).items() if price is not None}
    if not listed:
        return Rates(input=ZERO, output=ZERO) if _is_free(info) else None
    if "input_mtok" not in listed:
        return None
    listed.setdefault("output_mtok", ZERO)
    starts = sorted({tier.start for price in listed.values() for tier in getattr(price, "tiers", ())})
    request = _price_at(listed.get("requests_kcount"), 0)
    return Rates(
        **asdict(_rates_at(listed, 0)),
        request=None if request is None else request.scaleb(-3, EXACT),
        tiers=tuple(RateTier(threshold=start, **asdict(_rates_at(listed, start + 1))) for start in starts),
    )


def _rates_at(listed: dict[str, object], input_tokens: int) -> TokenRates:
    return TokenRates(**{rate: _price_at(listed.get(key), input_tokens) for rate, key in PRICE_KEYS.items()})


def _price_at(price: object, input_tokens: int) -> Decimal | None:
    from genai_prices.types import TieredPrices

    if isinstance(price, TieredPrices):
        above = [tier.price for tier in price.tiers if input_tokens > tier.start]
        return above[-1] if above else price.base
    return price if isinstance(price, Decimal) else None


def _conditions(info: ModelInfo) -> list[tuple[ModelPrice, Constraint | None]]:
    """A model's prices with the condition of each; the last one that is active holds."""
    if isinstance(info.prices, list):
        return [(condition.prices, condition.constraint) for condition in info.prices]
    return [(info.prices, None)]


def _is_free(info: ModelInfo) -> bool:
    said = f"{info.id} {info.name} {info.price_comments}".lower()
    return any(word in said for word in FREE_WORDS)


def _tier_rates(info: ModelInfo, at: dt.datetime) -> dict[str, Rates]:
    """The price lists of the service tiers that genai-prices has on a day, by the tier's name."""
    found: dict[str, Rates] = {}
    for variant in info.price_variants or ():
        tier = _tier_name(variant)
        if tier is None or (variant.constraint is not None and not variant.constraint.active(at)):
            continue
        rates = _rates(info, info.get_prices(at, variant.when))
        if rates is not None:
            found.setdefault(tier, rates)
    return found


def _tier_name(variant: PriceVariant) -> str | None:
    (key, value), *others = variant.when.items()
    return value.lower() if key in TIER_CONTEXTS and not others else None


def _first_day(info: ModelInfo, at: dt.datetime) -> dt.date | None:
    """The day from which the price in force holds, as `ModelInfo.get_prices` chooses it: the last active one."""
    active = (c for _, c in reversed(_conditions(info)) if c is None or c.active(at))
    return getattr(next(active, None), "start_date", None)


def _by_hour(info: ModelInfo) -> bool:
    constraints = [c for _, c in _conditions(info)] + [variant.constraint for variant in info.price_variants or ()]
    return any(hasattr(constraint, "start_time") for constraint in constraints)


def _hours(constraint: object) -> str | None:
    start, end = getattr(constraint, "start_time", None), getattr(constraint, "end_time", None)
    return None if start is None or end is None else f"{start:%H:%M}-{end:%H:%M}"
