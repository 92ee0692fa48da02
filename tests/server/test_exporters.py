"""The exporters of the Python SDK as clients: what they send arrives, and what they are told they do."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from doors import Doors, doors
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogExporter
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter as HttpLogExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import LogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_runlog.errors import JournalError
from otel_runlog.otlp.wire import Encoding, Signal

MIB = 1 << 20


def grpc_exporter(served: Doors, **how: Any) -> SpanExporter:
    return GrpcSpanExporter(endpoint=f"http://{served.grpc}", insecure=True, **how)


def http_exporter(served: Doors, **how: Any) -> SpanExporter:
    return HttpSpanExporter(endpoint=f"http://{served.http}/v1/traces", **how)


EXPORTERS: dict[str, Callable[[Doors], SpanExporter]] = {
    "grpc": grpc_exporter,
    "grpc gzip": lambda served: grpc_exporter(served, compression=grpc.Compression.Gzip),
    "grpc deflate": lambda served: grpc_exporter(served, compression=grpc.Compression.Deflate),
    "http": http_exporter,
    "http gzip": lambda served: http_exporter(served, compression=Compression.Gzip),
    "http deflate": lambda served: http_exporter(served, compression=Compression.Deflate),
}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Doors]:
    with doors(tmp_path / "journal") as open_doors:
        yield open_doors


def ended_spans(number: int, **attributes: Any) -> list[ReadableSpan]:
    memory = InMemorySpanExporter()
    provider = TracerProvider(resource=Resource({"service.name": "agent"}))
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("test")
    for n in range(number):
        with tracer.start_as_current_span(f"span {n}", attributes=attributes) as span:
            span.add_event("said", {"n": n})
    provider.shutdown()
    return list(memory.get_finished_spans())


@pytest.mark.parametrize("name", EXPORTERS)
def test_spans_arrive_as_they_were_sent(served: Doors, name: str) -> None:
    sent = ended_spans(20, text="väl", numbers=[1, 2], big=2**62)
    exporter = EXPORTERS[name](served)
    assert exporter.export(sent) is SpanExportResult.SUCCESS
    exporter.shutdown()
    found = served.spans()
    assert [one.span_id for one in found] == [f"{span.context.span_id:016x}" for span in sent if span.context]
    assert {one.resource.attributes["service.name"] for one in found} == {"agent"}
    assert found[0].attributes == {"text": "väl", "numbers": [1, 2], "big": 2**62}
    assert found[7].events[0].attributes == {"n": 7}


@pytest.mark.parametrize("kind", ["grpc", "http"])
def test_logs_arrive(served: Doors, kind: str) -> None:
    exporter: LogRecordExporter = {
        "grpc": lambda: GrpcLogExporter(endpoint=f"http://{served.grpc}", insecure=True),
        "http": lambda: HttpLogExporter(endpoint=f"http://{served.http}/v1/logs"),
    }[kind]()
    provider = LoggerProvider()
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    record = LogRecord(timestamp=5, body={"said": "hello"}, severity_number=SeverityNumber.INFO, event_name="e")
    provider.get_logger("test").emit(record)
    provider.shutdown()
    [found] = served.logs()
    assert (found.time_ns, found.body, found.event_name) == (5, {"said": "hello"}, "e")


@pytest.mark.fault(28)
@pytest.mark.parametrize("name", ["grpc", "http", "http gzip"])
def test_ten_megabytes_in_one_batch(served: Doors, name: str) -> None:
    exporter = EXPORTERS[name](served)
    assert exporter.export(ended_spans(10, prompt="x" * MIB)) is SpanExportResult.SUCCESS
    exporter.shutdown()
    assert len(served.spans()) == 10


@pytest.mark.fault(28)
@pytest.mark.parametrize("name", ["http", "grpc"])
def test_a_batch_over_the_limit_is_given_up(tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    with doors(tmp_path, max_bytes=MIB) as served:
        exporter = {"http": http_exporter, "grpc": grpc_exporter}[name](served, timeout=1)
        assert exporter.export(ended_spans(1, prompt="x" * 2 * MIB)) is SpanExportResult.FAILURE
        exporter.shutdown()
        assert served.records() == []
    assert "RESOURCE_EXHAUSTED" in caplog.text or "413" in caplog.text


class FailsAtFirst:
    """A disk that takes nothing the first times it is asked."""

    def __init__(self, failures: int, journal: list[bytes]) -> None:
        self._failures = failures
        self._journal = journal
        self._lock = threading.Lock()

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        with self._lock:
            self._failures -= 1
            if self._failures >= 0:
                raise JournalError("no space left on device")
            self._journal.append(body)


@pytest.mark.fault(29, 48)
@pytest.mark.parametrize("name", ["grpc", "http"])
def test_exporters_come_again_after_a_second_when_the_disk_is_full(
    tmp_path: Path, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    kept: list[bytes] = []
    caplog.set_level(logging.WARNING, "opentelemetry")
    with doors(tmp_path, journal=FailsAtFirst(2, kept)) as served:
        exporter = EXPORTERS[name](served)
        assert exporter.export(ended_spans(3)) is SpanExportResult.SUCCESS
        exporter.shutdown()
    assert len(kept) == 1
    assert "in 1.00s" in caplog.text  # what it was told, not its own backoff


def test_the_token_may_be_given_to_exporters(tmp_path: Path) -> None:
    from otel_runlog.server.guard import Guard

    with doors(tmp_path, guard=Guard(token="s3cret", token_for_all=True)) as served:
        headers = {"authorization": "Bearer s3cret"}
        for make in (grpc_exporter, http_exporter):
            exporter = make(served, headers=headers)
            assert exporter.export(ended_spans(1)) is SpanExportResult.SUCCESS
            exporter.shutdown()
        assert len(served.spans()) == 2
