"""Both doors on loopback over a journal of their own, and what a raw client says to them."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
from google.rpc.status_pb2 import Status
from opentelemetry.proto.trace.v1 import trace_pb2
from protobuf_bytes import field

from otel_runlog.journal import JournalWriter, read_segment, segments
from otel_runlog.journal.layout import Record
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.scan import ScanLimits
from otel_runlog.otlp.wire import Signal
from otel_runlog.server.budget import Budget
from otel_runlog.server.counters import Counters
from otel_runlog.server.grpc_door import GrpcDoor
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.intake import Intake, Journal, Redacts
from otel_runlog.server.otlp_routes import otlp_routes
from otel_runlog.server.routes import Route

MIB = 1 << 20
TRACE_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
LOGS_METHOD = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
PROTOBUF, JSON = "application/x-protobuf", "application/json"
TRACE, SPAN = bytes(range(1, 17)), bytes(range(1, 9))


class Reply(NamedTuple):
    """What HTTP answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        assert self.headers["content-type"] == JSON
        return json.loads(self.body)

    @property
    def rpc_status(self) -> Status:
        """The google.rpc.Status in the body, in either encoding."""
        if self.headers["content-type"] == JSON:
            return Status(code=self.json["code"], message=self.json["message"])
        assert self.headers["content-type"] == PROTOBUF
        return Status.FromString(self.body)


class Doors:
    """Both doors, served over one journal."""

    def __init__(self, folder: Path, http_at: str, grpc_at: str, counters: Counters, budget: Budget) -> None:
        self.folder = folder
        self.http = http_at
        self.grpc = grpc_at
        self.counters = counters
        self.budget = budget

    def connection(self, timeout_s: float = 20) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.http, timeout=timeout_s)

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        connection = self.connection()
        try:
            connection.request(method, path, body, dict(headers or {}))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Reply(answer.status, found, answer.read())
        finally:
            connection.close()

    def post(self, body: Any, path: str = "/v1/traces", content_type: str | None = PROTOBUF, **headers: str) -> Reply:
        """Header names with _ for -."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type is not None:
            named["Content-Type"] = content_type
        return self.request("POST", path, body, named)

    @contextmanager
    def channel(self, *options: tuple[str, Any]) -> Iterator[grpc.Channel]:
        with grpc.insecure_channel(self.grpc, options=options) as channel:
            yield channel

    def call(self, body: bytes, method: str = TRACE_METHOD, timeout: float = 20, **how: Any) -> bytes:
        with self.channel() as channel:
            return channel.unary_unary(method)(body, timeout=timeout, **how)

    def refused_call(self, body: bytes, method: str = TRACE_METHOD, timeout: float = 20, **how: Any) -> grpc.RpcError:
        try:
            answer = self.call(body, method, timeout, **how)
        except grpc.RpcError as error:
            return error
        raise AssertionError(f"it was accepted: {answer!r}")

    def records(self) -> list[Record]:
        """What stands in the journal."""
        return [record for segment in segments(self.folder) for record in read_segment(segment.path).records]

    def spans(self) -> list[Any]:
        return [
            span
            for record in self.records()
            if record.signal is Signal.TRACES
            for span in read_traces(record.body, record.encoding).spans
        ]

    def logs(self) -> list[Any]:
        return [
            log
            for record in self.records()
            if record.signal is Signal.LOGS
            for log in read_logs(record.body, record.encoding).records
        ]


@contextmanager
def doors(
    folder: Path,
    *,
    journal: Journal | None = None,
    limits: ScanLimits | None = None,
    guard: Guard | None = None,
    redact: Redacts | None = None,
    memory_bytes: int = 512 * MIB,
    max_bytes: int = 64 * MIB,
    routes: tuple[Route, ...] = (),
    http_options: Mapping[str, Any] | None = None,
    grpc_options: Mapping[str, Any] | None = None,
) -> Iterator[Doors]:
    """Both doors, closed again at the end."""
    counters, budget, guard = Counters(), Budget(memory_bytes), guard or Guard()
    writer = JournalWriter(folder, fsync=True)
    intake = Intake(journal or writer, counters, limits=limits, redact=redact)
    http_door = HttpDoor(
        "127.0.0.1:0",
        (*otlp_routes(intake), *routes),
        guard,
        budget,
        max_body_bytes=max_bytes,
        **(http_options or {}),
    )
    grpc_door = GrpcDoor("127.0.0.1:0", intake, guard, budget, max_request_bytes=max_bytes, **(grpc_options or {}))
    http_at, grpc_at = http_door.start(), grpc_door.start()
    try:
        yield Doors(folder, http_at, grpc_at, counters, budget)
    finally:
        assert http_door.stop(5)
        assert grpc_door.stop(5)
        writer.close()


def request_of(*items: bytes) -> bytes:
    """An export request of either signal with these items."""
    return field(1, field(1, b"") + field(2, b"".join(field(2, item) for item in items)))


def span(number: int = 1, **fields: Any) -> bytes:
    """A span whose ids tell its number."""
    defaults = {"trace_id": number.to_bytes(16, "big"), "span_id": number.to_bytes(8, "big"), "name": f"span {number}"}
    return trace_pb2.Span(
        **(defaults | {"start_time_unix_nano": 1, "end_time_unix_nano": 2} | fields)
    ).SerializeToString()


def json_span(number: int = 1, **fields: Any) -> dict[str, Any]:
    return {"traceId": f"{number:032x}", "spanId": f"{number:016x}", "name": f"span {number}"} | fields


def json_request(*spans: Any, **top: Any) -> bytes:
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": list(spans)}]}]} | top).encode()
