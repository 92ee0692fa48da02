"""OpenInference on real spans of the instrumentations that write it."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes, AttrValue

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "openinference-openai/streaming_chat",
        "ChatCompletion",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00099",
            "usage": (1013, 57, 0, None, 0),
            "service_tier": "default",
            "time_to_first_token_ms": 20.651448,
            "streaming": True,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "openinference-openai/error_500",
        "ChatCompletion",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "failed": True,
            "refused": True,
            "error_type": "openai.InternalServerError",
            "error_message": "InternalServerError: Error code: 500 - The server had an err",
            "content": "full",
        },
    ),
    (
        "openinference-openai/streaming_cut",
        "ChatCompletion",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00102",
            "usage_cut": True,
            "service_tier": "default",
            "failed": True,
            "error_type": "openai.APIConnectionError",
            "error_message": "APIConnectionError: Connection error.",
            "time_to_first_token_ms": 17.543182,
            "streaming": True,
            "content": "truncated",
        },
    ),
    (
        "openinference-openai/multi_turn_session",
        "ChatCompletion",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00146",
            "usage": (1013, 57, 0, None, 0),
            "service_tier": "default",
            "session_id": "sess-42",
            "user_id": "u1",
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "openinference-anthropic@sdkoff/prompt_cache",
        "messages",
        1,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5-20250929",
            "response_id": "msg_fake00499",
            "usage": (1922, 64, 768, 128, None),
            "finish_reason": "end_turn",
            "params": {"max_tokens": 100},
            "content": "full",
        },
    ),
    (
        "openinference-langchain/tool_loop",
        "ChatOpenAI",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "usage": (1013, 57, 0, None, 0),
            "streaming": False,
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "openinference-langchain/tool_loop",
        "get_weather",
        0,
        {"convention": "openinference", "kind": "tool", "tool_name": "get_weather", "tool_call_id": "call_00298_0"},
    ),
    ("openinference-langchain/tool_loop", "LangGraph", 0, {"convention": "openinference", "kind": "chain"}),
    (
        "openinference-langchain/multi_turn",
        "ChatOpenAI",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "usage": (1013, 57, 0, None, 0),
            "session_id": "sess-42",
            "user_id": "u1",
            "streaming": False,
            "finish_reason": "stop",
            "content": "full",
        },
    ),
    (
        "openinference-openai-agents/reasoning",
        "response",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "openai",
            "response_model": "gpt-5-mini-2025-08-07",
            "response_id": "resp_fake00145",
            "usage": (1013, 90, 0, None, 33),
            "service_tier": "default",
            "requested_tier": "default",
            "finish_reason": "stop",
            "params": {"temperature": 1.0, "top_p": 1.0},
            "content": "full",
        },
    ),
    (
        "openinference-openai-agents/handoff",
        "Agent workflow",
        0,
        {"convention": "openinference", "kind": "agent"},  # the trace of openai-agents is no agent
    ),
    (
        "openinference-openai-agents/handoff",
        "Triage",
        0,
        {"convention": "openinference", "kind": "agent", "agent": "Triage"},
    ),
    ("openinference-openai-agents/handoff", "handoff", 0, {"convention": "openinference", "kind": "other"}),
    (
        "openinference-crewai/tool_loop",
        "Helper",
        0,
        {"convention": "openinference", "kind": "agent", "agent": "Helper"},
    ),
    ("openinference-crewai/tool_loop", "Crew", 0, {"convention": "openinference", "kind": "chain"}),
    (
        "openinference-smolagents/tool_loop",
        "ToolCalling",
        0,
        {
            "convention": "openinference",
            "kind": "agent",
            "agent": "ToolCallingAgent",
            "usage": (3078, 192, None, None, None),
            "usage_fault": True,
            "total_is_no_sum": True,
            "warnings": (
                "emitter_fault: smolagents' agents say what they used since their last reset, not in this run",
            ),
        },
    ),
    (
        "openinference-smolagents/tool_loop",
        "SimpleTool",
        0,
        {"convention": "openinference", "kind": "tool", "tool_name": "get_weather"},
    ),
    (
        "openinference-smolagents/tool_loop",
        "FinalAnswerTool",
        0,
        {"convention": "openinference", "kind": "other", "tool_name": "final_answer"},
    ),
    (
        "openinference-google-genai/auto_function_calling",
        "GenerateContent",
        0,
        {
            "convention": "openinference",
            "kind": "llm",
            "provider": "google",
            "response_model": "gemini-2.5-flash",
            "response_id": "gem-fake00232",
            "usage": (1039, 71, None, None, None),
            "usage_cut": True,
            "finish_reason": "STOP",
            "content": "full",
        },
    ),
    (
        "openinference-google-genai/embeddings",
        "EmbedContent",
        0,
        {
            "convention": "openinference",
            "kind": "embedding",
            "provider": "google",
            "request_model": "gemini-embedding-001",
            "content": "full",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_with_nested_contents_and_tool_calls() -> None:
    span = captured("openinference-anthropic@sdkoff/tool_loop_in_span", "messages", 1)
    look = "Let me look that up.\n"
    assert told(conventions.messages(span)) == [
        ("system", "system", "You are a helpful assistant."),
        ("input", "user", "What is the weather and population of Paris? [[tools:get_weather,get_population]]"),
        ("input", "assistant", look + call("toolu_00495_0", "get_weather")),
        ("input", "tool", "Sunny, 21 C in Paris"),
        ("output", "assistant", look + call("toolu_00496_0", "get_population")),
    ]


def call(call_id: str, name: str) -> str:
    arguments = r'"{\"city\": \"Paris\"}"'
    return f'{{"id":"{call_id}","function":{{"name":"{name}","arguments":{arguments}}}}}'


@pytest.mark.parametrize(
    ("scenario_name", "span_name", "given"),
    [
        ("openinference-langchain/tool_loop", "get_weather", "Paris"),
        ("openinference-smolagents/tool_loop", "SimpleTool", '{"city":"Paris"}'),
        ("openinference-crewai/tool_loop", "get_weather.run", '{"city": "Paris"}'),
    ],
)
def test_a_tools_values_out_of_what_is_wrapped_around_them(scenario_name, span_name, given) -> None:
    assert told(conventions.messages(captured(scenario_name, span_name))) == [
        ("input", "tool", given),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]


def test_indices_with_gaps_keep_their_order() -> None:
    attributes: Attributes = {"openinference.span.kind": "LLM"}
    for index, text in ((11, "c"), (1, "a"), (2, "b")):
        attributes[f"llm.input_messages.{index}.message.role"] = "user"
        attributes[f"llm.input_messages.{index}.message.content"] = text
    assert [m.text for m in conventions.messages(made(attributes)).input] == ["a", "b", "c"]


def test_hidden_content_is_none() -> None:
    span = captured("openinference-openai/tool_loop", "ChatCompletion")
    hidden = {k: v for k, v in span.attributes.items() if not k.startswith("llm.input_messages")}
    hidden |= {"input.value": "__REDACTED__", "output.value": "__REDACTED__"}
    hidden = {k: v for k, v in hidden.items() if not k.startswith("llm.output_messages")}
    span = msgspec.structs.replace(span, attributes=hidden)
    assert said(conventions.read(span)).get("content") is None
    assert told(conventions.messages(span)) == []


def test_hidden_texts_are_no_content() -> None:
    attributes: Attributes = {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": "__REDACTED__",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": "__REDACTED__",
    }
    assert said(conventions.read(made(attributes))).get("content") is None
    assert told(conventions.messages(made(attributes))) == []


def test_text_completions_have_prompts_and_choices() -> None:
    attributes: Attributes = {
        "openinference.span.kind": "LLM",
        "llm.prompts.0.prompt.text": "one plus one",
        "llm.choices.0.completion.text": "two",
    }
    assert said(conventions.read(made(attributes)))["content"] == "full"
    assert told(conventions.messages(made(attributes))) == [
        ("input", "user", "one plus one"),
        ("output", "assistant", "two"),
    ]


def test_parameters_and_model_stand_in_one_json_string() -> None:
    sent = '{"model": "m-std", "seed": 7, "stream": true, "stop": ["x"], "reasoning": {"effort": "low"}, "user": "u1"}'
    reading = said(conventions.read(made({"openinference.span.kind": "LLM", "llm.invocation_parameters": sent})))
    assert reading["params"] == {"seed": 7, "stop_sequences": ["x"], "reasoning_effort": "low"}
    assert (reading["request_model"], reading["streaming"], reading["user_id"]) == ("m-std", True, "u1")


def test_stamped_spans_of_pydantic_ai_are_read_once() -> None:
    span = captured("pydantic-ai/tool_loop", "chat", 1)
    own = said(conventions.read(span))
    counts: dict[str, AttrValue] = {"llm__token_count__prompt": 1026, "llm__token_count__completion": 64}
    stamped = changed(span, openinference__span__kind="LLM", **counts)
    assert said(conventions.read(stamped)) == {
        **own,
        "convention": "openinference",
        "usage": (1026, 64, None, None, None),
    }
    assert told(conventions.messages(stamped)) == told(conventions.messages(span))


@pytest.mark.parametrize("kind", ["LLM", "llm", " CHAIN", "NEW_KIND", "", 7])
def test_any_kind_is_read(kind) -> None:
    assert conventions.read(made({"openinference.span.kind": kind})) is not None


def test_an_agent_is_named_by_its_node_its_role_or_its_span() -> None:
    agent: Attributes = {"openinference.span.kind": "AGENT"}
    names = [
        conventions.read(made({**agent, "graph.node.id": "planner"}, name="turn")),
        conventions.read(made(agent, name="Senior Writer._execute_core")),
        conventions.read(made(agent, name="CodeAgent.run")),
        conventions.read(made({**agent, "agent.name": "boss", "graph.node.id": "n"}, name="turn")),
    ]
    assert [r and r.agent for r in names] == ["planner", "Senior Writer", "CodeAgent", "boss"]
