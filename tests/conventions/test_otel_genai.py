"""OTel GenAI, from its oldest spellings to today's, on real spans."""

from __future__ import annotations

import pytest
from captured import captured, made, said, told

from otel_runlog import conventions

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "otel-genai-openai/tool_loop",
        "chat",
        0,
        {
            "convention": "otel_genai",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00055",
            "usage": (1013, 57, None, None, None),
            "service_tier": "default",
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "otel-genai-openai/error_429",
        "chat",
        0,
        {
            "convention": "otel_genai",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "failed": True,
            "refused": True,
            "error_type": "openai.RateLimitError",
            "error_message": "Error code: 429 - Rate limit reached for gpt-4o-mini in orga",
            "content": "full",
        },
    ),
    (
        "otel-genai-openai/streaming_abandoned",
        "chat",
        0,
        {
            "convention": "otel_genai",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00053",
            "usage_cut": True,
            "service_tier": "default",
            "time_to_first_token_ms": 18.257363999964582,
            "streaming": True,
            "finish_reason": "error",
            "content": "truncated",
        },
    ),
    (
        "otel-genai-openai/responses_reasoning",
        "chat",
        0,
        {
            "convention": "otel_genai",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2025-08-07",
            "response_id": "resp_fake00066",
            "usage": (1013, 90, None, None, 33),
            "service_tier": "default",
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "otel-openai-v2/embeddings",
        "embeddings",
        0,
        {
            "convention": "otel_genai",
            "kind": "embedding",
            "provider": "openai",
            "request_model": "text-embedding-3-small",
            "response_model": "text-embedding-3-small",
            "usage": (11, None, None, None, None),
        },
    ),
    (
        "otel-openai-v2@legacy/single_chat",
        "chat",
        0,
        {
            "convention": "otel_genai",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00197",
            "usage": (1013, 57, None, None, None),
            "service_tier": "default",
            "finish_reason": "stop",
            "params": {"temperature": 0.3, "max_tokens": 200, "seed": 7},
        },
    ),
    (
        "otel-genai-anthropic/prompt_cache_streaming",
        "chat",
        1,
        {
            "convention": "otel_genai",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00330",
            "usage": (1922, 64, 768, 128, None),
            "time_to_first_token_ms": 60.15120900008242,
            "streaming": True,
            "finish_reason": "stop",
            "params": {"max_tokens": 1024},
            "content": "full",
        },
    ),
    (
        "otel-genai-langchain/multi_turn",
        "invoke_agent",
        0,
        {"convention": "otel_genai", "kind": "agent", "session_id": "sess-42"},
    ),
    (
        "otel-genai-langchain/tool_loop",
        "execute_tool",
        0,
        {"convention": "otel_genai", "kind": "tool", "tool_name": "get_weather", "tool_call_id": "call_00406_0"},
    ),
    (
        "otel-genai-openai-agents/workflow_two_runs",
        "invoke_workflow",
        0,
        {"convention": "otel_genai", "kind": "workflow", "agent": "Two step workflow", "session_id": "grp-7"},
    ),
    (
        "otel-genai-openai-agents@withclient/tool_loop",
        "invoke_agent",
        0,
        {"convention": "otel_genai", "kind": "agent", "agent": "Helper"},
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_of_a_second_turn_with_the_system_prompt_apart() -> None:
    assert told(conventions.messages(captured("otel-genai-openai/tool_loop", "chat", 1))) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]"),
        ("input", "assistant", '{"arguments":{"city":"Paris"},"name":"get_weather","id":"call_00055_0"}'),
        ("input", "tool", "Sunny, 21 C in Paris"),
        ("output", "assistant", '{"arguments":{"city":"Paris"},"name":"get_population","id":"call_00056_0"}'),
    ]


def test_tool_definitions_are_messages_of_their_own() -> None:
    tools = conventions.messages(captured("otel-genai-openai/tool_loop", "chat")).tools
    assert [t.text[:21] for t in tools] == ['{"name":"get_weather"', '{"name":"get_populati']


