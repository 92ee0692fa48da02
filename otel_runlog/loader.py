"""From the journal and from files into the store: the one place where the stages meet.

source -> otlp -> span -> steps -> runs -> store.append(batch). Rows and positions commit together, so a loader killed
at any instruction loads nothing twice and leaves nothing out (DESIGN rule 3). Turns are short: open, write, close.
"""

from __future__ import annotations

import logging
import math
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from otel_runlog.assemble import Assembler
from otel_runlog.errors import JournalError, OtlpError, StoreInterruptedError, StoreLockedError
from otel_runlog.journal.cursors import Cursor, all_of, are_past
from otel_runlog.journal.folder import Segment, journal_folder, retire, segments, set_aside, sweep
from otel_runlog.journal.layout import Record
from otel_runlog.journal.reader import DamageKind, SegmentRead, read_segment
from otel_runlog.model import RunLog, RunStatus
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.wire import Signal
from otel_runlog.pricing import PriceTable
from otel_runlog.store.batch import BookEntry, Position
from otel_runlog.store.writer import StoreWriter
from otel_runlog.traces import Traces

if TYPE_CHECKING:
    from otel_runlog.ingest import IngestReport

SPANS_PER_COMMIT = 2048
"""512 spans a commit cost 47.5 us a span, 2,048 cost 31.3, more brings nothing (facts/perf, 6)."""
BYTES_PER_READ = 8 << 20
SOURCE = "journal"

logger = logging.getLogger("otel_runlog")


class LoadReport(msgspec.Struct):
    """What one turn did.

    Attributes:
        records: how many records of the journal were loaded.
        spans: how many spans they held.
        finished: the runs that are over now.
        books: what became of the spans.
        held_by: why nothing could be loaded, where another process holds the store.
        damaged: segments that were set aside.
        unreadable: segments that are left as they are: the system does not give them, or a newer version wrote them.
        more: something is left in the journal, as the time was up or `interrupt` was called.
    """

    records: int = 0
    spans: int = 0
    finished: list[RunLog] = []
    books: list[BookEntry] = []
    held_by: str | None = None
    damaged: list[str] = []
    unreadable: list[str] = []
    more: bool = False


