"""Google ADK: real spans of schema 2; those of schema 1 as its 2.13 source and facts/semconv describe them."""

from __future__ import annotations

import json

import pytest
from captured import captured, made, said, told

from otel_runlog import conventions
from otel_runlog.conventions import google_adk
from otel_runlog.model import Attributes
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

SESSION, INVOCATION = "33049e9e-8fcb-48a6-b473-c882eddf34c6", "e-cac9ea5e-be3a-4112-a8b0-fa35d86d59f4"
READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "google-adk/sub_agent_as_tool",
        "invoke_workflow manager",
        0,
        {"convention": "google_adk", "kind": "workflow", "agent": "manager", "session_id": SESSION},
    ),
    (
        "google-adk/sub_agent_as_tool",
        "invoke_agent manager",
        0,
        {"convention": "google_adk", "kind": "agent", "agent": "manager", "session_id": SESSION},
    ),
    (
        "google-adk/sub_agent_as_tool",
        "generate_content",
        0,
        {
            "convention": "google_adk",
            "kind": "llm",
            "agent": "manager",
            "provider": "gcp.gemini",
            "request_model": "gemini-2.5-flash",
            "usage": (1013, 57, None, None, None),
            "session_id": SESSION,
            "native_run_id": INVOCATION,
            "finish_reason": "stop",
        },
    ),
    (
        "google-adk/sub_agent_as_tool",
        "execute_tool researcher",
        0,
        {
            "convention": "google_adk",
            "kind": "tool",
            "agent": "manager",
            "tool_name": "researcher",
            "tool_call_id": "fc001590",
        },
    ),
]
REQUEST = {
    "model": "gemini-2.5-flash",
    "config": {
        "system_instruction": "Be brief.",
        "temperature": 0.1,
        "seed": 7,
        "tools": [{"function_declarations": [{"name": "get_weather"}]}],
    },
    "contents": [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {
            "role": "model",
            "parts": [{"function_call": {"id": "fc1", "name": "get_weather", "args": {"city": "Paris"}}}],
        },
        {
            "role": "user",
            "parts": [{"function_response": {"id": "fc1", "name": "get_weather", "response": {"result": "Sunny"}}}],
        },
    ],
}
COUNTED = {
    "prompt_token_count": 1013,
    "candidates_token_count": 57,
    "thoughts_token_count": 33,
    "cached_content_token_count": 768,
    "total_token_count": 1103,
}
RESPONSE = {
    "content": {"role": "model", "parts": [{"text": "It is sunny."}]},
    "finish_reason": "STOP",
    "usage_metadata": COUNTED,
}
CALL: Attributes = {
    "gen_ai.system": "gcp.vertex.agent",
    "gen_ai.request.model": "gemini-2.5-flash",
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 1013,
    "gen_ai.usage.output_tokens": 57,
    "gcp.vertex.agent.invocation_id": "e-1",
    "gcp.vertex.agent.session_id": "s-1",
}
CONTENT: Attributes = {
    "gcp.vertex.agent.llm_request": json.dumps(REQUEST),
    "gcp.vertex.agent.llm_response": json.dumps(RESPONSE),
}
HIDDEN: Attributes = {"gcp.vertex.agent.llm_request": "{}", "gcp.vertex.agent.llm_response": "{}"}
TOOL: Attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "get_weather",
    "gen_ai.tool.call.id": "fc1",
    **HIDDEN,
    "gcp.vertex.agent.tool_call_args": '{"city": "Paris"}',
    "gcp.vertex.agent.tool_response": '{"result": "Sunny"}',
}


def adk(attributes: Attributes, name: str = "call_llm"):
    return made(attributes, name=name, scope=google_adk.SCOPE)


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_schema_1_call_says_in_its_raw_answer_what_its_attributes_leave_out() -> None:
    assert said(conventions.read(adk(CALL | CONTENT))) == {
        "convention": "google_adk",
        "kind": "llm",
        "provider": "gcp.vertex.agent",
        "request_model": "gemini-2.5-flash",
        "usage": (1013, 90, 768, None, 33),
        "session_id": "s-1",
        "native_run_id": "e-1",
        "finish_reason": "stop",
        "params": {"temperature": 0.1, "seed": 7},
        "content": "full",
    }
    assert told(conventions.messages(adk(CALL | CONTENT))) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Weather?"),
        ("input", "assistant", '{"id":"fc1","name":"get_weather","args":{"city":"Paris"}}'),
        ("input", "tool", '{"result":"Sunny"}'),
        ("output", "assistant", "It is sunny."),
    ]
    assert [m.text for m in conventions.messages(adk(CALL | CONTENT)).tools] == ['{"name":"get_weather"}']


