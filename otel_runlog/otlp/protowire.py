"""The protobuf wire format as far as OTLP needs it: to cut a request into its spans and to look at their fields.

A request is never parsed as one message, because one span with broken text or too deep a value would cost all others.
Field numbers and wire types: https://protobuf.dev/programming-guides/encoding and the .proto files of OTLP 1.11.0.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TypeAlias

from otel_runlog.errors import OtlpError
from otel_runlog.otlp.items import RejectedItemError
from otel_runlog.otlp.wire import Signal

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
MAX_VARINT_BYTES = 10
ONE_BYTE, _TWO_BYTES = 0x7F, 0x3FFF
"""The largest varints of one and of two bytes; in a larger byte the top bit says that more follow."""
SHORT_VARINTS = tuple(bytes([n]) for n in range(ONE_BYTE + 1))
_MORE_FOLLOWS = tuple(bytes([n | 0x80]) for n in range(ONE_BYTE + 1))
_FIELD_0 = 7
"""The largest key of field number 0, which no message has."""
Field: TypeAlias = tuple[int, int, int, int]
"""(field number, wire type, start, end) of a field's content; a varint's content is its bytes."""

TEXT = "text"
MESSAGES: dict[str, dict[int, str]] = {
    "Resource": {1: "KeyValue"},
    "Scope": {1: TEXT, 2: TEXT, 3: "KeyValue"},
    "KeyValue": {1: TEXT, 2: "AnyValue"},
    "AnyValue": {1: TEXT, 5: "ArrayValue", 6: "KeyValueList"},
    "ArrayValue": {1: "AnyValue"},
    "KeyValueList": {1: "KeyValue"},
    "Span": {3: TEXT, 5: TEXT, 9: "KeyValue", 11: "Event", 13: "Link", 15: "Status"},
    "Event": {2: TEXT, 3: "KeyValue"},
    "Link": {3: TEXT, 4: "KeyValue"},
    "Status": {2: TEXT},
    "LogRecord": {3: TEXT, 5: "AnyValue", 6: "KeyValue", 12: TEXT},
}
"""The fields of OTLP's messages that hold text or other messages; the rest can neither be broken nor nest."""
MAX_MESSAGE_DEPTH = 100
"""protobuf's own limit on nested messages."""

_SIGNS: tuple[tuple[Signal, set[tuple[int, int]]], ...] = (
    (Signal.LOGS, {(1, FIXED64), (2, VARINT), (6, BYTES), (7, VARINT), (8, FIXED32), (11, FIXED64)}),
    (Signal.TRACES, {(4, BYTES), (6, VARINT), (7, FIXED64), (8, FIXED64), (13, BYTES), (15, BYTES), (16, FIXED32)}),
    (Signal.METRICS, {(7, BYTES), (10, BYTES)}),
)
"""Fields that no other signal has, looked for in this order (a log record has field 10 too, but more signs besides)."""
_METRIC_DATA = {(5, BYTES), (9, BYTES), (11, BYTES)}
"""Data of a metric, unless the item has ids: then its name, attributes or events."""
_ITEMS_LOOKED_AT = 16
_FIELDS_LOOKED_AT = 64
_TRACE_ID_BYTES, _SPAN_ID_BYTES = 16, 8


def read_varint(data: bytes, at: int, end: int) -> tuple[int, int]:
    """The varint at a position, and the position after it.

    Raises:
        OtlpError: it is cut off, or longer than a varint may be.
    """
    value = shift = 0
    for position in range(at, min(end, at + MAX_VARINT_BYTES)):
        byte = data[position]
        value |= (byte & 0x7F) << shift
        if byte <= ONE_BYTE:
            return value, position + 1
        shift += 7
    raise OtlpError(f"no OTLP protobuf: broken varint at byte {at}")


def fields(data: bytes, at: int, end: int) -> Iterator[Field]:
    """The fields of the message in data[at:end], in order.

    Raises:
        OtlpError: the bytes are no protobuf message.
    """
    try:
        while at < end:
            key, start = data[at], at + 1
            if key > ONE_BYTE:
                key, start = read_varint(data, at, end)
            wire_type = key & 7
            if wire_type == BYTES:
                length, start = data[start], start + 1
                if length > ONE_BYTE:
                    length, start = read_varint(data, start - 1, end)
                at = start + length
            else:
                at = _scalar_end(data, start, end, wire_type)
            if at > end or key <= _FIELD_0:
                raise OtlpError(f"no OTLP protobuf: field {key >> 3} at byte {start} reaches beyond its message")
            yield key >> 3, wire_type, start, at
    except IndexError:
        raise OtlpError(f"no OTLP protobuf: it ends within a field, at byte {len(data)}") from None


