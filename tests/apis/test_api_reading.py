"""A provider's answers and errors off the wire, as a live replay records them."""

from __future__ import annotations

import json

import msgspec
import pytest

from otel_runlog import apis
from otel_runlog.conversation import CallError, CallPart, FinishReason, LlmAnswer, TextPart, ThinkingPart
from otel_runlog.model import Usage

JSON, EVENTS = "application/json", "text/event-stream; charset=utf-8"
BODIES = {
    "/v1/chat/completions": {"model": "m", "messages": [], "stream_options": {"include_usage": True}},
    "/v1/responses": {"model": "m", "input": "q"},
    "/v1/messages": {"model": "m", "messages": []},
    "/v1beta/models/m:generateContent": {"contents": "q"},
}
ANSWER = LlmAnswer(
    parts=(
        ThinkingPart("Hm.", "c2lnbmVk"),
        TextPart("Let me see."),
        CallPart("weather", {"city": "Paris"}, "call_1"),
        CallPart("clock", {}, "call_2"),
    ),
    finish_reason=FinishReason.TOOL_CALL,
    response_id="resp_1",
    model="m-2026",
    usage=Usage(input_tokens=100, output_tokens=20, cache_read_tokens=30, reasoning_tokens=5),
)


def known(answer: LlmAnswer | CallError, path: str) -> LlmAnswer:
    """The answer without what not every API can say: Chat has no signatures."""
    assert isinstance(answer, LlmAnswer), answer
    unsigned = tuple(
        ThinkingPart(part.text) if isinstance(part, ThinkingPart) and path.endswith("completions") else part
        for part in answer.parts
    )
    usage = answer.usage or Usage()
    counts = Usage(usage.input_tokens, usage.output_tokens, usage.cache_read_tokens)
    return msgspec.structs.replace(answer, parts=unsigned, usage=counts)


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("streamed", [False, True])
def test_what_is_served_is_read_back(path: str, streamed: bool) -> None:
    api = apis.find(path)
    assert api is not None
    asked = api.parse(path, {**BODIES[path], "stream": True})
    if streamed:
        body, content_type = b"".join(api.stream(ANSWER, asked, "resp_1")), EVENTS
    else:
        body, content_type = apis.encoded(api.render(ANSWER, asked, "resp_1")), JSON
    assert known(api.read(200, content_type, body), path) == known(ANSWER, path)


def of(path: str) -> apis.Api:
    api = apis.find(path)
    assert api is not None
    return api


def lines(*events: object) -> bytes:
    return b"".join(b"data: " + (e if isinstance(e, bytes) else json.dumps(e).encode()) + b"\r\n\r\n" for e in events)


def test_chat_in_small_pieces() -> None:
    def piece(finish: str | None = None, **delta: object) -> object:
        return {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    def called(**function: str) -> object:
        return piece(tool_calls=[{"index": 0, "function": function}])

    second = {"id": "c1", "choices": [{"index": 1, "delta": {"content": "another choice"}}]}
    first_call = piece(
        tool_calls=[{"index": 0, "id": "k", "type": "function", "function": {"name": "add", "arguments": ""}}]
    )
    read = of("/chat/completions").read(
        200,
        EVENTS,
        b": comment\n"
        + lines(piece(role="assistant", content=""), piece(content="He"), second, piece(content="llo"))
        + lines(first_call, called(arguments='{"a"'), called(arguments=": 1}"), piece("tool_calls"))
        + lines({"id": "c1", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}}, b"[DONE]"),
    )
    assert read == LlmAnswer(
        parts=(TextPart("Hello"), CallPart("add", {"a": 1}, "k")),
        finish_reason=FinishReason.TOOL_CALL,
        response_id="c1",
        model="m",
        usage=Usage(input_tokens=5, output_tokens=2),
    )


def test_geminis_chunks_come_as_events_or_in_a_list() -> None:
    chunks = [
        {"candidates": [{"content": {"parts": [{"text": "He"}]}}], "modelVersion": "g", "responseId": "r"},
        {"candidates": [{"content": {"parts": [{"text": "llo"}]}, "finishReason": "STOP"}]},
        {"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 1}},
    ]
    expected = LlmAnswer(
        parts=(TextPart("Hello"),),
        finish_reason=FinishReason.STOP,
        response_id="r",
        model="g",
        usage=Usage(input_tokens=3, output_tokens=1),
    )
    api = of("/v1beta/models/g:streamGenerateContent")
    assert api.read(200, EVENTS, lines(*chunks)) == expected
    assert api.read(200, JSON, json.dumps(chunks).encode()) == expected


def test_anthropics_call_without_arguments_and_counts_of_the_end() -> None:
    read = of("/v1/messages").read(
        200,
        EVENTS,
        lines(
            {
                "type": "message_start",
                "message": {"id": "m1", "model": "c", "usage": {"input_tokens": 9, "output_tokens": 1}},
            },
            {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "go"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": ""}},
            {"type": "ping"},
            {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 7}},
            {"type": "message_stop"},
        ),
    )
    assert isinstance(read, LlmAnswer)
    assert [(c.name, c.id) for c in read.tool_calls] == [("go", "t")]
    assert read.usage == Usage(input_tokens=9, output_tokens=7)


@pytest.mark.parametrize("vector", [[0.5, -2], "AAAAPwAAAMA="])
def test_vectors_come_as_numbers_or_in_base64(vector: object) -> None:
    body = {"data": [{"embedding": vector}], "model": "e", "usage": {"prompt_tokens": 2, "total_tokens": 2}}
    read = of("/embeddings").read(200, JSON, json.dumps(body).encode())
    assert isinstance(read, LlmAnswer)
    assert read.vectors == ((0.5, -2.0),)


@pytest.mark.parametrize(
    ("path", "status", "content_type", "body", "error"),
    [
        (
            "/v1/chat/completions",
            429,
            JSON,
            b'{"error":{"type":"rate_limit_error","code":"slow_down","message":"Slow"}}',
            CallError("rate_limit_error", "Slow", 429),
        ),
        (
            "/v1/messages",
            529,
            JSON,
            b'{"type":"error","error":{"type":"overloaded_error","message":"Busy"}}',
            CallError("overloaded_error", "Busy", 529),
        ),
        (
            "/v1/models/g:generateContent",
            400,
            JSON,
            b'[{"error":{"code":400,"status":"INVALID_ARGUMENT","message":"No"}}]',
            CallError("INVALID_ARGUMENT", "No", 400),
        ),
        ("/v1/chat/completions", 502, "text/html", b"<html>Bad gateway", CallError(None, "<html>Bad gateway", 502)),
        (
            "/v1/messages",
            200,
            EVENTS,
            b'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Busy"}}\n\n',
            CallError("overloaded_error", "Busy", None),
        ),
        (
            "/v1/chat/completions",
            200,
            JSON,
            b"\xff",
            CallError("unreadable_answer", "the answer is null of 1 bytes", 200),
        ),
    ],
)
def test_errors(path: str, status: int, content_type: str, body: bytes, error: CallError) -> None:
    assert of(path).read(status, content_type, body) == error


@pytest.mark.parametrize("path", [*BODIES, "/embeddings"])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"[1]",
        b'{"choices":1,"content":2,"output":{},"candidates":[[]],"data":"x"}',
        b"[" * 9999,
    ],
)
def test_reading_never_raises(path: str, body: bytes) -> None:
    for content_type in (JSON, EVENTS, ""):
        for sent in (body, b"data: " + body + b"\n\n"):
            assert isinstance(of(path).read(200, content_type, sent), LlmAnswer | CallError)
