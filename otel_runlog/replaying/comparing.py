"""JSON values side by side: whether they say the same, and where they first do not. Pure.

Numbers are compared by value (1 is 1.0, true is not 1), the order of keys plays no part.
"""

from __future__ import annotations

import json
import math
from typing import Final, NamedTuple

from otel_runlog.conversation import Json

MAX_DEPTH: Final = 100
TOO_DEEP: Final = "(nested too deep)"


class JsonDifference(NamedTuple):
    """Where two values first differ, as `cities[1].name` (empty: the values as a whole), and what stands there."""

    path: str
    recorded: Json
    got: Json


def key_of(value: Json) -> str:
    """A text that is equal for equal values. NaN and the infinities, which JSON cannot say, have one too."""
    return json.dumps(plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def same(recorded: Json, got: Json) -> bool:
    """Whether two values say the same."""
    return recorded is got or key_of(recorded) == key_of(got)


def first_difference(recorded: Json, got: Json) -> JsonDifference | None:
    """The first place, in the order of the recorded value, where two values differ; None where they do not."""
    if same(recorded, got):
        return None
    found = JsonDifference("", recorded, got)
    while (inner := _inner(found.recorded, found.got)) is not None:
        found = inner._replace(path=found.path + inner.path)
    return found._replace(path=found.path.removeprefix("."))


def _inner(recorded: Json, got: Json) -> JsonDifference | None:
    if same(recorded, got):  # one of two mappings lacks a key whose value is null
        return None
    if isinstance(recorded, dict) and isinstance(got, dict):
        keys = [*recorded, *(key for key in got if key not in recorded)]
        key = next(key for key in keys if key not in recorded or key not in got or not same(recorded[key], got[key]))
        return JsonDifference(f".{key}", recorded.get(key), got.get(key))
    if isinstance(recorded, list) and isinstance(got, list) and recorded and got:
        both = enumerate(zip(recorded, got, strict=False))
        index = next((i for i, (one, other) in both if not same(one, other)), min(len(recorded), len(got)))
        return JsonDifference(f"[{index}]", *(side[index] if index < len(side) else None for side in (recorded, got)))
    return None


def shared_beginning(one: str, other: str) -> int:
    """How many letters two texts have in common from their beginning on."""
    low, high = 0, min(len(one), len(other))
    while low < high:  # halves, so that the comparing itself is done by str
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def plain(value: Json, depth: int = 0) -> Json:
    """The value as JSON can say it, equal numbers being equal; what is nested deeper than MAX_DEPTH is a text."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() else value
    if not isinstance(value, list | dict):
        return value
    if depth >= MAX_DEPTH:
        return _text(value)
    if isinstance(value, list):
        return [plain(item, depth + 1) for item in value]
    return {key: plain(item, depth + 1) for key, item in value.items()}


def _text(value: Json) -> str:
    try:
        return json.dumps(value, sort_keys=True)
    except RecursionError:
        return TOO_DEEP
