"""Traceloop, version 0.40 and today's, on real spans."""

from __future__ import annotations

import pytest
from captured import captured, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "traceloop-langchain/tool_loop",
        "create_agent",
        0,
        {"convention": "traceloop", "kind": "other", "agent": "agent", "provider": "langchain", "rootless": True},
    ),
    (
        "traceloop-langchain/tool_loop",
        "invoke_agent",
        0,
        {"convention": "traceloop", "kind": "agent", "agent": "LangGraph", "provider": "langgraph"},
    ),
    (
        "traceloop-langchain/tool_loop",
        "LangGraph.workflow",
        0,
        {"convention": "traceloop", "kind": "agent", "agent": "LangGraph", "provider": "langgraph"},
    ),
    (
        "traceloop-langchain/tool_loop",
        "execute_task",
        0,
        {"convention": "traceloop", "kind": "chain", "provider": "langgraph"},
    ),
    (
        "traceloop-langchain/tool_loop",
        "execute_tool",
        0,
        {
            "convention": "traceloop",
            "kind": "tool",
            "provider": "langgraph",
            "tool_name": "get_weather",
            "tool_call_id": "call_00004_0",
        },
    ),
    (
        "traceloop-langchain/multi_turn",
        "ChatOpenAI",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00052",
            "usage": (1013, 57, 0, None, None),
            "session_id": "sess-42",
            "user_id": "u1",
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "traceloop-openai/streaming_chat",
        "openai.chat",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00150",
            "usage": (1013, 57, 0, None, None),
            "time_to_first_token_ms": 32.174117,
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "traceloop-openai/error_429",
        "openai.chat",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "failed": True,
            "refused": True,
            "error_type": "RateLimitError",
            "error_message": "Error code: 429 - Rate limit reached for gpt-4o-mini in orga",
            "streaming": False,
            "content": "full",
        },
    ),
    (
        "traceloop-openai/streaming_cut",
        "openai.chat",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00153",
            "usage_cut": True,
            "time_to_first_token_ms": 20.87521,
            "streaming": True,
            "content": "truncated",
        },
    ),
    (
        "traceloop-anthropic@sdkoff/streaming_chat",
        "anthropic.chat",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00505",
            "usage": (1013, 58, 0, 0, None),
            "usage_fault": True,
            "warnings": ("emitter_fault: Traceloop's Anthropic streams count message_start's output_tokens twice",),
            "streaming": True,
            "finish_reason": "stop",
            "params": {"max_tokens": 1024},
            "content": "full",
        },
    ),
    (
        "traceloop-sdk/agent_tool_loop",
        "weather_agent",
        0,
        {"convention": "traceloop", "kind": "agent", "agent": "weather_agent"},
    ),
    (
        "traceloop-sdk/agent_tool_loop",
        "get_weather",
        0,
        {"convention": "traceloop", "kind": "tool", "agent": "weather_agent", "tool_name": "get_weather"},
    ),
    (
        "traceloop-sdk/embeddings",
        "openai",
        0,
        {
            "convention": "traceloop",
            "kind": "embedding",
            "provider": "openai",
            "request_model": "text-embedding-3-small",
            "response_model": "text-embedding-3-small",
            "usage": (11, None, 0, None, None),
            "session_id": "sess-42",
            "user_id": "u1",
            "streaming": False,
            "content": "full",
        },
    ),
    (
        "traceloop-sdk@0.40/workflow_tool_loop",
        "openai.chat",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "OpenAI",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00207",
            "usage": (1013, 57, 0, None, None),
            "streaming": False,
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "traceloop-sdk@0.40/anthropic_prompt_cache",
        "anthropic.chat",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "Anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00236",
            "usage": (1653, 57, 0, 640, None),
            "session_id": "sess-42",
            "user_id": "u1",
            "finish_reason": "end_turn",
            "content": "full",
        },
    ),
    (
        "traceloop-openai-agents/reasoning",
        "openai.response",
        0,
        {
            "convention": "traceloop",
            "kind": "llm",
            "provider": "openai",
            "response_model": "gpt-5-mini-2025-08-07",
            "response_id": "resp_fake00251",
            "usage": (1013, 90, 0, None, 33),
            "finish_reason": "tool_call",
            "params": {"temperature": 1.0, "top_p": 1.0},
            "content": "full",
        },
    ),
    (
        "traceloop-openai-agents/workflow_two_runs",
        "Agent Workflow",
        0,
        {"convention": "traceloop", "kind": "workflow", "provider": "openai"},  # the trace of openai-agents is no agent
    ),
    (
        "traceloop-openai-agents@nocontent/handoff",
        "Triage →",
        0,
        {"convention": "traceloop", "kind": "other", "agent": "Triage", "provider": "openai"},
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_flattened_messages_of_version_0_40() -> None:
    calls = [
        r'{"id":"call_00207_0","name":"get_weather","arguments":"{\"city\": \"Paris\"}"}',
        r'{"id":"call_00208_0","name":"get_population","arguments":"{\"city\": \"Paris\"}"}',
    ]
    assert told(conventions.messages(captured("traceloop-sdk@0.40/workflow_tool_loop", "openai.chat", 1))) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]"),
        ("input", "assistant", calls[0]),
        ("input", "tool", "Sunny, 21 C in Paris"),
        ("output", "assistant", calls[1]),
    ]


