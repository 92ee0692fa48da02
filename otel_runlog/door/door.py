"""The door itself: one per processor or exporter, from the ended span to the journal, the loader and the callbacks."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

from otel_runlog.config import Durability, LoaderMode, ProcessorConfig, StoreConfig
from otel_runlog.content import Filter
from otel_runlog.door.loading import Loading, Loads
from otel_runlog.door.losses import LOGGER, Losses
from otel_runlog.door.process import close_segment_in_multiprocessing, hook_into_process
from otel_runlog.door.queueing import SpanQueue
from otel_runlog.errors import JournalError
from otel_runlog.journal import JournalWriter, journal_folder, make_folder
from otel_runlog.metrics import RunMetrics
from otel_runlog.model import RunLog
from otel_runlog.otlp.encode import SpanEncoder
from otel_runlog.otlp.wire import Encoding, Signal

LoaderFactory: TypeAlias = Callable[[Path], Loads]


class Door:
    """Writes spans to the journal of one store, and has them loaded.

    What cannot be written is counted in `losses`, never raised. All methods may be called from any thread.
    """

    def __init__(self, config: ProcessorConfig, loader_factory: LoaderFactory | None = None) -> None:
        self.config = config
        self.losses = Losses()
        self._encoder = SpanEncoder()
        self._filter = Filter(config.content, config.redact, self.losses.count_value)
        self._journal = JournalWriter(journal_folder(config.db), fsync=config.durability is Durability.POWER)
        queued = config.durability is Durability.QUEUE
        self._queue = SpanQueue(self._write_end, config.queue_bytes) if queued else None
        threaded = config.loader is LoaderMode.THREAD
        make_loader = loader_factory or _make_loader
        self._loading = (
            Loading(lambda: make_loader(config.db), self._on_finished, config.turn_every_s) if threaded else None
        )
        self._metrics = _run_metrics()  # now: at exit the meter provider may be gone before the last runs are loaded
        self._warned = False
        self._gave_up = False  # so that the provider's shutdown and the end of the process do not both wait
        self._writes_in_pid = 0
        self._can_write()
        hook_into_process(self)

    @property
    def folder(self) -> Path:
        """The journal's folder."""
        return self._journal.folder

    def start(self, span: ReadableSpan) -> None:
        """Write a span as it is at its start, so that it is known even if its process is killed."""
        self._write(Signal.STARTS, span, time.time_ns())

    def end(self, span: ReadableSpan) -> bool:
        """Write an ended span, or queue it; False where it was lost."""
        received_ns = time.time_ns()
        if self._queue is None:
            return self._write_end(span, received_ns)
        if self._queue.put(span, received_ns):
            return True
        self.losses.count("queue_full")
        return False

    def is_written_twice(self, span: ReadableSpan) -> bool:
        """Whether a door of the same journal had this very span before; it warns once, and marks the span as had."""
        doors: tuple[Door, ...] = getattr(span, "_runlog_doors", ())
        for door in doors:
            if door.folder == self.folder:
                door._warn_of_repetition()  # noqa: SLF001
                return True
        span._runlog_doors = (*doors, self)  # type: ignore[attr-defined]  # noqa: SLF001
        return False

    def flush(self, timeout_s: float) -> bool:
        """Whether all that ended before is on disk and, if this process can have the store, queryable."""
        deadline = time.monotonic() + timeout_s
        written = self._queue is None or self._queue.flush(timeout_s)
        kept = not self.losses.any_since_asked() and self._can_write()
        loaded = self._loading is None or self._loading.flush(deadline - time.monotonic())
        self._gave_up = False
        return written and kept and loaded

    def close(self) -> None:
        """Write and load what is left, within the limits of the configuration. A later span opens the door again."""
        deadline = time.monotonic() + self.config.exit_load_s
        if self._queue is not None and not self._queue.stop(self.config.exit_write_s):
            LOGGER.warning("spans were still waiting to be written when the time was up")
            return
        self.close_segment()  # so that the loader can be done with it
        if self._loading is not None and not self._gave_up:
            self._gave_up = not self._loading.flush(deadline - time.monotonic())
            self._loading.stop(deadline - time.monotonic())

    def close_segment(self) -> None:
        """Close this process's segment with its footer."""
        try:
            self._journal.close()
        except JournalError as error:
            LOGGER.warning("%s", error)

    def before_fork(self) -> None:
        """Wait a moment for a turn in progress."""
        if self._loading is not None:
            self._loading.before_fork()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        if self._loading is not None:
            self._loading.after_fork_in_parent()

    def after_fork_in_child(self) -> None:
        """Begin anew: threads, queue and what is pending are the parent's."""
        self.losses.after_fork()
        self._gave_up = False
        if self._queue is not None:
            self._queue.after_fork()
        if self._loading is not None:
            self._loading.after_fork_in_child()

    def _write_end(self, span: ReadableSpan, received_ns: int) -> bool:
        written = self._write(Signal.TRACES, span, received_ns)
        if written and self._loading is not None:
            parent = span.parent
            self._loading.notify(urgent=parent is None or parent.is_remote)
        return written

    def _write(self, signal: Signal, span: ReadableSpan, received_ns: int) -> bool:
        ended = signal is Signal.TRACES
        try:
            kept = self._filter.span(span) if self._filter.is_needed else span
            body = self._encoder.encode_span(kept, end=ended)
            self._journal.append(signal, Encoding.PROTOBUF, received_ns, body)
            if self._writes_in_pid != os.getpid():
                self._writes_in_pid = os.getpid()
                close_segment_in_multiprocessing(self)
        except JournalError as error:
            self.losses.count("journal", int(ended), error)
            return False
        except Exception as error:  # noqa: BLE001 - never into the application
            self.losses.count("internal_error", int(ended), error)
            return False
        if self.losses.losing:
            self.losses.over()
        return True

    def _can_write(self) -> bool:
        try:
            make_folder(self.folder)
        except JournalError as error:
            self.losses.count("journal", 0, error)
            return False
        return True

    def _warn_of_repetition(self) -> None:
        if not self._warned:
            self._warned = True
            LOGGER.warning("more than one RunLogSpanProcessor or exporter writes to %s: spans count once", self.folder)

    def _on_finished(self, runs: list[RunLog]) -> None:
        for run in runs:
            self._measure(run)
            if self.config.on_run is not None:
                try:
                    self.config.on_run(run)
                except Exception:  # noqa: BLE001 - the callback is the user's
                    LOGGER.exception("on_run failed for run %s", run.run_id)

    def _measure(self, run: RunLog) -> None:
        self._metrics = self._metrics or _run_metrics()
        if self._metrics is not None:
            self._metrics.record(run)


def _run_metrics() -> RunMetrics | None:
    """None while nobody can have set a meter provider that keeps anything."""
    return RunMetrics() if "opentelemetry.sdk.metrics" in sys.modules else None


def _make_loader(db: Path) -> Loads:
    from otel_runlog.loader import Loader
    from otel_runlog.pricing import PriceTable

    files = StoreConfig.from_env().prices
    return Loader(db, prices=PriceTable.load(files) if files else None)
