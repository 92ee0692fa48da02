"""Logfire: real spans of its OpenAI client and OpenAI Agents instrumentations, and written ones."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "logfire-openai/streaming_chat",
        "Chat",
        0,
        {
            "convention": "logfire",
            "kind": "other",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini",
            "content": "truncated",
        },
    ),
    (
        "logfire-openai/streaming_chat",
        "streaming",
        0,
        {
            "convention": "logfire",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00423",
            "usage": (1013, 57, 0, None, 0),
            "reported_usd": "0.000186150000",
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "logfire-openai/responses_reasoning",
        "Resp",
        0,
        {
            "convention": "logfire",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2025-08-07",
            "response_id": "resp_fake00427",
            "usage": (1013, 90, 0, None, 33),
            "reported_usd": "0.000433250000",
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "logfire-openai@streams/streaming_abandoned",
        "streaming",
        0,
        {
            "convention": "logfire",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "chatcmpl_c4d3b42e_0001",
            "usage_cut": True,
            "streaming": True,
            "content": "truncated",
        },
    ),
    (
        "logfire-openai@streams/error_400",
        "Chat",
        0,
        {
            "convention": "logfire",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini",
            "failed": True,
            "refused": True,
            "error_type": "openai.BadRequestError",
            "error_message": "BadRequestError: Error code: 400 - refused as scripted",
            "content": "full",
        },
    ),
    (
        "logfire-openai-agents/tool_loop",
        "OpenAI Agents",
        0,
        {
            "convention": "logfire",
            "kind": "workflow",
        },
    ),
    (
        "logfire-openai-agents/tool_loop",
        "Agent run",
        0,
        {
            "convention": "logfire",
            "kind": "agent",
            "agent": "planner",
            "provider": "openai",
        },
    ),
    (
        "logfire-openai-agents/tool_loop",
        "Responses API",
        1,
        {
            "convention": "logfire",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "resp_fb3e207a_0002",
            "usage": (1187, 43, 768, 0, 9),
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "logfire-openai-agents/tool_loop",
        "Function",
        0,
        {
            "convention": "logfire",
            "kind": "tool",
            "provider": "openai",
            "tool_name": "get_weather",
        },
    ),
    (
        "logfire-openai-agents/error_400",
        "Agent run",
        0,
        {
            "convention": "logfire",
            "kind": "agent",
            "agent": "planner",
            "provider": "openai",
            "failed": True,
            "error_message": "Error in agent run",
        },
    ),
    (
        "logfire-openai-agents/tool_loop_chat_streaming",
        "Chat",
        0,
        {
            "convention": "logfire",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini",
            "content": "full",
            "notes": (
                "emitter_fault: openai-agents says 0 tokens of a stream that told none, and its bridges pass that on",
            ),
        },
    ),
    (
        "logfire-openai-agents/handoff",
        "Handoff",
        0,
        {
            "convention": "logfire",
            "kind": "other",
            "provider": "openai",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_a_pending_span_of_any_scope_is_no_step() -> None:
    for span in (captured("pydantic-ai/single_chat", "chat"), captured("logfire-openai/single_chat", "Chat")):
        assert conventions.read(span) is not None
        assert conventions.read(changed(span, logfire__span_type="pending_span")) is None


def test_a_request_that_failed_is_the_call() -> None:
    opening = captured("logfire-openai/streaming_chat", "Chat")
    reading = said(conventions.read(msgspec.structs.replace(opening, status_code=2, status_message="Error code: 400")))
    assert (reading["kind"], reading["refused"]) == ("llm", True)


def test_an_old_input_of_anthropic_gets_the_cache_that_it_leaves_out() -> None:
    """Written from Logfire's code before March 2026: the span's input is the provider's, which has no cache in it."""
    response = (
        '{"message": {"role": "assistant", "content": "Hello"}, "usage": {"input_tokens": 30, "output_tokens": 20, '
        '"cache_read_input_tokens": 60, "cache_creation_input_tokens": 10}}'
    )
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 30,
        "gen_ai.usage.output_tokens": 20,
        "request_data": '{"system": "Be brief.", "messages": [{"role": "user", "content": "Hi"}]}',
        "response_data": response,
        "async": False,
    }
    span = made(attributes, name="Message with {request_data[model]!r}", scope="logfire.anthropic")
    assert said(conventions.read(span))["usage"] == (100, 20, 60, 10, None)
    assert told(conventions.messages(span)) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Hi"),
        ("output", "assistant", "Hello"),
    ]


def test_partial_counts_of_the_claude_agent_sdk_are_none_and_its_root_counts() -> None:
    """Written from Logfire's code: chats say gen_ai.usage.partial.*, the root the sum and what it cost."""
    trace = TraceBuilder("claude")
    scope = "logfire.claude_agent_sdk"
    total: Attributes = {"gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 30, "operation.cost": 0.25}
    chat: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.partial.input_tokens": 99,
        "gen_ai.usage.partial.output_tokens": 1,
    }
    root: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.conversation.id": "s-9", **total}
    agent = trace.span("invoke_agent", root, duration_ms=9, scope=scope)
    for _ in range(2):
        trace.span("chat claude-sonnet-4-5", dict(chat), parent=agent, scope=scope)
    (run,) = project(trace.spans)
    assert (run.tokens.input_tokens, run.tokens.output_tokens, run.session_id) == (300, 30, "s-9")
    assert run.cost_estimate is not None
    assert str(run.cost_estimate.usd) == "0.250000000000"


def test_messages_of_the_bridge_are_its_events_and_its_lists() -> None:
    call = [
        ("input", "user", "Weather and population of Paris?"),
        (
            "output",
            "assistant",
            '{"id":"call_a","function":{"name":"get_weather","arguments":"{\\"city\\": \\"Paris\\"}"}}',
        ),
    ]
    assert told(conventions.messages(captured("logfire-openai-agents/tool_loop", "Responses API"))) == call
    chat = told(conventions.messages(captured("logfire-openai-agents/tool_loop_chat", "Chat", 2)))
    assert [(side, role) for side, role, _ in chat] == [
        ("system", "system"),
        ("input", "user"),
        ("input", "assistant"),
        ("input", "tool"),
        ("input", "assistant"),
        ("input", "tool"),
        ("output", "assistant"),
    ]
    assert chat[-1][2] == "Sunny, 2.1 million."
    tool = captured("logfire-openai-agents/tool_loop", "Function")
    assert told(conventions.messages(tool)) == [
        ("input", "tool", '{"city": "Paris"}'),
        ("output", "tool", "Sunny in Paris"),
    ]


@pytest.mark.parametrize(("group", "session"), [("null", None), ("grp-7", "grp-7")])
def test_a_group_is_the_session(group, session) -> None:
    root = changed(captured("logfire-openai-agents/tool_loop", "OpenAI Agents"), group_id=group)
    assert said(conventions.read(root)).get("session_id") == session


def test_an_image_is_no_stream() -> None:
    attributes: Attributes = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "m", "async": False}
    span = made(attributes, name="Image Generation with {request_data[model]!r}", scope="logfire.openai")
    assert said(conventions.read(span))["kind"] == "llm"
