"""What the APIs' formats share: paths, server-sent events, JSON inside strings, ids, reading of unsure bodies."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, cast

import msgspec

from otel_runlog.apis._asked import JsonObject
from otel_runlog.conventions._attrs import dump
from otel_runlog.conventions.turns import turn_of
from otel_runlog.conversation import CallPart, Json, LlmAnswer, Params, Part, ThinkingPart, Turn
from otel_runlog.errors import RequestError
from otel_runlog.model import AttrValue

CREATED: Final = 0
"""When an answer was made, in Unix seconds: the same answer is the same bytes at any time."""
DONE: Final = b"data: [DONE]\n\n"
ID_DIGITS: Final = 12
UNSIGNED: Final = base64.b64encode(b"otel-runlog: no signature was recorded").decode()
"""In place of a signature that nobody recorded: clients send a thought without one back as text."""
MOST_REMEMBERED_BYTES: Final = 4096
"""Of a message that is known when it comes again: 4,096 of these are 16 MB."""


def bare(path: str) -> str:
    """A URL's path without query, fragment and a slash at its end."""
    return path.partition("?")[0].partition("#")[0].rstrip("/")


def json_text(value: Json) -> str:
    """Compact JSON; a string is the JSON text that somebody wrote already, and None an empty object."""
    return "{}" if value is None else dump(cast("AttrValue", value))


def encoded(body: Json) -> bytes:
    """A body as it goes over the wire, compact UTF-8, whatever is in its strings."""
    return dump(cast("AttrValue", {} if body is None else body)).encode(errors="replace")


def event(data: JsonObject, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + encoded(data) + b"\n\n"


def call_id(call: CallPart, prefix: str, response_id: str, position: int) -> str:
    """The recorded id of a tool call, else one made of the answer's id and the call's place in it."""
    digest = hashlib.sha256(f"{response_id}/{position}".encode(errors="replace")).hexdigest()
    return call.id or f"{prefix}_{digest[:ID_DIGITS]}"


def thoughts(answer: LlmAnswer) -> str:
    """What the model thought aloud, in one piece."""
    return "".join(part.text for part in answer.parts if isinstance(part, ThinkingPart))


def turns_in(message: Json, default_role: str) -> tuple[Turn, ...]:
    """The turns of a message or item. A signature that stood for one that nobody recorded is none.

    Every request repeats the conversation: reading a message takes 10 us, knowing it again 2 us.
    """
    try:
        key = msgspec.msgpack.encode(message)
    except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, RecursionError):
        return _read_turns(message, default_role)
    if len(key) > MOST_REMEMBERED_BYTES:
        return _read_turns(message, default_role)
    return _remembered_turns(key, default_role)


@lru_cache(maxsize=4096)
def _remembered_turns(key: bytes, default_role: str) -> tuple[Turn, ...]:
    return _read_turns(msgspec.msgpack.decode(key), default_role)


def _read_turns(message: Json, default_role: str) -> tuple[Turn, ...]:
    return tuple(Turn(turn.role, tuple(map(_signed, turn.parts))) for turn in turn_of(message, default_role))


def _signed(part: Part) -> Part:
    return ThinkingPart(part.text) if isinstance(part, ThinkingPart) and part.signature == UNSIGNED else part


def pick(source: JsonObject, *names: str) -> Json:
    """The first of `names` that is there and not null."""
    return next((source[name] for name in names if source.get(name) is not None), None)


def objects(value: Json) -> list[JsonObject]:
    """The objects of a list; empty where it is none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def as_object(value: Json) -> JsonObject:
    """An object; empty where it is none."""
    return value if isinstance(value, dict) else {}


def as_text(value: Json) -> str | None:
    """A text that is not empty, else None."""
    return value if isinstance(value, str) and value else None


def request_body(body: Json, api: str) -> JsonObject:
    """The body of a request; raises RequestError where it is no object."""
    if not isinstance(body, dict):
        raise RequestError(f"{api}: the body is {kind_of(body)}, not an object")
    return body


def messages_in(body: JsonObject, key: str, api: str) -> list[Json]:
    """The list that a request cannot do without; raises RequestError where it is none."""
    value = body.get(key)
    if not isinstance(value, list):
        raise RequestError(f"{api}: `{key}` is {'missing' if key not in body else kind_of(value) + ', not a list'}")
    return value


def kind_of(value: Json) -> str:
    """What JSON calls a value, for messages."""
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "a list", dict: "an object"}
    return kinds.get(type(value), "null")


def params_of(source: JsonObject, names: Mapping[str, tuple[str, ...]]) -> Params:
    """The parameters that were sent, by OTel's names; `names` gives the wire's of each, in order of preference.

    One stop sequence is a list of one, and a choice of one (what happens unasked) is left out.
    """
    found: Params = {name: value for name, wire in names.items() if (value := pick(source, *wire)) is not None}
    if isinstance(stop := found.get("stop_sequences"), str):
        found["stop_sequences"] = [stop]
    if found.get("choice_count") == 1:
        del found["choice_count"]
    return found