def test_placeholders_are_no_content() -> None:
    hidden = adk(CALL | HIDDEN)
    assert said(conventions.read(hidden)).get("content") is None
    assert told(conventions.messages(hidden)) == []
    tool = adk(TOOL | {"gcp.vertex.agent.tool_call_args": "{}", "gcp.vertex.agent.tool_response": "{}"})
    assert told(conventions.messages(tool)) == []


def test_thoughts_under_the_experimental_name_stand_outside_the_output() -> None:
    reading = said(conventions.read(adk(CALL | {"gen_ai.usage.experimental.reasoning_tokens": 33})))
    assert reading["usage"] == (1013, 90, None, None, 33)


def test_tool_of_schema_1_has_arguments_and_result() -> None:
    span = adk(TOOL, "execute_tool get_weather")
    assert said(conventions.read(span)) == {
        "convention": "google_adk",
        "kind": "tool",
        "tool_name": "get_weather",
        "tool_call_id": "fc1",
    }
    assert told(conventions.messages(span)) == [
        ("input", "tool", '{"city": "Paris"}'),
        ("output", "tool", '{"result": "Sunny"}'),
    ]


def test_a_tool_without_response_has_no_call_id() -> None:
    reading = conventions.read(adk(TOOL | {"gen_ai.tool.call.id": "<not specified>"}, "execute_tool get_weather"))
    assert reading is not None
    assert reading.tool_call_id is None


def test_the_sum_of_parallel_tools_is_no_tool() -> None:
    merged: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "(merged tools)"}
    reading = conventions.read(adk(merged, "execute_tool (merged)"))
    assert reading is not None
    assert reading.kind == "other"


def test_sending_data_is_no_step() -> None:
    assert conventions.read(adk({"gcp.vertex.agent.invocation_id": "e-1"}, "send_data")) is None


def test_schema_1_counts_the_inner_of_the_two_spans_of_a_call() -> None:
    trace = TraceBuilder("adk 1")
    root = trace.span("invocation", {}, duration_ms=90, scope=google_adk.SCOPE)
    named: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
    agent = trace.span("invoke_agent helper", named, parent=root, duration_ms=80, scope=google_adk.SCOPE)
    call = trace.span("call_llm", CALL | CONTENT, parent=agent, duration_ms=40, scope=google_adk.SCOPE)
    inner: Attributes = {
        "gen_ai.operation.name": "generate_content",
        "gen_ai.request.model": "gemini-2.5-flash",
        "gen_ai.usage.input_tokens": 1013,
        "gen_ai.usage.output_tokens": 90,
        "gen_ai.usage.cache_read.input_tokens": 768,
        "gen_ai.usage.reasoning.output_tokens": 33,
    }
    trace.span("generate_content gemini-2.5-flash", inner, parent=call, duration_ms=20, scope=google_adk.SCOPE)
    trace.span("execute_tool get_weather", dict(TOOL), parent=call, duration_ms=5, scope=google_adk.SCOPE)
    (run,) = project(trace.spans)
    assert (run.root_span_id, run.agent, run.session_id, run.native_run_id) == (root.span_id, "helper", "s-1", "e-1")
    assert (run.tokens.input_tokens, run.tokens.output_tokens, run.llm_calls, run.tool_calls) == (1013, 90, 1, 1)
    assert run.warnings == ()


def test_a_call_that_failed_before_it_could_say_anything_is_a_call() -> None:
    trace = TraceBuilder("adk failed")
    root = trace.span("invocation", {}, duration_ms=9, scope=google_adk.SCOPE, failed=True)
    trace.span("call_llm", {}, parent=root, scope=google_adk.SCOPE, failed=True)
    (run,) = project(trace.spans)
    assert (run.llm_calls, run.status) == (1, "failed")


def test_an_agent_of_the_first_versions_is_named_by_its_span() -> None:
    assert said(conventions.read(adk({}, "agent_run [helper]"))) == {
        "convention": "google_adk",
        "kind": "agent",
        "agent": "helper",
    }
