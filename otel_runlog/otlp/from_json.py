"""OTLP/JSON requests to spans and log records. google.protobuf.json_format would take ids for base64."""

from __future__ import annotations

import base64
import binascii
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias, TypeVar

import msgspec

from otel_runlog.errors import OtlpError
from otel_runlog.model import Attributes, AttrValue, LogRecord, Resource, Scope, Span, SpanEvent, SpanLink
from otel_runlog.otlp import items, lenient_json
from otel_runlog.otlp.items import RejectedItemError, kept
from otel_runlog.otlp.json_shapes import (
    SEVERITY_NUMBERS,
    SPAN_KINDS,
    STATUS_CODES,
    JsonAnyValue,
    JsonEnvelope,
    JsonEvent,
    JsonKeyValue,
    JsonLink,
    JsonLogRecord,
    JsonLogsRequest,
    JsonResource,
    JsonScope,
    JsonSpan,
    JsonTracesRequest,
)
from otel_runlog.otlp.wire import Signal
from otel_runlog.span import INT64_MAX, INT64_MIN, UINT32_MAX, clean_ns, clean_times, note

BOM = b"\xef\xbb\xbf"
INT32_MAX = 2**31 - 1
_TRACES = msgspec.json.Decoder(JsonTracesRequest, strict=False)
_LOGS = msgspec.json.Decoder(JsonLogsRequest, strict=False)
_ENVELOPE = msgspec.json.Decoder(JsonEnvelope)
_REFUSED = (msgspec.MsgspecError, RecursionError)
_TOP_LEVEL = {Signal.TRACES: "resourceSpans", Signal.LOGS: "resourceLogs", Signal.METRICS: "resourceMetrics"}
_INNER = {Signal.TRACES: ("scopeSpans", "spans"), Signal.LOGS: ("scopeLogs", "logRecords")}
Shape = TypeVar("Shape", bound=msgspec.Struct)


class _Around(NamedTuple):
    """What the items of one scope block share; the notes are on how resource and scope had to be repaired."""

    resource: Resource
    scope: Scope
    notes: list[str]


Items: TypeAlias = Iterator[tuple[_Around, Any]]


def signals(body: bytes) -> list[Signal]:
    """The signals that a JSON body carries, by its top-level keys.

    Raises:
        OtlpError: it is no JSON object.
    """
    try:
        envelope = _ENVELOPE.decode(body.removeprefix(BOM))
    except _REFUSED:
        loaded = lenient_json.load(body)
        return [signal for signal, key in _TOP_LEVEL.items() if key in loaded]
    parts = (envelope.resource_spans, envelope.resource_logs, envelope.resource_metrics)
    return [signal for signal, part in zip(_TOP_LEVEL, parts, strict=True) if part is not msgspec.UNSET]


def read_spans(body: bytes, rejected: Counter[str]) -> list[Span]:
    """The spans of an ExportTraceServiceRequest in JSON; those that cannot be kept are counted by reason.

    Raises:
        OtlpError: the body is no such request.
    """
    return kept(_span, _span_items(body), rejected)


def read_records(body: bytes, rejected: Counter[str]) -> list[LogRecord]:
    """The records of an ExportLogsServiceRequest in JSON; those that cannot be kept are counted by reason.

    Raises:
        OtlpError: the body is no such request.
    """
    return kept(_record, _record_items(body), rejected)


def _span_items(body: bytes) -> Items:
    try:
        blocks = _TRACES.decode(body.removeprefix(BOM)).resource_spans
    except _REFUSED:
        return _lenient_items(lenient_json.load(body), Signal.TRACES)
    if blocks is msgspec.UNSET:
        return _lenient_items(lenient_json.load(body), Signal.TRACES)
    return (
        (around, span)
        for block in blocks
        for around, group in _blocks(block.resource, block.scope_spans)
        for span in group.spans
    )


def _record_items(body: bytes) -> Items:
    try:
        blocks = _LOGS.decode(body.removeprefix(BOM)).resource_logs
    except _REFUSED:
        return _lenient_items(lenient_json.load(body), Signal.LOGS)
    if blocks is msgspec.UNSET:
        return _lenient_items(lenient_json.load(body), Signal.LOGS)
    return (
        (around, record)
        for block in blocks
        for around, group in _blocks(block.resource, block.scope_logs)
        for record in group.log_records
    )