def test_arguments_and_result_of_a_tool() -> None:
    span = captured("otel-genai-langchain/tool_loop", "execute_tool")
    assert told(conventions.messages(span)) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.operation.name": "chat"}, "llm"),
        ({"gen_ai.operation.name": "CHAT"}, "llm"),
        ({"gen_ai.operation.name": "invoke_workflow"}, "workflow"),
        ({"gen_ai.operation.name": "retrieval"}, "retriever"),
        ({"gen_ai.operation.name": "never_heard_of"}, "other"),
        ({"gen_ai.operation.name": "never_heard_of", "gen_ai.request.model": "m"}, "other"),
        ({"gen_ai.operation.name": "transcribe", "gen_ai.request.model": "m", "gen_ai.usage.input_tokens": 1}, "llm"),
        ({"gen_ai.operation.name": "never_heard_of", "gen_ai.tool.name": "add"}, "tool"),
        ({"gen_ai.tool.name": "add"}, "tool"),
        ({"gen_ai.request.model": "m"}, "llm"),
        ({"gen_ai.request.model": "m", "http.request.method": "POST"}, None),
        ({"gen_ai.request.model": "m", "rpc.system": "grpc", "gen_ai.usage.output_tokens": 1}, "llm"),
        ({"gen_ai.conversation.id": "c"}, None),
        ({"llm.request.type": "embedding", "gen_ai.system": "x"}, "embedding"),
    ],
)
def test_kind_by_operation_else_by_what_else_is_there(attributes, expected) -> None:
    reading = conventions.read(made(attributes))
    assert (reading and str(reading.kind)) == expected


def test_creating_an_agent_roots_no_run() -> None:
    reading = conventions.read(made({"gen_ai.operation.name": "create_agent", "gen_ai.agent.name": "a"}))
    assert reading is not None
    assert (str(reading.kind), reading.rootless) == ("other", True)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.conversation.id": "c1", "session.id": "s1"}, "c1"),
        ({"gen_ai.conversation.id": "resp_067", "session.id": "s1"}, "s1"),
        ({"gen_ai.conversation.id": "resp_067"}, None),
        ({"gen_ai.conversation.id": "conv_1"}, "conv_1"),
        ({"mcp.session.id": "m1"}, None),
        ({"metadata": '{"thread_id": "t1"}'}, "t1"),
        ({"metadata": "{'session_id': 's2'}"}, "s2"),
        ({"metadata": "no json, though it says session_id"}, None),
    ],
)
def test_a_session_is_a_conversation_and_nothing_else(attributes, expected) -> None:
    assert said(conventions.read(made({"gen_ai.operation.name": "chat", **attributes}))).get("session_id") == expected


def test_older_names_say_the_same_as_todays() -> None:
    old = {
        "gen_ai.system": "openai",
        "gen_ai.usage.prompt_tokens": 10,
        "gen_ai.usage.completion_tokens": 4,
        "gen_ai.openai.request.seed": 7,
        "gen_ai.openai.request.service_tier": "flex",
        "gen_ai.openai.response.service_tier": "default",
        "gen_ai.request.model": "m",
        "llm.request.type": "chat",
    }
    new = {
        "gen_ai.provider.name": "openai",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.request.seed": 7,
        "openai.request.service_tier": "flex",
        "openai.response.service_tier": "default",
        "gen_ai.request.model": "m",
        "gen_ai.operation.name": "chat",
    }
    assert said(conventions.read(made(old))) == said(conventions.read(made(new)))


def test_bedrock_and_google_leave_parts_out_of_their_sums() -> None:
    chat = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 3, "gen_ai.usage.output_tokens": 10}
    cached = {**chat, "gen_ai.usage.cache_read.input_tokens": 2, "gen_ai.usage.cache_creation.input_tokens": 1}
    bedrock = conventions.read(made(cached, scope="opentelemetry.instrumentation.genai.bedrock", version="1.3b0"))
    assert said(bedrock)["usage"] == (6, 10, 2, 1, None)
    thought = {**chat, "gen_ai.usage.reasoning.output_tokens": 5}
    google = conventions.read(
        made(thought, scope="opentelemetry.instrumentation.google_generativeai", version="0.62.4")
    )
    assert said(google)["usage"] == (3, 15, None, None, 5)
