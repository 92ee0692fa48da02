"""Messages of any shape: who speaks, what a person reads, and the emitter's own bytes."""

from __future__ import annotations

import json

import pytest
from captured import captured, made, said, told

from otel_runlog import conventions
from otel_runlog.conventions._messages import message, messages_of, unflatten, value_of
from otel_runlog.model import Attributes, Span, SpanEvent


@pytest.mark.parametrize(
    ("value", "role", "text"),
    [
        ({"role": "user", "content": "hi"}, "user", "hi"),
        ({"role": "user", "content": '{"text": "not a part"}'}, "user", '{"text": "not a part"}'),
        ({"role": "user", "content": '[{"type": "text", "text": "a part"}]'}, "user", "a part"),
        ({"role": "human", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "user", "a\nb"),
        ({"role": "model", "parts": [{"text": "hi"}]}, "assistant", "hi"),
        ({"parts": [{"type": "thinking", "content": "hm"}, {"type": "text", "content": "hi"}]}, "user", "hm\nhi"),
        ({"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "21"}]}, "tool", "21"),
        (
            {"role": "user", "parts": [{"type": "tool_call_response", "id": "c", "result": {"t": 21}}]},
            "tool",
            '{"t":21}',
        ),
        ({"role": "user", "content": [{"type": "tool_result", "content": [{"text": "x"}]}]}, "tool", "x"),
        ({"role": "tool", "content": [{"output": {"type": "text", "value": "Sunny"}}]}, "tool", "Sunny"),
        (
            {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "name": "f"}]},
            "assistant",
            '{"id":"c","name":"f"}',
        ),
        (
            {"role": "user", "parts": [{"type": "blob", "mime_type": "image/png", "content": "iVBOR"}]},
            "user",
            "[image/png]",
        ),
        ({"role": "user", "parts": [{"type": "text"}]}, "user", ""),
        ({"type": "function_call_output", "call_id": "c", "output": "21"}, "tool", "21"),
        ({"type": "function_call", "name": "f", "arguments": "{}"}, "assistant", '{"name":"f","arguments":"{}"}'),
        ({"role": 7, "content": 3}, "user", "3"),
        ("hi", "user", "hi"),
        (None, "user", ""),
        (3, "user", "3"),
    ],
)
def test_role_and_text(value, role, text) -> None:
    found = message(value)
    assert (found.role, found.text) == (role, text)


def test_raw_is_what_the_emitter_wrote() -> None:
    original = {"role": "human", "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}]}
    assert json.loads(message(original).raw) == original


@pytest.mark.parametrize("nothing", [None, "", [], {}, "[]", "{}"])
def test_no_messages(nothing) -> None:
    assert messages_of(nothing) == ()


def test_content_that_is_nested_beyond_reason_is_cut_not_refused() -> None:
    deep: object = "x"
    for _ in range(400):
        deep = [{"content": deep}]
    assert message({"role": "user", "content": deep}).role == "user"  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('{"city": "Paris"}', '{"city": "Paris"}'),
        ({"city": "Paris"}, '{"city":"Paris"}'),
        ('"Sunny"', "Sunny"),
        ("Sunny", "Sunny"),
        (3, "3"),
        (False, "false"),
        ('[{"type": "text", "text": "Sunny"}]', "Sunny"),
        ("[1, 2]", "[1, 2]"),
    ],
)
def test_a_value_that_is_no_message(value, text) -> None:
    assert [m.text for m in value_of(value, "tool")] == [text]


def test_flattened_objects_in_order_of_their_numbers() -> None:
    attributes: Attributes = {
        "p.10.role": "c",
        "p.2.role": "b",
        "p.2.calls.1.name": "second",
        "p.2.calls.0.name": "first",
        "p.x.role": "no index",
        "p." + "9" * 5000 + ".role": "no index",
        "p.3" + ".a" * 3000: "too deep to follow",
        "q.0.role": "other",
    }
    found = unflatten(attributes, "p.")
    assert [o.get("role") for o in found] == ["b", None, "c"]
    assert found[0]["calls"] == [{"name": "first"}, {"name": "second"}]


