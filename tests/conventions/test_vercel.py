"""Vercel AI SDK 5, 6 and 7 on real spans."""

from __future__ import annotations

import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "vercel-ai-v5/anthropic_cache",
        "ai.generateText.doGenerate",
        1,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "anthropic.messages",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00238",
            "usage": (1922, 64, 768, 128, None),
            "service_tier": "standard",
            "user_id": "u1",
            "streaming": False,
            "finish_reason": "tool-calls",
            "content": "full",
        },
    ),
    (
        "vercel-ai-v5/anthropic_cache",
        "ai.generateText",
        0,
        {
            "convention": "vercel_ai",
            "kind": "agent",
            "agent": "weather-agent",
            "provider": "anthropic.messages",
            "request_model": "claude-sonnet-4-5",
            "usage": (1935, 71, 768, 128, None),
            "service_tier": "standard",
            "user_id": "u1",
            "total_is_no_sum": True,
        },
    ),
    (
        "vercel-ai-v5/streaming_chat",
        "ai.streamText.doStream",
        0,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "openai.chat",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00215",
            "usage": (1013, 57, 0, None, 0),
            "time_to_first_token_ms": 79.8445200000001,
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "vercel-ai-v5/tool_loop",
        "ai.toolCall",
        0,
        {
            "convention": "vercel_ai",
            "kind": "tool",
            "user_id": "u1",
            "tool_name": "get_weather",
            "tool_call_id": "call_00216_0",
        },
    ),
    (
        "vercel-ai-v5/embeddings",
        "ai.embedMany.doEmbed",
        0,
        {
            "convention": "vercel_ai",
            "kind": "embedding",
            "provider": "openai.embedding",
            "request_model": "text-embedding-3-small",
            "usage": (11, None, None, None, None),
            "content": "full",
        },
    ),
    (
        "vercel-ai-v5/embeddings",
        "ai.embedMany",
        0,
        {
            "convention": "vercel_ai",
            "kind": "chain",
            "provider": "openai.embedding",
            "request_model": "text-embedding-3-small",
            "usage": (11, None, None, None, None),
        },
    ),
    (
        "vercel-ai-v6/anthropic_cache",
        "ai.generateText.doGenerate",
        1,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "anthropic.messages",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00182",
            "usage": (1922, 64, 768, 128, None),
            "service_tier": "standard",
            "user_id": "u1",
            "streaming": False,
            "finish_reason": "tool-calls",
            "content": "full",
        },
    ),
    (
        "vercel-ai-v6/anthropic_cache",
        "ai.generateText",
        0,
        {
            "convention": "vercel_ai",
            "kind": "agent",
            "agent": "weather-agent",
            "provider": "anthropic.messages",
            "request_model": "claude-sonnet-4-5",
            "usage": (5510, 192, 1536, 896, None),
            "service_tier": "standard",
            "user_id": "u1",
            "total_is_no_sum": True,
        },
    ),
    (
        "vercel-ai-v6/error_429",
        "ai.generateText.doGenerate",
        0,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "openai.chat",
            "request_model": "gpt-4o-mini",
            "user_id": "u1",
            "failed": True,
            "refused": True,
            "error_type": "AI_APICallError",
            "error_message": "Rate limit reached for gpt-4o-mini in organization org-fake ",
            "streaming": False,
            "content": "full",
        },
    ),
    (
        "vercel-ai-v6/generate_object",
        "ai.generateObject.doGenerate",
        0,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "openai.chat",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00174",
            "usage": (1013, 57, None, None, None),
            "streaming": False,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "vercel-ai-v7/streaming_chat",
        "chat",
        0,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00010",
            "usage": (1013, 57, 0, None, None),
            "time_to_first_token_ms": 64.46810399999981,
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "vercel-ai-v7/tool_loop",
        "invoke_agent",
        0,
        {
            "convention": "vercel_ai",
            "kind": "agent",
            "agent": "weather-agent",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "usage": (3078, 192, 0, None, None),
            "total_is_no_sum": True,
        },
    ),
    (
        "vercel-ai-v7/no_function_id",
        "invoke_agent",
        0,
        {
            "convention": "vercel_ai",
            "kind": "agent",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "usage": (1013, 57, 0, None, None),
            "total_is_no_sum": True,
        },
    ),
    ("vercel-ai-v7/tool_loop", "step 1", 0, {"convention": "vercel_ai", "kind": "chain"}),
    (
        "vercel-ai-v7@full/anthropic_cache",
        "chat",
        1,
        {
            "convention": "vercel_ai",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00085",
            "usage": (1922, 64, 768, 128, None),
            "service_tier": "standard",
            "finish_reason": "tool-calls",
            "content": "full",
        },
    ),
    (
        "vercel-ai-v7/tool_error",
        "execute_tool",
        0,
        {
            "convention": "vercel_ai",
            "kind": "tool",
            "failed": True,
            "error_type": "Error",
            "error_message": "mayor database is down",
            "tool_name": "broken_tool",
            "tool_call_id": "call_00035_0",
        },
    ),
    (
        "vercel-ai-v7/embeddings",
        "embeddings",
        1,
        {
            "convention": "vercel_ai",
            "kind": "embedding",
            "provider": "openai",
            "request_model": "text-embedding-3-small",
            "usage": (11, None, None, None, None),
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_of_version_5() -> None:
    made_call = r'{"toolCallId":"call_00217_0","toolName":"get_population","input":"{\"city\": \"Paris\"}"}'
    assert told(conventions.messages(captured("vercel-ai-v5/tool_loop", "ai.generateText.doGenerate", 1))) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]"),
        ("input", "assistant", '{"toolCallId":"call_00216_0","toolName":"get_weather","input":{"city":"Paris"}}'),
        ("input", "tool", "Sunny, 21 C in Paris"),
        ("output", "assistant", made_call),
    ]


