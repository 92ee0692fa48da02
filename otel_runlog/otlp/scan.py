"""What a door must know of a request before it takes it: how many items, which of them cannot be kept, is it bounded.

Size does not bound memory: 32 MB of empty spans were 16 million spans and 2.99 GB once parsed, and 15.6 kB of them
gzipped. So counts are taken from the wire first, and a body over a limit is refused whole, before anything parses it.
Then it is read in C, 2 us a span, which tells whether every item can be decoded; only where that fails are the items
decoded one by one as the loader will do, so that the number of rejected items in the answer is the loader's.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sized
from typing import Final, TypeAlias

import msgspec
from google.protobuf.message import DecodeError, Message  # type: ignore[import-untyped]
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from otel_runlog.errors import OtlpError
from otel_runlog.otlp import from_json, from_protobuf, items
from otel_runlog.otlp.items import MAX_VALUE_DEPTH, SPAN_ID_BYTES, TRACE_ID_BYTES, RejectedItemError
from otel_runlog.otlp.json_shapes import JsonAnyValue, JsonKeyValue, JsonLogsRequest, JsonSpan, JsonTracesRequest
from otel_runlog.otlp.protowire import (
    BYTES,
    FIXED32,
    FIXED64,
    MESSAGES,
    ONE_BYTE,
    VARINT,
    fields,
    read_varint,
    signal_of,
)
from otel_runlog.otlp.wire import Encoding, Signal

FIELDS_PER_VALUE: Final = 4
"""Fields of a request (commas, in JSON) that may stand for each value it may hold: real ones have 2 or 3."""
FIELDS_PER_ITEM: Final = 8
"""Fields around the items that may stand for each item: a span in a block of its own has 7."""
_NAMES: Final = {Signal.TRACES: "Span", Signal.LOGS: "LogRecord"}
_NOUNS: Final = {Signal.TRACES: "spans", Signal.LOGS: "log records"}
_ATTRIBUTES: Final = {Signal.TRACES: 9 << 3 | BYTES, Signal.LOGS: 6 << 3 | BYTES}
_KINDS: Final[dict[Signal, tuple[type[Message], type[Message]]]] = {
    Signal.TRACES: (ExportTraceServiceRequest, trace_pb2.Span),
    Signal.LOGS: (ExportLogsServiceRequest, logs_pb2.LogRecord),
}
_PARSED_WHOLE_BYTES: Final = 4 << 20
_FIELD_0: Final = 7
"""The largest key of field number 0, which no message has."""
_SPAN_ID_AT: Final = 2 + TRACE_ID_BYTES
_IDS_BYTES: Final = _SPAN_ID_AT + 2 + SPAN_ID_BYTES
_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?|[{\[,]', re.DOTALL)
_TRACES: Final = msgspec.json.Decoder(JsonTracesRequest, strict=False)
_LOGS: Final = msgspec.json.Decoder(JsonLogsRequest, strict=False)


class OverLimitError(OtlpError):
    """A request with more in it than is taken; the text names the limit."""


class ScanLimits(msgspec.Struct, frozen=True, kw_only=True):
    """What one request may hold. Over any of these it is refused whole.

    Attributes:
        max_items: spans or log records.
        max_attributes: attributes of one span or log record.
        max_values: attributes, values, events and links of all its items, at every depth; each is 2 bytes or more on
            the wire and some 200 once decoded.
    """

    max_items: int = 100_000
    max_attributes: int = 10_000
    max_values: int = 1_000_000


class Scanned(msgspec.Struct, frozen=True):
    """How many spans or log records a request has, and how many of them cannot be kept, by reason."""

    items: int
    rejected: dict[str, int]


def scan(body: bytes, signal: Signal, encoding: Encoding, limits: ScanLimits) -> Scanned:
    """Look through a request of TRACES or LOGS.

    Raises:
        OverLimitError: it holds more than the limits allow.
        OtlpError: it is no request of this signal; one of another signal is named.
    """
    if encoding is Encoding.JSON:
        return _scan_json(body, signal, limits)
    return _scan_protobuf(body, signal, limits)


_Part: TypeAlias = tuple[int, int, "_Inside"]
"""Start and end of a message, and what may lie in it."""


def _scan_protobuf(body: bytes, signal: Signal, limits: ScanLimits) -> Scanned:
    found = _items(body, signal, limits)
    _check_values(body, signal, limits)
    long_bytes = 2 * min(limits.max_attributes, from_protobuf.MAX_ITEMS_PER_SPAN)  # each has 2 bytes or more
    long = [(at, end) for at, end, _ in found if end - at > long_bytes]
    for at, end in long:
        _check_attributes(body, at, end, signal, limits)
    faults = [_id_fault(body, at, end) for at, end, _ in found] if signal is Signal.TRACES else []
    if all(faults):  # nothing of another signal has ids where a span has them
        _check_signal(body, signal)
    if long or not _parses(body, found, signal):
        return _decoded(body, signal, Encoding.PROTOBUF)
    return Scanned(len(found), dict(Counter(fault for fault in faults if fault)))


def _items(body: bytes, signal: Signal, limits: ScanLimits) -> list[_Part]:
    """The spans or records; they lie at the same field numbers in traces and logs."""
    fields_left = limits.max_items * FIELDS_PER_ITEM
    parts: list[_Part] = [(0, len(body), _REQUESTS[signal])]
    for key in (_KEY_1, _KEY_2, _KEY_2):
        outer, parts = parts, []
        for at, end, inside in outer:
            most_fields = limits.max_items - len(parts) + FIELDS_PER_ITEM
            walked = _walk(body, (at, end, {key: inside[key]}), parts, most_fields)
            fields_left -= walked
            if walked > most_fields or len(parts) > limits.max_items or fields_left < 0:
                raise _too_many(f"{_NOUNS[signal]} in one request", limits.max_items)
    return parts


def _id_fault(body: bytes, at: int, end: int) -> str | None:
    """Why the ids do not let a span be kept. Exporters write them first; where others come first all are read."""
    if end - at >= _IDS_BYTES and body.startswith(b"\x0a\x10", at) and body.startswith(b"\x12\x08", at + _SPAN_ID_AT):
        return _fault_of(body[at + 2 : at + _SPAN_ID_AT], body[at + _SPAN_ID_AT + 2 : at + _IDS_BYTES])
    ids = {1: b"", 2: b""}
    try:
        for number, wire_type, start, stop in fields(body, at, end):
            if number in ids and wire_type == BYTES:
                ids[number] = body[start : min(stop, start + TRACE_ID_BYTES + 1)]
    except OtlpError:
        return "undecodable"
    return _fault_of(ids[1], ids[2])


def _fault_of(trace_id: bytes, span_id: bytes) -> str | None:
    try:
        items.check_ids(trace_id, span_id)
    except RejectedItemError as reason:
        return str(reason)
    return None


def _check_number(found: int, signal: Signal, limits: ScanLimits) -> None:
    if found > limits.max_items:
        raise _too_many(f"{_NOUNS[signal]} in one request", limits.max_items)


def _check_attributes(body: bytes, at: int, end: int, signal: Signal, limits: ScanLimits) -> None:
    parts: list[_Part] = []
    most_fields = limits.max_attributes * FIELDS_PER_VALUE
    try:
        walked = _walk(body, (at, end, {_ATTRIBUTES[signal]: {}}), parts, most_fields)
    except OtlpError:
        return  # undecodable, which costs this item alone
    if walked > most_fields or len(parts) > limits.max_attributes:
        raise _too_many(f"attributes in one {_NAMES[signal]}", limits.max_attributes)


def _check_signal(body: bytes, wanted: Signal) -> None:
    found = signal_of(body)
    if found not in {None, wanted}:
        raise OtlpError(f"this is a {found} request, not {wanted}: its place is /v1/{found}")


_Inside: TypeAlias = dict[int, "_Inside"]
"""The keys (number and wire type) of a message's fields that hold messages, and what is in those."""
_KEY_1: Final = 1 << 3 | BYTES
_KEY_2: Final = 2 << 3 | BYTES


