"""Spans of the SDK to bytes by hand, and neutral spans back to both encodings."""

from __future__ import annotations

import enum
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans as encode_with_the_sdk
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from otel_runlog.model import Resource, Scope, Span, SpanEvent, SpanLink
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.encode import (
    MAX_CACHED_FIELDS,
    MAX_CACHED_PAIRS,
    MAX_CACHED_VALUES,
    SpanEncoder,
    encode_span,
    encode_spans,
    to_json,
)
from otel_runlog.otlp.wire import Encoding
from otel_runlog.span import digest, from_sdk

DATA = Path(__file__).parents[1] / "data" / "otlp"
TRACE, SPAN, PARENT = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, 0x00F067AA0BA902B7
START_NS, END_NS = 1_732_800_000_000_000_000, 1_732_800_001_500_000_000


def context(span_id: int, *, is_remote: bool = False, state: TraceState | None = None) -> SpanContext:
    return SpanContext(TRACE, span_id, is_remote=is_remote, trace_flags=TraceFlags(1), trace_state=state)


def sdk_span(**changes: Any) -> ReadableSpan:
    defaults = {"name": "chat m-std", "context": context(SPAN), "start_time": START_NS, "end_time": END_NS}
    return ReadableSpan(**(defaults | changes))


def full_span() -> ReadableSpan:
    return sdk_span(
        context=context(SPAN, state=TraceState([("a", "1"), ("b", "2")])),
        parent=context(PARENT, is_remote=True),
        resource=SdkResource({"service.name": "shop", "n": 1}, "https://schema/resource"),
        attributes={
            "text": "m-std",
            "long": "ü" * 3000,
            "int": -1,
            "big": 2**63 - 1,
            "bool": True,
            "double": 0.5,
            "texts": ("stop", "length"),
            "numbers": (1, 2.5, False),
            "map": {"k": {"l": [1, None, b"\xff"]}},
            "none": None,
            "empty": "",
        },
        events=[Event("retry", {"attempt": 2}, START_NS + 1)],
        links=[Link(context(PARENT, is_remote=True), {"why": "batch"})],
        kind=SpanKind.CLIENT,
        status=Status(StatusCode.ERROR, "refused"),
        instrumentation_scope=InstrumentationScope("lib", "1.2", "https://schema/scope", {"k": "v"}),
    )


def parsed(body: bytes) -> ExportTraceServiceRequest:
    return ExportTraceServiceRequest.FromString(body)


def decoded(body: bytes) -> Span:
    [span] = read_traces(body, Encoding.PROTOBUF).spans
    return span


class Colour(str, enum.Enum):  # noqa: UP042 - what applications still write
    RED = "red"


class Unshowable:
    def __str__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize("span", [full_span(), sdk_span(), sdk_span(instrumentation_scope=InstrumentationScope("lib"))])
def test_what_parses_back_is_what_the_sdk_would_send(span):
    assert parsed(encode_span(span)) == encode_with_the_sdk([span])


def test_spans_of_a_tracer_parse_back_as_the_sdk_sends_them():
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("lib", "1.0", attributes={"k": 1})
    with tracer.start_as_current_span("outer", kind=SpanKind.SERVER) as outer:
        outer.add_event("e", {"n": 1})
        with tracer.start_as_current_span("inner", links=[Link(outer.get_span_context())]) as inner:
            inner.set_attributes({"n": 1, "yes": True, "one": 1.0, "texts": ["a", "b"], "m": {"x": [1, {"y": None}]}})
    encoder = SpanEncoder()
    for span in memory.get_finished_spans() * 2:
        assert parsed(encoder.encode_span(span)) == encode_with_the_sdk([span])


def test_a_span_reads_the_same_from_its_bytes_as_from_the_sdk():
    span = full_span()
    assert decoded(encode_span(span)) == from_sdk(span)
    assert digest(decoded(encode_span(span))) == digest(from_sdk(span))