def test_the_roots_prompt_and_answer() -> None:
    assert told(conventions.messages(captured("vercel-ai-v5/tool_loop", "ai.generateText"))) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]"),
        ("output", "assistant", "Answer 3: it is sunny in Paris, 21 C, and about 2.1 million people live there."),
    ]


def test_arguments_and_result_of_a_tool() -> None:
    assert told(conventions.messages(captured("vercel-ai-v6/tool_loop", "ai.toolCall"))) == [
        ("input", "tool", '{"city":"Paris"}'),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]


@pytest.mark.parametrize(
    "user_agent", ["ai/5.0.277", "ai/6.0.326", "ai/7.0.173", None, "ai/", "ai/x.y", "ai/" + "9" * 5000, 5]
)
def test_what_anthropic_said_itself_decides_where_the_cache_stands(user_agent) -> None:
    span = captured("vercel-ai-v5/anthropic_cache", "ai.generateText.doGenerate", 1)
    reading = conventions.read(changed(span, **{"ai.request.headers.user-agent": user_agent}))
    assert said(reading)["usage"] == (1922, 64, 768, 128, None)


@pytest.mark.parametrize(("user_agent", "expected"), [("ai/5.0.0", 112), ("ai/6.0.0", 100), (None, 100)])
def test_without_it_the_version_does(user_agent, expected) -> None:
    attributes: Attributes = {
        "ai.operationId": "ai.generateText.doGenerate",
        "ai.usage.inputTokens": 100,
        "ai.usage.outputTokens": 5,
        "ai.response.providerMetadata": '{"bedrock":{"usage":{"cacheReadInputTokens":12}}}',
    }
    span = changed(made(attributes, scope="ai"), **{"ai.request.headers.user-agent": user_agent})
    assert said(conventions.read(span))["usage"] == (expected, 5, 12, None, None)


def test_lifetimes_of_cache_writes_stand_in_the_metadata() -> None:
    reading = conventions.read(captured("vercel-ai-v7@full/anthropic_cache", "chat"))
    assert reading is not None
    assert (reading.usage.cache_write_5m_tokens, reading.usage.cache_write_1h_tokens) == (640, 0)


def test_seed_and_settings_of_a_call_and_of_version_7s_root() -> None:
    settings: Attributes = {"ai.settings.seed": 7, "ai.settings.maxOutputTokens": 200, "ai.settings.temperature": 0.3}
    call = conventions.read(made({"ai.operationId": "ai.streamText.doStream", **settings}, scope="ai"))
    assert said(call)["params"] == {"temperature": 0.3, "max_tokens": 200, "seed": 7}
    root = changed(captured("vercel-ai-v7/tool_loop", "invoke_agent"), gen_ai__request__seed=7)
    assert said(conventions.read(root))["params"] == {"seed": 7}


def test_session_and_user_of_telemetry_metadata() -> None:
    told_once: Attributes = {"ai.telemetry.metadata.sessionId": "s1", "ai.telemetry.metadata.userId": "u1"}
    reading = said(conventions.read(made({"ai.operationId": "ai.generateText", **told_once}, scope="ai")))
    assert (reading["session_id"], reading["user_id"]) == ("s1", "u1")


def test_an_operation_of_a_later_version_is_other() -> None:
    assert said(conventions.read(made({"ai.operationId": "ai.generateVideo"}, scope="ai")))["kind"] == "other"
