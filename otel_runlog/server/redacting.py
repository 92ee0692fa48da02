"""A request without its secrets, before it is journalled: what `otel_runlog.content` does to a span, done to OTLP.

It fails closed. A value whose redactor fails is left out, fields that OTLP does not have are left out because nobody
can tell what is in them, and an item that cannot be read leaves an empty one in its place, which the loader counts as
rejected. All of that is counted.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, NamedTuple

from google.protobuf.message import DecodeError  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from otel_runlog.config import ContentMode, Redactor
from otel_runlog.content import Filter
from otel_runlog.errors import OtlpError
from otel_runlog.otlp import json_shapes, lenient_json
from otel_runlog.otlp.protowire import BYTES, repair_text, sub_messages, write_varint
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.redaction import TOLD_AS

UNREADABLE: Final = "unreadable"
"""The reason under which an item, resource or scope is counted that was left out because it cannot be read."""

Count = Callable[[str], None]
"""Called with a reason for everything that was left out."""


class _Request(NamedTuple):
    """What a signal's request is in protobuf: its type, what an item is called and is, and the fields down to it."""

    request: type[ExportTraceServiceRequest | ExportLogsServiceRequest]
    name: str
    item: type[Span | LogRecord]
    fields: tuple[str, str, str]


_REQUESTS: Final = {
    Signal.TRACES: _Request(ExportTraceServiceRequest, "Span", Span, ("resource_spans", "scope_spans", "spans")),
    Signal.LOGS: _Request(
        ExportLogsServiceRequest, "LogRecord", LogRecord, ("resource_logs", "scope_logs", "log_records")
    ),
}


class RequestRedaction:
    """Takes the secrets out of requests; may be shared by threads if the redactor may.

    Args:
        redact: asked for every text and bytes value, as in process: see `otel_runlog.content.Filter`.
        count: told of what was left out.
    """

    def __init__(self, redact: Redactor, count: Count) -> None:
        self._values = _Values(Filter(ContentMode.FULL, redact, count))
        self._count = count

    def __call__(self, body: bytes, signal: Signal, encoding: Encoding) -> bytes:
        """The request without its secrets, in the encoding it came in.

        Raises:
            OtlpError: it is no request.
        """
        if encoding is Encoding.JSON:
            return json.dumps(_JsonRedaction(self._values).request(lenient_json.load(body))).encode()
        return self._protobuf(body, signal)

    def _protobuf(self, body: bytes, signal: Signal) -> bytes:
        shape = _REQUESTS[signal]
        blocks, groups, items = shape.fields
        redact: Callable[[Any], None] = self._values.span if signal is Signal.TRACES else self._values.record
        request = self._parsed(body, shape)
        for block in getattr(request, blocks):
            self._values.resource(block.resource.attributes)
            for group in getattr(block, groups):
                self._values.scope(group.scope)
                for item in getattr(group, items):
                    redact(item)
        redacted: bytes = request.SerializeToString()
        return redacted

    def _parsed(self, body: bytes, shape: _Request) -> ExportTraceServiceRequest | ExportLogsServiceRequest:
        request = shape.request()
        try:
            request.ParseFromString(body)
        except DecodeError:
            request.ParseFromString(self._readable(body, shape.name, shape.item))
        request.DiscardUnknownFields()
        return request

    def _readable(self, body: bytes, item: str, kind: type[Span | LogRecord]) -> bytes:
        """The request put together from what can be read of it."""
        blocks = []
        for at, end in sub_messages(body, 0, len(body), 1):
            resource = self._parts(body, sub_messages(body, at, end, 1), "Resource", Resource)
            groups = []
            for scope_at, scope_end in sub_messages(body, at, end, 2):
                scope = self._parts(body, sub_messages(body, scope_at, scope_end, 1), "Scope", InstrumentationScope)
                items = self._parts(body, sub_messages(body, scope_at, scope_end, 2), item, kind)
                groups.append(_joined(1, scope) + _joined(2, items))
            blocks.append(_joined(1, resource) + _joined(2, groups))
        return _joined(1, blocks)

    def _parts(
        self,
        body: bytes,
        places: Iterable[tuple[int, int]],
        name: str,
        kind: type[Span | LogRecord | Resource | InstrumentationScope],
    ) -> list[bytes]:
        return [self._part(body[at:end], name, kind) for at, end in places]

    def _part(
        self,
        data: bytes,
        name: str,
        kind: type[Span | LogRecord | Resource | InstrumentationScope],
    ) -> bytes:
        try:
            kind.FromString(data)
        except DecodeError:
            return self._repaired(data, name, kind)
        return data

    def _repaired(
        self,
        data: bytes,
        name: str,
        kind: type[Span | LogRecord | Resource | InstrumentationScope],
    ) -> bytes:
        try:
            repaired = repair_text(data, name)
            kind.FromString(repaired)
        except (OtlpError, DecodeError):
            self._count(UNREADABLE)
            return b""
        return repaired


