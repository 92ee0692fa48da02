"""What the application's thread pays: CPU of that thread for one GenAI span, from start_span to end."""

from __future__ import annotations

import os
import random
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, Tracer, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from otel_runlog.otlp.encode import SpanEncoder
from otel_runlog.processor import RunLogSpanProcessor

from .measure import Sample, Scale, Timer, Variant, interleaved
from .report import Line
from .workload import RESOURCE, SCOPE, SCOPE_VERSION, Value, Workload

SECTION = "on_end"
UNIT = "us/span"
BARE, BATCH, QUEUE, PROCESS = (
    "no processor",
    "BatchSpanProcessor, no-op exporter",
    "durability=queue",
    "durability=process",
)
OFF, HASH, REDACT = "durability=process, content=off", "durability=process, content=hash", "durability=process, redact="
WRITE, START = "write(2) of a start record", "start record of an agent span"
DISTINCT_SPANS = 256
PROCESS_US, START_US = 25, 10
"""The goals of the issue `Small and fast`: process costs at most so much more than no processor."""


class _NoOpExporter(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


class _Bench:
    """One tracer for each way of processing spans."""

    def __init__(self, folder: Path, spans: int) -> None:
        workload = Workload()
        self._folder = folder
        self._spans = spans
        self._attributes = [workload.chat_attributes() for _ in range(DISTINCT_SPANS)]
        self._agent = workload.agent_attributes()
        self._parent = _local_parent()
        self._random = random.Random(1)
        self._stack = ExitStack()

    def close(self) -> None:
        self._stack.close()

    def variants(self) -> dict[str, Variant]:
        batch = BatchSpanProcessor(_NoOpExporter(), max_queue_size=max(2048, 2 * self._spans))
        return {
            BARE: self._ending(None),
            BATCH: self._ending(batch),
            QUEUE: self._ending(self._ours("queue", durability="queue")),
            PROCESS: self._ending(self._ours("process")),
            OFF: self._ending(self._ours("off", content="off")),
            HASH: self._ending(self._ours("hash", content="hash")),
            REDACT + "a function that keeps all": self._ending(self._ours("redact", redact=_keep)),
        }

    def start_variants(self) -> dict[str, Variant]:
        return {WRITE: self._writing(), START: self._starting(self._ours("start"))}

    def _ours(self, name: str, **arguments: object) -> RunLogSpanProcessor:
        return RunLogSpanProcessor(self._folder / f"{name}.duckdb", loader="off", **arguments)  # type: ignore[arg-type]

    def _tracer(self, processor: SpanProcessor | None) -> Tracer:
        provider = TracerProvider(resource=Resource(RESOURCE), shutdown_on_exit=False)
        if processor is not None:
            provider.add_span_processor(processor)
        self._stack.callback(provider.shutdown)
        return provider.get_tracer(SCOPE, SCOPE_VERSION)  # type: ignore[return-value]  # the SDK's

    def _ending(self, processor: SpanProcessor | None) -> Variant:
        tracer = self._tracer(processor)

        def run(timer: Timer) -> None:
            chosen = [self._as_new(self._attributes[i % DISTINCT_SPANS]) for i in range(self._spans)]
            with timer:
                _end_all(tracer, self._parent, chosen)
            if processor is not None:
                processor.force_flush()

        return run

    def _as_new(self, attributes: dict[str, Value]) -> dict[str, Value]:
        """The attributes of another call: its id and its counts come once, so no cache knows them."""
        tokens = self._random.randrange(600, 140_000)
        return {
            **attributes,
            "gen_ai.response.id": f"chatcmpl-{self._random.getrandbits(96):024x}",
            "gen_ai.usage.input_tokens": tokens,
            "gen_ai.usage.output_tokens": self._random.randrange(8, 2_400),
            "gen_ai.usage.cache_read.input_tokens": tokens // 2,
        }

    def _starting(self, processor: RunLogSpanProcessor) -> Variant:
        tracer = self._tracer(None)
        self._stack.callback(processor.shutdown)

        def run(timer: Timer) -> None:
            spans = [tracer.start_span("invoke_agent", Context(), attributes=self._agent) for _ in range(self._spans)]
            with timer:
                for span in spans:
                    processor.on_start(span)  # type: ignore[arg-type]  # the SDK's

        return run

    def _writing(self) -> Variant:
        """The floor of a start record: as many bytes to a file, one system call each."""
        span = self._tracer(None).start_span("invoke_agent", Context(), attributes=self._agent)
        record = SpanEncoder().encode_span(span, end=False)  # type: ignore[arg-type]  # the SDK's
        file = os.open(self._folder / "floor", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        self._stack.callback(os.close, file)

        def run(timer: Timer) -> None:
            with timer:
                for _ in range(self._spans):
                    os.write(file, record)

        return run


def _keep(_key: str, value: object) -> object:
    return value


def _local_parent() -> Context:
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    parent = trace.SpanContext(trace_id=1, span_id=1, is_remote=False, trace_flags=flags)
    return trace.set_span_in_context(trace.NonRecordingSpan(parent), Context())


def _end_all(tracer: Tracer, parent: Context, attributes: list[dict[str, Value]]) -> None:
    for each in attributes:
        tracer.start_span("chat gpt-4o-mini", parent, kind=trace.SpanKind.CLIENT, attributes=each).end()


@contextmanager
def _bench(spans: int) -> Iterator[_Bench]:
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        bench = _Bench(Path(folder), spans)
        try:
            yield bench
        finally:
            bench.close()


def lines(scale: Scale) -> list[Line]:
    """The section's figures."""
    with _bench(scale.spans_on_end) as bench:
        ends = interleaved(bench.variants(), scale.repeats, time.thread_time, warm_up=scale.warm_up)
        starts = interleaved(bench.start_variants(), scale.repeats, time.thread_time, warm_up=scale.warm_up)
    return [*_end_lines(ends, scale.spans_on_end), _start_line(starts, scale.spans_on_end)]


def _end_lines(samples: dict[str, Sample], spans: int) -> list[Line]:
    bare, batch = samples[BARE].us_each(spans), samples[BATCH].us_each(spans)
    goals = {
        QUEUE: (batch, "<= BatchSpanProcessor"),
        PROCESS: (bare + PROCESS_US, f"<= floor + {PROCESS_US}"),
    }
    ours = [name for name in samples if name != BARE]
    return [_line(name, BARE, samples, spans, goals.get(name)) for name in ours]


def _start_line(samples: dict[str, Sample], spans: int) -> Line:
    return _line(START, WRITE, samples, spans, (START_US, f"<= {START_US}"))


def _line(name: str, floor: str, samples: dict[str, Sample], spans: int, goal: tuple[float, str] | None = None) -> Line:
    return Line(
        section=SECTION,
        figure=name,
        unit=UNIT,
        floor_is=floor,
        floor=samples[floor].us_each(spans),
        ours=samples[name].us_each(spans),
        best=samples[name].best_us_each(spans),
        target=goal[0] if goal else None,
        target_text=goal[1] if goal else "",
        cpu_s=samples[name].cpu_s,
    )
