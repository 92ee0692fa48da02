"""Spans from the SDK, their digest, and the repairs shared by all readers."""

from __future__ import annotations

import enum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource as SdkResource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from otel_runlog.errors import OtlpError
from otel_runlog.model import Resource, Scope, Span, SpanEvent, SpanLink
from otel_runlog.span import clean_text, clean_times, digest, from_sdk, plain_value

TRACE, SPAN, PARENT = 0x0AF7651916CD43DD8448EB211C80319C, 0xB7AD6B7169203331, 0x00F067AA0BA902B7
START_NS, END_NS = 1_732_800_000_000_000_000, 1_732_800_001_500_000_000


def context(span_id: int, *, is_remote: bool = False, state: TraceState | None = None) -> SpanContext:
    return SpanContext(TRACE, span_id, is_remote=is_remote, trace_flags=TraceFlags(1), trace_state=state)


def sdk_span(**changes: Any) -> ReadableSpan:
    given_ = {"name": "chat m-std", "context": context(SPAN), "start_time": START_NS, "end_time": END_NS} | changes
    return ReadableSpan(**given_)


class Colour(str, enum.Enum):  # noqa: UP042 - what applications still write
    RED = "red"


def test_every_field_of_an_sdk_span_arrives():
    span = sdk_span(
        context=context(SPAN, state=TraceState([("a", "1"), ("b", "2")])),
        parent=context(PARENT, is_remote=True),
        resource=SdkResource({"service.name": "shop"}),
        attributes={"gen_ai.request.model": "m-std", "n": 1, "x": 1.0, "tags": ("a", "b")},
        events=[Event("retry", {"attempt": 2}, START_NS + 1)],
        links=[Link(context(PARENT), {"why": "batch"})],
        kind=SpanKind.CLIENT,
        status=Status(StatusCode.ERROR, "refused"),
        instrumentation_scope=InstrumentationScope("lib", "1.2"),
    )
    assert from_sdk(span) == Span(
        trace_id="0af7651916cd43dd8448eb211c80319c",
        span_id="b7ad6b7169203331",
        parent_span_id="00f067aa0ba902b7",
        name="chat m-std",
        kind=3,
        started_ns=START_NS,
        ended_ns=END_NS,
        status_code=2,
        status_message="refused",
        attributes={"gen_ai.request.model": "m-std", "n": 1, "x": 1.0, "tags": ["a", "b"]},
        events=(SpanEvent("retry", START_NS + 1, {"attempt": 2}),),
        links=(SpanLink(f"{TRACE:032x}", f"{PARENT:016x}", "", {"why": "batch"}, 0, 0x100),),
        scope=Scope("lib", "1.2"),
        resource=Resource({"service.name": "shop"}),
        trace_state="a=1,b=2",
        flags=0x300,
    )


def test_a_start_record_has_no_end():
    span = from_sdk(sdk_span(), start_record=True)
    assert (span.ended_ns, span.start_record) == (None, True)


def test_a_span_without_context_is_refused_by_name():
    with pytest.raises(OtlpError, match="'lonely' has no context"):
        from_sdk(ReadableSpan("lonely"))


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        ("a\ud83e", "a\ufffd"),
        (2**70, "1180591620717411303424"),
        (2**63 - 1, 2**63 - 1),
        (b"\xff", b"\xff"),
        (Colour.RED, "red"),
        ((1, 2.0, True, None), [1, 2.0, True, None]),
        ({1: {None: "x"}}, {"1": {"": "x"}}),
        (range(3), [0, 1, 2]),
        (SpanKind.CLIENT, "SpanKind.CLIENT"),
    ],
)
def test_foreign_values_become_what_otlp_holds(value: object, plain: object):
    assert plain_value(value, []) == plain


def test_cycles_and_depth_are_cut():
    cycle: list[object] = []
    cycle.append(cycle)
    notes: list[str] = []
    deepest = plain_value(cycle, notes)
    for _ in range(24):
        [deepest] = deepest
    assert deepest == "<cut: nested deeper than 24 levels>"
    assert notes == ["repaired: value cut, nested deeper than 24 levels"]


def test_lists_that_share_their_parts_do_not_grow_without_bound():
    shared: list[object] = []
    for _ in range(20):
        shared = [shared, shared]
    notes: list[str] = []
    plain_value(shared, notes)
    assert notes == ["repaired: value cut, more than 100000 values"]


def test_an_object_that_cannot_be_shown_is_named():
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError

    assert plain_value(Broken(), []) == "<Broken that has no text>"


@pytest.mark.parametrize(
    ("started", "ended", "times", "notes"),
    [
        (5, 7, (5, 7), []),
        (5, 0, (5, None), []),
        (0, 7, (None, 7), ["repaired: start time 0 read as unknown"]),
        (7, 5, (7, 5), ["clock_skew: the end is 2 ns before the start"]),
        (5, 2**64 - 1, (5, 2**63 - 1), ["repaired: end beyond 64 bits clamped"]),
    ],
)
def test_times_are_kept_clamped_or_unknown_and_noted(started, ended, times, notes):
    found: list[str] = []
    assert (clean_times(started, ended, found), found) == (times, notes)


def test_surrogates_are_replaced_and_split_pairs_joined():
    assert clean_text("\ud83d\ude00 \ud83d", []) == "\U0001f600 \ufffd"


def test_digest_ignores_order_resource_and_scope_but_not_types():
    span = Span("t", "s", name="n", attributes={"a": 1, "b": {"x": 1, "y": 2}})
    other = Span("t", "s", name="n", attributes={"b": {"y": 2, "x": 1}, "a": 1}, resource=Resource({"k": 1}), flags=1)
    assert digest(span) == digest(other)
    assert len(digest(span)) == 16
    assert digest(span) != digest(Span("t", "s", name="n", attributes={"a": 1.0, "b": {"x": 1, "y": 2}}))


@pytest.mark.parametrize(
    "change",
    [
        {"name": "o"},
        {"kind": 3},
        {"ended_ns": 9},
        {"status_code": 1},
        {"status_message": "m"},
        {"attributes": {"a": b"x"}},
        {"events": (SpanEvent("e"),)},
        {"links": (SpanLink("t", "s"),)},
    ],
)
def test_digest_sees_each_part_that_makes_a_span(change: dict[str, Any]):
    assert digest(Span("t", "s")) != digest(Span("t", "s", **change))


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()), st.lists))
def test_any_value_can_be_digested(value: object):
    notes: list[str] = []
    assert len(digest(Span("t", "s", attributes={"v": plain_value(value, notes)}))) == 16


def test_a_mapping_that_raises_is_named():
    class Broken(dict[str, int]):
        def items(self):
            raise RuntimeError

    assert plain_value(Broken(), []) == "<Broken that cannot be read>"
