"""Lost spans as OTLP log records, so that the store, and the run that lacks them, can say so.

One record per trace and reason: scope `otel_runlog`, event name `runlog.spans_dropped`, the trace where it is known,
attributes `runlog.drop.reason` and `runlog.drop.spans`. By hand: importing protobuf's classes takes longer than a span.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from otel_runlog.drop_event import EVENT, REASON, SPANS
from otel_runlog.otlp.protowire import write_varint

SCOPE: Final = "otel_runlog"
SEVERITY_WARN: Final = 13
"""SeverityNumber of logs.proto."""
_FIXED64 = struct.Struct("<Q").pack


class Loss(NamedTuple):
    """Spans of one trace that were lost for one reason; `trace_id` is None where it is not known."""

    reason: str
    trace_id: int | None
    spans: int


def encode_losses(losses: Sequence[Loss], time_ns: int) -> bytes:
    """One ExportLogsServiceRequest (opentelemetry/proto/logs/v1/logs.proto) that tells `losses`."""
    scope = _field(1, _text(1, SCOPE))
    records = b"".join(_field(2, _record(loss, time_ns)) for loss in losses)
    return _field(1, _field(1, b"") + _field(2, scope + records))


def _record(loss: Loss, time_ns: int) -> bytes:
    at = _FIXED64(time_ns)
    known = b"" if loss.trace_id is None else _field(9, loss.trace_id.to_bytes(16, "big"))
    parts = (
        _key(1, 1) + at + _key(2, 0) + write_varint(SEVERITY_WARN) + _text(3, "WARN"),
        _field(6, _text(1, REASON) + _field(2, _text(1, loss.reason))),
        _field(6, _text(1, SPANS) + _field(2, _key(3, 0) + write_varint(loss.spans))),
        known + _key(11, 1) + at + _text(12, EVENT),
    )
    return b"".join(parts)


def _key(number: int, wire_type: int) -> bytes:
    return write_varint(number << 3 | wire_type)


def _field(number: int, content: bytes) -> bytes:
    return _key(number, 2) + write_varint(len(content)) + content


def _text(number: int, text: str) -> bytes:
    return _field(number, text.encode())