class Loader:
    """Loads into one store. Not for use by several threads at once, `interrupt` excepted; processes take turns."""

    def __init__(self, db: str | os.PathLike[str], *, prices: PriceTable | None = None) -> None:
        self.db = Path(db)
        self.prices = prices or PriceTable.default()
        self._traces = Traces()
        self._positions: dict[str, Position] = {}
        self._told: set[str] = set()
        self._held: set[str] = set()  # loaded whole, and waiting for a destination
        self._stop = threading.Event()
        self._writer: StoreWriter | None = None

    def turn(self, timeout_s: float = 0.0, *, limit_s: float | None = None) -> LoadReport:
        """Load every pending segment of the journal, this process's and others'.

        A segment goes only when its rows stand in the store's file itself: from a write-ahead log that is damaged or
        deleted rows and positions vanish together, and the segments are loaded again. What was loaded from a segment
        that somebody else deleted cannot be missed, and what had not been loaded of it cannot be known. A segment that
        a destination is yet to be sent stays as well (see journal.cursors).

        Args:
            timeout_s: how long to wait for another process to let go of the store.
            limit_s: stop after the commit that reaches this time; the rest stays in the journal.

        Raises:
            StoreError: the store cannot be used (being held by another process is no error, see `held_by`).
            JournalError: the journal cannot be read.
        """
        report = LoadReport()
        self._stop.clear()
        folder = journal_folder(self.db)
        sweep(folder)
        cursors = all_of(folder)
        pending = [s for s in segments(folder) if self._is_pending(s, cursors)]
        if not pending:
            return report
        deadline = math.inf if limit_s is None else time.monotonic() + limit_s
        try:
            with self.open(timeout_s) as writer:
                gathering = _Gathering(self, writer, report)
                ended = [s for s in pending if self._load_segment(gathering, s, report, deadline)]
                gathering.commit()
        except StoreLockedError as error:
            report.held_by = str(error)
        except StoreInterruptedError:
            if not self._stop.is_set():  # a signal handler raised, Ctrl-C's for instance
                raise
            report.more = True
        else:
            self._put_away(ended if writer.is_settled else (), report)
        return report

    def interrupt(self) -> None:
        """Make a turn that runs end soon, with what it has committed; any thread may call it. No turn, no effect."""
        self._stop.set()
        if (writer := self._writer) is not None:
            writer.interrupt()

    def ingest(
        self,
        paths: Sequence[str | os.PathLike[str]],
        progress: Callable[[IngestReport], None] | None = None,
        *,
        timeout_s: float = 2.0,
    ) -> IngestReport:
        """Load OTLP files and folders; see `otel_runlog.ingest.ingest`."""
        from otel_runlog.ingest import ingest

        return ingest(self, paths, progress, timeout_s=timeout_s)

    def open(self, timeout_s: float = 0.0) -> StoreWriter:
        """The store, for writing. What is remembered of traces goes when somebody else has written since."""
        writer = self._writer = StoreWriter(self.db, timeout_s=timeout_s)
        try:
            writer.close_quiet()  # what former turns left open: 30,000 open runs make a turn take 0.4 s
            positions = writer.positions()
        except BaseException:
            writer.close()
            raise
        if positions != self._positions:
            self._traces.clear()
            self._held.clear()
            self._positions = positions
        return writer

    def commit(self, writer: StoreWriter, assembler: Assembler, positions: list[Position]) -> list[RunLog]:
        """Write what was assembled, with how far its sources are loaded; returns the runs written."""
        try:
            batch = assembler.batch()
            batch.positions = positions
            writer.append(batch)
        except BaseException:
            self._traces.clear()  # memory may be ahead of the store
            raise
        self._positions.update((p.segment, p) for p in positions)
        return [v.run for v in (*batch.closed, *batch.open)]

    def assembler(self, writer: StoreWriter) -> Assembler:
        """An empty batch to be."""
        return Assembler(writer, self._traces, self.prices)

    def position(self, source: str) -> Position:
        """How far a source is loaded."""
        return self._positions.get(source) or Position(source, 0)

    def _is_pending(self, segment: Segment, cursors: list[Cursor]) -> bool:
        """Whether something of it is to be loaded, or it can go. What waits for a destination alone is not pending."""
        at = self.position(segment.name)
        if segment.living:
            return segment.size_bytes > at.offset
        is_whole = at.ended or segment.name in self._held
        return not is_whole or are_past(cursors, segment.name, at.offset)

    def _load_segment(self, gathering: _Gathering, segment: Segment, report: LoadReport, deadline: float) -> bool:
        """Gather what is there of a segment; whether nothing will follow."""
        while not (self._stop.is_set() or time.monotonic() >= deadline):
            at = self.position(segment.name)
            read = None if at.ended else self._read(segment, at, report)
            if read is None:
                return at.ended
            if read.records or read.damage:
                gathering.take(at, read)
            if not read.more:
                return read.ended
            gathering.commit()
        report.more = True
        return False

    def _read(self, segment: Segment, at: Position, report: LoadReport) -> SegmentRead | None:
        """None where it is left as it is, or another loader was here first."""
        try:
            read = read_segment(segment.path, at.offset, sequence=at.sequence, max_bytes=BYTES_PER_READ)
        except JournalError as error:
            if segment.path.exists():
                self._leave(segment, f"{error}; it stays as it is", report)
            return None
        if any(damage.kind is DamageKind.NEWER_VERSION for damage in read.damage):
            self._leave(segment, f"{segment.path} was written by a newer otel-runlog: upgrade it to load this", report)
            return None
        return read

    def _leave(self, segment: Segment, why: str, report: LoadReport) -> None:
        report.unreadable.append(str(segment.path))
        if segment.name not in self._told:
            self._told.add(segment.name)
            logger.warning("%s", why)

    def _put_away(self, ended: Iterable[Segment], report: LoadReport) -> None:
        """Remove segments that are loaded whole and sent everywhere, set those aside that lost something."""
        cursors = all_of(journal_folder(self.db))  # anew: they have moved, or there is one more
        for segment in ended:
            at = self.position(segment.name)
            if not are_past(cursors, segment.name, at.offset):
                self._held.add(segment.name)
                continue
            if not at.damaged:
                retire(segment.path)
            elif aside := set_aside(segment.path):
                report.damaged.append(str(aside))
                logger.warning("the journal segment %s is damaged; it was kept as %s", segment.name, aside)