def test_a_snapshot_at_the_start_has_no_end():
    assert decoded(encode_span(sdk_span(), end=False)).ended_ns is None


def test_equal_values_of_different_types_do_not_share_a_cache_entry():
    encoder = SpanEncoder()
    values = [1, True, 1.0, "1", False, 0, 0.0, ("1",), (1,), (True,)]
    read = [decoded(encoder.encode_span(sdk_span(attributes={"k": value}))).attributes["k"] for value in values]
    assert [(type(value), value) for value in read[:7]] == [(type(value), value) for value in values[:7]]
    assert [repr(value) for value in read[7:]] == ["['1']", "[1]", "[True]"]


def test_the_caches_are_bounded():
    encoder = SpanEncoder()
    for number in range(3):
        start = number * MAX_CACHED_PAIRS
        encoder.encode_span(sdk_span(attributes={f"k{n}": n for n in range(start, start + MAX_CACHED_PAIRS)}))
        assert len(encoder._attributes.pairs) <= MAX_CACHED_PAIRS
        encoder.encode_span(sdk_span(attributes={f"k{n}": "x" for n in range(start, start + MAX_CACHED_FIELDS)}))
        assert len(encoder._attributes.keys) <= MAX_CACHED_FIELDS
    for _ in range(100):
        encoder.encode_span(sdk_span(resource=SdkResource({"n": 1})))
    assert len(encoder._prefixes) <= 64


def test_a_key_that_always_has_new_values_does_not_fill_the_cache():
    encoder = SpanEncoder()
    for n in range(2 * MAX_CACHED_VALUES):
        read = decoded(encoder.encode_span(sdk_span(attributes={"id": n, "model": "m"})))
        assert read.attributes == {"id": n, "model": "m"}
    assert len(encoder._attributes.pairs) == MAX_CACHED_VALUES + 1


@pytest.mark.parametrize("number", [-1, -(2**63), 2**63 - 1, 2**63, -(2**63) - 1, 127, 128, 16384])
def test_integers_read_the_same_from_bytes_and_from_the_sdk(number):
    span = sdk_span(attributes={"n": number})
    assert decoded(encode_span(span)).attributes == from_sdk(span).attributes


def cyclic() -> dict[str, Any]:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    return cycle


def deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        "a\ud83e",
        {"k\ud83e": "v\udc00"},
        cyclic(),
        deep(2000),
        2**70,
        -(2**70),
        10**5000,
        b"\xff",
        bytearray(b"x"),
        {1: 2, None: 3, ("a",): Colour.RED},
        Colour.RED,
        [Colour.RED, "x"],
        range(3),
        {1, 2} and frozenset({1}),
        Unshowable(),
        float("nan"),
        "x" * 100_000,
        object,
    ],
    ids=lambda value: type(value).__name__,
)
def test_hostile_attributes_never_raise_and_read_as_from_the_sdk(value):
    span = sdk_span(attributes={"before": 1, "k": value, "after": 2})
    read = decoded(encode_span(span))
    assert repr(read.attributes) == repr(from_sdk(span).attributes)
    assert list(read.attributes) == ["before", "k", "after"]
    assert digest(read) == digest(from_sdk(span))


def test_hostile_keys_names_and_messages_never_raise():
    span = sdk_span(
        name="n\ud83e",
        attributes={1: "a", "k\ud83e": "b", True and "t": "c"},
        events=[Event("e\ud83e", {"\udc00": 1}, START_NS)],
        status=Status(StatusCode.ERROR, "m\ud83e"),
    )
    read = decoded(encode_span(span))
    assert (read.name, read.status_message, read.events[0].name) == ("n\ufffd", "m\ufffd", "e\ufffd")
    assert read.attributes == {"1": "a", "k\ufffd": "b", "t": "c"}


def test_times_that_do_not_fit_are_clamped():
    assert decoded(encode_span(sdk_span(end_time=2**70))).ended_ns == 2**63 - 1


