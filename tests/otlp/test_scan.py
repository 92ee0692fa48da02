"""What is known of a request before anything parses it: its items, the bad ones, and that it is bounded."""

from __future__ import annotations

import json
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2
from protobuf_bytes import field, varint

from otel_runlog.errors import OtlpError
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.scan import OverLimitError, ScanLimits, Scanned, scan
from otel_runlog.otlp.wire import Encoding, Signal

TRACE, SPAN = bytes(range(1, 17)), bytes(range(1, 9))
LIMITS = ScanLimits()
SMALL = ScanLimits(max_items=10, max_attributes=20, max_values=500)


def request_of(*items: bytes) -> bytes:
    return field(1, field(1, b"") + field(2, field(1, b"") + b"".join(field(2, item) for item in items)))


def span(trace_id: bytes = TRACE, span_id: bytes = SPAN, attributes: int = 2, **fields: Any) -> bytes:
    pairs = [KeyValue(key=f"key.{n}", value=AnyValue(string_value="text")) for n in range(attributes)]
    message = trace_pb2.Span(trace_id=trace_id, span_id=span_id, name="chat", attributes=pairs, **fields)
    return message.SerializeToString()


def record(attributes: int = 2) -> bytes:
    pairs = [KeyValue(key=f"key.{n}", value=AnyValue(string_value="text")) for n in range(attributes)]
    body = AnyValue(string_value="said")
    return logs_pb2.LogRecord(time_unix_nano=1, body=body, attributes=pairs).SerializeToString()


def nested(levels: int) -> bytes:
    """A span with an attribute of so many lists, one in the other."""
    value = field(1, b"deep")
    for _ in range(levels):
        value = field(5, field(1, value))
    return span() + field(9, field(1, b"k") + field(2, value))


def json_span(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE.hex(), "spanId": SPAN.hex(), "name": "chat", "startTimeUnixNano": "1"} | fields


def json_traces(*spans: object) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]}).encode()


def json_nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {"stringValue": "deep"}
    for _ in range(levels):
        value = {"arrayValue": {"values": [value]}}
    return json_span(attributes=[{"key": "k", "value": value}])


def scan_traces(body: bytes, limits: ScanLimits = LIMITS) -> Scanned:
    return scan(body, Signal.TRACES, Encoding.PROTOBUF, limits)


def scan_json(body: bytes, signal: Signal = Signal.TRACES, limits: ScanLimits = LIMITS) -> Scanned:
    return scan(body, signal, Encoding.JSON, limits)


def as_loaded(body: bytes, encoding: Encoding = Encoding.PROTOBUF) -> Scanned:
    decoded = read_traces(body, encoding)
    return Scanned(len(decoded.spans) + sum(decoded.rejected.values()), dict(decoded.rejected))


@pytest.mark.fault(25)
@pytest.mark.parametrize("body", [b"", field(1, b""), request_of()])
@pytest.mark.parametrize("signal", [Signal.TRACES, Signal.LOGS])
def test_nothing_is_a_request_without_items(body: bytes, signal: Signal) -> None:
    assert scan(body, signal, Encoding.PROTOBUF, LIMITS) == Scanned(0, {})


def test_items_are_counted() -> None:
    assert scan_traces(request_of(*[span()] * 7) + request_of(span())) == Scanned(8, {})
    assert scan(request_of(*[record()] * 7), Signal.LOGS, Encoding.PROTOBUF, LIMITS) == Scanned(7, {})
    assert scan_json(json_traces(json_span(), json_span())) == Scanned(2, {})


@pytest.mark.fault(22)
@pytest.mark.parametrize("size", [0, 7, 8, 15, 17, 24])
def test_ids_of_a_wrong_length_are_told_as_the_loader_will_find_them(size: int) -> None:
    bad_span_ids = [span(span_id=b"x" * size)] if size != 8 else []
    body = request_of(span(), span(trace_id=b"x" * size), *bad_span_ids)
    found = scan_traces(body)
    assert found == as_loaded(body)
    assert found.rejected == {"bad_trace_id": 1} | ({"bad_span_id": 1} if bad_span_ids else {})


@pytest.mark.fault(22)
@pytest.mark.parametrize(
    ("trace_id", "span_id", "reason"),
    [
        ("0" * 32, SPAN.hex(), "bad_trace_id"),
        (TRACE.hex(), "0" * 16, "bad_span_id"),
        (TRACE.hex()[1:], SPAN.hex(), "bad_trace_id"),
        ("z" * 32, SPAN.hex(), "bad_trace_id"),
        ("AQIDBAUGBwgJCgsMDQ4PEA==", SPAN.hex(), "bad_trace_id"),
        (TRACE.hex(), "", "bad_span_id"),
    ],
)
def test_bad_ids_in_json(trace_id: str, span_id: str, reason: str) -> None:
    body = json_traces(json_span(), json_span(traceId=trace_id, spanId=span_id))
    assert scan_json(body) == as_loaded(body, Encoding.JSON) == Scanned(2, {reason: 1})


