"""The neutral span: from the SDK's ReadableSpan, its digest, and the repairs that every reader shares.

Pure: the SDK is read by its attribute names and never imported. What reading has to change is noted (`repaired: ...`,
`clock_skew: ...`), so that a span which came with faults is kept and says so.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from otel_runlog.errors import OtlpError
from otel_runlog.model import Attributes, AttrValue, Resource, Scope, Span, SpanEvent, SpanLink

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import Link, SpanContext

INT64_MAX = 2**63 - 1
INT64_MIN = -(2**63)
UINT32_MAX = 2**32 - 1
MAX_VALUE_DEPTH = 24
"""Levels of lists and maps kept of a value from the SDK; upb refuses AnyValues from 32 on."""
MAX_VALUE_ITEMS = 100_000
"""Values kept of one attribute from the SDK, so that lists sharing their parts cannot grow without bound."""
MAX_NOTES = 16
SPAN_FLAGS_HAS_IS_REMOTE = 0x100
SPAN_FLAGS_IS_REMOTE = 0x200
"""OTLP SpanFlags, trace.proto: whether the parent is remote is known, and that it is."""

_DIGEST_ENCODER = msgspec.msgpack.Encoder(order="sorted")


DIGEST_BYTES = 16


def digest(span: Span) -> bytes:
    """The sha256 of what makes two deliveries of a span the same one (DESIGN, rule 3): of its neutral form.

    Returns:
        The first 16 bytes of it, equal for one span whether it came as protobuf, as JSON or from the SDK. Only spans of
        the same ids and start are compared; the other half would cost 16 bytes a span on disk that nothing compresses.
    """
    return digest_of(neutral_form(span))


def digest_of(form: bytes) -> bytes:
    """The digest of the span that has that neutral form."""
    return hashlib.sha256(form).digest()[:DIGEST_BYTES]


def neutral_form(span: Span) -> bytes:
    """What makes two deliveries of a span the same one, as bytes.

    Name, kind, end, status, attributes (in any order), events and links count. Resource, scope, flags, trace state and
    dropped counts do not: a Collector may change them on the way.
    """
    return _DIGEST_ENCODER.encode(
        (
            span.name,
            span.kind,
            span.ended_ns,
            span.status_code,
            span.status_message,
            span.attributes,
            [(event.time_ns, event.name, event.attributes) for event in span.events],
            [(link.trace_id, link.span_id, link.attributes) for link in span.links],
        )
    )


def from_sdk(span: ReadableSpan, *, start_record: bool = False) -> Span:
    """The neutral view of a span of the OpenTelemetry SDK, the same as its OTLP form reads to.

    Args:
        span: the SDK's span, ended or not. Attributes may hold anything; see `plain_value`.
        start_record: the span is a snapshot taken at its start; its end is then left open.

    Raises:
        OtlpError: the span has no context, so no ids.
    """
    notes: list[str] = []
    context = sdk_context(span)
    ended = None if start_record else span.end_time
    started_ns, ended_ns = clean_times(span.start_time or 0, ended or 0, notes)
    return Span(
        trace_id=f"{context.trace_id:032x}",
        span_id=f"{context.span_id:016x}",
        parent_span_id=f"{span.parent.span_id:016x}" if span.parent else None,
        name=plain_text(span.name, notes),
        kind=sdk_kind(span),
        started_ns=started_ns,
        ended_ns=ended_ns,
        status_code=span.status.status_code.value,
        status_message=plain_text(span.status.description, notes),
        attributes=plain_attributes(span.attributes, notes),
        events=tuple(_sdk_event(event, notes) for event in span.events),
        links=tuple(_sdk_link(link, notes) for link in span.links),
        scope=_sdk_scope(span, notes),
        resource=Resource(plain_attributes(span.resource.attributes, notes)),
        trace_state=sdk_trace_state(context),
        flags=sdk_flags(span.parent),
        dropped_attributes_count=span.dropped_attributes,
        dropped_events_count=span.dropped_events,
        dropped_links_count=span.dropped_links,
        start_record=start_record,
        repairs=tuple(notes),
    )


def sdk_context(span: ReadableSpan) -> SpanContext:
    """The context of an SDK span, which only spans made by hand lack.

    Raises:
        OtlpError: it has none.
    """
    context = span.get_span_context()
    if context is None:
        raise OtlpError(f"span {span.name!r} has no context and so no ids; it was not made by a tracer")
    return context


def sdk_kind(span: ReadableSpan) -> int:
    """OTLP's number of the span's kind; the SDK counts from 0, OTLP has 0 for unspecified."""
    return span.kind.value + 1


def sdk_flags(context: SpanContext | None) -> int:
    """OTLP's span flags as the SDK's exporter sets them from the parent's (for links: the linked) context."""
    remote = SPAN_FLAGS_IS_REMOTE if context and context.is_remote else 0
    return SPAN_FLAGS_HAS_IS_REMOTE | remote


def sdk_trace_state(context: SpanContext) -> str:
    """The W3C tracestate header of a context; empty where it has none."""
    state = context.trace_state
    return ",".join(f"{key}={value}" for key, value in state.items()) if state else ""


def _sdk_event(event: Event, notes: list[str]) -> SpanEvent:
    return SpanEvent(
        name=plain_text(event.name, notes),
        time_ns=clean_ns(event.timestamp or 0, "event time", notes),
        attributes=plain_attributes(event.attributes, notes),
        dropped_attributes_count=event.dropped_attributes,
    )


