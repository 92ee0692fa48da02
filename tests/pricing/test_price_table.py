import datetime as dt
import subprocess
import sys
from decimal import Decimal

import pytest

from otel_runlog.model import CostStatus, StepKind, Usage
from otel_runlog.pricing import PriceTable, Quote, Rates
from otel_runlog.pricing.cache import MAX_ENTRIES, BoundedCache

DAY_NS = 86_400_000_000_000
MILLION = Usage(1_000_000, 0)


class CountingSource:
    """A table with one model, which counts how often it is asked."""

    name, version = "counting", "1"

    def __init__(self, **rates):
        self.asked = []
        self.rates = Rates(input=Decimal(1), output=Decimal(1), **rates)

    def quote(self, provider, model, at_ns):
        self.asked.append((provider, model, at_ns))
        if model != "m":
            return None
        return Quote(table="counting", version="1", provider=None, entry="m", first_day=None, rates=self.rates)

    def quotes(self, model):
        return []


def price(table, *models, at_ns=DAY_NS, usage=MILLION, **kwargs):
    return table.price(provider="acme", models=models, usage=usage, at_ns=at_ns, kind=StepKind.LLM, **kwargs)


def test_a_call_is_looked_up_once_a_day():
    source = CountingSource()
    table = PriceTable([source])
    for at_ns in (DAY_NS, DAY_NS + 1, 2 * DAY_NS - 1):
        assert price(table, "m", at_ns=at_ns).cost.usd == 1
    price(table, "m", at_ns=2 * DAY_NS)
    assert source.asked == [("acme", "m", DAY_NS), ("acme", "m", 2 * DAY_NS)]


def test_what_has_no_price_is_remembered_too():
    source = CountingSource()
    table = PriceTable([source])
    assert [price(table, "n").cost.status for _ in range(2)] == [CostStatus.UNPRICED] * 2
    assert len(source.asked) == 1


def test_names_of_any_length_from_the_wire_are_neither_looked_up_nor_kept():
    source = CountingSource()
    table = PriceTable([source])
    assert price(table, "m" * 10_000, "m", service_tier="x" * 10_000).cost.usd == 1
    assert [model for _, model, _ in source.asked] == ["m"]
    assert table.lookup(None, "m" * 10_000, dt.date(2026, 11, 1)) is None
    assert table.quotes("m" * 10_000) == []


def test_a_cache_forgets_rather_than_grow():
    cache = BoundedCache()
    for number in range(MAX_ENTRIES + 1):
        cache.remember(number, None)
    assert list(cache) == [MAX_ENTRIES]


def test_a_call_of_unknown_time_has_the_newest_rates():
    source = CountingSource()
    assert price(PriceTable([source]), "m", at_ns=None).cost.usd == 1
    assert source.asked == [("acme", "m", None)]


@pytest.mark.parametrize("at_ns", [None, -(2**63), -1, 0, 2**63, 2**70])
def test_no_time_is_too_far_away(at_ns, tmp_path):
    file = tmp_path / "t.toml"
    file.write_text('name = "t"\nversion = "1"\n[[model]]\nmatch = "m"\ninput = 1\noutput = 1')
    assert price(PriceTable.load([file]), "m", at_ns=at_ns).cost.usd == 1
    assert price(PriceTable.default(), "gpt-4o", at_ns=at_ns).cost.status is CostStatus.ESTIMATED


@pytest.mark.parametrize(
    ("served", "requested", "usd", "notes"),
    [
        (None, None, "1", ()),
        (None, "auto", "1", ()),
        (None, "flex", "1", ("service_tier_assumed: flex was asked for, which tier served is unknown",)),
        ("flex", "priority", "0.5", ()),
        ("standard", "flex", "1", ()),
        ("SERVICE_TIER_UNSPECIFIED", None, "1", ()),
        ("on-demand", None, "1", ()),
        ("warp", None, "1", ("service_tier_unknown: warp is not in counting for m, priced at the standard rates",)),
    ],
)
def test_only_the_tier_that_served_selects_rates(served, requested, usd, notes):
    table = PriceTable([CountingSource(service_tiers={"flex": Decimal("0.5")})])
    priced = price(table, "m", service_tier=served, requested_tier=requested)
    assert (priced.cost.usd, priced.notes) == (Decimal(usd), notes)


def test_the_5_minute_assumption_is_noted_on_the_call():
    table = PriceTable([CountingSource(cache_write_5m=Decimal(2), cache_write_1h=Decimal(3))])
    priced = price(table, "m", usage=Usage(10, 0, 0, 10))
    assert priced.cost.usd == Decimal("0.00002")
    assert [note.split(":")[0] for note in priced.notes] == ["cache_ttl_assumed"]


def test_an_unknown_model_without_usage_is_nothing_to_price():
    assert price(PriceTable(), "n", usage=Usage()).cost.status is CostStatus.NONE


def test_output_without_a_listed_rate_is_unpriced(tmp_path):
    file = tmp_path / "t.toml"
    file.write_text('name = "t"\nversion = "1"\n[[model]]\nmatch = "m"\ninput = 1')
    table = PriceTable.load([file], base=None)
    assert price(table, "m", usage=Usage(1, 1)).cost.status is CostStatus.UNPRICED
    embedding = table.price(provider=None, models=["m"], usage=Usage(1_000_000), at_ns=0, kind=StepKind.EMBEDDING)
    assert embedding.cost.usd == 1


def test_importing_and_loading_leave_genai_prices_alone(tmp_path):
    file = tmp_path / "t.toml"
    file.write_text('name = "t"\nversion = "1"\n[[model]]\nmatch = "m"\ninput = 1\noutput = 1')
    code = f"""
import sys
from otel_runlog.model import StepKind, Usage
from otel_runlog.pricing import PriceTable
table = PriceTable.load([{str(file)!r}])
table.name, table.version
table.price(provider=None, models=["m"], usage=Usage(1, 1), at_ns=0, kind=StepKind.LLM)
sys.exit("genai_prices" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