def test_ids_may_stand_anywhere_in_a_span() -> None:
    late = field(5, b"chat") + field(2, SPAN) + field(1, TRACE)
    assert scan_traces(request_of(late, field(5, b"chat") + field(2, SPAN))) == Scanned(2, {"bad_trace_id": 1})


@pytest.mark.fault(23, 33)
@pytest.mark.parametrize(
    ("poison", "reason"),
    [
        (nested(60), "undecodable"),
        (nested(1000), "undecodable"),
        (span() + b"\x0a\xff", "undecodable"),
        (span() + field(5, b"\xff"), None),
        (span() + field(5, b"nul \0 in it"), None),
    ],
)
def test_a_poisoned_span_costs_itself_alone(poison: bytes, reason: str | None) -> None:
    body = request_of(span(), poison, span())
    found = scan_traces(body)
    assert found == as_loaded(body)
    assert found.items == 3
    assert sum(found.rejected.values()) == (reason is not None)


@pytest.mark.fault(33)
@pytest.mark.parametrize("levels", [31, 32, 33, 60, 300, 5_000])
def test_nested_json_is_told_as_the_loader_will_find_it(levels: int) -> None:
    lists = ("[" * levels + "]" * levels).encode()
    deep = json_nested(levels) if levels <= 300 else json_span(extra="LISTS")
    body = json_traces(json_span(), deep).replace(b'"LISTS"', lists)
    assert scan_json(body) == as_loaded(body, Encoding.JSON)


@pytest.mark.parametrize(
    ("body", "signal", "other"),
    [
        (request_of(record()), Signal.TRACES, "logs"),
        (request_of(span()), Signal.LOGS, "traces"),
        (request_of(field(1, b"requests") + field(7, b"\x10\x02")), Signal.TRACES, "metrics"),
        (request_of(field(1, b"requests") + field(7, b"\x10\x02")), Signal.LOGS, "metrics"),
    ],
)
def test_another_signal_is_named(body: bytes, signal: Signal, other: str) -> None:
    with pytest.raises(OtlpError, match=f"this is a {other} request, not {signal}"):
        scan(body, signal, Encoding.PROTOBUF, LIMITS)


@pytest.mark.parametrize("key", ["resourceLogs", "resourceMetrics"])
def test_another_signal_in_json_is_named(key: str) -> None:
    body = json.dumps({key: []}).encode()
    with pytest.raises(OtlpError, match="request, not traces"):
        scan_json(body)


def test_a_span_without_ids_does_not_make_its_neighbours_metrics() -> None:
    nameless = field(5, b"chat") + field(9, field(1, b"k"))
    assert scan_traces(request_of(nameless, span())) == Scanned(2, {"bad_trace_id": 1})


@pytest.mark.fault(24)
@pytest.mark.parametrize(
    "body",
    [b"\xff", b"<html>", b"{}", b"\x0a\x05abc", request_of(span())[:-1], b"\x00", b"\x0b\x0c", varint(1 << 70) * 3],
)
def test_what_is_no_protobuf_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        scan_traces(body)


@pytest.mark.fault(24)
@pytest.mark.parametrize("body", [b"", b"[]", b"null", b"{", b"1", b'{"resource_spans": []}', b"\xff", b'"x"'])
def test_what_is_no_otlp_json_is_refused(body: bytes) -> None:
    with pytest.raises(OtlpError):
        scan_json(body)


@pytest.mark.fault(26)
@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"\xef\xbb\xbf" + json_traces(json_span()),
        json_traces(json_span(kind="SPAN_KIND_CLIENT", extra={"x": [1]}, startTimeUnixNano=1.7e18)),
        json_traces(json_span(name="NAME")).replace(b'"NAME"', rb'"a\ud83e"'),
        json_traces(json_span(name=None, attributes=None)),
        json_traces(json_span(name="NAME")).replace(b'"NAME"', b"NaN"),
    ],
)
def test_quirks_of_json_are_taken_as_the_loader_takes_them(body: bytes) -> None:
    assert scan_json(body) == as_loaded(body, Encoding.JSON)


@given(st.binary(max_size=40), st.integers(0, 400), st.integers(0, 255))
def test_whatever_the_bytes_the_scan_says_what_the_loader_finds(junk: bytes, at: int, byte: int) -> None:
    body = bytearray(request_of(span(), span(attributes=5), junk))
    body[at % len(body)] = byte
    assert _outcome(scan_traces, bytes(body)) == _outcome(as_loaded, bytes(body))


def _outcome(function: Callable[[bytes], Scanned], body: bytes) -> Scanned | str:
    try:
        found = function(body)
    except OtlpError:
        return "refused"
    # A reason may differ where a span has two faults: with bad ids it need not be read any further.
    return Scanned(found.items, {"any": sum(found.rejected.values())})