def _joined(number: int, parts: Iterable[bytes]) -> bytes:
    key = write_varint(number << 3 | BYTES)
    return b"".join(key + write_varint(len(part)) + part for part in parts)


class _Values:
    """The redactor over the parts of protobuf messages, which are changed in place."""

    def __init__(self, wanted: Filter) -> None:
        self._filter = wanted

    def span(self, span: Span) -> None:
        span.name = self.text("span.name", span.name)
        span.trace_state = self.text("trace_state", span.trace_state)
        span.status.message = self.text("status.message", span.status.message)
        self.attributes(span.attributes)
        for event in span.events:
            event.name = self.text("event.name", event.name)
            self.attributes(event.attributes)
        for link in span.links:
            link.trace_state = self.text("trace_state", link.trace_state)
            self.attributes(link.attributes)

    def resource(self, pairs: Any) -> None:
        """A resource's attributes, and by which rules they were redacted."""
        before = None
        for place in range(len(pairs) - 1, -1, -1):
            if pairs[place].key == TOLD_AS:
                before = pairs[place].value.string_value
                del pairs[place]
        self.attributes(pairs)
        for key, value in self.rules(before).items():
            pairs.add(key=key).value.string_value = value

    def rules(self, before: object) -> dict[str, str]:
        """See `Filter.rules`."""
        return self._filter.rules(before)

    def record(self, record: LogRecord) -> None:
        record.event_name = self.text("event.name", record.event_name)
        record.severity_text = self.text("severity_text", record.severity_text)
        self.attributes(record.attributes)
        if record.HasField("body") and not self._value("body", record.body):
            record.ClearField("body")

    def scope(self, scope: InstrumentationScope) -> None:
        scope.name = self.text("scope.name", scope.name)
        scope.version = self.text("scope.version", scope.version)
        self.attributes(scope.attributes)

    def text(self, key: str, text: str) -> str:
        return self._filter.text(key, text) if text else text

    def plain(self, key: str, value: str | bytes) -> object:
        """What remains of a value; None for nothing."""
        return self._filter.attributes({key: value}).get(key)

    def attributes(self, pairs: Any, prefix: str = "") -> None:
        """A repeated KeyValue, from the end so that what is left out does not move what is to come."""
        for place in range(len(pairs) - 1, -1, -1):
            pair: KeyValue = pairs[place]
            if not self._value(f"{prefix}{pair.key}", pair.value):
                del pairs[place]

    def _value(self, key: str, value: AnyValue) -> bool:
        """Whether something is to remain of it."""
        which = value.WhichOneof("value")
        if which == "string_value":
            return self._put(value, self.plain(key, value.string_value))
        if which == "bytes_value":
            return self._put(value, self.plain(key, value.bytes_value))
        if which == "array_value":
            items = value.array_value.values
            for place in range(len(items) - 1, -1, -1):
                if not self._value(key, items[place]):
                    del items[place]
        elif which == "kvlist_value":
            self.attributes(value.kvlist_value.values, f"{key}.")
        return True

    def _put(self, value: AnyValue, answer: object) -> bool:
        if isinstance(answer, bytes):
            value.bytes_value = answer
        elif isinstance(answer, str):
            value.string_value = answer.encode(errors="replace").decode()
        return answer is not None


