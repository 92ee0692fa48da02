"""The door itself: one per processor or exporter, from the ended span to the journal, the loader and the callbacks."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

from otel_runlog.config import Durability, LoaderMode, ProcessorConfig, StoreConfig
from otel_runlog.containment import contain, describe, is_applications, warn
from otel_runlog.content import Filter
from otel_runlog.door.loading import Loading, Loads
from otel_runlog.door.loss_records import encode_losses
from otel_runlog.door.losses import Losses
from otel_runlog.door.process import close_in_multiprocessing, hook_into_process
from otel_runlog.door.queueing import SpanQueue
from otel_runlog.door.salvage import salvage
from otel_runlog.door.worker import HURRY_S
from otel_runlog.errors import JournalError
from otel_runlog.journal import JournalWriter, journal_folder, make_folder
from otel_runlog.metrics import RunMetrics
from otel_runlog.model import RunLog
from otel_runlog.otlp.encode import SpanEncoder
from otel_runlog.otlp.wire import Encoding, Signal

LoaderFactory: TypeAlias = Callable[[Path], Loads]
# CPython 3.11 takes 0.15 us to find an enum's member.
_ENDED: Final = Signal.TRACES
_STARTED: Final = Signal.STARTS
_PROTOBUF: Final = Encoding.PROTOBUF


class Door:
    """Writes spans to the journal of one store, and has them loaded.

    What cannot be written is counted in `losses`, never raised. All methods may be called from any thread.
    """

    def __init__(self, config: ProcessorConfig, loader_factory: LoaderFactory | None = None) -> None:
        self.config = config
        self.losses = Losses()
        self._encoder = SpanEncoder()
        wanted = Filter(config.content, config.redact, self.losses.count_value)
        self._filter = wanted if wanted.is_needed else None
        self._journal = JournalWriter(
            journal_folder(config.db),
            fsync=config.durability is Durability.POWER,
            max_bytes=config.journal_max_bytes,
        )
        queued = config.durability is Durability.QUEUE
        self._queue = SpanQueue(self._write_either, config.queue_bytes) if queued else None
        threaded = config.loader is LoaderMode.THREAD
        make_loader = loader_factory or _make_loader
        self._loading = (
            Loading(lambda: make_loader(config.db), self._on_finished, config.turn_every_s) if threaded else None
        )
        # Now: at exit the meter provider may be gone before the last runs are loaded.
        self._metrics = contain(_run_metrics, None)
        self._warned = False
        self._gave_up = False  # so that the provider's shutdown and the end of the process do not both wait
        self._is_new_process = True
        self._alone = (self,)  # what a span is marked with that no other door had
        self._writing: dict[int, object] = {}  # by thread, so that a flush can wait for what is being written
        self._can_write()
        hook_into_process(self)

    @property
    def folder(self) -> Path:
        """The journal's folder."""
        return self._journal.folder

    def start(self, span: ReadableSpan) -> None:
        """Write a span as it is at its start, or queue it, so that it is known even if its process is killed."""
        if self._is_new_process:
            self._begin_in_process()
        put = self._write if self._queue is None else self._queue.put
        put(_STARTED, span, time.time_ns())

    def end(self, span: ReadableSpan) -> bool:
        """Write an ended span, or queue it; False where it was lost."""
        if self._is_new_process:
            self._begin_in_process()
        if self._queue is None:
            return self._write_end(span, time.time_ns())
        if self._queue.put(_ENDED, span, time.time_ns()):
            return True
        self.losses.count("queue_full", trace_id=_trace_id(span))
        return False

    def filtered(self, span: ReadableSpan) -> ReadableSpan:
        """What is written of a span: its content and secrets are left out as the configuration says."""
        return span if self._filter is None else self._filter.span(span)

    def lose(self, span: ReadableSpan, error: BaseException) -> None:
        """Count a span as lost by a bug of ours."""
        self.losses.count("internal_error", 1, error, contain(partial(_trace_id, span), None))

    def is_written_twice(self, span: ReadableSpan) -> bool:
        """Whether a door of the same journal had this very span before; it warns once, and marks the span as had."""
        doors: tuple[Door, ...] | None = getattr(span, "_runlog_doors", None)
        if doors is None:
            span._runlog_doors = self._alone  # type: ignore[attr-defined]  # noqa: SLF001
            return False
        for door in doors:
            if door.folder == self.folder:
                door._warn_of_repetition()  # noqa: SLF001
                return True
        span._runlog_doors = (*doors, self)  # type: ignore[attr-defined]  # noqa: SLF001
        return False

    def flush(self, timeout_s: float) -> bool:
        """Whether all that ended before is on disk and, if this process can have the store, queryable."""
        deadline = time.monotonic() + timeout_s
        written = self._settled(timeout_s)
        kept = not self.losses.any_since_asked() and self._can_write()
        if written:
            self._tell_journal_of_losses()
        loaded = self._loading is None or self._loading.flush(deadline - time.monotonic())
        self._gave_up = False
        return written and kept and loaded

    def close(self) -> None:
        """Write and load what is left, within the limits of the configuration. A later span opens the door again."""
        started = time.monotonic()
        deadline = started + self.config.exit_load_s
        try:
            written = self._settled(self.config.exit_write_s)
            if not self._queue_stopped(started + self.config.exit_write_s - time.monotonic()) or not written:
                warn("spans were still waiting to be written when the time was up")
                return
            self._tell_journal_of_losses()
            self.close_segment()  # so that the loader can be done with it
        finally:
            self.losses.at_end()
        if self._loading is not None and not self._gave_up:
            self._gave_up = not self._loading.flush(deadline - HURRY_S - time.monotonic())
            self._loading.stop(deadline - time.monotonic())

    def close_in_multiprocessing(self) -> None:
        """Write what waits, and close the segment: a child made by multiprocessing ends."""
        if self._queue_stopped(self.config.exit_write_s):
            self._tell_journal_of_losses()
            self.close_segment()

    def close_segment(self) -> None:
        """Close this process's segment with its footer."""
        try:
            self._journal.close()
        except JournalError as error:
            warn("%s", error)

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
        self._is_new_process = True
        self.losses.after_fork()
        self._writing = {}
        self._gave_up = False
        if self._queue is not None:
            self._queue.after_fork()
        if self._loading is not None:
            self._loading.after_fork_in_child()

    def _begin_in_process(self) -> None:
        self._is_new_process = False
        close_in_multiprocessing(self)

    def _write_either(self, signal: Signal, span: ReadableSpan, received_ns: int) -> bool:
        if signal is _ENDED:
            return self._write_end(span, received_ns)
        return self._write(signal, span, received_ns)

    def _write_end(self, span: ReadableSpan, received_ns: int) -> bool:
        written = self._write(_ENDED, span, received_ns)
        if written and self._loading is not None:
            parent = span.parent
            self._notify(urgent=parent is None or parent.is_remote)
        return written

    def _notify(self, *, urgent: bool) -> None:
        """Have the loader told; the span is safe whatever comes of it."""
        try:
            if self._loading is not None:
                self._loading.notify(urgent=urgent)
        except BaseException as error:
            if is_applications(error):
                raise
            warn("the loader cannot be told of a span, a later one will: %s", describe(error))

    def _write(self, signal: Signal, span: ReadableSpan, received_ns: int) -> bool:
        thread = threading.get_ident()
        self._writing[thread] = object()
        try:
            return self._try_to_write(signal, span, received_ns)
        except BaseException:  # the application's, see `is_applications`: the span is written before it goes on
            self._try_to_write(signal, span, received_ns)  # if it was written before, it is a duplicate
            raise
        finally:
            self._writing.pop(thread, None)

    def _try_to_write(self, signal: Signal, span: ReadableSpan, received_ns: int) -> bool:
        ended = signal is _ENDED
        try:
            body = self._encoded(span, received_ns, ended=ended)
            self._journal.append(signal, _PROTOBUF, received_ns, body)
        except BaseException as error:
            if is_applications(error):
                raise
            reason = "journal" if isinstance(error, JournalError) else "internal_error"
            trace_id = contain(partial(_trace_id, span), None)
            self.losses.count(reason, int(ended), error, trace_id)
            return False
        if self.losses.losing:
            self.losses.over()
            self._tell_journal_of_losses()
        return True

    def _encoded(self, span: ReadableSpan, received_ns: int, *, ended: bool) -> bytes:
        try:
            return self._encode(span, ended=ended)
        except BaseException as error:
            if is_applications(error):
                raise
        body, left_out = salvage(span, partial(self._encode, ended=ended), received_ns)
        self.losses.count_value("not_encodable", left_out)
        return body

    def _encode(self, span: ReadableSpan, *, ended: bool) -> bytes:
        return self._encoder.encode_span(self.filtered(span), end=ended)

    def _tell_journal_of_losses(self) -> None:
        """Journal the losses that it does not tell of yet; where that fails, they wait for the next time."""
        lost = self.losses.take_unreported() if self.losses.has_unreported else []
        if not lost:
            return
        try:
            now_ns = time.time_ns()
            self._journal.append(Signal.LOGS, _PROTOBUF, now_ns, encode_losses(lost, now_ns))
        except BaseException as error:
            self.losses.give_back(lost)
            if is_applications(error):
                raise
            return
        self.losses.over()
        self._notify(urgent=False)

    def _settled(self, timeout_s: float) -> bool:
        """Whether all that threads were writing, and all that was queued, is written within `timeout_s`."""
        deadline = time.monotonic() + timeout_s
        if self._queue is not None and not self._queue.flush(timeout_s):
            return False
        own = threading.get_ident()
        waiting = {thread: write for thread, write in self._writing.copy().items() if thread != own}
        while waiting:
            if time.monotonic() >= deadline:
                return False
            time.sleep(0.001)
            waiting = {thread: write for thread, write in waiting.items() if self._writing.get(thread) is write}
        return True

    def _queue_stopped(self, timeout_s: float) -> bool:
        return self._queue is None or self._queue.stop(timeout_s)

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
            warn("more than one RunLogSpanProcessor or exporter writes to %s: spans count once", self.folder)

    def _on_finished(self, runs: list[RunLog]) -> None:
        for run in runs:
            self._measure(run)
            if self.config.on_run is not None:
                try:
                    self.config.on_run(run)
                except BaseException as error:  # noqa: BLE001 - the callback is the user's, the thread is ours
                    warn("on_run failed for run %s: %r", run.run_id, error, exc_info=error)

    def _measure(self, run: RunLog) -> None:
        self._metrics = self._metrics or _run_metrics()
        if self._metrics is not None:
            self._metrics.record(run)


def _trace_id(span: ReadableSpan) -> int | None:
    context = span.get_span_context()
    return None if context is None else context.trace_id


def _run_metrics() -> RunMetrics | None:
    """None while nobody can have set a meter provider that keeps anything."""
    return RunMetrics() if "opentelemetry.sdk.metrics" in sys.modules else None


def _make_loader(db: Path) -> Loads:
    from otel_runlog.loader import Loader
    from otel_runlog.pricing import PriceTable

    files = StoreConfig.from_env().prices
    return Loader(db, prices=PriceTable.load(files) if files else None)
