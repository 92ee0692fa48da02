import pytest
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.pricing.match import MAX_SPELLINGS, provider_id, provider_names, spellings, vendors


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("m-std-2026-03-15", "m-std"),
        ("m-std-20260315", "m-std"),
        ("m-std-latest", "m-std"),
        ("vendor/m-std", "m-std"),
        ("models/m-std", "m-std"),
        ("publishers/google/models/m-std", "m-std"),
        ("us.vendor.m-std-v1:0", "m-std"),
        ("vendor.m-std-20260315-v1:0", "m-std"),
        ("arn:aws:bedrock:us-east-1:1:inference-profile/us.vendor.m-std-v1:0", "m-std"),
        ("m-std@20260315", "m-std"),
        ("m-std@001", "m-std"),
        ("M-Std", "m-std"),
    ],
)
def test_spellings_reach_the_plain_name(model, name):
    assert name in spellings(model)


@pytest.mark.parametrize(
    "model", ["m-std:free", "m-std:batch", "m-std-mini", "gpt-4.1", "deepseek-v3", "qwen2.5-vl", "m-2026", "m-20261399"]
)
def test_names_that_are_whole_stay_whole(model):
    assert spellings(model) == (model,)


@given(st.text(max_size=256))
def test_spellings_are_few_and_distinct_and_start_with_the_name_itself(model):
    found = spellings(model)
    assert found[0] == model.strip().lower()
    assert len(set(found)) == len(found) <= MAX_SPELLINGS


@pytest.mark.parametrize(
    ("raw", "provider"),
    [
        ("openai", "openai"),
        ("OpenAI", "openai"),
        ("openai.responses", "openai"),
        ("anthropic.messages", "anthropic"),
        ("aws.bedrock", "aws"),
        ("az.ai.openai", "azure"),
        ("azure_openai", "azure"),
        ("azure-openai.chat", "azure"),
        ("gcp.gemini", "google"),
        ("gcp.vertex_ai", "google"),
        ("google.vertex.chat", "google"),
        ("mistral_ai", "mistral"),
        ("x_ai", "x-ai"),
        ("xai.chat", "x-ai"),
        ("cohere_chat", "cohere"),
        ("acme", "acme"),
    ],
)
def test_providers_have_one_id(raw, provider):
    assert provider_id(raw) == provider


@pytest.mark.parametrize(
    "raw",
    [
        None,
        "",
        " ",
        "strands-agents",
        "langgraph",
        "langchain",
        "crewai",
        "microsoft.agent_framework",
        "gcp.vertex.agent",
        "haystack",
        "llamaindex",
        "llama_index",
        "pydantic-ai",
        "litellm",
    ],
)
def test_frameworks_are_no_providers(raw):
    assert provider_id(raw) is None
    assert provider_names(raw) == frozenset()


def test_a_models_name_may_point_to_its_provider():
    assert list(vendors("us.anthropic.claude-x-v1:0")) == ["aws", "anthropic"]
    assert list(vendors("x_ai/grok-4")) == ["x-ai"]
    assert list(vendors("gpt-4.1")) == []