class _Gathering:
    """The commit that is being gathered, over as many segments as fit in: a commit costs more than a short segment."""

    def __init__(self, loader: Loader, writer: StoreWriter, report: LoadReport) -> None:
        self._loader, self._writer, self._report = loader, writer, report
        self._begin()

    def _begin(self) -> None:
        self._assembler = self._loader.assembler(self._writer)
        self._positions: list[Position] = []
        self._records = self._bytes = 0

    def take(self, at: Position, read: SegmentRead) -> None:
        """Take in what was read of a segment."""
        for damage in read.damage:  # 0 records say: seen, and nothing was lost
            self._assembler.drop(SOURCE, f"journal_{damage.kind}", damage.records_lost)
        damaged = at.damaged or any(damage.loses_data for damage in read.damage)
        for number, record in enumerate(read.records, 1):
            self._take(at, record)
            if self._is_full and number < len(read.records) and not read.damage:  # which is counted with its position
                self._positions.append(Position(at.segment, record.end_offset, record.sequence + 1, damaged=damaged))
                self.commit()
        self._positions.append(Position(at.segment, read.offset, read.sequence, read.ended, damaged))
        if self._is_full:
            self.commit()

    def _take(self, at: Position, record: Record) -> None:
        self._records += 1
        self._bytes += len(record.body)
        if wrong := take_request(self._assembler, SOURCE, record):
            logger.warning("in journal segment %s, record %d: %s", at.segment, record.sequence, wrong)

    @property
    def _is_full(self) -> bool:
        return self._assembler.span_count >= SPANS_PER_COMMIT or self._bytes >= BYTES_PER_READ

    def commit(self) -> None:
        """Write what was gathered."""
        if not self._positions:
            return
        runs = self._loader.commit(self._writer, self._assembler, self._positions)
        self._report.spans += self._assembler.span_count
        self._report.records += self._records
        self._report.books += self._assembler.books
        self._report.finished += [run for run in runs if run.status is not RunStatus.RUNNING]
        self._begin()


def take_request(assembler: Assembler, source: str, record: Record) -> str | None:
    """Decode one request and hand it on; returns what was wrong with it, in words.

    A body that is no request, or spans that cannot be kept, are counted by reason and cost nothing else.
    """
    try:
        if record.signal is Signal.LOGS:
            logs = read_logs(record.body, record.encoding)
            assembler.add_logs(source, record.received_ns, logs.records)
            return _in_words("log records", logs.rejected)
        decoded = read_traces(record.body, record.encoding)
    except OtlpError as error:
        assembler.add_spans(source, record.received_ns, (), {"undecodable": 1})
        return str(error)
    if record.signal is Signal.STARTS:
        for span in decoded.spans:
            span.start_record = True
    assembler.add_spans(source, record.received_ns, decoded.spans, decoded.rejected)
    return _in_words("spans", decoded.rejected)


def _in_words(what: str, rejected: dict[str, int]) -> str | None:
    if not rejected:
        return None
    return f"{what} rejected: " + ", ".join(f"{number} {reason}" for reason, number in sorted(rejected.items()))


__all__ = ["LoadReport", "Loader", "take_request"]
