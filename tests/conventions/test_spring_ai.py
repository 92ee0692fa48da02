"""Spring AI: spans written from its observability reference and facts/semconv, section 4; the corpus has none."""

from __future__ import annotations

import msgspec
import pytest
from captured import made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes, Span, SpanEvent

CALL: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o",
    "gen_ai.request.temperature": "0.7",
    "gen_ai.request.max_tokens": "256",
    "gen_ai.response.model": "gpt-4o-2024-08-06",
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.finish_reasons": '["STOP"]',
    "gen_ai.usage.input_tokens": "1013",
    "gen_ai.usage.output_tokens": "57",
    "gen_ai.usage.total_tokens": "1070",
}


def call(*events: SpanEvent) -> Span:
    return msgspec.structs.replace(made(CALL, name="chat gpt-4o", scope="org.springframework.boot"), events=events)


def test_every_value_is_text() -> None:
    assert said(conventions.read(call())) == {
        "convention": "spring_ai",
        "kind": "llm",
        "provider": "openai",
        "request_model": "gpt-4o",
        "response_model": "gpt-4o-2024-08-06",
        "response_id": "chatcmpl-1",
        "usage": (1013, 57, None, None, None),
        "finish_reason": "STOP",
        "params": {"temperature": 0.7, "max_tokens": 256},
    }


def test_content_stands_in_events() -> None:
    prompt = SpanEvent("gen_ai.content.prompt", attributes={"gen_ai.prompt": '["Be brief.", "Hi"]'})
    completion = SpanEvent("gen_ai.content.completion", attributes={"gen_ai.completion": '["Hello there."]'})
    span = call(prompt, completion)
    assert said(conventions.read(span))["content"] == "full"
    assert told(conventions.messages(span)) == [
        ("input", "user", "Be brief."),
        ("input", "user", "Hi"),
        ("output", "assistant", "Hello there."),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "expected"),
    [
        ("chat_client", "spring_ai chat_client", {"kind": "chain"}),
        ("advisor", "message_chat_memory", {"kind": "chain"}),
        ("tool_call", "tool_call get_weather", {"kind": "tool", "tool_name": "get_weather"}),
        ("vector_store", "pg_vector query", {"kind": "retriever"}),
    ],
)
def test_its_own_observations_are_no_model_calls(kind, name, expected) -> None:
    attributes: Attributes = {
        "gen_ai.operation.name": "framework",
        "gen_ai.system": "spring_ai",
        "spring.ai.kind": kind,
        "spring.ai.tool.definition.name": "get_weather",
    }
    assert said(conventions.read(made(attributes, name=name))) == {"convention": "spring_ai", **expected}


def test_a_tools_arguments_and_result() -> None:
    attributes: Attributes = {
        "spring.ai.kind": "tool_call",
        "spring.ai.tool.call.arguments": '{"city": "Paris"}',
        "spring.ai.tool.call.result": "Sunny in Paris",
    }
    assert told(conventions.messages(made(attributes))) == [
        ("input", "tool", '{"city": "Paris"}'),
        ("output", "tool", "Sunny in Paris"),
    ]
