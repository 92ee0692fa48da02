from decimal import ROUND_UP, Decimal, Inexact, localcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.model import StepKind, Usage
from otel_runlog.pricing.rates import Rates, RateTier, TokenRates, lifetime_note

CACHED = Rates(
    input=Decimal(3),
    output=Decimal(15),
    cache_read=Decimal("0.30"),
    cache_write_5m=Decimal("3.75"),
    cache_write_1h=Decimal(6),
)
PLAIN = Rates(input=Decimal(3), output=Decimal(15))

counts = st.integers(min_value=0, max_value=2**53)
rate = st.decimals(min_value=0, max_value=1000, places=6)


@given(fresh=counts, read=counts, five=counts, hour=counts, unknown=counts, output=counts)
def test_each_part_of_the_input_costs_its_own_rate(*, fresh, read, five, hour, unknown, output):
    write = five + hour + unknown
    usage = Usage(fresh + read + write, output, read, write, cache_write_5m_tokens=five, cache_write_1h_tokens=hour)
    hundredths = 300 * fresh + 30 * read + 375 * (five + unknown) + 600 * hour + 1500 * output
    with localcontext(prec=80):
        assert CACHED.cost(usage) == Decimal(hundredths).scaleb(-8)


@given(rate=rate, tokens=counts, prec=st.integers(min_value=1, max_value=30))
def test_cost_is_exact_whatever_the_decimal_context_of_the_application(rate, tokens, prec):
    rates = Rates(input=rate, output=rate)
    with localcontext(prec=prec, rounding=ROUND_UP, traps=[Inexact]):
        usd = rates.cost(Usage(tokens, 0))
    with localcontext(prec=80):
        assert usd == rate * tokens / 1_000_000


@given(read=counts, write=counts, rest=counts)
def test_without_cache_rates_cached_tokens_cost_the_input_rate(read, write, rest):
    total = read + write + rest
    assert PLAIN.cost(Usage(total, 7, read, write)) == PLAIN.cost(Usage(total, 7))


@given(input_tokens=counts, read=counts, write=counts, hour=counts, output=counts)
def test_cost_is_never_negative_even_where_the_parts_exceed_the_input(input_tokens, read, write, hour, output):
    assert CACHED.cost(Usage(input_tokens, output, read, write, cache_write_1h_tokens=hour)) >= 0


def test_one_hour_writes_cost_the_5_minute_rate_where_no_other_is_listed():
    rates = Rates(input=Decimal(3), output=Decimal(15), cache_write_5m=Decimal("3.75"))
    usage = Usage(1000, 0, 0, 1000, cache_write_1h_tokens=400)
    assert rates.cost(usage) == Decimal("0.00375")
    assert lifetime_note(usage, rates).startswith("cache_ttl_assumed: 400 tokens")


@pytest.mark.parametrize(
    ("usage", "note"),
    [
        (Usage(10, 0, 0, 10), "cache_ttl_assumed: 10 cache write tokens of unknown lifetime cost the 5-minute rate"),
        (
            Usage(10, 0, 0, 10, None, 4, 1),
            "cache_ttl_assumed: 5 cache write tokens of unknown lifetime cost the 5-minute rate",
        ),
        (Usage(10, 0, 0, 10, None, 9, 1), None),
        (Usage(10, 0, 10, 0), None),
        (Usage(10, 0), None),
    ],
)
def test_writes_of_unknown_lifetime_are_noted(usage, note):
    assert lifetime_note(usage, CACHED) == note


def test_unknown_lifetime_is_not_noted_where_it_makes_no_difference():
    assert lifetime_note(Usage(10, 0, 0, 10), PLAIN) is None


TIERED = Rates(
    input=Decimal(1),
    output=Decimal(10),
    cache_read=Decimal("0.1"),
    tiers=(
        RateTier(threshold=200, input=Decimal(2), output=Decimal(20)),
        RateTier(threshold=400, inclusive=True, input=Decimal(4), output=Decimal(40)),
        RateTier(threshold=300, input=Decimal(3), output=Decimal(30)),
    ),
)


@pytest.mark.parametrize(
    ("input_tokens", "rate"), [(0, 1), (200, 1), (201, 2), (300, 2), (301, 3), (399, 3), (400, 4), (10**9, 4)]
)
def test_the_highest_tier_that_applies_prices_the_whole_request(input_tokens, rate):
    assert TIERED.at(input_tokens).input == rate
    assert TIERED.cost(Usage(input_tokens, 1)) == Decimal(rate * input_tokens + 10 * rate) / 1_000_000


def test_a_tier_without_cache_rate_prices_cached_tokens_at_its_own_input_rate():
    assert TIERED.cost(Usage(201, 0, 201)) == Decimal("0.000402")


def test_request_and_factor():
    rates = Rates(input=Decimal(1), output=Decimal(2), request=Decimal("0.01"))
    assert rates.cost(Usage(1_000_000, 0), factor=Decimal("0.5")) == Decimal("0.505")


def test_reasoning_has_its_own_rate_where_one_is_listed():
    rates = Rates(input=Decimal(0), output=Decimal(8), reasoning=Decimal(3))
    assert rates.cost(Usage(0, 1000, reasoning_tokens=400)) == Decimal("0.006")


@pytest.mark.parametrize(
    ("usage", "kind"),
    [
        (Usage(), StepKind.LLM),
        (Usage(10, None), StepKind.LLM),
        (Usage(None, 10), StepKind.LLM),
        (Usage(None, None), StepKind.EMBEDDING),
    ],
)
def test_unknown_usage_has_no_cost(usage, kind):
    assert CACHED.cost(usage, kind=kind) is None


def test_an_embedding_needs_no_output_tokens():
    assert CACHED.cost(Usage(1_000_000), kind=StepKind.EMBEDDING) == 3


def test_output_that_is_not_charged_may_be_unknown():
    assert Rates(input=Decimal(3)).cost(Usage(1_000_000)) == 3


def test_output_without_a_rate_has_no_cost():
    assert Rates(input=Decimal(3)).cost(Usage(10, 10)) is None
    assert Rates(output=Decimal(3)).cost(Usage(10, 10)) is None


def test_rates_at_without_tiers_are_the_rates_themselves():
    assert isinstance(PLAIN.at(10**9), TokenRates)
    assert PLAIN.at(10**9) is PLAIN