def _sdk_link(link: Link, notes: list[str]) -> SpanLink:
    return SpanLink(
        trace_id=f"{link.context.trace_id:032x}",
        span_id=f"{link.context.span_id:016x}",
        trace_state=sdk_trace_state(link.context),
        attributes=plain_attributes(link.attributes, notes),
        dropped_attributes_count=link.dropped_attributes,
        flags=sdk_flags(link.context),
    )


def _sdk_scope(span: ReadableSpan, notes: list[str]) -> Scope:
    scope = span.instrumentation_scope
    return Scope(plain_text(scope.name, notes), plain_text(scope.version, notes)) if scope else Scope()


def clean_ns(ns: int, what: str, notes: list[str]) -> int:
    """A time in ns that a signed 64-bit column holds; beyond it, or below 0, clamped and noted."""
    if 0 <= ns <= INT64_MAX:
        return ns
    note(notes, f"repaired: {what} beyond 64 bits clamped" if ns > 0 else f"repaired: {what} below 0 read as 0")
    return INT64_MAX if ns > 0 else 0


def clean_times(started: int, ended: int, notes: list[str]) -> tuple[int | None, int | None]:
    """Start and end in ns; OTLP's 0 means unknown and becomes None. An end before the start is kept and noted."""
    started_ns = clean_ns(started, "start", notes) or None
    ended_ns = clean_ns(ended, "end", notes) or None
    if started_ns is None:
        note(notes, "repaired: start time 0 read as unknown")
    elif ended_ns is not None and ended_ns < started_ns:
        note(notes, f"clock_skew: the end is {started_ns - ended_ns} ns before the start")
    return started_ns, ended_ns


def clean_text(text: str, notes: list[str]) -> str:
    """Text that UTF-8 can hold: each lone surrogate becomes U+FFFD and is noted; split pairs are joined."""
    try:
        text.encode()
    except UnicodeEncodeError:
        note(notes, "repaired: lone surrogates replaced by U+FFFD")
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def plain_text(value: object, notes: list[str]) -> str:
    """Any object as text; None is empty, what cannot be shown is named by its type. Never raises."""
    if value is None:
        return ""
    if isinstance(value, str):
        return clean_text(str.__str__(value), notes)
    try:
        return clean_text(str(value), notes)
    except Exception:  # noqa: BLE001 - a foreign __str__ may raise anything
        return f"<{type(value).__name__} that has no text>"


def plain_attributes(attributes: Mapping[str, Any] | None, notes: list[str]) -> Attributes:
    """Attributes of any objects as OTLP can hold them; see `plain_value`."""
    return {plain_text(key, notes): plain_value(value, notes) for key, value in (attributes or {}).items()}


def plain_value(value: object, notes: list[str]) -> AttrValue:
    """Any object as the value that OTLP can hold. Never raises.

    Text, bool, float, bytes, integers of 64 bits, sequences and mappings stay what they are (their subclasses become
    the plain type); larger integers and all else become text. Beyond MAX_VALUE_DEPTH levels, which a cycle reaches
    too, and MAX_VALUE_ITEMS values there is a text in angle brackets that says so.
    """
    if isinstance(value, str):
        return clean_text(str.__str__(value), notes)
    if value is None or isinstance(value, bool):
        return value
    try:
        return _Plain(notes).value(value, 0)
    except Exception:  # noqa: BLE001 - foreign mappings and sequences may raise anything
        return f"<{type(value).__name__} that cannot be read>"


class _Plain:
    """One walk over a foreign value, with a budget for the values it may make."""

    def __init__(self, notes: list[str]) -> None:
        self.notes = notes
        self.items_left = MAX_VALUE_ITEMS

    def value(self, value: object, depth: int) -> AttrValue:
        self.items_left -= 1
        if self.items_left < 0:
            return self._cut(f"more than {MAX_VALUE_ITEMS} values")
        if isinstance(value, str):
            return clean_text(str.__str__(value), self.notes)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            return self._number(value)
        if isinstance(value, bytes | bytearray | memoryview):
            return bytes(value)
        return self._nested(value, depth)

    def _number(self, value: float) -> AttrValue:
        if isinstance(value, float):
            return float(value)
        if INT64_MIN <= value <= INT64_MAX:
            return int(value)
        note(self.notes, "repaired: integer beyond 64 bits kept as text")
        return big_int_text(int(value))

    def _nested(self, value: object, depth: int) -> AttrValue:
        if not isinstance(value, Mapping | Sequence):
            return plain_text(value, self.notes)
        if depth == MAX_VALUE_DEPTH:
            return self._cut(f"nested deeper than {MAX_VALUE_DEPTH} levels")
        if isinstance(value, Mapping):
            pairs = self._bounded(value.items())
            return {plain_text(key, self.notes): self.value(item, depth + 1) for key, item in pairs}
        return [self.value(item, depth + 1) for item in self._bounded(value)]

    def _bounded(self, items: Any) -> Any:
        """The items until the budget is spent and one cut mark was made, also where there is no end of them."""
        for item in items:
            yield item
            if self.items_left < 0:
                return

    def _cut(self, why: str) -> str:
        note(self.notes, f"repaired: value cut, {why}")
        return f"<cut: {why}>"


def big_int_text(value: int) -> str:
    """An integer beyond 64 bits as text; in hex where Python refuses to write so many decimal digits."""
    with contextlib.suppress(ValueError):
        return str(value)
    return hex(value)


def note(notes: list[str], text: str) -> None:
    """Add a note once; a hostile span cannot make more than MAX_NOTES of them."""
    if len(notes) < MAX_NOTES and text not in notes:
        notes.append(text)