FOREIGN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()) | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters()), FOREIGN, max_size=4))
def test_any_attributes_read_the_same_from_bytes_and_from_the_sdk(attributes):
    span = sdk_span(attributes=attributes)
    assert decoded(encode_span(span)).attributes == from_sdk(span).attributes


TREES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ATTRIBUTES = st.dictionaries(st.text(), TREES, max_size=3)
TIMES = st.integers(1, 2**63 - 1)
COUNTS = st.integers(0, 2**32 - 1)
TRACE_IDS = st.integers(1, 2**128 - 1).map(lambda n: f"{n:032x}")
SPAN_IDS = st.integers(1, 2**64 - 1).map(lambda n: f"{n:016x}")
SPANS = st.builds(
    Span,
    trace_id=TRACE_IDS,
    span_id=SPAN_IDS,
    parent_span_id=st.none() | SPAN_IDS,
    name=st.text(),
    kind=st.integers(0, 5),
    started_ns=TIMES,
    ended_ns=st.none(),
    status_code=st.integers(0, 2),
    status_message=st.text(),
    attributes=ATTRIBUTES,
    events=st.lists(st.builds(SpanEvent, st.text(), TIMES, ATTRIBUTES, COUNTS), max_size=2).map(tuple),
    links=st.lists(st.builds(SpanLink, TRACE_IDS, SPAN_IDS, st.text(), ATTRIBUTES, COUNTS, COUNTS), max_size=2).map(
        tuple
    ),
    scope=st.builds(Scope, st.text(), st.text()),
    resource=st.builds(Resource, ATTRIBUTES),
    trace_state=st.text(),
    flags=COUNTS,
    dropped_attributes_count=COUNTS,
    dropped_events_count=COUNTS,
    dropped_links_count=COUNTS,
)


@given(SPANS)
def test_a_neutral_span_survives_both_encodings(span):
    for body, encoding in ((encode_spans([span]), Encoding.PROTOBUF), (to_json([span]), Encoding.JSON)):
        read = read_traces(body, encoding)
        assert (read.spans, read.rejected) == ([span], {})
        assert digest(read.spans[0]) == digest(span)


@pytest.mark.parametrize("name", ["agent-framework", "claude-code", "strands"])
def test_captured_spans_survive_being_written_again(name):
    spans = read_traces((DATA / f"{name}.traces.pb").read_bytes(), Encoding.PROTOBUF).spans
    assert read_traces(encode_spans(spans), Encoding.PROTOBUF).spans == spans
    assert read_traces(to_json(spans), Encoding.JSON).spans == spans


def test_json_is_one_line_of_hex_ids_and_texts_for_long_integers():
    span = Span("0" * 31 + "a", "0" * 15 + "b", started_ns=START_NS, attributes={"n": 1, "x": float("nan")})
    body = to_json([span])
    assert b"\n" not in body
    assert json.loads(body) == {
        "resourceSpans": [
            {
                "resource": {"attributes": []},
                "scopeSpans": [
                    {
                        "scope": {},
                        "spans": [
                            {
                                "traceId": "0" * 31 + "a",
                                "spanId": "0" * 15 + "b",
                                "startTimeUnixNano": "1732800000000000000",
                                "attributes": [
                                    {"key": "n", "value": {"intValue": "1"}},
                                    {"key": "x", "value": {"doubleValue": "NaN"}},
                                ],
                            }
                        ],
                    }
                ],
            }
        ]
    }


def test_spans_are_grouped_by_equal_resource_and_scope():
    resources = [Resource({"a": 1, "b": 2}), Resource({"b": 2, "a": 1}), Resource({"a": 1.0, "b": 2})]
    spans = [Span("0" * 31 + "a", f"{n:016x}", started_ns=1, resource=r) for n, r in enumerate(resources, 1)]
    groups = [len(block.scope_spans[0].spans) for block in parsed(encode_spans(spans)).resource_spans]
    assert groups == [2, 1]
    assert [len(b["scopeSpans"][0]["spans"]) for b in json.loads(to_json(spans))["resourceSpans"]] == [2, 1]
