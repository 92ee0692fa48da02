"""What makes a span or record one that can be kept, in either encoding.

Ids are 16 and 8 bytes, never all zero (W3C Trace Context, OTLP trace.proto); values nest only so deep.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import TypeVar

from otel_runlog.errors import OtlpError
from otel_runlog.span import note

Around = TypeVar("Around")
Item = TypeVar("Item")
Read = TypeVar("Read")
TRACE_ID_BYTES = 16
SPAN_ID_BYTES = 8
MAX_VALUE_DEPTH = 32
"""Levels of lists and maps in a value, about as many as protobuf's parser takes."""
_NO_TRACE = bytes(TRACE_ID_BYTES)
_NO_SPAN = bytes(SPAN_ID_BYTES)


class RejectedItemError(OtlpError):
    """A span or record that cannot be kept. Its text is the reason as it is counted."""


def kept(
    read: Callable[[Item, Around], Read], items: Iterable[tuple[Around, Item]], rejected: Counter[str]
) -> list[Read]:
    """What `read` makes of each item and what is around it; those that cannot be kept are counted by reason."""
    found = []
    for around, item in items:
        try:
            found.append(read(item, around))
        except RejectedItemError as reason:
            rejected[str(reason)] += 1
    return found


def check_ids(trace_id: bytes, span_id: bytes) -> None:
    """Refuse a span without valid ids.

    Raises:
        RejectedItemError: `bad_trace_id` or `bad_span_id`: of another length, or all zero.
    """
    if len(trace_id) != TRACE_ID_BYTES or trace_id == _NO_TRACE:
        raise RejectedItemError("bad_trace_id")
    if len(span_id) != SPAN_ID_BYTES or span_id == _NO_SPAN:
        raise RejectedItemError("bad_span_id")


def parent(raw: bytes, notes: list[str]) -> str | None:
    """A parent's span id in hex; None where there is none, and, noted, where it is no span id."""
    return _optional(raw, SPAN_ID_BYTES, "parent span id", notes)


def optional_trace_id(raw: bytes, notes: list[str]) -> str | None:
    """The trace id of a log record in hex; None where there is none, and, noted, where it is none."""
    return _optional(raw, TRACE_ID_BYTES, "trace id", notes)


def optional_span_id(raw: bytes, notes: list[str]) -> str | None:
    """The span id of a log record in hex; None where there is none, and, noted, where it is none."""
    return _optional(raw, SPAN_ID_BYTES, "span id", notes)


def _optional(raw: bytes, length: int, what: str, notes: list[str]) -> str | None:
    if not raw.strip(b"\0"):
        return None
    if len(raw) == length:
        return raw.hex()
    note(notes, f"repaired: {what} of {len(raw)} bytes left out")
    return None


def from_hex(text: str) -> bytes:
    """The bytes of an id in OTLP/JSON, which writes them in hex of either case; empty for what is no hex."""
    try:
        return bytes.fromhex(text) if text.isalnum() else b""
    except ValueError:
        return b""


def check_depth(depth: int) -> None:
    """Refuse a value with more levels of lists and maps than MAX_VALUE_DEPTH.

    Raises:
        RejectedItemError: `too_deep`.
    """
    if depth > MAX_VALUE_DEPTH:
        raise RejectedItemError("too_deep")
