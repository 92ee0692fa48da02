"""Langfuse: real spans of its SDK and its OpenAI wrapper, and changed ones."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "langfuse-openai/tool_loop",
        "planner",
        0,
        {
            "convention": "langfuse",
            "kind": "agent",
            "agent": "planner",
            "session_id": "s-9",
            "user_id": "u1",
        },
    ),
    (
        "langfuse-openai/tool_loop",
        "OpenAI",
        1,
        {
            "convention": "langfuse",
            "kind": "llm",
            "response_model": "gpt-5-mini-2026-03-15",
            "usage": (1187, 43, 768, None, 9),
            "session_id": "s-9",
            "user_id": "u1",
            "content": "full",
            "notes": (
                "emitter_fault: Langfuse writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "langfuse-openai/tool_loop",
        "call_tool",
        0,
        {
            "convention": "langfuse",
            "kind": "tool",
            "session_id": "s-9",
            "user_id": "u1",
            "tool_name": "call_tool",
        },
    ),
    (
        "langfuse-openai/streaming_chat",
        "OpenAI",
        0,
        {
            "convention": "langfuse",
            "kind": "llm",
            "response_model": "gpt-5-mini-2026-03-15",
            "usage": (1013, 57, 512, None, 20),
            "time_to_first_token_ms": 22.658447265625,
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
            "notes": (
                "emitter_fault: Langfuse writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "langfuse-openai/single_chat",
        "OpenAI",
        0,
        {
            "convention": "langfuse",
            "kind": "llm",
            "response_model": "gpt-5-mini-2026-03-15",
            "usage": (1013, 57, 512, None, 20),
            "params": {"temperature": 0.5, "seed": 7},
            "content": "full",
            "notes": (
                "emitter_fault: Langfuse writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "langfuse-openai/error_400",
        "OpenAI",
        0,
        {
            "convention": "langfuse",
            "kind": "llm",
            "response_model": "gpt-5-mini",
            "reported_usd": "0E-12",
            "failed": True,
            "refused": True,
            "error_message": "Error code: 400 - refused as scripted",
            "content": "full",
            "notes": (
                "emitter_fault: Langfuse writes defaults for parameters that were never sent; those are left out",
            ),
        },
    ),
    (
        "langfuse-openai/recorded_by_hand",
        "claude",
        0,
        {
            "convention": "langfuse",
            "kind": "llm",
            "response_model": "claude-sonnet-4-5",
            "usage": (100, 25, 60, 10, 5),
            "reported_usd": "0.250000000000",
            "content": "full",
        },
    ),
    (
        "langfuse-openai/recorded_by_hand",
        "bad",
        0,
        {
            "convention": "langfuse",
            "kind": "tool",
            "failed": True,
            "error_message": "boom",
            "tool_name": "bad",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def generation(usage: str) -> Attributes:
    return {"langfuse.observation.type": "generation", "langfuse.observation.usage_details": usage}


@pytest.mark.parametrize(
    ("details", "usage"),
    [
        ('{"input": 30, "output": 20}', (30, 20, None, None, None)),
        ('{"input": 30, "input_cache_read": 60, "output": 20, "output_reasoning": 5}', (90, 25, 60, None, 5)),
        ('{"input": 30, "cache_read_input_tokens": 60, "output": 20, "total": 110}', (90, 20, 60, None, None)),
        ('{"prompt_tokens": 90, "completion_tokens": 25, "total_tokens": 115}', (90, 25, None, None, None)),
        (
            '{"input_tokens": 30, "output_tokens": 20, "cache_creation_input_tokens": 10}',
            (40, 20, None, 10, None),
        ),
    ],
)
def test_buckets_are_added_up_and_providers_own_objects_are_not(details, usage) -> None:
    assert said(conventions.read(made(generation(details))))["usage"] == usage


def test_a_total_that_no_bucket_explains_is_doubtful() -> None:
    reading = said(conventions.read(made(generation('{"input": 30, "output": 20, "total": 90}'))))
    assert reading["warnings"] == (
        "total_mismatch: reported total 90 is not 50, the sum of input_tokens and output_tokens",
    )


def test_the_level_fails_an_observation_whose_status_is_unset() -> None:
    bad = msgspec.structs.replace(captured("langfuse-openai/recorded_by_hand", "bad"), status_code=0, status_message="")
    reading = said(conventions.read(bad))
    assert (reading["failed"], reading["error_message"]) == (True, "boom")


def test_a_span_of_others_that_its_processor_stamped_stays_theirs() -> None:
    attributes: Attributes = {
        "langfuse.internal.is_app_root": True,
        "session.id": "s-9",
        "gen_ai.operation.name": "invoke_agent",
    }
    reading = said(conventions.read(made(attributes, name="invoke_agent planner")))
    assert (reading["convention"], reading["session_id"]) == ("otel_genai", "s-9")


def test_messages_are_those_of_the_request_and_the_answer() -> None:
    assert told(conventions.messages(captured("langfuse-openai/responses", "OpenAI"))) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Hi"),
        ("output", "assistant", "Hello there."),
    ]


def test_an_observed_functions_keyword_arguments_are_what_it_was_asked() -> None:
    span = captured("langfuse-openai/tool_loop", "call_tool")
    span = changed(span, langfuse__observation__input='{"args": [], "kwargs": {"city": "Paris"}}')
    assert told(conventions.messages(span)) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny in Paris"),
    ]


def test_a_stream_that_failed_after_its_first_token_was_cut() -> None:
    failed = changed(
        captured("langfuse-openai/streaming_chat_no_usage", "OpenAI"), langfuse__observation__level="ERROR"
    )
    reading = said(conventions.read(failed))
    assert (reading["failed"], reading["usage_cut"], reading["content"]) == (True, True, "truncated")
    assert "refused" not in reading
