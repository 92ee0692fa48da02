"""OTLP request bodies to spans and log records: the one decoder behind both doors and every file.

One bad span never costs its neighbours: it is left out and counted by reason (`bad_trace_id`, `bad_span_id`,
`too_deep`, `too_many_items`, `undecodable`), or repaired, which Span.repairs then says.
"""

from __future__ import annotations

from collections import Counter

import msgspec

from otel_runlog.errors import OtlpError
from otel_runlog.model import LogRecord, Span
from otel_runlog.otlp import from_json, lenient_json
from otel_runlog.otlp.protowire import signal_of
from otel_runlog.otlp.wire import Encoding, Signal


class DecodedSpans(msgspec.Struct):
    """What a traces request holds: the spans that can be kept, and how many cannot, by reason."""

    spans: list[Span]
    rejected: dict[str, int]


class DecodedLogs(msgspec.Struct):
    """What a logs request holds: the records that can be kept, and how many cannot, by reason."""

    records: list[LogRecord]
    rejected: dict[str, int]


def read_traces(body: bytes, encoding: Encoding) -> DecodedSpans:
    """The spans of an ExportTraceServiceRequest. Spans of one block share their Resource and Scope.

    Raises:
        OtlpError: the body is no such request; a request of another signal is named.
    """
    rejected: Counter[str] = Counter()
    if encoding is Encoding.JSON:
        lenient_json.check_size(body)
        return DecodedSpans(from_json.read_spans(body, rejected), rejected)
    from otel_runlog.otlp import from_protobuf

    spans = from_protobuf.read_spans(body, rejected)
    if not spans:
        # No item of another signal reads as a span with ids, so a body that has one need not be looked at again.
        _check_signal(body, Signal.TRACES)
    return DecodedSpans(spans, rejected)


def read_logs(body: bytes, encoding: Encoding) -> DecodedLogs:
    """The records of an ExportLogsServiceRequest. Records of one block share their Resource and Scope.

    Raises:
        OtlpError: the body is no such request; a request of another signal is named.
    """
    rejected: Counter[str] = Counter()
    if encoding is Encoding.JSON:
        lenient_json.check_size(body)
        return DecodedLogs(from_json.read_records(body, rejected), rejected)
    _check_signal(body, Signal.LOGS)
    from otel_runlog.otlp import from_protobuf

    return DecodedLogs(from_protobuf.read_records(body, rejected), rejected)


def _check_signal(body: bytes, wanted: Signal) -> None:
    found = signal_of(body)
    if found not in {None, wanted}:
        raise OtlpError(f"this is a {found} request, not {wanted}")
