"""Answers between this package's processes: msgpack that reads back as the Python values that went in.

msgpack has no decimals, dates, times, intervals, UUIDs, tuples or integers beyond 64 bits: they are extensions here.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from otel_runlog.model import RunLog, Step
from otel_runlog.store.reader import Result

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1
StructT = TypeVar("StructT", bound=msgspec.Struct)
encode: Final = msgspec.msgpack.Encoder().encode


class _Extension(NamedTuple):
    kind: type
    to_text: Callable[[Any], str]
    from_text: Callable[[str], object]


def _interval(text: str) -> dt.timedelta:
    days, seconds, microseconds = map(int, text.split())
    return dt.timedelta(days, seconds, microseconds)


_EXTENSIONS: Final = {
    1: _Extension(Decimal, str, Decimal),
    2: _Extension(dt.datetime, dt.datetime.isoformat, dt.datetime.fromisoformat),
    3: _Extension(dt.date, dt.date.isoformat, dt.date.fromisoformat),
    4: _Extension(dt.time, dt.time.isoformat, dt.time.fromisoformat),
    5: _Extension(dt.timedelta, lambda value: f"{value.days} {value.seconds} {value.microseconds}", _interval),
    6: _Extension(uuid.UUID, str, uuid.UUID),
    7: _Extension(int, str, int),
}
"""By msgpack's code, each as a text."""
_TUPLE_CODE: Final = 8
_CODES: Final = {extension.kind: code for code, extension in _EXTENSIONS.items()}
_AS_THEY_ARE: Final = frozenset({str, bool, float, bytes, type(None)})


def pack_result(result: Result) -> bytes:
    """The answer to a statement."""
    return encode((result.columns, result.types, [[_plain(value) for value in row] for row in result.rows]))


def unpack_result(body: bytes) -> Result:
    """What `pack_result` packed."""
    columns, types, rows = msgspec.msgpack.decode(body, ext_hook=_from_extension)
    return Result(tuple(columns), tuple(types), [tuple(row) for row in rows])


def pack_row(row: tuple[object, ...]) -> bytes:
    """One row, to know how large it is."""
    return encode([_plain(value) for value in row])


def unpack_runs(body: bytes) -> list[RunLog]:
    """The runs that `encode` packed."""
    return [_run(raw) for raw in msgspec.msgpack.decode(body)]


def _run(raw: dict[str, Any]) -> RunLog:
    steps = tuple(_built(Step, step) for step in raw.pop("steps"))
    return msgspec.structs.replace(_built(RunLog, raw), steps=steps)


_OPEN: Final = frozenset({"attributes", "params"})
"""Fields whose values may be anything: no msgspec type says so."""


def _built(kind: type[StructT], raw: dict[str, Any]) -> StructT:
    types = {field.name: field.type for field in msgspec.structs.fields(kind)}
    values = {
        name: value if name in _OPEN else msgspec.convert(value, types[name])
        for name, value in raw.items()
        if name in types  # a server of a newer version may say more
    }
    return kind(**values)


def _plain(value: object) -> object:
    kind = type(value)
    if kind in _AS_THEY_ARE or (kind is int and _SMALLEST <= cast("int", value) <= _LARGEST):
        return value
    if code := _CODES.get(kind):
        return msgspec.msgpack.Ext(code, _EXTENSIONS[code].to_text(value).encode())
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, tuple):
        return msgspec.msgpack.Ext(_TUPLE_CODE, encode([_plain(item) for item in value]))
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return str(value)


def _from_extension(code: int, data: memoryview) -> object:
    if code == _TUPLE_CODE:
        return tuple(msgspec.msgpack.decode(data, ext_hook=_from_extension))
    return _EXTENSIONS[code].from_text(bytes(data).decode())
