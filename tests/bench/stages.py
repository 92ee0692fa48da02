"""The stages of the loader alone, each over the same spans, beside the least that the machine must do for it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_runlog import conventions
from otel_runlog.assemble import Assembler
from otel_runlog.model import Span
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.wire import Encoding
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project_nodes
from otel_runlog.span import digest
from otel_runlog.store.batch import Batch
from otel_runlog.store.writer import StoreWriter
from otel_runlog.traces import Traces
from otel_runlog.tree import node_of

from .bare_store import append_bare, new_stores, recorded
from .measure import Sample, Timer, Variant
from .report import Line
from .workload import START_NS, MadeSpan, json_body, protobuf_body, requests

FIGURES: tuple[tuple[str, str | None], ...] = (
    ("decode protobuf", "upb ParseFromString"),
    ("decode JSON", "msgspec.json.decode"),
    ("digest", "sha256 of the protobuf"),
    ("conventions.read", None),
    ("messages", None),
    ("projection: nodes, runs, prices", None),
    ("assemble: digest to runs, all of it", None),
    ("store.append with commit", "DuckDB alone, same rows"),
    ("store.close with checkpoint", "close after DuckDB alone"),
)
"""What is shown, in the order of the flow, with the floor of each."""


class Stages:
    """The variants to measure."""

    def __init__(self, folder: Path, made: list[MadeSpan]) -> None:
        self._stores = new_stores(folder)
        self._protobuf = [protobuf_body(spans) for spans in requests(made)]
        self._json = [json_body(spans) for spans in requests(made)]
        self._spans = self._decoded()
        self._prices = PriceTable.default()
        with recorded() as self._rows, StoreWriter(next(self._stores)) as writer:
            writer.append(self._batch(writer))

    def variants(self) -> dict[str, Variant]:
        """All figures and floors, by name."""
        spans = self._spans
        return {
            "upb ParseFromString": _timed(lambda: [parse(b) for b in self._protobuf]),
            "decode protobuf": _timed(self._decoded),
            "msgspec.json.decode": _timed(lambda: [msgspec.json.decode(b) for b in self._json]),
            "decode JSON": _timed(lambda: [read_traces(b, Encoding.JSON) for b in self._json]),
            "sha256 of the protobuf": _timed(lambda: [hashlib.sha256(b).digest() for b in self._protobuf]),
            "digest": _timed(lambda: [digest(s) for s in spans]),
            "conventions.read": _timed(lambda: [conventions.read(s) for s in spans]),
            "messages": _timed(lambda: [conventions.messages(s) for s in spans]),
            "projection: nodes, runs, prices": _timed(lambda: project_nodes([node_of(s) for s in spans], self._prices)),
            "assemble: digest to runs, all of it": self._assemble,
            "store.append with commit": self._append,
            "store.close with checkpoint": self._close,
            "DuckDB alone, same rows": lambda timer: append_bare(next(self._stores), self._rows, appending=timer),
            "close after DuckDB alone": lambda timer: append_bare(next(self._stores), self._rows, closing=timer),
        }

    def lines(self, section: str, samples: dict[str, Sample]) -> list[Line]:
        """The figures in microseconds a span."""
        number = len(self._spans)
        return [
            Line(
                section=section,
                figure=name,
                unit="us/span",
                ours=samples[name].us_each(number),
                best=samples[name].best_us_each(number),
                floor_is=floor or "",
                floor=samples[floor].us_each(number) if floor else None,
                cpu_s=samples[name].cpu_s,
            )
            for name, floor in FIGURES
        ]

    def _decoded(self) -> list[Span]:
        return [span for body in self._protobuf for span in read_traces(body, Encoding.PROTOBUF).spans]

    def _batch(self, writer: StoreWriter, timer: Timer | None = None) -> Batch:
        assembler = Assembler(writer, Traces(), self._prices)
        assembler.add_spans("bench", START_NS, self._decoded(), {})
        if timer is None:
            return assembler.batch()
        with timer:
            return assembler.batch()

    def _assemble(self, timer: Timer) -> None:
        with StoreWriter(next(self._stores)) as writer:
            self._batch(writer, timer)

    def _append(self, timer: Timer) -> None:
        with StoreWriter(next(self._stores)) as writer:
            batch = self._batch(writer)
            with timer:
                writer.append(batch)

    def _close(self, timer: Timer) -> None:
        writer = StoreWriter(next(self._stores))
        writer.append(self._batch(writer))
        with timer:
            writer.close()


def parse(body: bytes) -> int:
    """The floor of decoding: protobuf's own parser, no value looked at."""
    length: int = ExportTraceServiceRequest().ParseFromString(body)
    return length


def _timed(work: Callable[[], object]) -> Variant:
    def run(timer: Timer) -> None:
        with timer:
            work()

    return run
