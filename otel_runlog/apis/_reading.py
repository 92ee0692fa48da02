"""A provider's answer, as it came over the wire, in neutral words: what a live replay records."""

from __future__ import annotations

import base64
import binascii
import struct
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias, cast

import msgspec

from otel_runlog.apis import _gathering
from otel_runlog.apis._asked import JsonObject
from otel_runlog.apis._wire import as_object, as_text, kind_of, objects
from otel_runlog.conventions._attrs import whole
from otel_runlog.conventions._provider_usage import usage_of
from otel_runlog.conventions.turns import finish_reason_of, turn_of
from otel_runlog.conversation import CallError, FinishReason, Json, LlmAnswer, Part
from otel_runlog.model import AttrValue, Usage

EVENT_STREAM: Final = "text/event-stream"
UNREADABLE: Final = "unreadable_answer"
_FIRST_ERROR: Final = 400
Gather: TypeAlias = Callable[[Sequence[JsonObject]], JsonObject]
Body: TypeAlias = Callable[[JsonObject], LlmAnswer]


def read(status: int, content_type: str, body: bytes, gather: Gather, body_of: Body) -> LlmAnswer | CallError:
    """What came as an answer or an error. Never raises: what cannot be read is an error that says so.

    Args:
        status: of HTTP.
        content_type: JSON or events, with parameters or without.
        body: without its Content-Encoding.
        gather: makes the body of an API out of its events.
        body_of: reads that body.
    """
    if content_type.partition(";")[0].strip().lower() == EVENT_STREAM:
        events = list(_gathering.events_of(body))
    else:
        value = _json(body)
        if isinstance(value, dict) and status < _FIRST_ERROR and value.get("error") is None:
            return body_of(value)
        events = objects(value) if isinstance(value, list) else [as_object(value)]  # Gemini sends chunks in a list
    failed = next((event for event in events if event.get("error") is not None or event.get("type") == "error"), None)
    if failed is not None or status >= _FIRST_ERROR:
        return _error(status, failed or {}, body)
    if not any(events):
        return CallError(UNREADABLE, f"the answer is {kind_of(_json(body))} of {len(body)} bytes", status)
    return body_of(gather(events))


def _json(body: bytes) -> Json:
    try:
        value: Json = msgspec.json.decode(body)
    except (msgspec.MsgspecError, RecursionError):
        return None
    return value


def _error(status: int, failed: JsonObject, body: bytes) -> CallError:
    """The error object of OpenAI, Anthropic or Google; within a stream the status says nothing."""
    error = as_object(failed.get("error")) or failed
    type_ = as_text(error.get("type") if error is not failed else error.get("code")) or as_text(error.get("status"))
    message = as_text(error.get("message")) or as_text(failed.get("error")) or body[:500].decode("utf-8", "replace")
    return CallError(type_ or as_text(error.get("code")), message, status if status >= _FIRST_ERROR else None)


def chat(body: JsonObject) -> LlmAnswer:
    """OpenAI Chat's first choice."""
    choice = next(iter(objects(body.get("choices"))), {})
    return _answer(body, _parts(choice.get("message")), choice.get("finish_reason"))


def responses(body: JsonObject) -> LlmAnswer:
    """OpenAI Responses' items."""
    parts = tuple(part for item in objects(body.get("output")) for part in _parts(item))
    reason = as_object(body.get("incomplete_details")).get("reason") or body.get("status")
    return _answer(body, parts, reason)


def messages(body: JsonObject) -> LlmAnswer:
    """Anthropic's message."""
    return _answer(body, _parts({"role": "assistant", "content": body.get("content")}), body.get("stop_reason"))


def contents(body: JsonObject) -> LlmAnswer:
    """Gemini's first candidate."""
    candidate = next(iter(objects(body.get("candidates"))), {})
    counts = as_object(body.get("usageMetadata"))
    said, thought = _count(counts, "candidatesTokenCount"), _count(counts, "thoughtsTokenCount")
    usage = Usage(
        input_tokens=_count(counts, "promptTokenCount"),
        output_tokens=None if said is None and thought is None else (said or 0) + (thought or 0),
        cache_read_tokens=_count(counts, "cachedContentTokenCount"),
        reasoning_tokens=thought,
    )
    named: JsonObject = {"id": body.get("responseId"), "model": body.get("modelVersion")}
    found = _answer(named, _parts(candidate.get("content")), candidate.get("finishReason"))
    return msgspec.structs.replace(found, usage=usage)


def embeddings(body: JsonObject) -> LlmAnswer:
    """The vectors, which come as numbers or as 32-bit floats in base64."""
    vectors = tuple(_vector(item.get("embedding")) for item in objects(body.get("data")))
    return msgspec.structs.replace(_answer(body, (), None), vectors=vectors)


def _answer(body: JsonObject, parts: tuple[Part, ...], reason: Json) -> LlmAnswer:
    finish = finish_reason_of(as_text(reason))
    calls = LlmAnswer(parts=parts).tool_calls
    return LlmAnswer(
        parts=parts,
        # Gemini and Responses have no word for an answer that wants tools: it has stopped.
        finish_reason=FinishReason.TOOL_CALL if calls and finish is FinishReason.STOP else finish,
        response_id=as_text(body.get("id")),
        model=as_text(body.get("model")),
        usage=usage_of(cast("AttrValue", body.get("usage"))),
    )


def _parts(message: Json) -> tuple[Part, ...]:
    return tuple(part for turn in turn_of(message, "assistant") for part in turn.parts) if message else ()


def _count(counts: JsonObject, name: str) -> int | None:
    return whole(cast("AttrValue", counts.get(name)))


def _vector(value: Json) -> tuple[float, ...]:
    if isinstance(value, list):
        return tuple(float(number) for number in value if isinstance(number, int | float))
    try:
        packed = base64.b64decode(value if isinstance(value, str) else "", validate=True)
        return struct.unpack(f"<{len(packed) // 4}f", packed)
    except (binascii.Error, struct.error):
        return ()
