"""Haystack: real spans of versions 2 and 3, and changed ones."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, said, told

from otel_runlog import conventions
from otel_runlog.model import Span, StepKind

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "haystack/agent_tool_loop",
        "haystack.agent.run",
        0,
        {
            "convention": "haystack",
            "kind": "agent",
        },
    ),
    (
        "haystack/agent_tool_loop",
        "haystack.agent.step.llm",
        1,
        {
            "convention": "haystack",
            "kind": "llm",
            "response_model": "gpt-5-mini-2026-03-15",
            "usage": (1187, 43, 768, None, 9),
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "haystack/tool_error",
        "haystack.agent.step.tool",
        0,
        {
            "convention": "haystack",
            "kind": "tool",
            "failed": True,
            "error_message": "Failed to invoke Tool `bad` with parameters {'city': 'Paris'",
            "tool_name": "bad",
        },
    ),
    (
        "haystack@2/pipeline_agent",
        "haystack.component.run",
        0,
        {
            "convention": "haystack",
            "kind": "agent",
            "agent": "agent",
        },
    ),
    (
        "haystack@2/pipeline_agent",
        "haystack.component.run",
        1,
        {
            "convention": "haystack",
            "kind": "llm",
            "response_model": "gpt-5-mini-2026-03-15",
            "usage": (1013, 57, 0, None, 21),
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "haystack@2/tool_error",
        "haystack.component.run",
        1,
        {
            "convention": "haystack",
            "kind": "tool",
            "failed": True,
            "error_message": "Failed to invoke Tool `bad` with parameters {'city': 'Paris'",
            "tool_name": "bad",
            "tool_call_id": "call_a",
        },
    ),
    (
        "haystack/error_400",
        "haystack.component.run",
        1,
        {
            "convention": "haystack",
            "kind": "llm",
            "failed": True,
            "refused": True,
            "error_type": "haystack.core.errors.PipelineRuntimeError",
            "error_message": "PipelineRuntimeError: The following component failed to run:",
            "content": "full",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_are_those_of_the_generator() -> None:
    assert told(conventions.messages(captured("haystack/agent_tool_loop", "haystack.agent.step.llm", 1))) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Weather and population of Paris?"),
        ("input", "assistant", '{"tool_name":"get_weather","arguments":{"city":"Paris"},"id":"call_a"}'),
        ("input", "tool", "Sunny in Paris"),
        ("output", "assistant", '{"tool_name":"get_population","arguments":{"city":"Paris"},"id":"call_b"}'),
    ]


def without_content(span: Span) -> Span:
    kept = {k: v for k, v in span.attributes.items() if not k.endswith(("input", "output"))}
    return msgspec.structs.replace(span, attributes=kept)


def test_without_content_tracing_nobody_knows_the_usage() -> None:
    reading = conventions.read(without_content(captured("haystack/agent_tool_loop", "haystack.agent.step.llm")))
    assert reading is not None
    assert (reading.kind, bool(reading.usage), reading.content) == (StepKind.LLM, False, "none")


def test_an_invoker_of_several_tools_is_none_of_them() -> None:
    one = '{"content": [{"tool_call_result": {"result": "x", "origin": {"tool_name": "a", "id": "1"}}}]}'
    span = captured("haystack@2/tool_error", "haystack.component.run", 1)
    output = f'{{"tool_messages": [{one}, {one}]}}'
    span = msgspec.structs.replace(span, attributes={**span.attributes, "haystack.component.output": output})
    assert said(conventions.read(span))["tool_name"] == "ToolInvoker"


def test_generators_of_plain_text_tell_their_usage_beside_the_replies() -> None:
    output = '{"replies": ["Hello"], "meta": [{"model": "m", "usage": {"prompt_tokens": 7, "completion_tokens": 3}}]}'
    attributes = {"haystack.component.type": "OpenAIGenerator", "haystack.component.output": output}
    span = msgspec.structs.replace(
        captured("haystack/pipeline_single_chat", "haystack.component"), attributes=attributes
    )
    assert said(conventions.read(span))["usage"] == (7, 3, None, None, None)
    assert told(conventions.messages(span)) == [("output", "assistant", "Hello")]


@pytest.mark.parametrize(
    ("message", "refused"), [("Error: Error code: 400 - no", True), ("Error: Connection error.", False)]
)
def test_the_message_of_the_wrapper_says_whether_a_call_was_refused(message, refused) -> None:
    span = captured("haystack/error_400", "haystack.component.run", 1)
    told = msgspec.structs.replace(span, status_message=message)
    assert ("refused" in said(conventions.read(told))) == refused


def test_an_invoker_of_one_tool_tells_its_arguments_and_result() -> None:
    result = {"result": "Sunny", "origin": {"tool_name": "weather", "arguments": {"city": "Paris"}, "id": "c"}}
    span = Span(
        "t",
        "s",
        name="haystack.component.run",
        attributes={
            "haystack.component.type": "ToolInvoker",
            "haystack.component.input": '{"messages": []}',
            "haystack.component.output": msgspec.json.encode(
                {"tool_messages": [{"content": [{"tool_call_result": result}]}]}
            ).decode(),
        },
    )
    found = conventions.messages(span)
    assert [m.text for m in (*found.input, *found.output)] == ['{"city":"Paris"}', "Sunny"]
    assert found.input[0].raw == '{"messages": []}'
