"""LiteLLM: its own spans, the raw ones, and what it leaves on the application's."""

from __future__ import annotations

import pytest
from captured import captured, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "litellm-otel/single_chat",
        "litellm_request",
        0,
        {
            "convention": "litellm",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00276",
            "usage": (1013, 57, 0, None, 0),
            "reported_usd": "0.000186150000",
            "service_tier": "default",
            "streaming": False,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "litellm-otel/single_chat",
        "raw",
        0,
        {
            "convention": "litellm",
            "kind": "llm",
            "provider": "openai",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00276",
            "usage": (1013, 57, 0, None, 0),
            "service_tier": "default",
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "litellm-otel/streaming_chat",
        "litellm_request",
        0,
        {
            "convention": "litellm",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini",
            "response_id": "chatcmpl-fake00277",
            "usage": (1013, 57, 0, None, 0),
            "reported_usd": "0.000186150000",
            "service_tier": "default",
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "litellm-otel/streaming_chat_no_usage",
        "litellm_request",
        0,
        {
            "convention": "litellm",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini",
            "response_id": "chatcmpl-fake00278",
            "service_tier": "default",
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
            "notes": ("emitter_fault: LiteLLM estimated 20 and 25 tokens itself, the stream told none",),
        },
    ),
    (
        "litellm-otel@nocontent/tool_loop_in_span",
        "agent run",
        0,
        {
            "convention": "litellm",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00031",
            "usage": (1026, 64, 0, None, 0),
            "usage_cut": True,
            "reported_usd": "0.000192300000",
            "service_tier": "default",
            "streaming": False,
        },
    ),
    (
        "litellm-otel/web_two_runs",
        "POST /ask",
        0,
        {
            "convention": "litellm",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00299",
            "usage": (1065, 85, 0, None, 0),
            "usage_cut": True,
            "reported_usd": "0.000210750000",
            "service_tier": "default",
            "streaming": False,
            "finish_reason": "tool_calls",
            "content": "truncated",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_raw_spans_of_anthropic_leave_the_cache_out_of_the_input() -> None:
    attributes: Attributes = {
        "llm.anthropic.usage": "{'input_tokens': 1013, 'output_tokens': 57, 'cache_creation_input_tokens': 640}",
        "llm.anthropic.id": "msg_1",
        "llm.anthropic.stop_reason": "end_turn",
    }
    reading = said(conventions.read(made(attributes, name="raw_gen_ai_request", scope="litellm")))
    assert (reading["usage"], reading["response_id"]) == ((1653, 57, None, 640, None), "msg_1")
    assert (reading["provider"], reading["finish_reason"]) == ("anthropic", "end_turn")


def test_a_raw_span_without_usage_is_no_step() -> None:
    assert conventions.read(captured("litellm-otel/streaming_chat", "raw")) is None


def test_messages_are_python_reprs() -> None:
    assert told(conventions.messages(captured("litellm-otel/single_chat", "raw"))) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "Say hi."),
        ("output", "assistant", "Answer 1: it is sunny in Paris, 21 C, and about 2.1 million people live there."),
    ]


def test_a_cost_alone_is_not_litellms_hand() -> None:
    attributes: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.cost.total_cost": 0.5}
    assert said(conventions.read(made(attributes)))["convention"] == "otel_genai"


def test_a_frameworks_own_call_span_holds_one_call() -> None:
    attributes: Attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "m-std",
        "gen_ai.usage.input_tokens": 10,
        "litellm.call_id": "x",
    }
    whole = said(conventions.read(made(attributes, name="generate_content m-std")))
    part = said(conventions.read(made(attributes, name="agent run")))
    assert ("usage_cut" in whole, part["usage_cut"]) == (False, True)