_SHAPES: Final = (
    json_shapes.JsonAnyValue,
    json_shapes.JsonArray,
    json_shapes.JsonKeyValue,
    json_shapes.JsonResource,
    json_shapes.JsonScope,
    json_shapes.JsonEvent,
    json_shapes.JsonLink,
    json_shapes.JsonStatus,
    json_shapes.JsonSpan,
    json_shapes.JsonLogRecord,
    json_shapes.JsonScopeSpans,
    json_shapes.JsonResourceSpans,
    json_shapes.JsonScopeLogs,
    json_shapes.JsonResourceLogs,
    json_shapes.JsonTracesRequest,
    json_shapes.JsonLogsRequest,
)
_KNOWN: Final = {name for shape in _SHAPES for name in shape.__struct_encode_fields__} | {"schemaUrl"}
_BLOCKS: Final = ("resourceSpans", "resourceLogs")
_IDS: Final = frozenset({"traceId", "spanId", "parentSpanId"})
_LONGEST_ID: Final = 64
_NUMBER: Final = re.compile(r"-?\d{1,20}")


class _JsonRedaction:
    """The redactor over loaded JSON, which is made anew."""

    def __init__(self, values: _Values) -> None:
        self._values = values

    def request(self, loaded: dict[str, Any]) -> dict[str, Any]:
        """What remains of a request; its resources say by which rules they were redacted."""
        kept: dict[str, Any] = self.walk(loaded, "") or {}
        for name in _BLOCKS:
            for block in lenient_json.members(kept, name):
                self._tell(block)
        return kept

    def _tell(self, block: Any) -> None:
        if not isinstance(block, dict):
            return
        resource = block["resource"] if isinstance(block.get("resource"), dict) else {}
        attributes = lenient_json.members(resource, "attributes")
        if not any(isinstance(pair, dict) and pair.get("key") == TOLD_AS for pair in attributes):
            attributes = [*attributes, self._told(None)]
        block["resource"] = {**resource, "attributes": attributes}

    def _told(self, before: object) -> dict[str, Any]:
        return {"key": TOLD_AS, "value": {"stringValue": self._values.rules(before)[TOLD_AS]}}

    def walk(self, value: Any, name: str, key: str = "") -> Any:
        """What remains of the member `name`; `key` is that of the attribute around it. None for nothing."""
        if isinstance(value, dict) and value.get("key") == TOLD_AS:
            return self._told(lenient_json.member(value.get("value"), "stringValue") or None)
        if isinstance(value, dict):
            key = str(value["key"]) if isinstance(value.get("key"), str) else key
            kept = dict(self._members(value, key))
            lost = (value and not kept) or ("key" in kept and value.get("value") is not None and "value" not in kept)
            return None if lost else kept
        if isinstance(value, list):
            return [kept for item in value if (kept := self.walk(item, name, key)) is not None]
        return self._text(value, name, key) if isinstance(value, str) else value

    def _members(self, value: dict[str, Any], key: str) -> Iterator[tuple[str, Any]]:
        for name, item in value.items():
            if name == "key":
                yield name, item
            elif name in _KNOWN and (kept := self.walk(item, name, key)) is not None:
                yield name, kept

    def _text(self, text: str, name: str, key: str) -> object:
        if name in _IDS and len(text) <= _LONGEST_ID and text.isalnum():
            return text
        if (name == "intValue" or name.endswith("UnixNano")) and _NUMBER.fullmatch(text):
            return text  # as in protobuf, where no number is looked at
        if name == "bytesValue":
            return self._base64(text, key)
        answer = self._values.plain(key or name, text)
        return answer.decode(errors="replace") if isinstance(answer, bytes) else answer

    def _base64(self, text: str, key: str) -> str | None:
        try:
            data = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            answer = self._values.plain(key, text)
        else:
            answer = self._values.plain(key, data)
            answer = base64.b64encode(answer).decode() if isinstance(answer, bytes) else answer
        return answer if isinstance(answer, str) else None
