"""Values of Python that JSON cannot say, in JSON, and back. Pure.

An object with one name that begins with `$` is such a value: {"$bytes": base64}, {"$float": "nan"}, {"$int": hex}
beyond 64 bits, {"$text": base64 of UTF-8} for text with lone surrogates, and {"$object": [[name, value], ...]} for an
object whose own names could be taken for these. Decimals are texts, times RFC 3339 in UTC with microseconds.
"""

from __future__ import annotations

import base64
import binascii
import datetime as dt
import math
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final, TypeAlias

from otel_runlog.errors import CaptureError

MAX_DEPTH: Final = 200
"""Lists and objects in each other; what is deeper is neither written nor read."""
MAX_INT_BITS: Final = 64
MOST_INT_BITS: Final = 14_280
"""Of integers that are written and read at all: Python says none in decimal that has more than 4300 digits."""
TOO_DEEP: Final = f"values are nested more than {MAX_DEPTH} deep"
Plain: TypeAlias = Any
"""A tree of what JSON can say; its shape is checked where it is made into structs."""


def packed(value: object, depth: int = 0) -> Plain:
    """`value` in JSON's words.

    Raises:
        CaptureError: it is nested too deeply, or of a type that no telemetry has.
    """
    if value is None or isinstance(value, bool):
        return value
    pack = _PACKERS.get(type(value))
    if pack is not None:
        return pack(value)
    if depth > MAX_DEPTH:
        raise CaptureError(TOO_DEEP)
    if isinstance(value, Mapping):
        return _object({str(k): packed(v, depth + 1) for k, v in value.items()})
    if isinstance(value, list | tuple):
        return [packed(v, depth + 1) for v in value]
    raise CaptureError(f"a value of type {type(value).__name__} cannot be written")


def _object(value: dict[str, Plain]) -> Plain:
    if all((name.isascii() or _is_unicode(name)) and not name.startswith("$") for name in value):
        return value
    return {"$object": [[_text(name), inner] for name, inner in value.items()]}


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: str) -> Plain:
    if value.isascii() or _is_unicode(value):
        return value
    return {"$text": _base64(value.encode("utf-8", "surrogatepass"))}


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def _float(value: float) -> Plain:
    return value if math.isfinite(value) else {"$float": repr(value)}


def _int(value: int) -> Plain:
    if value.bit_length() > MOST_INT_BITS:
        raise CaptureError(f"an integer of more than {MOST_INT_BITS} bits cannot be written")
    return value if value.bit_length() < MAX_INT_BITS else {"$int": hex(value)}


def _time(value: dt.datetime) -> str:
    return value.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


_PACKERS: Final[Mapping[type, Callable[[Any], Plain]]] = {
    str: _text,
    int: _int,
    float: _float,
    bytes: lambda value: {"$bytes": _base64(value)},
    dt.datetime: _time,
    Decimal: str,
}


def unpacked(value: Plain, depth: int = 0) -> Plain:
    """What `packed` was given; times and decimals stay texts.

    Raises:
        CaptureError: it is nested too deeply, or holds a value of a kind that is not known.
    """
    if isinstance(value, dict):
        if depth > MAX_DEPTH:
            raise CaptureError(TOO_DEEP)
        if len(value) == 1 and (name := next(iter(value))).startswith("$"):
            return _marked(name, value[name], depth)
        return {name: unpacked(inner, depth + 1) for name, inner in value.items()}
    if isinstance(value, list):
        if depth > MAX_DEPTH:
            raise CaptureError(TOO_DEEP)
        return [unpacked(inner, depth + 1) for inner in value]
    return value


def _marked(name: str, value: Plain, depth: int) -> Plain:
    try:
        if name == "$object":
            return {_name(key): unpacked(inner, depth + 1) for key, inner in value}
        return _READERS[name](value)
    except (KeyError, TypeError, ValueError, AttributeError, binascii.Error):
        raise CaptureError(f"a value marked {name!r:.40} cannot be read") from None


def _name(key: Plain) -> str:
    name = unpacked(key)
    if not isinstance(name, str):
        raise TypeError
    return name


def _from_base64(value: str) -> bytes:
    return base64.b64decode(value, validate=True)


def _from_hex(value: str) -> int:
    number = int(value, 16) if len(value) <= MOST_INT_BITS else None
    if number is None or number.bit_length() > MOST_INT_BITS:
        raise ValueError
    return number


_READERS: Final[Mapping[str, Callable[[Any], Plain]]] = {
    "$bytes": _from_base64,
    "$text": lambda value: _from_base64(value).decode("utf-8", "surrogatepass"),
    "$float": lambda value: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value],
    "$int": _from_hex,
}
