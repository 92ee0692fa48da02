"""The spans and log records in a request in protobuf, by their bytes: which they are, fewer of them, more on them."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Iterator
from typing import Final, TypeAlias

from otel_runlog.errors import OtlpError
from otel_runlog.otlp.protowire import BYTES, FIXED64, fields, sub_messages
from otel_runlog.otlp.wire_values import field, key_value
from otel_runlog.store.forwarding import SpanKey

Added: TypeAlias = dict[str, str | int | float]
"""Attributes that are added to a span."""
_PATH: Final = (1, 2, 2)
"""resource_spans, scope_spans, spans: where a span stands in a request, and a log record too."""
_TRACE_ID, _SPAN_ID, _START, _ATTRIBUTES = 1, 2, 7, 9
_LOG_TRACE_ID: Final = 9
_KEY: Final = 1
MAX_CACHED: Final = 4096
_FIXED64: Final = struct.Struct("<Q")


def span_keys(body: bytes) -> Iterator[SpanKey]:
    """What the spans of a request are known by.

    Raises:
        OtlpError: the body is no request.
    """
    for at, end in _items(body):
        yield _key_of(body, at, end)


def log_traces(body: bytes) -> set[str]:
    """The traces that the log records of a request name.

    Raises:
        OtlpError: the body is no request.
    """
    named = (body[start:end] for item in _items(body) for start, end in sub_messages(body, *item, _LOG_TRACE_ID))
    return {trace_id.hex() for trace_id in named if trace_id}


def count_items(body: bytes) -> int:
    """How many spans or log records a request holds; 1 at least of what is none."""
    found = 0
    try:
        for _ in _items(body):
            found += 1
    except OtlpError:
        return max(found, 1)
    return found


def _items(body: bytes) -> Iterator[tuple[int, int]]:
    """Where spans, or log records, begin and end."""
    for block_at, block_end in sub_messages(body, 0, len(body), _PATH[0]):
        for scope_at, scope_end in sub_messages(body, block_at, block_end, _PATH[1]):
            yield from sub_messages(body, scope_at, scope_end, _PATH[2])


def with_attributes(body: bytes, added: Iterator[Added]) -> bytes:
    """The request with attributes added to its spans, in order; those of the same key that a span had give way.

    Raises:
        OtlpError: the body is no request.
    """
    return _changed(body, 0, len(body), 0, added)


def items_between(body: bytes, low: int, high: int) -> bytes:
    """The request with its spans or log records from number `low` up to `high` alone, what is around them as it was.

    Raises:
        OtlpError: the body is no request.
    """
    return _kept(body, (0, len(body)), 0, itertools.count(), range(low, high)) or b""


def _kept(body: bytes, within: tuple[int, int], depth: int, numbers: Iterator[int], kept: range) -> bytes | None:
    parts, copied, is_empty = [], within[0], True
    for number, wire_type, start, stop in fields(body, *within):
        part: bytes | None = body[copied:stop]
        if (number, wire_type) == (_PATH[depth], BYTES):
            if depth < len(_PATH) - 1:
                content = _kept(body, (start, stop), depth + 1, numbers, kept)
                part = None if content is None else field(number, content)
            elif next(numbers) not in kept:
                part = None
            is_empty = is_empty and part is None
        if part is not None:
            parts.append(part)
        copied = stop
    return None if is_empty else b"".join(parts)


def _changed(body: bytes, at: int, end: int, depth: int, added: Iterator[Added]) -> bytes:
    if depth == len(_PATH):
        return _span(body[at:end], next(added, {}))
    parts, copied = [], at
    for number, wire_type, start, stop in fields(body, at, end):
        if (number, wire_type) == (_PATH[depth], BYTES):
            parts.append(field(number, _changed(body, start, stop, depth + 1, added)))
        else:
            parts.append(body[copied:stop])
        copied = stop
    return b"".join(parts)


def _span(span: bytes, attributes: Added) -> bytes:
    starts = tuple(_start_of_pair(key) for key in attributes)
    if any(start in span for start in starts):
        span = _without(span, starts)
    return b"".join((span, *(_pair(key, value) for key, value in attributes.items())))


def _without(span: bytes, starts: tuple[bytes, ...]) -> bytes:
    parts, kept_from, last = [], 0, 0
    for number, _, at, end in fields(span, 0, len(span)):
        if number == _ATTRIBUTES and span.startswith(starts, at):
            parts.append(span[kept_from:last])
            kept_from = end
        last = end
    parts.append(span[kept_from:])
    return b"".join(parts)


@functools.lru_cache(MAX_CACHED)
def _start_of_pair(key: str) -> bytes:
    """How a KeyValue with this key begins: every writer puts the key first."""
    return field(_KEY, key.encode())


@functools.lru_cache(MAX_CACHED, typed=True)
def _pair(key: str, value: str | float) -> bytes:
    """An attribute of a span; runs, kinds and numbers come again and again."""
    return field(_ATTRIBUTES, key_value(key, value))


def _key_of(data: bytes, at: int, end: int) -> SpanKey:
    trace_id = span_id = b""
    started_ns = 0
    for number, wire_type, start, stop in fields(data, at, end):
        if number == _TRACE_ID and wire_type == BYTES:
            trace_id = data[start:stop]
        elif number == _SPAN_ID and wire_type == BYTES:
            span_id = data[start:stop]
        elif number == _START and wire_type == FIXED64:
            (started_ns,) = _FIXED64.unpack_from(data, start)
        if trace_id and span_id and started_ns:
            break  # before the attributes, as nearly everybody writes fields in order
    return trace_id.hex(), span_id.hex(), started_ns
