"""The in-process door, as OpenTelemetry knows it: a span processor, and a span exporter for those who want one."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, Protocol

from opentelemetry import baggage
from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import TraceFlags

from otel_runlog.config import ProcessorConfig, Redactor
from otel_runlog.containment import contain, is_applications, warn
from otel_runlog.door import Door
from otel_runlog.door.amend import amended, note_start
from otel_runlog.door.door import LoaderFactory
from otel_runlog.errors import ConfigError
from otel_runlog.model import RunLog

RUN_ID: Final = "runlog.run.id"
BAGGAGE_KEYS: Final = (RUN_ID, "session.id", "user.id")
"""Copied from baggage to spans, where baggage names a run: session and user ids alone may be a browser's."""
BAGGAGE_PREFIX: Final = "runlog."
MOST_BAGGAGE_CHARACTERS: Final = 256
"""Longer baggage values are not copied: baggage comes from the network."""
AGENT_ATTRIBUTES: Final = {
    "gen_ai.operation.name": ("invoke_agent", "invoke_workflow"),
    "openinference.span.kind": ("AGENT",),
    "traceloop.span.kind": ("agent", "workflow"),
}
"""A span that starts with one of these is an agent's, and its start is written."""
FEWEST_ATTRIBUTES: Final = 128


class SpanSink(Protocol):
    """What takes spans beside the journal: a CaptureSink."""

    def on_end(self, span: ReadableSpan, /) -> None:
        """Take a span that has ended. It must neither raise nor wait."""


class RunLogSpanProcessor(SpanProcessor):
    """Keeps every span that ends, in the journal of `db`, and has it loaded into the store.

    Nothing raises into the application and nothing blocks it: on_end writes one record to a segment of this process,
    which survives kill -9, fork and os._exit. A path that cannot be used is logged once; spans are then dropped and
    counted, and `force_flush` is False. Added twice, also as several instances for one `db`, a span still counts once.

    Args:
        db: the DuckDB file; the journal is the folder `<db>.journal` beside it.
        durability: `process` writes in on_end; `power` also waits for the disk; `queue` leaves writing to a thread, so
            that kill -9 costs what still waits (64 MiB at most; beyond, on_end waits while the disk makes headway).
        loader: `thread` loads the journal in the background; `off` leaves it to the next command or process.
        content: `full`, `hash` (prompts, answers and tool data become `sha256:` and a digest) or `off` (left out).
        redact: called as `redact(key, text)` for every string before it is written, as in `redact=SecretPatterns()`;
            the text it returns is kept instead. None keeps nothing, and so does an exception or any other answer.
        on_run: called with the RunLog of every run that finished, in the loader's thread.
        capture: a `CaptureSink` that is handed every span, as it is written, once it is.
        provider: the provider it will be added to; limits that would cut model calls are then logged.
        labels: put on every run: `runlog.label.<key>` on spans without a parent in this process.

    Raises:
        ConfigError: an argument has the wrong type or value.
    """

    def __init__(
        self,
        db: str | os.PathLike[str],
        *,
        durability: Literal["process", "queue", "power"] = "process",
        loader: Literal["thread", "off"] = "thread",
        content: Literal["full", "hash", "off"] = "full",
        redact: Redactor | None = None,
        on_run: Callable[[RunLog], object] | None = None,
        capture: SpanSink | None = None,
        provider: TracerProvider | None = None,
        labels: Mapping[str, str] | None = None,
        _loader_factory: LoaderFactory | None = None,
    ) -> None:
        config = ProcessorConfig.from_arguments(
            db, durability=durability, loader=loader, content=content, redact=redact, on_run=on_run, labels=labels
        )
        _check_capture(capture)
        _warn_of_limits(provider)
        self._label_attributes = {f"runlog.label.{key}": value for key, value in config.labels.items()}
        self._capture = capture
        self._door = None if config.disabled else Door(config, _loader_factory)

    @property
    def dropped(self) -> dict[str, int]:
        """Spans that ended in this process and could not be kept, by reason."""
        return {} if self._door is None else self._door.losses.by_reason

    @property
    def left_out(self) -> dict[str, int]:
        """Values left out of spans that were kept, by reason: `redaction_failed`, `not_encodable`."""
        return {} if self._door is None else self._door.losses.values_by_reason

    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Copy the run's id from baggage; write the start of local roots and agents."""
        if self._door is None:
            return
        try:
            self._on_start(self._door, span, parent_context)
        except BaseException as error:
            if is_applications(error):
                raise
            self._door.losses.count("internal_error", 0, error)

    def on_end(self, span: ReadableSpan) -> None:
        """Write the span."""
        if self._door is None:
            return
        try:
            if _is_sampled(span) and not self._door.is_written_twice(span):
                ended = _amended(span)
                if self._capture is None:
                    self._door.end(ended)
                else:
                    _end_captured(self._door, ended, self._capture)
        except BaseException as error:
            if is_applications(error):
                raise
            self._door.lose(span, error)

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Whether all spans that ended before are on disk and, if this process can have the store, queryable.

        True once journaled where another process holds the store. False where that could not be done in time, or a
        span was lost since the last call.
        """
        return _flush(self._door, timeout_millis)

    def shutdown(self) -> None:
        """Write and load what is left: at most 2 s for writing and 3 s in all. Calling it again is fine."""
        _close(self._door)

    def _on_start(self, door: Door, span: Span, parent_context: Context | None) -> None:
        _copy_baggage(span, parent_context)
        parent = span.parent
        local_root = parent is None or parent.is_remote
        if local_root and self._label_attributes:
            span.set_attributes(self._label_attributes)
        attributes = note_start(span)
        if (local_root or _is_agent(attributes)) and _is_sampled(span) and not door.is_written_twice(span):
            door.start(span)


class RunLogSpanExporter(SpanExporter):
    """The same door for exporter pipelines: OTEL_TRACES_EXPORTER=runlog, or behind a processor of one's own.

    Starts are not seen here, and a BatchSpanProcessor before it loses what it holds when the process is killed.

    Args:
        db: the DuckDB file; None takes OTEL_RUNLOG_DB, else `runs.duckdb`.
        durability: as of RunLogSpanProcessor; None takes OTEL_RUNLOG_DURABILITY.
        loader: as of RunLogSpanProcessor; None takes OTEL_RUNLOG_LOADER.
        content: as of RunLogSpanProcessor; None takes OTEL_RUNLOG_CONTENT.
        redact: as of RunLogSpanProcessor.
        on_run: as of RunLogSpanProcessor.

    Raises:
        ConfigError: an argument or variable has the wrong type or value.
    """

    def __init__(
        self,
        db: str | os.PathLike[str] | None = None,
        *,
        durability: Literal["process", "queue", "power"] | None = None,
        loader: Literal["thread", "off"] | None = None,
        content: Literal["full", "hash", "off"] | None = None,
        redact: Redactor | None = None,
        on_run: Callable[[RunLog], object] | None = None,
        _loader_factory: LoaderFactory | None = None,
    ) -> None:
        config = ProcessorConfig.from_env(
            db, durability=durability, loader=loader, content=content, redact=redact, on_run=on_run
        )
        self._door = None if config.disabled else Door(config, _loader_factory)

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Write the spans; FAILURE where one was lost."""
        if self._door is None:
            return SpanExportResult.SUCCESS
        written = [_is_exported(self._door, span) for span in spans]
        return SpanExportResult.SUCCESS if all(written) else SpanExportResult.FAILURE

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """As RunLogSpanProcessor.force_flush."""
        return _flush(self._door, timeout_millis)

    def shutdown(self) -> None:
        """As RunLogSpanProcessor.shutdown."""
        _close(self._door)