def _blocks(resource: JsonResource, groups: Iterable[Any]) -> Items:
    notes: list[str] = []
    shared = _resource(resource, notes)
    for group in groups:
        yield _Around(shared, Scope(group.scope.name, group.scope.version), notes), group


def _lenient_items(loaded: dict[str, Any], signal: Signal) -> Items:
    """The items of a body that the typed decoder refused, not yet typed, so that each may fail alone."""
    if _TOP_LEVEL[signal] not in loaded:
        _check_empty(loaded, signal)
    scopes_key, items_key = _INNER[signal]
    for block in lenient_json.members(loaded, _TOP_LEVEL[signal]):
        notes: list[str] = []
        resource = _resource(lenient_json.member(block, "resource"), notes)
        for group in lenient_json.members(block, scopes_key):
            around = _Around(resource, *_lenient_scope(group, notes))
            for item in lenient_json.members(group, items_key):
                yield around, item


def _check_empty(loaded: dict[str, Any], signal: Signal) -> None:
    """An object without the signal's key is an empty request only where it has no other key either."""
    other = next((name for name, key in _TOP_LEVEL.items() if key in loaded), None)
    if other:
        raise OtlpError(f"this is a {other} request, not {signal}: it has {_TOP_LEVEL[other]}")
    if loaded:
        keys = ", ".join(sorted(loaded)[:5])
        raise OtlpError(
            f"no OTLP/JSON {signal} request: no {_TOP_LEVEL[signal]} in it (names are lowerCamelCase): {keys}"
        )


def _lenient_scope(group: object, around: list[str]) -> tuple[Scope, list[str]]:
    notes = list(around)
    try:
        scope = _shaped(lenient_json.member(group, "scope"), JsonScope, notes)
    except RejectedItemError as reason:
        note(notes, f"repaired: scope left out, {reason}")
        return Scope(), notes
    return Scope(scope.name, scope.version), notes


def _resource(resource: object, notes: list[str]) -> Resource:
    try:
        return Resource(_attributes(_shaped(resource, JsonResource, notes).attributes, notes))
    except RejectedItemError as reason:
        note(notes, f"repaired: resource left out, {reason}")
        return Resource()


def _shaped(item: object, shape: type[Shape], notes: list[str]) -> Shape:
    if isinstance(item, shape):
        return item
    try:
        return msgspec.convert(lenient_json.tidy(item, notes), shape, strict=False)
    except (msgspec.ValidationError, RecursionError):
        raise RejectedItemError("undecodable") from None


def _span(item: object, around: _Around) -> Span:
    notes = list(around.notes)
    span = _shaped(item, JsonSpan, notes)
    trace_id, span_id = items.from_hex(span.trace_id), items.from_hex(span.span_id)
    items.check_ids(trace_id, span_id)
    started_ns, ended_ns = clean_times(span.start_time_unix_nano, span.end_time_unix_nano, notes)
    return Span(
        trace_id=trace_id.hex(),
        span_id=span_id.hex(),
        parent_span_id=items.parent(_id(span.parent_span_id, notes), notes),
        name=span.name,
        kind=_enum(span.kind, SPAN_KINDS, notes),
        started_ns=started_ns,
        ended_ns=ended_ns,
        status_code=_enum(span.status.code, STATUS_CODES, notes),
        status_message=span.status.message,
        attributes=_attributes(span.attributes, notes),
        events=tuple([_event(event, notes) for event in span.events]),
        links=tuple([_link(link, notes) for link in span.links]),
        scope=around.scope,
        resource=around.resource,
        trace_state=span.trace_state,
        flags=_uint32(span.flags),
        dropped_attributes_count=_uint32(span.dropped_attributes_count),
        dropped_events_count=_uint32(span.dropped_events_count),
        dropped_links_count=_uint32(span.dropped_links_count),
        repairs=tuple(notes),
    )


