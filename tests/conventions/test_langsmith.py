"""LangSmith: real spans of LangGraph and of its OpenAI wrapper, and changed ones."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes, SpanEvent
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "langsmith-otel/tool_loop",
        "planner",
        0,
        {
            "convention": "langsmith",
            "kind": "chain",
            "agent": "planner",
            "session_id": "s-9",
            "user_id": "u1",
        },
    ),
    (
        "langsmith-otel/tool_loop",
        "ChatOpenAI",
        1,
        {
            "convention": "langsmith",
            "kind": "llm",
            "agent": "planner",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "chatcmpl_458c42f1_0002",
            "usage": (1187, 43, 768, None, 9),
            "session_id": "s-9",
            "user_id": "u1",
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "langsmith-otel/tool_loop",
        "get_weather",
        0,
        {
            "convention": "langsmith",
            "kind": "tool",
            "agent": "planner",
            "session_id": "s-9",
            "user_id": "u1",
            "tool_name": "get_weather",
            "tool_call_id": "call_a",
        },
    ),
    (
        "langsmith-otel/wrap_openai_streaming",
        "ChatOpenAI",
        0,
        {
            "convention": "langsmith",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "chatcmpl_3eb923af_0001",
            "usage": (1013, 57, 512, None, 20),
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "langsmith-otel/error_400",
        "ChatOpenAI",
        0,
        {
            "convention": "langsmith",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "failed": True,
            "refused": True,
            "error_type": "OpenAIInvalidRequestError",
            "error_message": "OpenAIInvalidRequestError('Error code: 400 - refused as scri",
            "content": "full",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_of_langgraph_are_those_that_were_said() -> None:
    call = captured("langsmith-otel/tool_loop", "ChatOpenAI", 1)
    assert told(conventions.messages(call)) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Weather and population of Paris?"),
        ("input", "assistant", '{"name":"get_weather","args":{"city":"Paris"},"id":"call_a"}'),
        ("input", "tool", "Sunny in Paris"),
        ("output", "assistant", '{"name":"get_population","args":{"city":"Paris"},"id":"call_b"}'),
    ]
    tool = captured("langsmith-otel/tool_loop", "get_weather")
    assert told(conventions.messages(tool)) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny in Paris"),
    ]


def test_messages_of_a_wrapped_client_are_those_of_its_request() -> None:
    found = told(conventions.messages(captured("langsmith-otel/wrap_openai_responses", "ChatOpenAI")))
    assert found == [
        ("system", "system", "Be brief."),
        ("input", "user", "Hi"),
        ("output", "assistant", "Hello there."),
    ]


def test_details_are_read_from_reprs_where_metadata_has_none() -> None:
    span = captured("langsmith-otel/wrap_openai_streaming", "ChatOpenAI")
    span = changed(span, langsmith__metadata__usage_metadata=None)
    assert said(conventions.read(span))["usage"] == (1013, 57, 512, None, 20)


def test_the_projects_name_is_no_session() -> None:
    attributes: Attributes = {"langsmith.span.kind": "llm", "langsmith.trace.session_name": "default"}
    assert "session_id" not in said(conventions.read(made(attributes)))


def test_a_chain_that_repeats_its_calls_usage_does_not_count() -> None:
    trace = TraceBuilder("langsmith")
    usage: Attributes = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
    model: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **usage}
    root = trace.span("chain", {"langsmith.span.kind": "chain", **usage}, duration_ms=9)
    trace.span("ChatOpenAI", {"langsmith.span.kind": "llm", **model}, parent=root)
    (run,) = project(trace.spans)
    assert (run.llm_calls, run.tokens.input_tokens) == (1, 100)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("RemoteProtocolError('peer closed connection')", {"refused": None, "usage_cut": True, "failed": True}),
        ("CancelledError()", {"refused": None, "usage_cut": True, "failed": None}),
        ("RateLimitError('Error code: 429')", {"refused": True, "usage_cut": None, "failed": True}),
    ],
)
def test_the_real_error_says_whether_a_call_was_refused_or_cut(error, expected) -> None:
    told: Attributes = {
        "exception.type": "Exception",
        "exception.message": f"{error}Traceback (most recent call last):",
    }
    attributes: Attributes = {"langsmith.span.kind": "llm", "gen_ai.request.model": "m"}
    span = msgspec.structs.replace(made(attributes), status_code=2, events=(SpanEvent("exception", attributes=told),))
    reading = said(conventions.read(span))
    assert {name: reading.get(name) for name in expected} == expected
