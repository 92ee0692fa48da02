"""OpenLIT: real spans of its OpenAI instrumentation; its faults stand in test_known_faults."""

from __future__ import annotations

import pytest
from captured import captured, changed, made, said

from otel_runlog import conventions
from otel_runlog.model import Attributes

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "openlit-openai/responses_streaming",
        "chat gpt-5-mini",
        0,
        {
            "convention": "openlit",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "resp_361370c4_0001",
            "usage": (1013, 57, 512, 0, None),
            "service_tier": "default",
            "time_to_first_token_ms": 65.76967239379883,
            "streaming": True,
            "finish_reason": "completed",
            "params": {"output_type": "text"},
            "content": "full",
            "notes": (
                "emitter_fault: OpenLIT writes a cost of 0 for models that it has no price of",
                "emitter_fault: OpenLIT writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "openlit-openai/single_chat_unknown_model",
        "chat",
        0,
        {
            "convention": "openlit",
            "kind": "llm",
            "provider": "openai",
            "request_model": "m-std",
            "response_model": "m-std-2026-03-15",
            "response_id": "chatcmpl_168fe47b_0001",
            "usage": (1013, 57, 512, 0, None),
            "streaming": False,
            "finish_reason": "stop",
            "params": {"temperature": 0.3, "seed": 7, "output_type": "text"},
            "content": "full",
            "notes": (
                "emitter_fault: OpenLIT writes a cost of 0 for models that it has no price of",
                "emitter_fault: OpenLIT writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "openlit-openai/streaming_chat_no_usage",
        "chat",
        0,
        {
            "convention": "openlit",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "chatcmpl_682dcac7_0001",
            "service_tier": "auto",
            "time_to_first_token_ms": 0.4868507385253906,
            "streaming": True,
            "finish_reason": "stop",
            "params": {"output_type": "text"},
            "content": "full",
            "notes": (
                "emitter_fault: OpenLIT estimated 4 and 6 tokens itself, the stream told none",
                "emitter_fault: OpenLIT writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "openlit-openai/error_400",
        "chat",
        0,
        {
            "convention": "openlit",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "failed": True,
            "refused": True,
            "error_type": "BadRequestError",
            "error_message": "BadRequestError: Error code: 400 - {'type': 'error', 'error'",
            "streaming": False,
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_the_cache_of_anthropic_stands_outside_its_input() -> None:
    """Written from the code of OpenLIT 1.45: no capture of its Anthropic instrumentation is in the corpus."""
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 60,
        "gen_ai.usage.cache_creation.input_tokens": 10,
    }
    anthropic = made(attributes, scope="openlit.instrumentation.anthropic")
    openai = made(attributes, scope="openlit.instrumentation.openai")
    assert said(conventions.read(anthropic))["usage"] == (170, 20, 60, 10, None)
    assert said(conventions.read(openai))["usage"] == (100, 20, 60, 10, None)


def test_the_first_token_of_what_was_no_stream_is_no_first_token() -> None:
    span = captured("openlit-openai/responses_streaming", "chat gpt-5-mini")
    assert "time_to_first_token_ms" not in said(conventions.read(changed(span, gen_ai__request__stream=False)))
