"""The bundled table says what genai_prices.calc_price says for the same tokens."""

import datetime as dt
from decimal import Decimal

import genai_prices
import pytest

from otel_runlog.model import CostStatus, StepKind, Usage
from otel_runlog.pricing import PriceTable

AT = dt.datetime(2026, 11, 20, 12, tzinfo=dt.UTC)

MODELS = [
    ("openai", "gpt-4o"),
    ("openai", "gpt-4o-mini-2024-07-18"),
    ("openai", "gpt-4.1"),
    ("openai", "gpt-5"),
    ("openai", "gpt-5-mini-2025-08-07"),
    ("openai", "o3-mini"),
    ("openai", "text-embedding-3-small"),
    ("anthropic", "claude-3-5-haiku-latest"),
    ("anthropic", "claude-haiku-4-5"),
    ("anthropic", "claude-haiku-5-5"),
    ("anthropic", "claude-opus-4-6"),
    ("anthropic", "claude-sonnet-4-5-20250929"),
    ("anthropic", "claude-sonnet-4-6"),
    ("google", "gemini-2.0-flash"),
    ("google", "gemini-2.5-flash"),
    ("google", "gemini-2.5-pro"),
    ("google", "gemini-flash-latest"),
    ("google", "claude-sonnet-4-5"),
    ("aws", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"),
    ("aws", "amazon.nova-pro-v1:0"),
    ("azure", "gpt-4o"),
    ("cohere", "command-r-plus"),
    ("deepseek", "deepseek-chat"),
    ("deepseek", "deepseek-v4-pro"),
    ("fireworks", "accounts/fireworks/models/gpt-oss-120b"),
    ("groq", "llama-3.3-70b-versatile"),
    ("huggingface_cerebras", "Qwen/Qwen3.8-27B"),
    ("mistral", "mistral-large-latest"),
    ("openrouter", "anthropic/claude-sonnet-4.5"),
    ("openrouter", "google/gemini-2.5-pro"),
    ("openrouter", "qwen/qwen3-coder-flash"),
    ("openrouter", "deepseek/deepseek-r1:free"),
    ("perplexity", "sonar"),
    ("perplexity", "sonar-deep-research"),
    ("x-ai", "grok-4"),
]
USAGES = [
    Usage(1000, 100),
    Usage(0, 0),
    Usage(130_213, 500, 128_955, 1253),
    Usage(130_213, 500, 128_955, 1253, None, 1000, 253),
    Usage(150_000, 2000, 10, 0, 500),
    Usage(200_000, 1),
    Usage(200_001, 1, 100_000, 20_000),
]


def theirs(usage: Usage) -> genai_prices.Usage:
    counts = {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "cache_read_tokens": usage.cache_read_tokens,
        "cache_write_tokens": usage.cache_write_tokens,
        "cache_write_1h_tokens": usage.cache_write_1h_tokens,
        "output_reasoning_tokens": usage.reasoning_tokens,
    }
    return genai_prices.Usage(**counts)


def ns(at: dt.datetime) -> int:
    return int(at.timestamp()) * 1_000_000_000


@pytest.fixture(scope="module")
def table() -> PriceTable:
    return PriceTable.default()


def cost(table, provider, model, usage=USAGES[0], at=AT, **kwargs):
    return table.price(provider=provider, models=[model], usage=usage, at_ns=ns(at), kind=StepKind.LLM, **kwargs).cost


@pytest.mark.parametrize(("provider", "model"), MODELS)
def test_cost_equals_calc_price(table, provider, model):
    for at in (AT, AT.replace(hour=3), AT.replace(month=2)):
        for usage in USAGES:
            want = genai_prices.calc_price(
                theirs(usage), model, provider_id=provider, genai_request_timestamp=at
            ).total_price
            assert cost(table, provider, model, usage, at).usd == want, (usage, at)


@pytest.mark.parametrize(
    ("tier", "context"),
    [
        ("priority", {"service_tier": "priority"}),
        ("batch", {"processing": "batch"}),
        ("fast", {"service_tier": "fast"}),
    ],
)
def test_service_tiers_with_a_price_list_of_their_own_equal_calc_price(table, tier, context):
    for usage in USAGES:
        want = genai_prices.calc_price(
            theirs(usage), "gpt-4o", provider_id="openai", genai_request_timestamp=AT, price_context=context
        ).total_price
        assert cost(table, "openai", "gpt-4o", usage, service_tier=tier).usd == want


def test_a_tier_without_a_price_list_costs_the_standard_rates_and_is_noted(table):
    priced = table.price(
        provider="openai", models=["gpt-4o"], usage=USAGES[0], at_ns=ns(AT), kind=StepKind.LLM, service_tier="scale"
    )
    assert priced.cost.usd == Decimal("0.0035")
    assert priced.notes == (
        "service_tier_unknown: scale is not in genai-prices for gpt-4o, priced at the standard rates",
    )


@pytest.mark.parametrize(
    ("provider", "model", "entry"),
    [
        (None, "gpt-4o", "openai/gpt-4o"),
        ("strands-agents", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("litellm", "anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("openrouter", "openai/gpt-4o", "openrouter/openai/gpt-4o"),
        ("openai", "claude-sonnet-4-5", "anthropic/claude-sonnet-4-5"),
        ("anthropic", "deepseek/deepseek-chat", "deepseek/deepseek-chat"),
        ("az.ai.openai", "gpt-4o-2024-11-20", "azure/gpt-4o"),
        ("gcp.vertex_ai", "claude-sonnet-4-5@20250929", "google/claude-sonnet-4-5"),
        ("gcp.gemini", "models/gemini-2.5-pro", "google/gemini-2.5-pro"),
        ("my-gateway", "openai/gpt-4o", "openai/gpt-4o"),
        (
            None,
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            "aws/regional.anthropic.claude-sonnet-4-5-20250929-v1:0",
        ),
    ],
)
def test_the_entry_that_holds_is_named(table, provider, model, entry):
    quote = table.lookup(provider, model, AT.date())
    assert f"{quote.provider}/{quote.entry}" == entry
    assert (quote.table, quote.version) == ("genai-prices", genai_prices.__version__)


@pytest.mark.parametrize(
    ("provider", "model"),
    [
        ("openai", "acme-7b-internal"),
        (None, "acme-7b-internal"),
        ("ollama", "deepseek-r1"),
        ("vllm", "gpt-oss-120b"),
        ("groq", "gpt-4o"),
        (None, "gpt-4o:free"),
        ("openai", "m" * 300),
    ],
)
def test_nobody_elses_price_is_taken(table, provider, model):
    assert cost(table, provider, model).status is CostStatus.UNPRICED


@pytest.mark.parametrize(
    ("provider", "model"), [("openai", "whisper-1"), ("openrouter", "google/lyria-3-clip-preview")]
)
def test_models_that_are_not_priced_by_tokens_are_unpriced_rather_than_free(table, provider, model):
    assert cost(table, provider, model).status is CostStatus.UNPRICED


def test_rates_by_the_hour_are_not_kept_for_the_day(table):
    usd = [cost(table, "deepseek", "deepseek-chat", at=AT.replace(hour=hour)).usd for hour in (0, 1, 17, 0)]
    assert usd == [Decimal("0.00019"), Decimal("0.00038"), Decimal("0.00019"), Decimal("0.00019")]


def test_the_day_from_which_a_rate_holds_is_told(table):
    assert table.lookup("anthropic", "claude-opus-4-6", dt.date(2026, 3, 12)).first_day is None
    assert table.lookup("anthropic", "claude-opus-4-6", dt.date(2026, 3, 13)).first_day == dt.date(2026, 3, 13)


def test_quotes_list_every_provider_and_change(table):
    quotes = table.quotes("claude-opus-4-6")
    own = [(quote.first_day, quote.rates.input) for quote in quotes if quote.provider == "anthropic"]
    assert own == [(None, Decimal(5)), (dt.date(2026, 3, 13), Decimal(5))]
    assert len({quote.provider for quote in quotes}) > 1
    assert [quote.hours for quote in table.quotes("deepseek-chat") if quote.provider == "deepseek"] == [
        None,
        "00:30-16:30",
    ]
