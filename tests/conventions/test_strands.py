"""Strands Agents: real spans of both forms of events, and changed ones."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.conventions import strands
from otel_runlog.model import Attributes, SpanEvent
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

LIFETIME = ("emitter_fault: Strands' invoke_agent says what its Agent object used since it was made, not in this run",)
READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "strands-agents/tool_loop",
        "invoke_agent",
        0,
        {
            "convention": "strands",
            "kind": "agent",
            "agent": "weather_helper",
            "provider": "strands-agents",
            "request_model": "gpt-4o-mini",
            "usage": (3078, 192, 0, 0, None),
            "total_is_no_sum": True,
            "warnings": LIFETIME,
            "usage_fault": True,
        },
    ),
    (
        "strands-agents/tool_loop",
        "chat",
        2,
        {
            "convention": "strands",
            "kind": "llm",
            "provider": "strands-agents",
            "request_model": "gpt-4o-mini",
            "usage": (1039, 71, 0, None, None),
            "time_to_first_token_ms": 62.0,
            "streaming": True,
            "finish_reason": "end_turn",
            "content": "full",
        },
    ),
    (
        "strands-agents@latest/anthropic_cache",
        "chat",
        0,
        {
            "convention": "strands",
            "kind": "llm",
            "provider": "strands-agents",
            "request_model": "claude-sonnet-4-5",
            "usage": (1653, 57, None, 640, None),
            "time_to_first_token_ms": 66.0,
            "streaming": True,
            "finish_reason": "tool_use",
            "content": "full",
        },
    ),
    (
        "strands-agents/tool_loop",
        "execute_event_loop_cycle",
        0,
        {"convention": "strands", "kind": "chain", "provider": "strands-agents"},
    ),
    (
        "strands-agents/graph_two_agents",
        "invoke_graph",
        0,
        {"convention": "strands", "kind": "workflow", "provider": "strands-agents"},
    ),
    (
        "strands-agents/tool_loop",
        "execute_tool",
        0,
        {
            "convention": "strands",
            "kind": "tool",
            "provider": "strands-agents",
            "tool_name": "get_weather",
            "tool_call_id": "call_00034_0",
        },
    ),
]
WEATHER = '{"toolUseId":"call_00034_0","name":"get_weather","input":{"city":"Paris"}}'


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_bedrocks_blocks_in_events_read_as_a_person_would() -> None:
    assert told(conventions.messages(captured("strands-agents/tool_loop", "chat", 1))) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]"),
        ("input", "assistant", WEATHER),
        ("input", "tool", "Sunny, 21 C in Paris"),
        ("output", "assistant", '{"toolUseId":"call_00035_0","name":"get_population","input":{"city":"Paris"}}'),
    ]


@pytest.mark.parametrize("variant", ["strands-agents", "strands-agents@latest"])
def test_a_tool_has_its_arguments_and_its_result(variant) -> None:
    (asked, answered) = told(conventions.messages(captured(f"{variant}/tool_loop", "execute_tool", 0)))
    assert (asked[:2], asked[2].replace(" ", "")) == (("input", "tool"), '{"city":"Paris"}')
    assert answered == ("output", "tool", "Sunny, 21 C in Paris")


def test_a_tool_that_answers_with_an_error_has_failed() -> None:
    tool = captured("strands-agents/tool_loop", "execute_tool", 0)
    answer = SpanEvent("gen_ai.choice", attributes={"message": '[{"text": "no such city"}]', "id": "c"})
    span = msgspec.structs.replace(changed(tool, gen_ai__tool__status="error"), events=(tool.events[0], answer))
    reading = conventions.read(span)
    assert reading is not None
    assert (reading.failed, reading.error_message) == (True, "no such city")


def test_cancellation_leaves_the_status_unset_and_is_named() -> None:
    cancelled: Attributes = {"gen_ai.operation.name": "chat", "strands.cancellation.type": "CancelledError"}
    reading = conventions.read(made(cancelled, name="chat", scope=strands.SCOPE))
    assert reading is not None
    assert (reading.cancelled, reading.failed, reading.error_type) == (True, False, "CancelledError")


def test_a_lifetime_total_that_must_count_is_doubtful() -> None:
    trace = TraceBuilder("strands")
    agent: Attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "a",
        "gen_ai.usage.input_tokens": 2039,
        "gen_ai.usage.output_tokens": 121,
    }
    chat: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    root = trace.span("invoke_agent a", agent, duration_ms=9, scope=strands.SCOPE)
    trace.span("chat", chat, parent=root, scope=strands.SCOPE)
    (run,) = project(trace.spans)
    assert run.tokens.input_tokens == 2039
    assert LIFETIME[0] in run.warnings
    counted = {**chat, "gen_ai.usage.input_tokens": 1026, "gen_ai.usage.output_tokens": 64}
    (run,) = project([trace.spans[0], msgspec.structs.replace(trace.spans[1], attributes=counted)])
    assert (run.tokens.input_tokens, run.warnings) == (1026, ())
