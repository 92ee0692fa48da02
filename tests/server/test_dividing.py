"""A large request becomes several that hold the same, whatever its encoding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_runlog.journal import JournalWriter, journal_folder, read_segment
from otel_runlog.model import Resource, Scope, Span
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.answers import ACCEPTED
from otel_runlog.server.counters import Counters
from otel_runlog.server.dividing import divided
from otel_runlog.server.intake import Intake


def spans(sizes: list[int]) -> list[Span]:
    """Spans of several resources and scopes with texts of these sizes."""
    return [
        Span(
            trace_id=f"{1:032x}",
            span_id=f"{number + 1:016x}",
            name="s",
            started_ns=1,
            ended_ns=2,
            attributes={"text": "x" * size},
            resource=Resource({"service.name": f"service {number // 5 % 2}"}),
            scope=Scope(f"scope {number // 3 % 2}"),
        )
        for number, size in enumerate(sizes)
    ]


def as_json(body: bytes) -> bytes:
    """The same request in JSON."""
    request = MessageToDict(ExportTraceServiceRequest.FromString(body))
    for block in request["resourceSpans"]:
        for scope in block["scopeSpans"]:
            for span in scope["spans"]:
                span.update(traceId=f"{1:032x}", spanId=bytes_of(span["spanId"]))
    return b"\xef\xbb\xbf" + json.dumps(request).encode()


def bytes_of(base64_id: str) -> str:
    import base64

    return base64.b64decode(base64_id).hex()


@pytest.mark.parametrize("encoding", list(Encoding))
@given(sizes=st.lists(st.integers(0, 300), min_size=1, max_size=20), part_bytes=st.integers(50, 1000))
def test_the_parts_hold_what_the_request_held_in_its_order(
    encoding: Encoding, sizes: list[int], part_bytes: int
) -> None:
    body = encode_spans(spans(sizes))
    body = as_json(body) if encoding is Encoding.JSON else body
    whole = read_traces(body, encoding).spans
    parts = divided(body, Signal.TRACES, encoding, len(whole), part_bytes)
    assert [span for part in parts for span in read_traces(part, encoding).spans] == whole
    assert (len(parts) > 1) == (len(body) > part_bytes and len(whole) > 1)
    assert len(parts) <= -(-len(body) // part_bytes)


def test_unknown_fields_around_the_items_stay_with_every_part() -> None:
    record = {"body": {"stringValue": "hello"}, "timeUnixNano": "1"}
    scope = {"scope": {"name": "s"}, "logRecords": [record, record], "schemaUrl": "u"}
    request = {
        "resourceLogs": [{"resource": {}, "scopeLogs": [scope, {"scope": {}}, {"logRecords": None}]}, {}],
        "x": 1,
    }
    parts = divided(json.dumps(request).encode(), Signal.LOGS, Encoding.JSON, 2, 10)
    assert [len(read_logs(part, Encoding.JSON).records) for part in parts] == [1, 1]
    assert {json.loads(part)["resourceLogs"][0]["scopeLogs"][0]["schemaUrl"] for part in parts} == {"u"}
    assert {json.loads(part)["x"] for part in parts} == {1}


@pytest.mark.parametrize(
    ("body", "encoding"),
    [(b'{"resourceSpans": [], "x": "' + b"x" * 99 + b'"}', Encoding.JSON), (b"\xff" * 99, Encoding.PROTOBUF)],
)
def test_what_cannot_be_divided_is_left_whole(body: bytes, encoding: Encoding) -> None:
    assert divided(body, Signal.TRACES, encoding, 7, 10) == [body]


@pytest.mark.parametrize("encoding", list(Encoding))
def test_a_large_request_stands_in_the_journal_in_parts_that_are_decoded_one_at_a_time(
    tmp_path: Path, encoding: Encoding
) -> None:
    body = encode_spans(spans([1 << 20] * 12))
    body = as_json(body) if encoding is Encoding.JSON else body
    journal = JournalWriter(journal_folder(tmp_path / "runs.duckdb"))
    assert Intake(journal, Counters()).take(Signal.TRACES, encoding, body, "http") == ACCEPTED
    assert journal.path is not None
    records = read_segment(journal.path).records
    assert 3 <= len(records) <= 4
    assert max(len(record.body) for record in records) < 5 << 20
    assert sum(len(read_traces(record.body, encoding).spans) for record in records) == 12
