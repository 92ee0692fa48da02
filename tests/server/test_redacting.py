"""Secrets in requests: none reaches the journal, whatever the encoding and wherever it stands."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from doors import JSON, PROTOBUF, doors, json_request, json_span, request_of, span
from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, InstrumentationScope, KeyValue, KeyValueList
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, ResourceLogs, ScopeLogs
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status
from protobuf_bytes import field

from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.redaction import SecretPatterns, rules_of, told
from otel_runlog.server.redacting import RequestRedaction

SECRET = "sk-ant-api03-" + "c4n4ry" * 4
TEXT = f"use {SECRET} now"
REDACTED = "use [redacted:anthropic_key] now"


def values() -> list[KeyValue]:
    """The secret in every kind of value."""
    text = AnyValue(string_value=TEXT)
    return [
        KeyValue(key="text", value=text),
        KeyValue(key="bytes", value=AnyValue(bytes_value=TEXT.encode())),
        KeyValue(key="list", value=AnyValue(array_value=ArrayValue(values=[text, AnyValue(int_value=4)]))),
        KeyValue(key="map", value=AnyValue(kvlist_value=KeyValueList(values=[KeyValue(key="k", value=text)]))),
        KeyValue(key="number", value=AnyValue(int_value=4111111111111111)),
        KeyValue(key="none"),
    ]


def traces() -> ExportTraceServiceRequest:
    """The secret in every field that holds text."""
    one = Span(
        trace_id=b"t" * 16,
        span_id=b"s" * 8,
        name=TEXT,
        trace_state=f"a={SECRET}",
        start_time_unix_nano=4111111111111111,
        attributes=values(),
        events=[Span.Event(name=TEXT, attributes=values())],
        links=[Span.Link(trace_id=b"t" * 16, span_id=b"s" * 8, attributes=values(), trace_state=f"a={SECRET}")],
        status=Status(message=TEXT),
    )
    scope = InstrumentationScope(name=TEXT, version=TEXT, attributes=values())
    block = ResourceSpans(resource=Resource(attributes=values()), scope_spans=[ScopeSpans(scope=scope, spans=[one])])
    return ExportTraceServiceRequest(resource_spans=[block])


def logs() -> ExportLogsServiceRequest:
    record = LogRecord(
        time_unix_nano=1, body=AnyValue(string_value=TEXT), attributes=values(), event_name=TEXT, severity_text=TEXT
    )
    block = ResourceLogs(resource=Resource(attributes=values()), scope_logs=[ScopeLogs(log_records=[record])])
    return ExportLogsServiceRequest(resource_logs=[block])


def as_json(request: ExportTraceServiceRequest | ExportLogsServiceRequest) -> bytes:
    """OTLP/JSON: ids in hex, where protobuf's JSON has base64."""
    return json.dumps(_hex_ids(MessageToDict(request))).encode()


def _hex_ids(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: base64.b64decode(item).hex() if name in {"traceId", "spanId"} else _hex_ids(item)
            for name, item in value.items()
        }
    return [_hex_ids(item) for item in value] if isinstance(value, list) else value


@pytest.fixture
def counted() -> Counter[str]:
    return Counter()


@pytest.fixture
def redact(counted: Counter[str]) -> RequestRedaction:
    return RequestRedaction(SecretPatterns(), lambda reason: counted.update([reason]))


@pytest.mark.fault(56)
@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize(("make", "signal"), [(traces, Signal.TRACES), (logs, Signal.LOGS)])
def test_no_secret_is_left_in_any_field(
    redact: RequestRedaction,
    counted: Counter[str],
    make: Callable[[], ExportTraceServiceRequest],
    signal: Signal,
    encoding: Encoding,
) -> None:
    body = make().SerializeToString() if encoding is Encoding.PROTOBUF else as_json(make())
    redacted = redact(body, signal, encoding)
    assert SECRET.encode() not in redacted
    assert base64.b64encode(TEXT.encode()) not in redacted
    assert counted == {}