@pytest.mark.parametrize(
    "span",
    [
        ("traceloop-langchain/tool_loop", "execute_tool"),
        ("traceloop-sdk/agent_tool_loop", "get_weather.tool"),
    ],
)
def test_a_tools_values_out_of_what_is_wrapped_around_them(span) -> None:
    assert told(conventions.messages(captured(*span))) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]


def test_an_agent_that_repeats_its_calls_is_no_call() -> None:
    attributes: Attributes = {
        "traceloop.span.kind": "agent",
        "crewai.agent.role": "Writer",
        "gen_ai.request.model": "m-std",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 4,
    }
    reading = said(conventions.read(made(attributes, scope="opentelemetry.instrumentation.crewai", version="0.62.4")))
    assert (reading["kind"], reading["agent"], reading["usage"]) == ("agent", "Writer", (10, 4, None, None, None))


def test_bedrock_passes_the_input_without_the_cache() -> None:
    attributes: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "aws.bedrock",
        "gen_ai.request.model": "claude-sonnet-4-5",
        "gen_ai.usage.input_tokens": 1026,
        "gen_ai.usage.output_tokens": 64,
        "gen_ai.usage.total_tokens": 1090,
        "gen_ai.usage.cache_read.input_tokens": 768,
        "gen_ai.usage.cache_creation.input_tokens": 128,
    }
    reading = said(conventions.read(made(attributes, scope="opentelemetry.instrumentation.bedrock", version="0.62.4")))
    assert reading["usage"] == (1922, 64, 768, 128, None)
    assert "warnings" not in reading
    assert "notes" not in reading


def test_ollama_still_writes_the_old_names() -> None:
    attributes: Attributes = {
        "llm.request.type": "chat",
        "gen_ai.system": "Ollama",
        "gen_ai.request.model": "llama3",
        "gen_ai.prompt.0.role": "user",
        "gen_ai.prompt.0.content": "Say hi.",
        "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.content": "hi",
        "gen_ai.completion.0.finish_reason": "stop",
        "gen_ai.usage.input_tokens": 26,
        "gen_ai.usage.output_tokens": 2,
        "llm.usage.total_tokens": 28,
    }
    span = made(attributes, name="ollama.chat", scope="opentelemetry.instrumentation.ollama", version="0.62.4")
    assert said(conventions.read(span)) == {
        "convention": "traceloop",
        "kind": "llm",
        "provider": "Ollama",
        "request_model": "llama3",
        "usage": (26, 2, None, None, None),
        "finish_reason": "stop",
        "content": "full",
    }
    assert told(conventions.messages(span)) == [("input", "user", "Say hi."), ("output", "assistant", "hi")]


@pytest.mark.parametrize(
    ("scope", "version", "expected"),
    [
        ("opentelemetry.instrumentation.openai.v1", "0.62.4", "traceloop"),
        ("opentelemetry.instrumentation.anthropic", "0.40.14", "traceloop"),
        ("@traceloop/instrumentation-openai", "0.27.0", "traceloop"),
        ("traceloop.tracer", "", "traceloop"),
        ("opentelemetry.instrumentation.openai_v2", "2.4b0", "otel_genai"),
        ("opentelemetry.instrumentation.vertexai", "2.1b0", "otel_genai"),
        ("my.service.v1", "", "otel_genai"),
    ],
)
def test_the_scope_tells_whose_call_it_is(scope, version, expected) -> None:
    reading = conventions.read(made({"gen_ai.operation.name": "chat"}, scope=scope, version=version))
    assert said(reading)["convention"] == expected


@pytest.mark.parametrize("kind", ["session", "unknown", "handoff"])
def test_kinds_that_say_nothing_are_other(kind) -> None:
    assert said(conventions.read(made({"traceloop.span.kind": kind})))["kind"] == "other"


def test_a_span_with_associated_properties_alone_is_no_step() -> None:
    assert conventions.read(made({"traceloop.association.properties.session_id": "s", "http.method": "GET"})) is None
