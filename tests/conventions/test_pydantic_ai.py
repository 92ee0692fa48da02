"""Pydantic AI 2 (span formats 2, 5 and 6) and 1.0 on real spans."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "pydantic-ai/tool_loop",
        "chat",
        1,
        {
            "convention": "pydantic_ai",
            "kind": "llm",
            "agent": "weather_helper",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00075",
            "usage": (1026, 64, None, None, 0),
            "reported_usd": "0.000192300000",
            "session_id": "01a22734-308a-70d0-b619-affd477742fe",
            "native_run_id": "01a22734-308a-70d0-b619-affcff7ebc19",
            "finish_reason": "tool_call",
            "content": "full",
        },
    ),
    (
        "pydantic-ai/tool_loop",
        "invoke_agent",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "agent",
            "agent": "weather_helper",
            "request_model": "gpt-4o-mini",
            "usage": (3078, 192, None, None, 0),
            "session_id": "01a22734-308a-70d0-b619-affd477742fe",
            "native_run_id": "01a22734-308a-70d0-b619-affcff7ebc19",
            "total_is_no_sum": True,
        },
    ),
    (
        "pydantic-ai/tool_loop",
        "execute_tool",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "tool",
            "agent": "weather_helper",
            "session_id": "01a22734-308a-70d0-b619-affd477742fe",
            "native_run_id": "01a22734-308a-70d0-b619-affcff7ebc19",
            "tool_name": "get_weather",
            "tool_call_id": "call_00074_0",
        },
    ),
    (
        "pydantic-ai@v2/anthropic_cache",
        "agent run",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "agent",
            "agent": "claude",
            "request_model": "claude-sonnet-4-5",
            "usage": (5510, 192, 1536, 896, None),
            "session_id": "01a22735-1c42-73fc-a380-da5779baaf64",
            "native_run_id": "01a22735-1c42-73fc-a380-da560b9dfe4b",
            "total_is_no_sum": True,
        },
    ),
    (
        "pydantic-ai@v2/anthropic_cache",
        "chat",
        1,
        {
            "convention": "pydantic_ai",
            "kind": "llm",
            "agent": "claude",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00134",
            "usage": (1922, 64, 768, 128, None),
            "reported_usd": "0.004748400000",
            "session_id": "01a22735-1c42-73fc-a380-da5779baaf64",
            "native_run_id": "01a22735-1c42-73fc-a380-da560b9dfe4b",
            "finish_reason": "tool_call",
            "content": "full",
        },
    ),
    (
        "pydantic-ai@v2/anthropic_cache",
        "running tool",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "tool",
            "agent": "claude",
            "session_id": "01a22735-1c42-73fc-a380-da5779baaf64",
            "native_run_id": "01a22735-1c42-73fc-a380-da560b9dfe4b",
            "tool_name": "get_weather",
            "tool_call_id": "toolu_00133_0",
        },
    ),
    (
        "pydantic-ai-1.0/pipeline_two_agents",
        "agent run",
        1,
        {
            "convention": "pydantic_ai",
            "kind": "agent",
            "agent": "second",
            "request_model": "gpt-4o-mini",
            "usage": (2091, 149, None, None, None),
            "total_is_no_sum": True,
        },
    ),
    (
        "pydantic-ai-1.0/streaming_tool_loop",
        "running tool",
        1,
        {"convention": "pydantic_ai", "kind": "tool", "tool_name": "get_population", "tool_call_id": "call_00251_0"},
    ),
    ("pydantic-ai-1.0/streaming_tool_loop", "running tools", 0, {"convention": "pydantic_ai", "kind": "chain"}),
    (
        "pydantic-ai-1.0/tool_error",
        "agent run",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "agent",
            "agent": "mayor",
            "request_model": "gpt-4o-mini",
            "usage": (1013, 57, None, None, None),
            "failed": True,
            "error_type": "ValueError",
            "error_message": "ValueError: mayor database is down",
            "total_is_no_sum": True,
        },
    ),
    (
        "pydantic-ai@nocontent/single_chat",
        "chat",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "llm",
            "agent": "agent",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00181",
            "usage": (1013, 57, None, None, 0),
            "reported_usd": "0.000186150000",
            "session_id": "01a22735-9a5c-77b4-bc9c-83dcfa8680d1",
            "native_run_id": "01a22735-9a5c-77b4-bc9c-83dbdf925081",
            "finish_reason": "stop",
        },
    ),
    (
        "pydantic-ai@v6/error_429",
        "chat",
        0,
        {
            "convention": "pydantic_ai",
            "kind": "llm",
            "agent": "failing",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "session_id": "01a22735-638f-7376-81ea-08cd114bf74f",
            "native_run_id": "01a22735-638f-7376-81ea-08cc9bf940f1",
            "failed": True,
            "refused": True,
            "error_type": "pydantic_ai.exceptions.ModelRateLimitError",
            "error_message": "ModelRateLimitError: status_code: 429, model_name: gpt-4o-mi",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_of_a_call_of_a_tool_and_of_the_agent() -> None:
    asked = ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]")
    answer = "Answer 3: it is sunny in Paris, 21 C, and about 2.1 million people live there."
    agent = told(conventions.messages(captured("pydantic-ai/tool_loop", "invoke_agent")))
    assert agent[:2] == [("system", "system", "You are a helpful assistant."), asked]
    assert agent[-2:] == [("input", "tool", "2.1 million people live in Paris"), ("output", "assistant", answer)]
    assert told(conventions.messages(captured("pydantic-ai/tool_loop", "execute_tool"))) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]
    assert told(conventions.messages(captured("pydantic-ai-1.0/streaming_tool_loop", "running tool", 1))) == [
        ("input", "tool", '{"city": "Paris"}'),
        ("output", "tool", "2.1 million people live in Paris"),
    ]


def test_results_of_tools_in_user_messages_are_the_tools() -> None:
    roles = [m.role for m in conventions.messages(captured("pydantic-ai-1.0/streaming_tool_loop", "chat", 1)).input]
    assert roles == ["user", "assistant", "tool"]


EVENTS = """[
    {"content": "You are terse.", "role": "system", "gen_ai.message.index": 0, "event.name": "gen_ai.system.message"},
    {"content": "Paris?", "role": "user", "gen_ai.message.index": 0, "event.name": "gen_ai.user.message"},
    {"role": "assistant", "tool_calls": [{"id": "c1", "type": "function",
     "function": {"name": "add", "arguments": "{}"}}], "event.name": "gen_ai.assistant.message"},
    {"content": "3", "role": "tool", "id": "c1", "name": "add", "event.name": "gen_ai.tool.message"},
    {"index": 0, "message": {"role": "assistant", "content": "Three."}, "event.name": "gen_ai.choice"}]"""


def test_version_1_tells_messages_as_events() -> None:
    span = changed(
        captured("pydantic-ai-1.0/streaming_tool_loop", "chat"),
        gen_ai__input__messages=None,
        gen_ai__output__messages=None,
        gen_ai__system_instructions=None,
        events=EVENTS,
    )
    assert said(conventions.read(span))["content"] == "full"
    assert told(conventions.messages(span)) == [
        ("system", "system", "You are terse."),
        ("input", "user", "Paris?"),
        ("input", "assistant", '{"id":"c1","function":{"name":"add","arguments":"{}"}}'),
        ("input", "tool", "3"),
        ("output", "assistant", "Three."),
    ]


def test_version_1s_events_cut_short_are_truncated() -> None:
    span = changed(captured("pydantic-ai-1.0/streaming_tool_loop", "chat"), events=EVENTS[:-40])
    assert said(conventions.read(span))["content"] == "truncated"


def test_version_1s_agent_has_all_messages_as_events() -> None:
    attributes: Attributes = {"agent_name": "a", "all_messages_events": EVENTS, "final_result": "Three."}
    span = made(attributes, name="agent run", scope="pydantic-ai", version="1.0.18")
    assert said(conventions.read(span))["agent"] == "a"
    assert told(conventions.messages(span))[-1] == ("output", "assistant", "Three.")


def test_without_aggregated_names_the_agents_sum_is_still_no_call() -> None:
    span = captured("pydantic-ai/tool_loop", "invoke_agent")
    plain = {k.replace("aggregated_usage", "usage"): v for k, v in span.attributes.items()}
    assert said(conventions.read(msgspec.structs.replace(span, attributes=plain))) == said(conventions.read(span))
