"""Canonical values: numbers in one form, the JSON that is hashed, and where two canonical requests differ. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final, TypeAlias

import msgspec

from otel_runlog.conventions.turns import text_of
from otel_runlog.conversation import Json

MAX_DEPTH: Final = 100
"""Values nested deeper count as the JSON text of what is below."""
MAX_DIGITS_BITS: Final = 14_000
"""Integers with more bits have more digits than Python writes (4300); they are written in hex."""
Place: TypeAlias = tuple[str, Json, Json]
"""A path, and the values there of two requests."""


def written(value: Json) -> bytes:
    """A canonical value as JSON: keys sorted, no spaces, UTF-8; a lone surrogate is its escape."""
    try:
        return msgspec.json.encode(value, order="deterministic")
    except ValueError:  # of which a lone surrogate's UnicodeEncodeError is one
        return msgspec.json.encode(_writable(value), order="deterministic")


def _writable(value: Json) -> Json:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {k.encode("utf-8", "backslashreplace").decode(): _writable(v) for k, v in value.items()}
    if isinstance(value, list):
        return [_writable(v) for v in value]
    return hex(value) if isinstance(value, int) and value.bit_length() > MAX_DIGITS_BITS else value


def normal(value: Json, depth: int = 0) -> Json:
    """A value of arguments or a result with its numbers by value. It sees every value there is, so it tells by type."""
    if isinstance(value, dict):
        if depth >= MAX_DEPTH:
            return text_of(value)
        return {
            k: v if type(v) in _AS_IT_IS else _number(v) if isinstance(v, float) else normal(v, depth + 1)
            for k, v in value.items()
        }
    if isinstance(value, list):
        if depth >= MAX_DEPTH:
            return text_of(value)
        return [
            v if type(v) in _AS_IT_IS else _number(v) if isinstance(v, float) else normal(v, depth + 1) for v in value
        ]
    return _number(value) if isinstance(value, float) else value


_AS_IT_IS = frozenset({str, bool, int, type(None)})


def _number(value: float) -> Json:
    """A float as the integer that it is, or as itself; NaN and infinities as their names."""
    if value.is_integer():
        return int(value)
    return value if math.isfinite(value) else str(value)


def differences(path: str, old: Json, new: Json) -> Iterator[Place]:
    """The places where two values differ, in order, each as deep as both sides reach."""
    if written(old) == written(new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() & new.keys():
        for key in dict.fromkeys((*old, *new)):
            yield from differences(f"{path}.{key}", old.get(key), new.get(key))
    elif isinstance(old, list) and isinstance(new, list) and old and new:
        for i in range(max(len(old), len(new))):
            inner = _turn_differences if path == "turns" else differences
            yield from inner(f"{path}[{i}]", _at(old, i), _at(new, i))
    else:
        yield path, old, new


def _turn_differences(path: str, old: Json, new: Json) -> Iterator[Place]:
    """`turns[2].tool[0]`, `turns[1].user`, `turns[3].assistant.calls[0].args.city`."""
    if written(old) == written(new):
        return
    sides = [next(iter(turn)) if isinstance(turn, dict) else None for turn in (old, new)]
    one, other = (turn if isinstance(turn, dict) else {} for turn in (old, new))
    if sides[0] != sides[1] or sides[0] is None:
        side = sides[1] or sides[0]
        yield f"{path}.{side}", one or None, other or None
        return
    if sides[0] == "tool":
        yield from _result_differences(f"{path}.tool", one["tool"], other["tool"])
        return
    yield from differences(f"{path}.{sides[0]}", one[sides[0]], other[sides[0]])
    calls = [t.get("calls") or [] for t in (one, other)]
    yield from _call_differences(f"{path}.{sides[0]}.calls", calls[0], calls[1])
    yield from differences(f"{path}.{sides[0]}.media", one.get("media"), other.get("media"))


def _result_differences(path: str, old: Json, new: Json) -> Iterator[Place]:
    for i, (one, other) in enumerate(_pairs(old, new)):
        if one is None or other is None or one[0] != other[0]:
            yield f"{path}[{i}]", one and one[1], other and other[1]
        else:
            yield from differences(f"{path}[{i}]", one[1], other[1])


def _call_differences(path: str, old: Json, new: Json) -> Iterator[Place]:
    for i, (one, other) in enumerate(_pairs(old, new)):
        if one is None or other is None:
            yield f"{path}[{i}]", one and one[1:], other and other[1:]
        elif one[1] != other[1]:
            yield f"{path}[{i}].name", one[1], other[1]
        else:
            yield from differences(f"{path}[{i}].args", one[2], other[2])


def _pairs(old: Json, new: Json) -> list[tuple[list[Json] | None, list[Json] | None]]:
    assert isinstance(old, list)
    assert isinstance(new, list)
    return [(_at(old, i), _at(new, i)) for i in range(max(len(old), len(new)))]  # type: ignore[misc]


def _at(values: list[Json], i: int) -> Json:
    return values[i] if i < len(values) else None
