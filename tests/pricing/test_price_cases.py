"""The worked cases: one call each, its cost counted by hand from tests/pricing/data/cases.toml."""

import datetime as dt
from decimal import Decimal
from pathlib import Path

import pytest

from otel_runlog.model import CostStatus, StepKind, Usage
from otel_runlog.pricing import Priced, PriceTable

TABLE = Path(__file__).parent / "data" / "cases.toml"
AT_NS = int(dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC).timestamp()) * 1_000_000_000


@pytest.fixture(scope="module")
def cases() -> PriceTable:
    return PriceTable.load([TABLE], base=None)


def price(table: PriceTable, model: str | None, usage: Usage, **kwargs) -> Priced:
    return table.price(provider="anthropic", models=[model], usage=usage, at_ns=AT_NS, kind=StepKind.LLM, **kwargs)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(130213, 500, 128955, 1253), "0.05090025", id="01 read and write"),
        pytest.param(Usage(130213, 500, 128955), "0.0499605", id="01 read only"),
        pytest.param(Usage(8270, 442, 7917, 350), "0.0103266", id="02 V1"),
        pytest.param(Usage(13244, 12, 13216, 25), "0.00424755", id="02 V2"),
        pytest.param(Usage(4299, 631), "0.022362", id="02 V3"),
    ],
)
def test_cached_tokens_are_parts_of_the_input(cases, usage, usd):
    assert price(cases, "m-cache", usage).cost.usd == Decimal(usd)


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        pytest.param(Usage(113, 11), "0.0003925", id="06 V2"),
        pytest.param(Usage(500, 50, 400), "0.00125", id="07"),
        pytest.param(Usage(100, 10), "0.00035", id="09 with usage"),
        pytest.param(Usage(0, 0), "0", id="09 explicit zero"),
        pytest.param(Usage(1000, 100), "0.0035", id="14 estimate"),
    ],
)
def test_standard_model(cases, usage, usd):
    assert price(cases, "m-std", usage).cost.usd == Decimal(usd)


def test_cost_names_table_version_and_estimate(cases):
    cost = price(cases, "m-std", Usage(100, 10)).cost
    assert (cost.status, cost.table, cost.version) == (CostStatus.ESTIMATED, "cases", "2026-11")
    assert cost.estimated_usd == cost.usd


def test_absent_usage_is_nothing_to_price(cases):
    cost = price(cases, "m-std", Usage()).cost
    assert (cost.usd, cost.status) == (None, CostStatus.NONE)


@pytest.mark.parametrize("model", ["acme-7b-internal", None])
def test_a_model_without_a_price_is_unpriced(cases, model):
    cost = price(cases, model, Usage(1000, 100)).cost
    assert (cost.usd, cost.status, cost.table) == (None, CostStatus.UNPRICED, None)


@pytest.mark.parametrize(
    "model",
    ["m-std", "m-std-2026-03-15", "m-std-20260315", "m-std-latest", "vendor/m-std", "us.vendor.m-std-v1:0", "M-Std"],
)
def test_dated_and_prefixed_names_resolve(cases, model):
    assert price(cases, model, Usage(100, 10)).cost.usd == Decimal("0.00035")


@pytest.mark.parametrize("model", ["m-std:free", "m-std-mini", "xm-std", "m-std-2026-99-99"])
def test_other_models_do_not_resolve(cases, model):
    assert price(cases, model, Usage(100, 10)).cost.status is CostStatus.UNPRICED


@pytest.mark.parametrize(
    ("usage", "usd"),
    [
        (Usage(200_000, 100), "0.251"),
        (Usage(200_001, 100), "0.5015025"),
    ],
)
def test_the_whole_request_is_priced_at_its_tier(cases, usage, usd):
    assert price(cases, "m-tier", usage).cost.usd == Decimal(usd)


@pytest.mark.parametrize(
    ("tier", "usd"), [(None, "0.0028"), ("default", "0.0028"), ("flex", "0.0014"), ("Priority", "0.0056")]
)
def test_the_tier_that_served_multiplies_the_rates(cases, tier, usd):
    priced = price(cases, "m-svc", Usage(1000, 100), service_tier=tier)
    assert (priced.cost.usd, priced.notes) == (Decimal(usd), ())


def test_the_model_that_answered_is_priced_else_the_one_asked_for(cases):
    def cost(*models):
        return cases.price(provider=None, models=models, usage=Usage(100, 10), at_ns=AT_NS, kind=StepKind.LLM).cost.usd

    assert cost("m-cache", "m-std") == Decimal("0.00045")
    assert cost("acme-7b-internal", "m-std") == Decimal("0.00035")
    assert cost(None, "m-std") == Decimal("0.00035")


def test_prices_hold_from_their_own_day(tmp_path):
    """Case 22."""
    file = tmp_path / "new.toml"
    file.write_text("""
        name = "acme"
        version = "2"
        [[model]]
        match = "m-new"
        from = 2026-11-05
        input = 1
        output = 2
        [[model]]
        match = "m-new"
        from = "2026-11-15"
        input = "2"
        output = 4.0
    """)
    table = PriceTable.load([file])

    def cost(day):
        at_ns = int(dt.datetime(2026, 11, day, 12, tzinfo=dt.UTC).timestamp()) * 1_000_000_000
        return table.price(
            provider="openai", models=["m-new"], usage=Usage(1000, 100), at_ns=at_ns, kind=StepKind.LLM
        ).cost.usd

    assert [cost(1), cost(10), cost(20)] == [None, Decimal("0.0012"), Decimal("0.0024")]