@given(st.binary(max_size=200))
def test_random_bytes_never_raise_anything_else(body: bytes) -> None:
    for signal in (Signal.TRACES, Signal.LOGS):
        for encoding in Encoding:
            try:
                scan(body, signal, encoding, LIMITS)
            except OtlpError:
                continue


@pytest.mark.fault(32)
@pytest.mark.parametrize(
    "body",
    [
        field(1, field(2, b"\x12\x00" * 11)),
        field(1, b"\x12\x00" * 11),
        b"\x0a\x00" * 11,
        field(1, field(2, b"\x12\x00" * 6) * 2),
        field(1, field(2, b"\x20\x01" * 100)),
        b"\x20\x01" * 100,
    ],
    ids=["spans", "scopes", "blocks", "over several scopes", "unknown fields", "unknown fields of the request"],
)
def test_a_request_over_the_span_cap_is_refused_whole(body: bytes) -> None:
    with pytest.raises(OverLimitError, match="more than 10 spans"):
        scan_traces(body, SMALL)


@pytest.mark.fault(32)
def test_sixteen_million_empty_spans_are_refused_without_being_looked_at() -> None:
    body = field(1, field(2, b"\x12\x00" * (16 << 20)))
    tracemalloc.start()
    try:
        before = time.process_time()
        with pytest.raises(OverLimitError, match="more than 100000 spans in one request"):
            scan_traces(body)
        took_s = time.process_time() - before
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert took_s < 3  # 0.1 s; with tracemalloc and a busy machine more, and 16 million would take 10
    assert peak_bytes < 32 << 20


@pytest.mark.fault(34)
@pytest.mark.parametrize("extra", [field(9, field(1, b"k")) * 30, field(9, b"") * 30, b"\x70\x00" * 100])
def test_a_span_over_the_attribute_cap_is_refused_with_its_request(extra: bytes) -> None:
    with pytest.raises(OverLimitError, match="more than 20 attributes in one Span"):
        scan_traces(request_of(span(), span() + extra), SMALL)


@pytest.mark.fault(34)
def test_a_record_over_the_attribute_cap_is_refused_with_its_request() -> None:
    with pytest.raises(OverLimitError, match="more than 20 attributes in one LogRecord"):
        scan(request_of(record(30)), Signal.LOGS, Encoding.PROTOBUF, SMALL)
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"attributes": [{"key": "k"}] * 30}]}]}]}
    with pytest.raises(OverLimitError, match="more than 20 attributes in one LogRecord"):
        scan_json(json.dumps(body).encode(), Signal.LOGS, SMALL)


@pytest.mark.fault(34)
@pytest.mark.parametrize(
    "value",
    [
        b"\x5a\x00" * 600,  # events
        field(11, b"\x1a\x00" * 600),  # attributes of an event
        field(9, field(2, field(5, b"\x0a\x00" * 600))),  # values of a list
        field(9, field(2, field(6, b"\x0a\x00" * 600))),  # pairs of a map
    ],
)
def test_values_at_every_depth_are_bounded(value: bytes) -> None:
    limits = ScanLimits(max_items=10, max_attributes=10_000, max_values=500)
    with pytest.raises(OverLimitError, match="more than 500 attributes, values, events and links"):
        scan_traces(request_of(span() + value), limits)


@pytest.mark.fault(33)
@pytest.mark.parametrize("fill", ["{},", "[],", "0,"])
def test_json_that_would_swell_is_refused(fill: str) -> None:
    body = ('{"resourceSpans":[' + fill * 3_000 + "0]}").encode()
    with pytest.raises(OverLimitError, match="more than 250 JSON objects and arrays"):
        scan_json(body, limits=SMALL)


def test_braces_in_a_text_are_text() -> None:
    body = json_traces(json_span(name="{[," * 3_000))
    assert scan_json(body, limits=SMALL) == Scanned(1, {})


def test_long_spans_within_the_limits_are_taken() -> None:
    long = span() + field(9, field(1, b"k") + field(2, field(1, b"x" * 300_000)))
    assert scan_traces(request_of(span(), long), SMALL) == Scanned(2, {})


@pytest.mark.parametrize("kind", [ExportLogsServiceRequest, ExportMetricsServiceRequest])
def test_an_empty_request_of_another_signal_is_empty(kind: type[ExportLogsServiceRequest]) -> None:
    assert scan_traces(kind().SerializeToString()) == Scanned(0, {})


def test_logs_are_told_as_the_loader_will_find_them() -> None:
    deep = record() + field(5, field(5, field(1, b"")) * 1) + field(6, field(1, b"k") + field(2, _deep(60)))
    body = request_of(record(), deep)
    decoded = read_logs(body, Encoding.PROTOBUF)
    found = scan(body, Signal.LOGS, Encoding.PROTOBUF, LIMITS)
    assert (found.items, found.rejected) == (2, decoded.rejected)
    assert sum(found.rejected.values()) == 1


def _deep(levels: int) -> bytes:
    value = field(1, b"deep")
    for _ in range(levels):
        value = field(5, field(1, value))
    return value
