"""Requests to spans and log records: both encodings alike, and one bad span never at its neighbours' cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2
from protobuf_bytes import field

from otel_runlog.errors import OtlpError
from otel_runlog.model import AttrValue, LogRecord, Scope, Span, SpanEvent, SpanLink
from otel_runlog.otlp import from_protobuf, lenient_json
from otel_runlog.otlp.decode import DecodedSpans, read_logs, read_traces
from otel_runlog.otlp.wire import Encoding
from otel_runlog.span import digest

DATA = Path(__file__).parents[1] / "data" / "otlp"
TRACE, SPAN, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331", "00f067aa0ba902b7"
START_NS, END_NS = 1_732_800_000_000_000_000, 1_732_800_001_500_000_000


def json_span(**fields: Any) -> dict[str, Any]:
    return {"traceId": TRACE, "spanId": SPAN, "name": "chat", "startTimeUnixNano": str(START_NS)} | fields


def json_body(*spans: Any, **top: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]} | top).encode()


def from_json(*spans: Any) -> DecodedSpans:
    return read_traces(json_body(*spans), Encoding.JSON)


def one(body: bytes) -> Span:
    decoded = read_traces(body, Encoding.JSON)
    assert decoded.rejected == {}
    [span] = decoded.spans
    return span


def message(**fields: Any) -> trace_pb2.Span:
    defaults = {"trace_id": bytes.fromhex(TRACE), "span_id": bytes.fromhex(SPAN), "start_time_unix_nano": START_NS}
    return trace_pb2.Span(**(defaults | fields))


def request_of(*spans: bytes, resource: bytes = b"", scope: bytes = b"") -> bytes:
    scope_spans = field(1, scope) + b"".join(field(2, span) for span in spans)
    return field(1, field(1, resource) + field(2, scope_spans))


def nested(levels: int) -> bytes:
    """The bytes of a KeyValue whose value is that many kvlists, one in the other, around a text."""
    value = field(1, b"x")
    for _ in range(levels):
        value = field(6, field(1, field(1, b"k") + field(2, value)))
    return field(1, b"deep") + field(2, value)


def json_nested(levels: int) -> Any:
    value: Any = {"stringValue": "x"}
    for _ in range(levels):
        value = {"kvlistValue": {"values": [{"key": "k", "value": value}]}}
    return value


@pytest.mark.parametrize("name", ["agent-framework", "claude-code", "openinference", "otel-genai", "strands"])
def test_captured_spans_read_the_same_from_both_encodings(name):
    protobuf = read_traces((DATA / f"{name}.traces.pb").read_bytes(), Encoding.PROTOBUF)
    as_json = read_traces((DATA / f"{name}.traces.json").read_bytes(), Encoding.JSON)
    assert protobuf == as_json
    assert (len(protobuf.spans) > 0, protobuf.rejected) == (True, {})
    assert [digest(span) for span in protobuf.spans] == [digest(span) for span in as_json.spans]
    assert not any(span.repairs for span in protobuf.spans)


def test_captured_logs_read_the_same_from_both_encodings():
    protobuf = read_logs((DATA / "claude-code.logs.pb").read_bytes(), Encoding.PROTOBUF)
    assert protobuf == read_logs((DATA / "claude-code.logs.json").read_bytes(), Encoding.JSON)
    assert [record.body for record in protobuf.records] == [
        "claude_code.user_prompt",
        "claude_code.api_request",
        "claude_code.assistant_response",
    ]


def test_every_field_of_a_json_span_arrives():
    span = json_span(
        parentSpanId=PARENT,
        traceState="a=1",
        flags=0x301,
        kind=3,
        endTimeUnixNano=END_NS,
        attributes=[
            {"key": "text", "value": {"stringValue": ""}},
            {"key": "int", "value": {"intValue": "-7"}},
            {"key": "double", "value": {"doubleValue": 1}},
            {"key": "bool", "value": {"boolValue": False}},
            {"key": "bytes", "value": {"bytesValue": "AP8="}},
            {"key": "list", "value": {"arrayValue": {"values": [{"intValue": 1}, {}]}}},
            {"key": "map", "value": {"kvlistValue": {"values": [{"key": "k", "value": {"stringValue": "v"}}]}}},
            {"key": "none"},
        ],
        events=[{"name": "e", "timeUnixNano": "5", "droppedAttributesCount": 1}],
        links=[{"traceId": TRACE.upper(), "spanId": PARENT, "flags": 256}],
        status={"code": 2, "message": "refused"},
        droppedAttributesCount=1,
        droppedEventsCount=2,
        droppedLinksCount=3,
    )
    assert one(json_body(span)) == Span(
        trace_id=TRACE,
        span_id=SPAN,
        parent_span_id=PARENT,
        name="chat",
        kind=3,
        started_ns=START_NS,
        ended_ns=END_NS,
        status_code=2,
        status_message="refused",
        attributes={
            "text": "",
            "int": -7,
            "double": 1.0,
            "bool": False,
            "bytes": b"\x00\xff",
            "list": [1, None],
            "map": {"k": "v"},
            "none": None,
        },
        events=(SpanEvent("e", 5, {}, 1),),
        links=(SpanLink(TRACE, PARENT, flags=256),),
        trace_state="a=1",
        flags=0x301,
        dropped_attributes_count=1,
        dropped_events_count=2,
        dropped_links_count=3,
    )


@pytest.mark.parametrize(
    "fields",
    [
        {"traceId": TRACE.upper(), "spanId": SPAN.upper()},
        {"startTimeUnixNano": START_NS},
        {"startTimeUnixNano": float(START_NS)},
        {"kind": "SPAN_KIND_INTERNAL"},
        {"kind": 1.0},
        {"kind": "1"},
        {"status": {"code": "STATUS_CODE_UNSET"}},
        {"unknown": {"deep": [1, {"x": None}]}},
        {"parentSpanId": "", "attributes": None, "events": None, "status": None},
        {"parentSpanId": "0000000000000000"},
        {"parent_span_id": PARENT, "start_time_unix_nano": "1"},
    ],
)
def test_json_writes_the_same_span_in_many_ways(fields):
    assert one(json_body(json_span(kind=1) | fields)) == one(json_body(json_span(kind=1)))


@pytest.mark.parametrize(
    "body", [b"{}", b" {} ", b"\xef\xbb\xbf{}", b'{"resourceSpans":[]}', b'{"resourceSpans":null}']
)
def test_an_empty_json_request_holds_nothing(body):
    assert read_traces(body, Encoding.JSON) == DecodedSpans([], {})


@pytest.mark.parametrize("body", [b"", b"\x0a\x00", b"\x0a\x02\x12\x00"])
def test_an_empty_protobuf_request_holds_nothing(body):
    assert read_traces(body, Encoding.PROTOBUF) == DecodedSpans([], {})
    assert read_logs(body, Encoding.PROTOBUF).records == []


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"traceId": "CvdlGRbNQ92ESOshHIAxnA=="}, "bad_trace_id"),
        ({"traceId": "0" * 32}, "bad_trace_id"),
        ({"traceId": "zz" * 16}, "bad_trace_id"),
        ({"traceId": TRACE + TRACE[:16]}, "bad_trace_id"),
        ({"spanId": "0" * 16}, "bad_span_id"),
        ({"spanId": "t61rcWkgMzE="}, "bad_span_id"),
        ({"spanId": SPAN[:15]}, "bad_span_id"),
        ({"spanId": " " + SPAN[:15]}, "bad_span_id"),
        ({"name": 5}, "undecodable"),
        ({"attributes": "none"}, "undecodable"),
        ({"attributes": [{"key": "deep", "value": json_nested(60)}]}, "too_deep"),
        ({"attributes": [{"key": "deep", "value": json_nested(20_000 // 4)}]}, "too_deep"),
    ],
)
def test_a_bad_json_span_is_rejected_alone(fields, reason):
    decoded = read_traces(deep_json(json_span(name="a"), json_span() | fields, json_span(name="b")), Encoding.JSON)
    assert [span.name for span in decoded.spans] == ["a", "b"]
    assert decoded.rejected == {reason: 1}


def deep_json(*spans: Any) -> bytes:
    """As json_body, for values deeper than json.dumps takes."""
    try:
        return json_body(*spans)
    except RecursionError:
        levels = 20_000 // 4
        deep = '{"kvlistValue":{"values":[{"key":"k","value":' * levels + "{}" + "}]}}" * levels
        shallow = [*spans[:1], json_span(attributes=[{"key": "deep", "value": "HERE"}]), *spans[2:]]
        return json_body(*shallow).replace(b'"HERE"', deep.encode())


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        (message(trace_id=bytes(16)).SerializeToString(), "bad_trace_id"),
        (message(trace_id=b"x" * 15).SerializeToString(), "bad_trace_id"),
        (message(span_id=b"").SerializeToString(), "bad_span_id"),
        (message(span_id=b"x" * 17).SerializeToString(), "bad_span_id"),
        (b"\x0a\xff", "undecodable"),
        (b"", "bad_trace_id"),
        (message().SerializeToString() + field(9, nested(33)), "too_deep"),
        (message().SerializeToString() + field(9, nested(1000)), "too_deep"),
        (message().SerializeToString() + field(9, b"") * 100_001, "too_many_items"),
    ],
)
def test_a_bad_protobuf_span_is_rejected_alone(span, reason):
    good = [message(name=name).SerializeToString() for name in "ab"]
    decoded = read_traces(request_of(good[0], span, good[1]), Encoding.PROTOBUF)
    assert [span.name for span in decoded.spans] == ["a", "b"]
    assert decoded.rejected == {reason: 1}


@pytest.mark.parametrize("levels", [1, 24, 31, 32])
def test_values_up_to_the_depth_limit_are_kept_in_both_encodings(levels):
    body = request_of(message(name="chat").SerializeToString() + field(9, nested(levels)))
    [span] = read_traces(body, Encoding.PROTOBUF).spans
    assert span == one(json_body(json_span(attributes=[{"key": "deep", "value": json_nested(levels)}])))


def test_lone_surrogates_and_nul_are_repaired_in_one_span_of_three():
    bad = '{"key":"k\\ud83e","value":{"stringValue":"a\\ud83e"}},{"key":"nul","value":{"stringValue":"a\\u0000b"}}'
    body = json_body(json_span(name="a"), json_span(name="b", attributes=["BAD"]), json_span(name="c"))
    decoded = read_traces(body.replace(b'"BAD"', bad.encode()), Encoding.JSON)
    assert [span.name for span in decoded.spans] == ["a", "b", "c"]
    assert decoded.spans[1].attributes == {"k\ufffd": "a\ufffd", "nul": "a\0b"}
    assert [len(span.repairs) for span in decoded.spans] == [0, 1, 0]
    assert decoded.spans[1].repairs == ("repaired: lone surrogates replaced by U+FFFD",)


def test_invalid_utf8_is_repaired_in_one_span_of_three():
    bad = message(name="b").SerializeToString() + field(9, field(1, b"k\xff") + field(2, field(1, b"v\xff\0")))
    good = [message(name=name).SerializeToString() for name in "ac"]
    decoded = read_traces(request_of(good[0], bad, good[1]), Encoding.PROTOBUF)
    assert [span.name for span in decoded.spans] == ["a", "b", "c"]
    assert decoded.spans[1].attributes == {"k\ufffd": "v\ufffd\0"}
    assert [span.repairs for span in decoded.spans] == [(), ("repaired: invalid UTF-8 replaced by U+FFFD",), ()]


def test_invalid_utf8_in_a_json_body_is_repaired():
    span = one(json_body(json_span(name="bad")).replace(b'"bad"', b'"b\xff"'))
    assert (span.name, span.repairs) == ("b\ufffd", ("repaired: lone surrogates replaced by U+FFFD",))


def test_spans_share_no_lists_and_maps_of_their_attributes():
    pairs = [
        KeyValue(key="list", value=AnyValue(array_value={"values": [{"string_value": "stop"}]})),
        KeyValue(key="map", value=AnyValue(kvlist_value={"values": [{"key": "k", "value": {"int_value": 1}}]})),
    ]
    body = request_of(*[message(attributes=pairs).SerializeToString()] * 2)
    first, second = read_traces(body, Encoding.PROTOBUF).spans
    assert first.attributes == second.attributes == {"list": ["stop"], "map": {"k": 1}}
    assert first.attributes["list"] is not second.attributes["list"]
    assert first.attributes["map"] is not second.attributes["map"]


@pytest.mark.parametrize("text", ["short", "long" * 100])
def test_invalid_utf8_in_one_attribute_is_repaired_there(text):
    broken = field(1, b"key\xff") + field(2, field(1, text.encode() + b"\xff"))
    span = message(attributes=[KeyValue(key="b", value=AnyValue(int_value=7))]).SerializeToString()
    [read] = read_traces(request_of(span + field(9, broken)), Encoding.PROTOBUF).spans
    assert read.attributes == {"b": 7, "key\ufffd": f"{text}\ufffd"}
    assert read.repairs == ("repaired: invalid UTF-8 replaced by U+FFFD",)


def test_a_resource_and_a_scope_that_are_broken_cost_no_span():
    body = request_of(
        message(name="a").SerializeToString(), resource=field(1, nested(1000)), scope=field(1, b"lib\xff")
    )
    [span] = read_traces(body, Encoding.PROTOBUF).spans
    assert (span.scope, span.resource.attributes) == (Scope("lib\ufffd"), {})
    assert span.repairs == (
        "repaired: resource left out, too_deep",
        "repaired: invalid UTF-8 replaced by U+FFFD",
    )


@pytest.mark.parametrize(
    ("value", "read", "repaired"),
    [
        ('{"doubleValue":NaN}', "nan", False),
        ('{"doubleValue":"NaN"}', "nan", False),
        ('{"doubleValue":-Infinity}', "-inf", False),
        ('{"doubleValue":"x"}', "x", True),
        ('{"intValue":1.0}', "1", False),
        ('{"intValue":1.5}', "1.5", True),
        ('{"intValue":"18446744073709551616"}', "18446744073709551616", True),
        ('{"intValue":1180591620717411303424}', "1180591620717411303424", True),
        ('{"intValue":NaN}', "nan", True),
        ('{"bytesValue":"-_8"}', "b'\\xfb\\xff'", False),
        ('{"bytesValue":"$"}', "$", True),
    ],
)
def test_odd_json_numbers_and_bytes(value, read, repaired):
    body = json_body(json_span(attributes=[{"key": "k", "value": "HERE"}])).replace(b'"HERE"', value.encode())
    span = one(body)
    assert (str(span.attributes["k"]), len(span.repairs) == 1) == (read, repaired)


def test_integers_of_any_number_of_digits_cost_no_span():
    body = json_body(json_span(flags="HERE"), json_span(name="b")).replace(b'"HERE"', b"9" * 5000)
    decoded = read_traces(body, Encoding.JSON)
    assert (decoded.spans[-1].name, sum(decoded.rejected.values())) == ("b", 1)


@pytest.mark.parametrize("encoding", Encoding)
def test_times_out_of_range_are_clamped_and_said(encoding):
    times = {"start": 0, "end": 2**64 - 1}
    if encoding is Encoding.JSON:
        body = json_body(json_span(startTimeUnixNano=times["start"], endTimeUnixNano=str(times["end"])))
    else:
        span = message(start_time_unix_nano=times["start"], end_time_unix_nano=times["end"])
        body = request_of(span.SerializeToString())
    [span] = read_traces(body, encoding).spans
    assert (span.started_ns, span.ended_ns) == (None, 2**63 - 1)
    assert span.repairs == ("repaired: end beyond 64 bits clamped", "repaired: start time 0 read as unknown")


def test_spans_of_a_block_share_resource_and_scope():
    good = message(name="a").SerializeToString()
    for decoded in (read_traces(request_of(good, good), Encoding.PROTOBUF), from_json(json_span(), json_span())):
        first, second = decoded.spans
        assert first.resource is second.resource
        assert first.scope is second.scope


@pytest.mark.parametrize("encoding", Encoding)
def test_a_request_of_another_signal_is_named(encoding):
    suffix = "pb" if encoding is Encoding.PROTOBUF else "json"
    with pytest.raises(OtlpError, match="this is a logs request, not traces"):
        read_traces((DATA / f"claude-code.logs.{suffix}").read_bytes(), encoding)
    with pytest.raises(OtlpError, match="this is a traces request, not logs"):
        read_logs((DATA / f"claude-code.traces.{suffix}").read_bytes(), encoding)


@pytest.mark.parametrize(
    ("body", "encoding", "text"),
    [
        (b"[]", Encoding.JSON, "a request is an object, this is an array"),
        (b"null", Encoding.JSON, "this is null"),
        (b"", Encoding.JSON, "Expecting value: line 1 column 1"),
        (b'{"resourceSpans": [', Encoding.JSON, "Expecting value: line 1 column 20"),
        (b'{"resource_spans": []}', Encoding.JSON, "lowerCamelCase.*resource_spans"),
        (b"[" * 100_000, Encoding.JSON, "no OTLP/JSON"),
        (b"\x0a\x05\x0a", Encoding.PROTOBUF, "field 1 at byte 2 reaches beyond its message"),
        (b"\x0a\x80", Encoding.PROTOBUF, "broken varint at byte 1"),
        (b"\x0a", Encoding.PROTOBUF, "ends within a field, at byte 1"),
        (b"hello", Encoding.PROTOBUF, "no OTLP protobuf"),
    ],
)
def test_a_body_that_is_no_request_is_refused_with_the_reason(body, encoding, text):
    with pytest.raises(OtlpError, match=text):
        read_traces(body, encoding)


@given(st.binary(max_size=200), st.sampled_from(Encoding), st.sampled_from([read_traces, read_logs]))
def test_random_bytes_raise_nothing_but_otlp_errors(body, encoding, read):
    try:
        decoded = read(body, encoding)
    except OtlpError:
        return
    assert decoded.rejected.keys() <= {"bad_trace_id", "bad_span_id", "too_deep", "undecodable"}


BODY = (DATA / "claude-code.traces.pb").read_bytes()


@given(st.integers(0, len(BODY) - 1), st.integers(0, 255))
def test_a_changed_byte_raises_nothing_but_otlp_errors(at, byte):
    changed = BODY[:at] + bytes([byte]) + BODY[at + 1 :]
    try:
        decoded = read_traces(changed, Encoding.PROTOBUF)
    except OtlpError:
        return
    assert all(len(span.trace_id) == 32 for span in decoded.spans)


@given(st.integers(0, len(BODY) - 1))
def test_a_cut_request_is_refused(size):
    decoded = None
    try:
        decoded = read_traces(BODY[:size], Encoding.PROTOBUF)
    except OtlpError:
        return
    assert (size, decoded) == (0, DecodedSpans([], {}))


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["traceId", "spanId", "attributes", "key", "value", "intValue", "events", "status", "kind"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(JSON_VALUES)
def test_a_span_of_any_json_never_costs_its_neighbour(value):
    decoded = from_json(json_span(name="good"), value)
    assert decoded.spans[0].name == "good"
    assert len(decoded.spans) + sum(decoded.rejected.values()) == 2


SCALARS = st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary()
TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3), max_leaves=10
)


def any_value(value: AttrValue) -> AnyValue:
    if isinstance(value, dict):
        pairs = [KeyValue(key=key, value=any_value(item)) for key, item in value.items()]
        return AnyValue(kvlist_value={"values": pairs})
    if isinstance(value, list):
        return AnyValue(array_value={"values": [any_value(item) for item in value]})
    names = {str: "string_value", bool: "bool_value", int: "int_value", float: "double_value", bytes: "bytes_value"}
    return AnyValue(**{names[type(value)]: value})


@given(st.dictionaries(st.text(), TREES, max_size=4))
def test_attribute_trees_read_back_as_written(attributes):
    pairs = [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]
    body = request_of(message(attributes=pairs).SerializeToString())
    [span] = read_traces(body, Encoding.PROTOBUF).spans
    assert span.attributes == attributes


def test_the_fields_of_a_log_record_arrive():
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add()
    record.time_unix_nano, record.observed_time_unix_nano = 5, 6
    record.severity_number, record.severity_text, record.event_name = 9, "INFO", "e"
    record.body.string_value = "b"
    record.trace_id, record.span_id = bytes.fromhex(TRACE), b"short"
    expected = LogRecord(
        time_ns=5,
        observed_ns=6,
        trace_id=TRACE,
        event_name="e",
        severity_number=9,
        severity_text="INFO",
        body="b",
        repairs=("repaired: span id of 5 bytes left out",),
    )
    assert read_logs(request.SerializeToString(), Encoding.PROTOBUF).records == [expected]


def test_log_records_keep_their_severity_name_and_lose_no_neighbour():
    records = [{"severityNumber": "SEVERITY_NUMBER_WARN2", "body": {"stringValue": "a\ud83e"}}, {"body": 5}]
    body = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()
    decoded = read_logs(body, Encoding.JSON)
    assert [(record.severity_number, record.body) for record in decoded.records] == [(14, "a\ufffd")]
    assert decoded.rejected == {"undecodable": 1}


def test_large_values_cost_no_neighbour():
    image = "A" * (6 << 20)
    spans = [message(name=str(n)) for n in range(10)]
    spans[3].events.add(name="x" * (11 << 20))
    spans[3].attributes.add(key="gen_ai.input.messages").value.string_value = image
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.extend(spans)
    decoded = read_traces(request.SerializeToString(), Encoding.PROTOBUF)
    assert [span.name for span in decoded.spans] == [str(n) for n in range(10)]
    assert decoded.spans[3].attributes == {"gen_ai.input.messages": image}


def test_requests_of_too_many_spans_are_refused(monkeypatch):
    monkeypatch.setattr(from_protobuf, "MAX_SPANS_PER_REQUEST", 10)
    good = message(name="a").SerializeToString()
    assert len(read_traces(request_of(*[good] * 10), Encoding.PROTOBUF).spans) == 10
    with pytest.raises(OtlpError, match="more than 10 spans or records in one request"):
        read_traces(request_of(*[good] * 11), Encoding.PROTOBUF)


def test_json_of_too_many_objects_is_refused_and_braces_in_texts_are_none(monkeypatch):
    monkeypatch.setattr(lenient_json, "MAX_JSON_OBJECTS", 10)
    assert one(json_body(json_span(name="{" * 100 + '"{'))).name == "{" * 100 + '"{'
    with pytest.raises(OtlpError, match="more than 10 JSON objects in one request"):
        read_traces(json_body(*[{}] * 9), Encoding.JSON)


@pytest.mark.parametrize(
    ("fields", "repaired"),
    [
        ({"kind": "SPAN_KIND_MAGIC"}, "unknown enum value 'SPAN_KIND_MAGIC' read as 0"),
        ({"kind": -1}, "unknown enum value '-1' read as 0"),
        ({"parentSpanId": "zz"}, "id that is no hex left out"),
        ({"parentSpanId": "abcd"}, "parent span id of 2 bytes left out"),
        ({"startTimeUnixNano": -5}, "start below 0 read as 0"),
    ],
)
def test_what_json_says_wrongly_is_left_out_and_noted(fields, repaired):
    span = one(json_body(json_span(kind=0) | fields))
    assert span.repairs[0] == f"repaired: {repaired}"
    assert (span.kind, span.parent_span_id) == (0, None)


def test_a_json_resource_and_scope_that_are_broken_cost_no_span():
    block = {"resource": {"attributes": 5}, "scopeSpans": [{"scope": {"name": 5}, "spans": [json_span()]}]}
    span = one(json.dumps({"resourceSpans": [block]}).encode())
    assert span.repairs == ("repaired: resource left out, undecodable", "repaired: scope left out, undecodable")


def test_a_bad_log_record_is_rejected_alone():
    good = b"\x12\x00"
    body = field(1, field(2, field(2, b"\x10\x09") + field(2, b"\x0a\xff") + good))
    decoded = read_logs(body, Encoding.PROTOBUF)
    assert ([record.severity_number for record in decoded.records], decoded.rejected) == ([9, 0], {"undecodable": 1})


def test_a_log_record_of_a_body_and_a_name_alone_is_no_metric() -> None:
    record = logs_pb2.LogRecord(event_name="gemini_cli.user_prompt", body=AnyValue(string_value="hello"))
    scope = logs_pb2.ScopeLogs(log_records=[record])
    request = ExportLogsServiceRequest(resource_logs=[logs_pb2.ResourceLogs(scope_logs=[scope])])
    [read] = read_logs(request.SerializeToString(), Encoding.PROTOBUF).records
    assert (read.event_name, read.body) == ("gemini_cli.user_prompt", "hello")