def _scalar_end(data: bytes, start: int, end: int, wire_type: int) -> int:
    if wire_type == VARINT:
        return read_varint(data, start, end)[1]
    if wire_type == FIXED64:
        return start + 8
    if wire_type == FIXED32:
        return start + 4
    raise OtlpError(f"no OTLP protobuf: wire type {wire_type} at byte {start}")


def sub_messages(data: bytes, at: int, end: int, number: int) -> Iterator[tuple[int, int]]:
    """Start and end of each message that the given field of data[at:end] holds."""
    for field_number, wire_type, start, stop in fields(data, at, end):
        if field_number == number and wire_type == BYTES:
            yield start, stop


def write_varint(value: int) -> bytes:
    """A non-negative integer as a varint."""
    if value <= ONE_BYTE:
        return SHORT_VARINTS[value]
    if value <= _TWO_BYTES:
        return _MORE_FOLLOWS[value & ONE_BYTE] + SHORT_VARINTS[value >> 7]  # 0.2 us; made of a tuple 0.35
    out = bytearray()
    while value > ONE_BYTE:
        out.append(value & ONE_BYTE | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def signal_of(body: bytes) -> Signal | None:
    """Which signal a request carries, by the fields of its first items; None where it has none that tells.

    Resource, scope and item lie at the same field numbers in all signals, so only the innermost messages differ.

    Raises:
        OtlpError: the body is no OTLP request of any signal.
    """
    for item in islice(_items(body), _ITEMS_LOOKED_AT):
        if found := _signal_of_item(body, *item):
            return found
    return None


def _items(body: bytes) -> Iterator[tuple[int, int]]:
    for block_at, block_end in sub_messages(body, 0, len(body), 1):
        for scope_at, scope_end in sub_messages(body, block_at, block_end, 2):
            yield from sub_messages(body, scope_at, scope_end, 2)


def _signal_of_item(body: bytes, at: int, end: int) -> Signal | None:
    try:
        item = list(islice(fields(body, at, end), _FIELDS_LOOKED_AT))
    except OtlpError:
        return None
    present = {(number, wire_type) for number, wire_type, _, _ in item}
    for signal, signs in _SIGNS:
        if present & signs:
            return signal
    lengths = {number: stop - start for number, wire_type, start, stop in item if wire_type == BYTES}
    if (lengths.get(1), lengths.get(2)) == (_TRACE_ID_BYTES, _SPAN_ID_BYTES):
        return Signal.TRACES
    return Signal.METRICS if present & _METRIC_DATA and (1, BYTES) in present else None  # a metric has a name


def count_items(data: bytes, message: str, limit: int) -> int:
    """How many messages lie in a message, itself included; counting stops beyond the limit.

    Raises:
        OtlpError: it is no such message.
    """
    found = 0
    pending = [(0, len(data), message)]
    while pending and found <= limit:
        at, end, name = pending.pop()
        found += 1
        inside = MESSAGES[name]
        for number, wire_type, start, stop in fields(data, at, end):
            if wire_type == BYTES and inside.get(number, TEXT) != TEXT:
                pending.append((start, stop, inside[number]))
                if len(pending) > limit:
                    return len(pending)
    return found


def repair_text(data: bytes, message: str, depth: int = 0) -> bytes:
    """The message with U+FFFD where its text fields are no UTF-8.

    Raises:
        OtlpError: it is no such message.
        RejectedItemError: `too_deep`, for protobuf's parser.
    """
    if depth > MAX_MESSAGE_DEPTH:
        raise RejectedItemError("too_deep")
    out = bytearray()
    at = 0
    for number, wire_type, start, end in fields(data, 0, len(data)):
        kind = MESSAGES[message].get(number) if wire_type == BYTES else None
        if kind is None:
            out += data[at:end]
        else:
            content = _repaired(data[start:end], kind, depth)
            out += write_varint(number << 3 | BYTES) + write_varint(len(content)) + content
        at = end
    return bytes(out)


def _repaired(content: bytes, kind: str, depth: int) -> bytes:
    if kind == TEXT:
        return content.decode(errors="replace").encode()
    return repair_text(content, kind, depth + 1)