def _event(event: JsonEvent, notes: list[str]) -> SpanEvent:
    return SpanEvent(
        name=event.name,
        time_ns=clean_ns(event.time_unix_nano, "event time", notes),
        attributes=_attributes(event.attributes, notes),
        dropped_attributes_count=_uint32(event.dropped_attributes_count),
    )


def _link(link: JsonLink, notes: list[str]) -> SpanLink:
    return SpanLink(
        trace_id=_id(link.trace_id, notes).hex(),
        span_id=_id(link.span_id, notes).hex(),
        trace_state=link.trace_state,
        attributes=_attributes(link.attributes, notes),
        dropped_attributes_count=_uint32(link.dropped_attributes_count),
        flags=_uint32(link.flags),
    )


def _record(item: object, around: _Around) -> LogRecord:
    notes = list(around.notes)
    record = _shaped(item, JsonLogRecord, notes)
    return LogRecord(
        time_ns=clean_ns(record.time_unix_nano, "time", notes) or None,
        observed_ns=clean_ns(record.observed_time_unix_nano, "observed time", notes) or None,
        trace_id=items.optional_trace_id(_id(record.trace_id, notes), notes),
        span_id=items.optional_span_id(_id(record.span_id, notes), notes),
        event_name=record.event_name,
        severity_number=_enum(record.severity_number, SEVERITY_NUMBERS, notes),
        severity_text=record.severity_text,
        body=_value(record.body, notes),
        attributes=_attributes(record.attributes, notes),
        scope=around.scope,
        resource=around.resource,
        flags=_uint32(record.flags),
        dropped_attributes_count=_uint32(record.dropped_attributes_count),
        repairs=tuple(notes),
    )


def _attributes(pairs: Iterable[JsonKeyValue], notes: list[str], depth: int = 0) -> Attributes:
    return {pair.key: _value(pair.value, notes, depth) for pair in pairs}


def _value(value: JsonAnyValue | None, notes: list[str], depth: int = 0) -> AttrValue:
    if value is None:
        return None
    if value.string_value is not None:
        return value.string_value
    if value.int_value is not None:
        return _int64(value.int_value, notes)
    if value.bool_value is not None:
        return value.bool_value
    if value.double_value is not None:
        return _double(value.double_value, notes)
    return _rare_value(value, notes, depth + 1)


def _rare_value(value: JsonAnyValue, notes: list[str], depth: int) -> AttrValue:
    if value.bytes_value is not None:
        return _bytes(value.bytes_value, notes)
    items.check_depth(depth)
    if value.array_value is not None:
        return [_value(item, notes, depth) for item in value.array_value.values]
    return _attributes(value.kvlist_value.values, notes, depth) if value.kvlist_value is not None else None


def _int64(value: float | str, notes: list[str]) -> AttrValue:
    try:
        number = int(value)
    except (ValueError, OverflowError):
        number = INT64_MAX + 1
    if INT64_MIN <= number <= INT64_MAX and (isinstance(value, str) or number == value):
        return number
    note(notes, "repaired: intValue that is no 64-bit integer kept as text")
    return str(value)


def _double(value: float | str, notes: list[str]) -> AttrValue:
    try:
        return float(value)
    except ValueError:
        note(notes, "repaired: doubleValue that is no number kept as text")
        return str(value)


def _bytes(text: str, notes: list[str]) -> AttrValue:
    """Base64 of either alphabet, with or without padding, as protobuf's JSON readers take it."""
    standard = text.replace("-", "+").replace("_", "/").rstrip("=")
    try:
        return base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        note(notes, "repaired: bytesValue that is no base64 kept as text")
        return text


def _id(text: str, notes: list[str]) -> bytes:
    raw = items.from_hex(text)
    if text and not raw:
        note(notes, "repaired: id that is no hex left out")
    return raw


def _enum(value: int | str, names: Mapping[str, int], notes: list[str]) -> int:
    if isinstance(value, int) and 0 <= value <= INT32_MAX:
        return value
    if value in names:
        return names[str(value)]
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return _enum(int(value[:11]), names, notes)
    note(notes, f"repaired: unknown enum value {str(value)[:40]!r} read as 0")
    return 0


def _uint32(value: int) -> int:
    return max(0, min(value, UINT32_MAX))
