"""JSON that a strict parser refuses: lone surrogate escapes, NaN, nulls, broken UTF-8, nesting without end.

The strict parser is tried first; this one is slower and reads what Python's does, cut to a depth that no value of
interest reaches.
"""

from __future__ import annotations

import json
import re
from typing import Any

from otel_runlog.errors import OtlpError
from otel_runlog.span import clean_text

MAX_JSON_DEPTH = 160
"""Levels kept of a body. A value too deep for us (32 levels of at most 4) lies below, so it is still seen as such."""
MAX_INTEGER_DIGITS = 400
MAX_JSON_OBJECTS = 2_000_000
"""Objects in a body, some 350 bytes each once read; 64 MiB hold 21 million empty spans."""
_UINT64 = 2.0**64
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


def load(body: bytes) -> dict[str, Any]:
    """The JSON object in a body. Bytes that are no UTF-8 become lone surrogates, which reading then repairs.

    Raises:
        OtlpError: it is no JSON object; the text says where it breaks off.
    """
    text = body.decode(errors="surrogateescape").removeprefix("\ufeff")
    try:
        loaded = _parse(text)
    except RecursionError:
        loaded = _parse(_cut_deep(text))
    if not isinstance(loaded, dict):
        raise OtlpError(f"no OTLP/JSON: a request is an object, this is {_kind(loaded)}")
    return loaded


def check_size(body: bytes) -> None:
    """Refuse a body that would grow out of proportion when read.

    Raises:
        OtlpError: it holds more than MAX_JSON_OBJECTS objects.
    """
    # Braces within texts count at first, as looking for texts is slow and most bodies have few of either.
    if body.count(b"{") <= MAX_JSON_OBJECTS:
        return
    objects = sum(token[0] == "{" for token in _TOKEN.finditer(body.decode(errors="replace")))
    if objects > MAX_JSON_OBJECTS:
        raise OtlpError(f"more than {MAX_JSON_OBJECTS} JSON objects in one request")


def _parse(text: str) -> object:
    try:
        return json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise OtlpError(f"no OTLP/JSON: {error}") from None


def _integer(digits: str) -> int | str:
    return int(digits) if len(digits) <= MAX_INTEGER_DIGITS else digits


def _kind(loaded: object) -> str:
    return {list: "an array", str: "a text", type(None): "null"}.get(type(loaded), f"a {type(loaded).__name__}")


def _cut_deep(text: str) -> str:
    """The text with arrays and objects at MAX_JSON_DEPTH emptied."""
    parts = []
    depth = kept_to = 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth == MAX_JSON_DEPTH:
                parts.append(text[kept_to : token.end()])
        elif token[0] in "]}":
            if depth == MAX_JSON_DEPTH:
                kept_to = token.start()
            depth -= 1
    return "".join([*parts, text[kept_to:] if depth < MAX_JSON_DEPTH else ""])


def tidy(value: Any, notes: list[str]) -> Any:
    """The value as OTLP/JSON reads it: members that are null are absent, lone surrogates U+FFFD (noted).

    A number such as 1.7e18 becomes an integer, because a field for integers takes it and one for doubles takes both.
    """
    if isinstance(value, str):
        return clean_text(value, notes)
    if isinstance(value, dict):
        return {clean_text(key, notes): tidy(item, notes) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [tidy(item, notes) for item in value]
    if isinstance(value, float) and value.is_integer() and abs(value) < _UINT64:
        return int(value)
    return value


def members(value: Any, name: str) -> list[Any]:
    """The list of that name in a loaded object; empty where it is absent or no list."""
    found = value.get(name) if isinstance(value, dict) else None
    return found if isinstance(found, list) else []


def member(value: Any, name: str) -> Any:
    """The object of that name in a loaded object; empty where it is absent or null."""
    found = value.get(name) if isinstance(value, dict) else None
    return {} if found is None else found