@pytest.mark.parametrize("encoding", list(Encoding))
def test_all_else_stays(redact: RequestRedaction, encoding: Encoding) -> None:
    body = traces().SerializeToString() if encoding is Encoding.PROTOBUF else as_json(traces())
    [one] = read_traces(redact(body, Signal.TRACES, encoding), encoding).spans
    kept = {
        "text": REDACTED,
        "bytes": REDACTED.encode(),
        "list": [REDACTED, 4],
        "map": {"k": REDACTED},
        "number": 4111111111111111,
        "none": None,
    }
    assert (one.trace_id, one.span_id, one.started_ns) == ((b"t" * 16).hex(), (b"s" * 8).hex(), 4111111111111111)
    assert (one.name, one.status_message, one.trace_state) == (REDACTED, REDACTED, "a=[redacted:anthropic_key]")
    assert one.attributes == one.events[0].attributes == one.links[0].attributes == kept
    assert one.resource.attributes == {**kept, "runlog.redaction": told(SecretPatterns())}
    assert (one.scope.name, one.scope.version) == (REDACTED, REDACTED)


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("resource", [None, Resource(), Resource(attributes=[KeyValue(key="service.name")])])
def test_every_resource_says_by_which_rules_it_was_redacted(
    redact: RequestRedaction, encoding: Encoding, resource: Resource | None
) -> None:
    request = traces()
    request.resource_spans[0].ClearField("resource")
    if resource is not None:
        request.resource_spans[0].resource.CopyFrom(resource)
    body = request.SerializeToString() if encoding is Encoding.PROTOBUF else as_json(request)
    [one] = read_traces(redact(body, Signal.TRACES, encoding), encoding).spans
    assert rules_of(one.resource.attributes["runlog.redaction"]) == SecretPatterns().rules


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize(
    ("before", "after"),
    [(told(SecretPatterns()), SecretPatterns().version), (SECRET, f"4e93514aa420+{SecretPatterns().version}")],
)
def test_rules_that_came_with_a_request_are_told_with_those_of_the_server_and_never_let_a_secret_through(
    redact: RequestRedaction, encoding: Encoding, before: str, after: str
) -> None:
    request = traces()
    pair = KeyValue(key="runlog.redaction", value=AnyValue(string_value=before))
    request.resource_spans[0].resource.attributes.append(pair)
    body = request.SerializeToString() if encoding is Encoding.PROTOBUF else as_json(request)
    redacted = redact(body, Signal.TRACES, encoding)
    assert SECRET.encode() not in redacted
    [one] = read_traces(redacted, encoding).spans
    rules = rules_of(one.resource.attributes["runlog.redaction"])
    assert rules is not None
    assert rules.version == after


@pytest.mark.parametrize("encoding", list(Encoding))
def test_logs_keep_all_else(redact: RequestRedaction, encoding: Encoding) -> None:
    body = logs().SerializeToString() if encoding is Encoding.PROTOBUF else as_json(logs())
    [one] = read_logs(redact(body, Signal.LOGS, encoding), encoding).records
    assert (one.body, one.event_name, one.severity_text) == (REDACTED, REDACTED, REDACTED)
    assert one.attributes["map"] == {"k": REDACTED}


@pytest.mark.fault(23, 56)
def test_what_cannot_be_read_leaves_an_empty_span(redact: RequestRedaction, counted: Counter[str]) -> None:
    secret = TEXT.encode()
    broken = span(2) + b"\x0a\xff" + secret
    not_utf8 = span(3) + field(5, b"\xff" + secret)
    redacted = redact(request_of(span(1), broken, not_utf8), Signal.TRACES, Encoding.PROTOBUF)
    assert secret not in redacted
    decoded = read_traces(redacted, Encoding.PROTOBUF)
    assert [one.name for one in decoded.spans] == ["span 1", "�use [redacted:anthropic_key] now"]
    assert sum(decoded.rejected.values()) == 1
    assert counted == {"unreadable": 1}


@pytest.mark.fault(56)
def test_fields_that_otlp_does_not_have_are_left_out(redact: RequestRedaction) -> None:
    unknown = span(1) + field(99, TEXT.encode())
    assert SECRET.encode() not in redact(request_of(unknown), Signal.TRACES, Encoding.PROTOBUF)
    text = json_request(json_span(1, comment=TEXT, deep={TEXT: 1}), top={"x": TEXT})
    redacted = redact(text, Signal.TRACES, Encoding.JSON)
    assert SECRET.encode() not in redacted
    assert [one.name for one in read_traces(redacted, Encoding.JSON).spans] == ["span 1"]


@pytest.mark.fault(56)
@pytest.mark.parametrize("encoding", list(Encoding))
def test_a_redactor_that_fails_leaves_its_value_out(counted: Counter[str], encoding: Encoding) -> None:
    def failing(key: str, value: Any) -> Any:
        if SECRET in str(value):
            raise ValueError(value)
        return value

    redact = RequestRedaction(failing, lambda reason: counted.update([reason]))
    body = traces().SerializeToString() if encoding is Encoding.PROTOBUF else as_json(traces())
    redacted = redact(body, Signal.TRACES, encoding)
    assert SECRET.encode() not in redacted
    [one] = read_traces(redacted, encoding).spans
    assert set(one.attributes) == {"list", "map", "number", "none"}
    assert counted["redaction_failed"] > 10


@pytest.mark.fault(56)
def test_no_secret_reaches_the_journal_over_the_wire(tmp_path: Path, redact: RequestRedaction) -> None:
    with doors(tmp_path / "journal", redact=redact) as served:
        assert served.post(traces().SerializeToString()).status == 200
        assert served.post(as_json(traces()), content_type=JSON).status == 200
        assert served.post(logs().SerializeToString(), "/v1/logs", PROTOBUF).status == 200
        assert served.call(traces().SerializeToString()) == b""
        assert len(served.spans()) == 3
    files = [path.read_bytes() for path in (tmp_path / "journal").iterdir()]
    assert files
    assert not any(SECRET.encode() in content for content in files)