def _is_exported(door: Door, span: ReadableSpan) -> bool:
    try:
        return door.is_written_twice(span) or door.end(span)
    except BaseException as error:
        if is_applications(error):
            raise
        door.lose(span, error)
        return False


def _flush(door: Door | None, timeout_millis: float) -> bool:
    return door is None or contain(lambda: door.flush(timeout_millis / 1000), otherwise=False)


def _close(door: Door | None) -> None:
    if door is not None:
        contain(door.close, None)


def _is_sampled(span: ReadableSpan) -> bool:
    context = span.get_span_context()
    return context is not None and context.trace_flags & TraceFlags.SAMPLED != 0


def _amended(span: ReadableSpan) -> ReadableSpan:
    try:
        return amended(span)
    except BaseException as error:
        if is_applications(error):
            raise
        return span  # as it is


def _is_agent(attributes: Mapping[str, Any]) -> bool:
    for key, values in AGENT_ATTRIBUTES.items():  # noqa: SIM110 - every span pays for it, `any` takes twice as long
        if attributes.get(key) in values:
            return True
    return False


def _copy_baggage(span: Span, parent_context: Context | None) -> None:
    """What the span has of its own stays."""
    if baggage.get_baggage(RUN_ID, parent_context) is not None:
        contain(partial(_copy_run, span, parent_context), None)


def _copy_run(span: Span, parent_context: Context | None) -> None:
    own = span.attributes or {}
    for key, value in baggage.get_all(parent_context).items():
        if not (isinstance(key, str) and isinstance(value, str)) or len(value) > MOST_BAGGAGE_CHARACTERS:
            continue
        if (key in BAGGAGE_KEYS or key.startswith(BAGGAGE_PREFIX)) and key not in own:
            span.set_attribute(key, value)


def _end_captured(door: Door, span: ReadableSpan, capture: SpanSink) -> None:
    """Write the span, then hand over what is written of it: it is filtered once, whatever waits in queues."""
    try:
        kept = door.filtered(span)
    except BaseException as error:
        door.end(span)
        if is_applications(error):
            raise
        return
    door.end(kept)
    contain(partial(capture.on_end, kept), None)


def _check_capture(capture: object) -> None:
    if capture is not None and not callable(getattr(capture, "on_end", None)):
        raise ConfigError(f"capture must be a CaptureSink or None, not {type(capture).__name__}")


def _warn_of_limits(provider: TracerProvider | None) -> None:
    limits = getattr(provider, "_span_limits", None)
    most = getattr(limits, "max_span_attributes", None)
    longest = getattr(limits, "max_span_attribute_length", None)
    if most is not None and most < FEWEST_ATTRIBUTES:
        warn("spans keep only %d attributes: raise OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT to see all usage", most)
    if longest is not None:
        warn("attributes are cut to %d characters: unset OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", longest)