def _request_of(item: str) -> _Inside:
    made: dict[str, _Inside] = {}

    def inside(name: str) -> _Inside:
        if name not in made:
            made[name] = here = {}
            here.update({n << 3 | BYTES: inside(part) for n, part in MESSAGES[name].items() if part in MESSAGES})
        return made[name]

    return {_KEY_1: {_KEY_1: inside("Resource"), _KEY_2: {_KEY_1: inside("Scope"), _KEY_2: inside(item)}}}


_REQUESTS: Final = {signal: _request_of(name) for signal, name in _NAMES.items()}
_SCALAR_BYTES: Final = {FIXED64: 8, FIXED32: 4}


def _check_values(body: bytes, signal: Signal, limits: ScanLimits) -> None:
    """Refuse more messages than may be. A message is 2 bytes at least, so short bodies need not be walked."""
    if len(body) <= 2 * limits.max_values:
        return
    parts: list[_Part] = [(0, len(body), _REQUESTS[signal])]
    values, most_fields = 0, limits.max_values * FIELDS_PER_VALUE
    while parts:
        part = parts.pop()
        values += 1
        if part[0] == part[1]:
            continue
        try:
            most_fields -= _walk(body, part, parts, most_fields)
        except OtlpError:
            continue  # undecodable, which costs this item alone
        if values + len(parts) > limits.max_values or most_fields < 0:
            raise _too_many("attributes, values, events and links in one request", limits.max_values)


