"""The Anthropic SDK's own spans, real ones."""

from __future__ import annotations

import pytest
from captured import captured, said, told

from otel_runlog import conventions

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "anthropic-sdk-native/prompt_cache",
        "anthropic.messages",
        1,
        {
            "convention": "anthropic_sdk",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00533",
            "usage": (1922, 64, 768, 128, None),
            "service_tier": "standard",
            "finish_reason": "end_turn",
            "params": {"max_tokens": 100},
        },
    ),
    (
        "anthropic-sdk-native/streaming_chat",
        "anthropic.messages",
        0,
        {
            "convention": "anthropic_sdk",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00516",
            "usage": (1013, 57, 0, 0, None),
            "service_tier": "standard",
            "time_to_first_token_ms": 58.61293,
            "streaming": True,
            "finish_reason": "end_turn",
            "params": {"max_tokens": 1024},
        },
    ),
    (
        "anthropic-sdk-native/error_429",
        "anthropic.messages",
        0,
        {
            "convention": "anthropic_sdk",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "failed": True,
            "refused": True,
            "error_type": "rate_limit_error",
            "params": {"max_tokens": 1024},
        },
    ),
    (
        "anthropic-sdk-native@content/tool_runner",
        "anthropic.messages.tool_runner",
        0,
        {"convention": "anthropic_sdk", "kind": "agent", "provider": "anthropic", "request_model": "claude-sonnet-4-5"},
    ),
    (
        "anthropic-sdk-native@content/tool_runner",
        "anthropic.custom",
        0,
        {
            "convention": "anthropic_sdk",
            "kind": "tool",
            "provider": "anthropic",
            "tool_name": "get_weather",
            "tool_call_id": "toolu_00569_0",
        },
    ),
    (
        "traceloop-anthropic/streaming_cut",
        "anthropic.messages",
        0,
        {
            "convention": "anthropic_sdk",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00409",
            "usage": (1013, None, 0, 0, None),
            "usage_cut": True,
            "service_tier": "standard",
            "failed": True,
            "error_type": "connection_error",
            "time_to_first_token_ms": 32.676165,
            "streaming": True,
            "params": {"max_tokens": 1024},
        },
    ),
    (
        "traceloop-anthropic/streaming_abandoned",
        "anthropic.messages",
        0,
        {
            "convention": "anthropic_sdk",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00408",
            "usage": (1013, None, 0, 0, None),
            "usage_cut": True,
            "service_tier": "standard",
            "time_to_first_token_ms": 31.488706999999998,
            "streaming": True,
            "params": {"max_tokens": 1024},
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_lifetimes_of_cache_writes() -> None:
    reading = conventions.read(captured("anthropic-sdk-native/prompt_cache", "anthropic.messages"))
    assert reading is not None
    assert (reading.usage.cache_write_tokens, reading.usage.cache_write_1h_tokens) == (640, 0)


def test_a_tools_arguments_and_its_result_in_blocks() -> None:
    assert told(conventions.messages(captured("anthropic-sdk-native@content/tool_runner", "anthropic.custom"))) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]
