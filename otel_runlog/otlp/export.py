"""Neutral spans back to OTLP, for exports: both encodings, the same bytes for the same spans every time."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import msgspec

from otel_runlog.model import Attributes, AttrValue, Resource, Scope, Span, SpanEvent, SpanLink

if TYPE_CHECKING:
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.trace.v1 import trace_pb2

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"


def encode_spans(spans: list[Span]) -> bytes:
    """An ExportTraceServiceRequest of the spans, grouped by resource and scope in the order of their first span.

    Reading it back gives equal spans, but for what is no part of OTLP: repairs and start_record.
    """
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import InstrumentationScope
    from opentelemetry.proto.resource.v1 import resource_pb2

    request = ExportTraceServiceRequest()
    for resource, scopes in _grouped(spans):
        block = request.resource_spans.add(resource=resource_pb2.Resource(attributes=_pairs(resource.attributes)))
        for scope, inner in scopes:
            group = block.scope_spans.add(scope=InstrumentationScope(name=scope.name, version=scope.version))
            group.spans.extend(_span_message(span) for span in inner)
    body: bytes = request.SerializeToString(deterministic=True)
    return body


def to_json(spans: list[Span]) -> bytes:
    """The spans as one OTLP/JSON request on one line, without a line end.

    Ids are lower-case hex, 64-bit integers texts, enums numbers; fields at their default are left out.
    """
    blocks: list[Json] = [
        {"resource": {"attributes": _json_pairs(resource.attributes)}, "scopeSpans": [*map(_json_group, scopes)]}
        for resource, scopes in _grouped(spans)
    ]
    return msgspec.json.encode({"resourceSpans": blocks})


_Groups: TypeAlias = "list[tuple[Scope, list[Span]]]"


def _grouped(spans: Iterable[Span]) -> Iterator[tuple[Resource, _Groups]]:
    """Spans by equal resource, then by scope, in the order of their first span."""
    blocks: dict[bytes, tuple[Resource, dict[Scope, list[Span]]]] = {}
    keys: dict[int, bytes] = {}
    for span in spans:
        key = keys.get(id(span.resource))
        if key is None:
            key = keys[id(span.resource)] = msgspec.msgpack.encode(span.resource.attributes, order="sorted")
        _, groups = blocks.setdefault(key, (span.resource, {}))
        groups.setdefault(span.scope, []).append(span)
    for resource, groups in blocks.values():
        yield resource, list(groups.items())


def _span_message(span: Span) -> trace_pb2.Span:
    from opentelemetry.proto.trace.v1 import trace_pb2

    return trace_pb2.Span(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        trace_state=span.trace_state,
        parent_span_id=bytes.fromhex(span.parent_span_id or ""),
        flags=span.flags,
        name=span.name,
        kind=span.kind,  # type: ignore[arg-type]
        start_time_unix_nano=span.started_ns or 0,
        end_time_unix_nano=span.ended_ns or 0,
        attributes=_pairs(span.attributes),
        dropped_attributes_count=span.dropped_attributes_count,
        events=map(_event_message, span.events),
        dropped_events_count=span.dropped_events_count,
        links=map(_link_message, span.links),
        dropped_links_count=span.dropped_links_count,
        status=trace_pb2.Status(code=span.status_code, message=span.status_message),  # type: ignore[arg-type]
    )


def _event_message(event: SpanEvent) -> trace_pb2.Span.Event:
    from opentelemetry.proto.trace.v1 import trace_pb2

    return trace_pb2.Span.Event(
        time_unix_nano=event.time_ns,
        name=event.name,
        attributes=_pairs(event.attributes),
        dropped_attributes_count=event.dropped_attributes_count,
    )


def _link_message(link: SpanLink) -> trace_pb2.Span.Link:
    from opentelemetry.proto.trace.v1 import trace_pb2

    return trace_pb2.Span.Link(
        trace_id=bytes.fromhex(link.trace_id),
        span_id=bytes.fromhex(link.span_id),
        trace_state=link.trace_state,
        attributes=_pairs(link.attributes),
        dropped_attributes_count=link.dropped_attributes_count,
        flags=link.flags,
    )


def _pairs(attributes: Attributes) -> list[KeyValue]:
    from opentelemetry.proto.common.v1.common_pb2 import KeyValue

    return [KeyValue(key=key, value=_value_message(value)) for key, value in attributes.items()]


def _value_message(value: AttrValue) -> AnyValue:
    from opentelemetry.proto.common.v1 import common_pb2 as pb

    if isinstance(value, str):
        return pb.AnyValue(string_value=value)
    if isinstance(value, bool):
        return pb.AnyValue(bool_value=value)
    if isinstance(value, int):
        return pb.AnyValue(int_value=value)
    if isinstance(value, float):
        return pb.AnyValue(double_value=value)
    if isinstance(value, bytes):
        return pb.AnyValue(bytes_value=value)
    return _nested_message(value)


def _nested_message(value: list[AttrValue] | dict[str, AttrValue] | None) -> AnyValue:
    from opentelemetry.proto.common.v1 import common_pb2 as pb

    if value is None:
        return pb.AnyValue()
    if isinstance(value, dict):
        return pb.AnyValue(kvlist_value=pb.KeyValueList(values=_pairs(value)))
    return pb.AnyValue(array_value=pb.ArrayValue(values=map(_value_message, value)))


def _json_group(group: tuple[Scope, list[Span]]) -> Json:
    scope, spans = group
    named = _without_defaults({"name": scope.name, "version": scope.version})
    return {"scope": named, "spans": [_json_span(span) for span in spans]}


def _json_span(span: Span) -> Json:
    status = _without_defaults({"message": span.status_message, "code": span.status_code})
    ids: dict[str, Json] = {"traceId": span.trace_id, "spanId": span.span_id}
    return ids | _without_defaults(
        {
            "traceState": span.trace_state,
            "parentSpanId": span.parent_span_id,
            "flags": span.flags,
            "name": span.name,
            "kind": span.kind,
            "startTimeUnixNano": _int64(span.started_ns),
            "endTimeUnixNano": _int64(span.ended_ns),
            "attributes": _json_pairs(span.attributes),
            "droppedAttributesCount": span.dropped_attributes_count,
            "events": [_json_event(event) for event in span.events],
            "droppedEventsCount": span.dropped_events_count,
            "links": [_json_link(link) for link in span.links],
            "droppedLinksCount": span.dropped_links_count,
            "status": status,
        }
    )


def _json_event(event: SpanEvent) -> Json:
    return _without_defaults(
        {
            "timeUnixNano": _int64(event.time_ns),
            "name": event.name,
            "attributes": _json_pairs(event.attributes),
            "droppedAttributesCount": event.dropped_attributes_count,
        }
    )


def _json_link(link: SpanLink) -> Json:
    ids: dict[str, Json] = {"traceId": link.trace_id, "spanId": link.span_id}
    return ids | _without_defaults(
        {
            "traceState": link.trace_state,
            "attributes": _json_pairs(link.attributes),
            "droppedAttributesCount": link.dropped_attributes_count,
            "flags": link.flags,
        }
    )


def _json_pairs(attributes: Attributes) -> list[Json]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes.items()]


def _json_value(value: AttrValue) -> Json:
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value if math.isfinite(value) else _NOT_FINITE[str(value)]}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode()}
    return _json_nested(value)


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
"""protobuf's JSON names for the doubles that JSON has no numbers for."""


def _json_nested(value: list[AttrValue] | dict[str, AttrValue] | None) -> Json:
    if value is None:
        return {}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _json_pairs(value)}}
    return {"arrayValue": {"values": [_json_value(item) for item in value]}}


def _int64(value: int | None) -> str | None:
    return str(value) if value else None


def _without_defaults(fields: dict[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in fields.items() if value}