def test_events_of_versions_1_28_to_1_36() -> None:
    span = made({"gen_ai.operation.name": "chat"})
    span.events = (
        SpanEvent("gen_ai.system.message", attributes={"content": "Be terse."}),
        SpanEvent("gen_ai.user.message", attributes={"content": '[{"text": "Paris?"}]'}),
        SpanEvent("gen_ai.choice", attributes={"finish_reason": "stop", "message": '[{"text": "Sunny."}]'}),
    )
    assert told(conventions.messages(span)) == [
        ("system", "system", "Be terse."),
        ("input", "user", "Paris?"),
        ("output", "assistant", "Sunny."),
    ]
    assert said(conventions.read(span))["content"] == "full"


def test_events_before_1_28_and_the_details_event() -> None:
    old, new = made({"gen_ai.operation.name": "chat"}), made({"gen_ai.operation.name": "chat"})
    old.events = (
        SpanEvent("gen_ai.content.prompt", attributes={"gen_ai.prompt": '[{"role": "user", "content": "Paris?"}]'}),
        SpanEvent("gen_ai.content.completion", attributes={"gen_ai.completion": "Sunny."}),
    )
    parts = '[{"role": "%s", "parts": [{"type": "text", "content": "%s"}]}]'
    new.events = (
        SpanEvent(
            "gen_ai.client.inference.operation.details",
            attributes={
                "gen_ai.input.messages": parts % ("user", "Paris?"),
                "gen_ai.output.messages": parts % ("assistant", "Sunny."),
            },
        ),
    )
    for span in (old, new):
        assert told(conventions.messages(span)) == [("input", "user", "Paris?"), ("output", "assistant", "Sunny.")]
        assert said(conventions.read(span))["content"] == "full"


def test_structured_values_read_as_their_json() -> None:
    given = [{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]
    plain = conventions.messages(made({"gen_ai.input.messages": given}))  # type: ignore[dict-item]
    assert told(plain) == told(conventions.messages(made({"gen_ai.input.messages": json.dumps(given)})))


MESSAGES = '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'
HOLLOW = '[{"role":"user","parts":[{"type":"text"}]}]'


@pytest.mark.parametrize(
    ("given", "got", "expected"),
    [
        (MESSAGES, MESSAGES, "full"),
        (None, MESSAGES, "answer"),
        (MESSAGES, None, "truncated"),
        (None, None, None),
        ("[REDACTED]", "<REDACTED>", None),
        ("__REDACTED__", MESSAGES, "answer"),
        (HOLLOW, HOLLOW, None),
        (MESSAGES, HOLLOW, "truncated"),
        ("[]", "", None),
        (MESSAGES[:-9], MESSAGES, "truncated"),
        ('[{"role":"user","parts":[{"text":"a...[TRUNCATED: original length 12345]"}]}]', MESSAGES, "truncated"),
    ],
)
def test_how_much_content_a_call_carries(given, got, expected) -> None:
    assert said(conventions.read(call(given, got))).get("content") == expected


def call(given: str | None, got: str | None, **more: object) -> Span:
    values = {"gen_ai.input.messages": given, "gen_ai.output.messages": got, **more}
    return made({"gen_ai.operation.name": "chat"} | {k: v for k, v in values.items() if v is not None})  # type: ignore[dict-item]


def test_content_that_was_cut_is_noted() -> None:
    reading = conventions.read(call(MESSAGES[:-9], MESSAGES))
    assert reading is not None
    assert reading.notes == ("content_truncated: the messages on this span were cut short",)


def test_a_prompt_that_begins_in_the_middle_is_not_the_whole() -> None:
    later = captured("anthropic-sdk-native@content/tool_runner", "anthropic.messages.create", 1)
    assert said(conventions.read(later))["content"] == "answer"
    linked = call(MESSAGES, MESSAGES, **{"gen_ai.request.previous_response.id": "resp_1"})
    assert said(conventions.read(linked))["content"] == "answer"


def test_uploaded_content_is_not_on_the_span() -> None:
    span = made(
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages_ref": "s3://b/in", "gen_ai.request.model": "m"}
    )
    assert "content" not in said(conventions.read(span))
    assert told(conventions.messages(span)) == []


def test_a_refused_call_and_an_embedding_have_no_answer_to_carry() -> None:
    refused = call(MESSAGES, None, **{"error.type": "RateLimitError"})
    assert said(conventions.read(refused))["content"] == "full"
    embedding = made({"gen_ai.operation.name": "embeddings", "gen_ai.input.messages": MESSAGES})
    assert said(conventions.read(embedding))["content"] == "full"