def _walk(body: bytes, part: _Part, parts: list[_Part], most_fields: int) -> int:
    """Add the messages in `part` to `parts`; returns how many fields it has, or one more than `most_fields`.

    One loop without a call or a generator, 0.2 us a field, as large bodies have millions.

    Raises:
        OtlpError: the bytes are no protobuf message.
    """
    found = 0
    at, end, inside = part
    try:
        while at < end and found <= most_fields:
            found += 1
            key = body[at]
            at += 1
            if key > ONE_BYTE:
                key, at = read_varint(body, at - 1, end)
            wire_type = key & 7
            if wire_type == BYTES:
                start = at + 1
                at = start + body[at]
                if at - start > ONE_BYTE:
                    length, start = read_varint(body, start - 1, end)
                    at = start + length
                if key in inside:
                    parts.append((start, at, inside[key]))
            elif wire_type == VARINT:
                at = at + 1 if body[at] <= ONE_BYTE else read_varint(body, at, end)[1]
            else:
                at += _SCALAR_BYTES[wire_type]
            if at > end or key <= _FIELD_0:
                raise OtlpError(f"no OTLP protobuf: field {key >> 3} before byte {at} reaches beyond its message")
    except (IndexError, KeyError):
        raise OtlpError(f"no OTLP protobuf: no field that is known and whole before byte {at}") from None
    return found


def _parses(body: bytes, parts: list[_Part], signal: Signal) -> bool:
    """Whether protobuf's parser takes every item: all at once, or one by one where that would double a large body."""
    request, item = _KINDS[signal]
    try:
        if len(body) <= _PARSED_WHOLE_BYTES:
            request.FromString(body)
        else:
            for at, end, _ in parts:
                item.FromString(body[at:end])
    except DecodeError:
        return False
    return True


def _decoded(body: bytes, signal: Signal, encoding: Encoding) -> Scanned:
    """What the loader will find."""
    rejected: Counter[str] = Counter()
    kept = len(_READERS[signal, encoding](body, rejected))
    return Scanned(kept + rejected.total(), dict(rejected))


_READERS: Final[dict[tuple[Signal, Encoding], Callable[[bytes, Counter[str]], Sized]]] = {
    (Signal.TRACES, Encoding.PROTOBUF): from_protobuf.read_spans,
    (Signal.TRACES, Encoding.JSON): from_json.read_spans,
    (Signal.LOGS, Encoding.PROTOBUF): from_protobuf.read_records,
    (Signal.LOGS, Encoding.JSON): from_json.read_records,
}


