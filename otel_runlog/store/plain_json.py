"""Attributes as JSON that people query with `->>` and that reads back exactly as it was.

Strings, integers, floats, booleans, None, lists and dicts are the JSON they look like (a float keeps its point). Two
kinds of value have no JSON of their own: bytes become `{"$bytes": "<base64>"}`, floats that are no number become
`{"$float": "NaN" | "Infinity" | "-Infinity"}`. A dict that looks like one of these stands in `{"$dict": {...}}`.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Collection
from typing import cast

import msgspec

from otel_runlog.model import Attributes, AttrValue

_AS_THEY_ARE = frozenset({str, int, bool, type(None)})
_MARKS = frozenset({"$bytes", "$float", "$dict"})
_MARK = '{"$'  # without it, no dict in the text can be a marked one
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode


def dumps(value: AttrValue) -> str:
    """One attribute value as JSON text. Lone surrogates, which no UTF-8 holds, become `?`."""
    plain = value if _is_plain(value) else _to_plain(value)
    try:
        return _encode(plain).decode()
    except UnicodeEncodeError:
        return _encode(_without_surrogates(plain)).decode()


def loads(text: str) -> AttrValue:
    """The value that `dumps` wrote."""
    value = cast("AttrValue", _decode(text))
    return _from_plain(value) if _MARK in text else value


def loads_attributes(text: str | None) -> Attributes:
    """The attributes that `dumps` wrote; none where the column is NULL."""
    return cast("Attributes", loads(text)) if text else {}


def _is_plain(value: AttrValue) -> bool:
    """Whether JSON knows all of the value; asked first because hardly any value has to be copied."""
    kind = type(value)
    if kind in _AS_THEY_ARE:
        return True
    if kind is float:
        return math.isfinite(cast("float", value))
    if kind is list:
        return _are_plain(cast("list[AttrValue]", value))
    return isinstance(value, dict) and not _looks_marked(value) and _are_plain(value.values())


def _are_plain(values: Collection[AttrValue]) -> bool:
    return all(map(_is_plain, [item for item in values if type(item) not in _AS_THEY_ARE]))


def _to_plain(value: AttrValue) -> AttrValue:
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": _name_of(value)}
    if isinstance(value, (list, tuple)):
        return [_to_plain(item) for item in value]
    if isinstance(value, dict):
        plain = {key: _to_plain(item) for key, item in value.items()}
        return {"$dict": plain} if _looks_marked(value) else plain
    return {"$bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _looks_marked(value: dict[str, AttrValue]) -> bool:
    return len(value) == 1 and next(iter(value)) in _MARKS


def _name_of(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"


def _from_plain(value: AttrValue) -> AttrValue:
    if isinstance(value, list):
        return [_from_plain(item) for item in value]
    if not isinstance(value, dict):
        return value
    if _looks_marked(value):
        return _unmark(*next(iter(value.items())))
    return {key: _from_plain(item) for key, item in value.items()}


def _unmark(mark: str, value: AttrValue) -> AttrValue:
    if mark == "$dict":
        inner = cast("dict[str, AttrValue]", value)
        return {key: _from_plain(item) for key, item in inner.items()}
    text = cast("str", value)
    return base64.b64decode(text) if mark == "$bytes" else float(text)


def _without_surrogates(value: AttrValue) -> AttrValue:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_surrogates(item) for item in value]
    if isinstance(value, dict):
        return {str(_without_surrogates(key)): _without_surrogates(item) for key, item in value.items()}
    return value
