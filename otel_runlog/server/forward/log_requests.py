"""Neutral log records back to OTLP."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Final

from otel_runlog.model import Attributes, LogRecord
from otel_runlog.otlp.protowire import FIXED32, FIXED64, VARINT, write_varint
from otel_runlog.otlp.wire_values import any_value, attributes, field, text

_FIXED64: Final = struct.Struct("<Q").pack
_FIXED32: Final = struct.Struct("<I").pack
_OBSERVED: Final = 11


def encode_logs(records: Iterable[LogRecord]) -> bytes:
    """An ExportLogsServiceRequest (opentelemetry/proto/logs/v1/logs.proto) with a block for each record's resource."""
    blocks: dict[int, tuple[Attributes, dict[tuple[str, str], list[bytes]]]] = {}
    for record in records:
        _, scopes = blocks.setdefault(id(record.resource), (record.resource.attributes, {}))
        scopes.setdefault((record.scope.name, record.scope.version), []).append(field(2, log_record(record)))
    return b"".join(_block(resource, scopes) for resource, scopes in blocks.values())


def _block(resource: Attributes, scopes: dict[tuple[str, str], list[bytes]]) -> bytes:
    groups = (
        field(2, field(1, text(1, name) + text(2, version)) + b"".join(records))
        for (name, version), records in scopes.items()
    )
    return field(1, field(1, attributes(1, resource)) + b"".join(groups))


def log_record(record: LogRecord) -> bytes:
    """The content of a LogRecord."""
    parts = (
        _fixed64(1, record.time_ns),
        _varint(2, record.severity_number),
        text(3, record.severity_text),
        field(5, any_value(record.body)) if record.body is not None else b"",
        attributes(6, record.attributes),
        _varint(7, record.dropped_attributes_count),
        write_varint(8 << 3 | FIXED32) + _FIXED32(record.flags) if record.flags else b"",
        field(9, bytes.fromhex(record.trace_id)) if record.trace_id else b"",
        field(10, bytes.fromhex(record.span_id)) if record.span_id else b"",
        _fixed64(_OBSERVED, record.observed_ns),
        text(12, record.event_name),
    )
    return b"".join(parts)


def _fixed64(number: int, value: int | None) -> bytes:
    return write_varint(number << 3 | FIXED64) + _FIXED64(value) if value else b""


def _varint(number: int, value: int) -> bytes:
    return write_varint(number << 3 | VARINT) + write_varint(value) if value else b""
