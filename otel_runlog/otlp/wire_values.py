"""Values and attributes as OTLP's protobuf has them (opentelemetry/proto/common/v1/common.proto), by hand."""

from __future__ import annotations

import struct
from typing import Final

from otel_runlog.model import Attributes, AttrValue
from otel_runlog.otlp.protowire import BYTES, FIXED64, VARINT, write_varint

_DOUBLE: Final = struct.Struct("<d").pack
_UINT64: Final = 1 << 64


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return write_varint(number << 3 | BYTES) + write_varint(len(content)) + content


def text(number: int, value: str) -> bytes:
    """A text; nothing where it is empty."""
    return field(number, value.encode(errors="replace")) if value else b""


def attributes(number: int, pairs: Attributes) -> bytes:
    """A repeated field of KeyValue."""
    return b"".join(field(number, key_value(key, value)) for key, value in pairs.items())


def key_value(key: str, value: AttrValue) -> bytes:
    """The content of a KeyValue."""
    return field(1, key.encode(errors="replace")) + field(2, any_value(value))


def any_value(value: AttrValue) -> bytes:
    """The content of an AnyValue."""
    if isinstance(value, str):
        return field(1, value.encode(errors="replace"))
    if isinstance(value, bool):
        return write_varint(2 << 3 | VARINT) + write_varint(int(value))
    if isinstance(value, int):
        return write_varint(3 << 3 | VARINT) + write_varint(value % _UINT64)
    if isinstance(value, float):
        return write_varint(4 << 3 | FIXED64) + _DOUBLE(value)
    if isinstance(value, bytes):
        return field(7, value)
    return _nested(value)


def _nested(value: list[AttrValue] | dict[str, AttrValue] | None) -> bytes:
    if value is None:
        return b""
    if isinstance(value, dict):
        return field(6, attributes(1, value))
    return field(5, b"".join(field(1, any_value(item)) for item in value))