def _scan_json(body: bytes, signal: Signal, limits: ScanLimits) -> Scanned:
    _check_tokens(body, limits)
    try:
        scanned = _scan_spans(body, limits) if signal is Signal.TRACES else _scan_records(body, limits)
    except (msgspec.MsgspecError, RecursionError):
        scanned = None
    if scanned is None:  # not typed as OTLP/JSON is, or no request of this signal: what the loader says of it holds
        scanned = _decoded(body, signal, Encoding.JSON)
        _check_number(scanned.items, signal, limits)
    return scanned


def _check_tokens(body: bytes, limits: ScanLimits) -> None:
    """Refuse more objects and arrays than half the values there may be, and commas without end.

    Half, because an object takes some 350 bytes while it is read. What stands within texts counts at first, because
    looking for texts is slow and most bodies have few braces in them.
    """
    objects, commas = limits.max_values // 2, limits.max_values * FIELDS_PER_VALUE
    if body.count(b"{") + body.count(b"[") <= objects and body.count(b",") <= commas:
        return
    found = Counter[bytes]()
    for token in _TOKEN.finditer(body):
        found[token[0][:1]] += 1
        if found[b"{"] + found[b"["] > objects or found[b","] > commas:
            raise _too_many("JSON objects and arrays in one request", objects)


def _scan_spans(body: bytes, limits: ScanLimits) -> Scanned | None:
    blocks = _TRACES.decode(body.removeprefix(from_json.BOM)).resource_spans
    if blocks is msgspec.UNSET:
        return None
    spans = [span for block in blocks for group in block.scope_spans for span in group.spans]
    _check_number(len(spans), Signal.TRACES, limits)
    _check_attribute_lists((span.attributes for span in spans), Signal.TRACES, limits)
    if any(_may_be_too_deep(pairs) for span in spans for pairs in _attribute_lists(span)):
        return None
    faults = (_fault_of(items.from_hex(span.trace_id), items.from_hex(span.span_id)) for span in spans)
    return Scanned(len(spans), dict(Counter(fault for fault in faults if fault)))


def _scan_records(body: bytes, limits: ScanLimits) -> Scanned | None:
    blocks = _LOGS.decode(body.removeprefix(from_json.BOM)).resource_logs
    if blocks is msgspec.UNSET:
        return None
    records = [record for block in blocks for group in block.scope_logs for record in group.log_records]
    _check_number(len(records), Signal.LOGS, limits)
    _check_attribute_lists((record.attributes for record in records), Signal.LOGS, limits)
    if any(_may_be_too_deep(record.attributes) or _depth(record.body) > MAX_VALUE_DEPTH for record in records):
        return None
    return Scanned(len(records), {})


def _attribute_lists(span: JsonSpan) -> Iterator[list[JsonKeyValue]]:
    yield span.attributes
    yield from (event.attributes for event in span.events)
    yield from (link.attributes for link in span.links)


def _check_attribute_lists(lists: Iterable[list[JsonKeyValue]], signal: Signal, limits: ScanLimits) -> None:
    if max(map(len, lists), default=0) > limits.max_attributes:
        raise _too_many(f"attributes in one {_NAMES[signal]}", limits.max_attributes)


def _may_be_too_deep(pairs: list[JsonKeyValue]) -> bool:
    return any(_depth(pair.value) > MAX_VALUE_DEPTH for pair in pairs)


def _depth(value: JsonAnyValue | None) -> int:
    """Levels of lists and maps, counted as far as one more than are kept."""
    depth, level = 0, [value]
    while depth <= MAX_VALUE_DEPTH:
        level = [part for one in level if one is not None for part in _parts(one)]
        if not level:
            return depth
        depth += 1
    return depth


def _parts(value: JsonAnyValue) -> Iterable[JsonAnyValue | None]:
    if value.array_value is not None:
        return value.array_value.values or (None,)
    if value.kvlist_value is not None:
        return [pair.value for pair in value.kvlist_value.values] or (None,)
    return ()


def _too_many(what: str, limit: int) -> OverLimitError:
    return OverLimitError(f"more than {limit} {what}")
