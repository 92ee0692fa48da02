"""Records of the journal to the request that a backend gets: as they are, or of JSON made protobuf for gRPC."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol

import msgspec

from otel_runlog.drop_event import EVENT
from otel_runlog.drops import tells_drop
from otel_runlog.errors import OtlpError
from otel_runlog.journal.layout import Record
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward.batches import REQUEST_BYTES, Batch, fitting
from otel_runlog.server.forward.log_requests import encode_logs
from otel_runlog.server.forward.span_wire import count_items, items_between

_DROP_EVENT = EVENT.encode()


class Outgoing(msgspec.Struct, frozen=True):
    """One request and how many spans or records it holds. `unsendable`: those left out of it, by reason."""

    signal: Signal
    encoding: Encoding
    body: bytes
    items: int
    unsendable: dict[str, int] = {}

    def halves(self) -> tuple[Outgoing, ...]:
        """Two requests in protobuf, each with half the items; none where it cannot be divided."""
        if self.items <= 1:
            return ()
        body = self.body
        if self.encoding is Encoding.JSON:
            body = as_protobuf(Record(self.signal, self.encoding, 0, 0, body), {})
        middle = self.items // 2
        try:
            bodies = items_between(body, 0, middle), items_between(body, middle, self.items)
        except OtlpError:
            return ()
        return tuple(Outgoing(self.signal, Encoding.PROTOBUF, half, count_items(half)) for half in bodies)


class Prepared(msgspec.Struct, frozen=True):
    """A request, and of what it is."""

    batch: Batch
    outgoing: Outgoing


class Preparing(Protocol):
    """Makes requests of batches, in one of the ways that a destination can ask for."""

    @property
    def gather_bytes(self) -> int:
        """How much of the journal it wants to see at once."""
        ...

    def kind_of(self, record: Record) -> Hashable:
        """What a record has in common with those it may be joined to; None where it is not for this destination."""
        ...

    def prepare(self, batch: Batch) -> Prepared | None:
        """The request of the batch, or of its first pieces; None where none is ready yet, and to be asked for again."""
        ...

    def answered(self, prepared: Prepared) -> None:
        """Called when the backend has answered a request for good, before the cursor moves."""
        ...


class AsReceived:
    """Requests as they came: start records and the processor's own records of lost spans are not for others.

    Args:
        signals: what the destination is to get.
        takes_json: whether JSON goes as JSON. A request in JSON is never joined to another; made protobuf, it lacks
            what the neutral form of spans and records lacks: schema URLs, and the attributes of scopes.
        request_bytes: records are joined up to this.
    """

    def __init__(self, signals: Iterable[str], *, takes_json: bool, request_bytes: int = REQUEST_BYTES) -> None:
        self.gather_bytes = request_bytes
        self._signals = frozenset(signals)
        self._takes_json = takes_json

    def kind_of(self, record: Record) -> Hashable:
        """Requests of one signal in protobuf may be joined."""
        if record.signal not in self._signals or tells_drops_only(record):
            return None
        is_joined = not self._takes_json or record.encoding is Encoding.PROTOBUF
        return (record.signal, None if is_joined else record.end_offset)

    def prepare(self, batch: Batch) -> Prepared | None:
        """The joined request."""
        batch = batch.of(fitting(batch.pieces, self.gather_bytes))
        return Prepared(batch, request_of(batch.records, takes_json=self._takes_json))

    def answered(self, prepared: Prepared) -> None:
        """Nothing is to be remembered."""


def request_of(records: list[Record], *, takes_json: bool) -> Outgoing:
    """One request of records of one signal; of those in JSON only where there is one, or where all become protobuf."""
    first = records[0]
    if takes_json and first.encoding is Encoding.JSON:
        return Outgoing(first.signal, Encoding.JSON, first.body, _count_json(first))
    unsendable: dict[str, int] = {}
    body = b"".join(as_protobuf(record, unsendable) for record in records)
    return Outgoing(first.signal, Encoding.PROTOBUF, body, count_items(body), unsendable)


def as_protobuf(record: Record, unsendable: dict[str, int]) -> bytes:
    """A record's body in protobuf; what cannot be written so is counted by reason in `unsendable`."""
    if record.encoding is Encoding.PROTOBUF:
        return record.body
    try:
        if record.signal is Signal.LOGS:
            logs = read_logs(record.body, record.encoding)
            body, rejected = encode_logs(logs.records), logs.rejected
        else:
            spans = read_traces(record.body, record.encoding)
            body, rejected = encode_spans(spans.spans), spans.rejected
    except OtlpError:
        body, rejected = b"", {"undecodable": 1}
    for reason, number in rejected.items():
        unsendable[reason] = unsendable.get(reason, 0) + number
    return body


def _count_json(record: Record) -> int:
    try:
        if record.signal is Signal.LOGS:
            return len(read_logs(record.body, record.encoding).records)
        return len(read_traces(record.body, record.encoding).spans)
    except OtlpError:
        return 1


def tells_drops_only(record: Record) -> bool:
    """Whether a record is the processor's own, of spans that were lost in the process that made them."""
    if record.signal is not Signal.LOGS or _DROP_EVENT not in record.body:
        return False
    try:
        return all(map(tells_drop, read_logs(record.body, record.encoding).records))
    except OtlpError:
        return False
