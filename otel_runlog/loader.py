"""From the journal and from files into the store: the one place where the stages meet.

source -> otlp -> span -> steps -> runs -> store.append(batch). Rows and positions commit together, so a loader killed
at any instruction loads nothing twice and leaves nothing out (DESIGN rule 3). Turns are short: open, write, close.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from otel_runlog.assemble import Assembler
from otel_runlog.errors import JournalError, OtlpError, StoreLockedError
from otel_runlog.journal.folder import Segment, journal_folder, retire, segments, set_aside
from otel_runlog.journal.layout import Record
from otel_runlog.journal.reader import SegmentRead, read_segment
from otel_runlog.model import RunLog, RunStatus
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.wire import Signal
from otel_runlog.pricing import PriceTable
from otel_runlog.store.batch import Position
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
    """What one turn did. `held_by`: why nothing could be loaded; `damaged`: segments that were set aside."""

    records: int = 0
    spans: int = 0
    finished: list[RunLog] = []
    held_by: str | None = None
    damaged: list[str] = []


class Loader:
    """Loads into one store. Not for use by several threads at once; several processes take turns."""

    def __init__(self, db: str | os.PathLike[str], *, prices: PriceTable | None = None) -> None:
        self.db = Path(db)
        self.prices = prices or PriceTable.default()
        self._traces = Traces()
        self._positions: dict[str, int] = {}

    def turn(self, timeout_s: float = 0.0, *, limit_s: float | None = None) -> LoadReport:
        """Load every pending segment of the journal, this process's and others'.

        Args:
            timeout_s: how long to wait for another process to let go of the store.
            limit_s: stop after the commit that reaches this time; the rest stays in the journal.

        Raises:
            StoreError: the store cannot be used (being held by another process is no error, see `held_by`).
            JournalError: the journal cannot be read.
        """
        report = LoadReport()
        pending = [s for s in segments(journal_folder(self.db)) if self._is_pending(s)]
        if not pending:
            return report
        deadline = None if limit_s is None else time.monotonic() + limit_s
        try:
            with self.open(timeout_s) as writer:
                for segment in pending:
                    self._load_segment(writer, segment, report, deadline)
        except StoreLockedError as error:
            report.held_by = str(error)
        return report

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
        writer = StoreWriter(self.db, timeout_s=timeout_s)
        try:
            positions = writer.positions()
        except BaseException:
            writer.close()
            raise
        if positions != self._positions:
            self._traces.clear()
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
        self._positions.update((p.segment, p.offset) for p in positions)
        return [v.run for v in (*batch.closed, *batch.open)]

    def assembler(self, writer: StoreWriter) -> Assembler:
        """An empty batch to be."""
        return Assembler(writer, self._traces, self.prices)

    def position(self, source: str) -> int:
        """How far a source is loaded, in bytes."""
        return self._positions.get(source, 0)

    def _is_pending(self, segment: Segment) -> bool:
        done = self._positions.get(segment.name)
        return done is None or segment.size_bytes > done or not segment.living

    def _load_segment(self, writer: StoreWriter, segment: Segment, report: LoadReport, deadline: float | None) -> None:
        sequence: int | None = None
        lost = False
        while deadline is None or time.monotonic() < deadline:
            read = self._read(segment, sequence)
            if read is None:
                return
            lost = lost or any(d.loses_data for d in read.damage)
            if read.records or read.damage:
                self._take(writer, segment, read, report)
            sequence = read.sequence
            if not read.more:
                _finish(segment, report, ended=read.ended, lost=lost)
                return

    def _read(self, segment: Segment, sequence: int | None) -> SegmentRead | None:
        try:
            return read_segment(segment.path, self.position(segment.name), sequence=sequence, max_bytes=BYTES_PER_READ)
        except JournalError:
            if segment.path.exists():
                raise
            return None  # another loader was here first

    def _take(self, writer: StoreWriter, segment: Segment, read: SegmentRead, report: LoadReport) -> None:
        assembler = self.assembler(writer)
        for damage in read.damage:
            lost = 1 if damage.records_lost is None else damage.records_lost
            assembler.drop(SOURCE, f"journal_{damage.kind}", lost)  # 0 says: seen, and nothing was lost
        for record in read.records:
            wrong = take_request(assembler, SOURCE, record)
            if wrong:
                logger.warning("in journal segment %s, record %d: %s", segment.name, record.sequence, wrong)
        report.spans += assembler.span_count
        report.records += len(read.records)
        runs = self.commit(writer, assembler, [Position(segment.name, read.offset)])
        report.finished += [run for run in runs if run.status is not RunStatus.RUNNING]


def take_request(assembler: Assembler, source: str, record: Record) -> str | None:
    """Decode one request and hand it on; returns what was wrong with it, in words.

    A body that is no request, or spans that cannot be kept, are counted by reason and cost nothing else.
    """
    try:
        if record.signal is Signal.LOGS:
            logs = read_logs(record.body, record.encoding)
            assembler.add_logs(record.received_ns, logs.records)
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


def _finish(segment: Segment, report: LoadReport, *, ended: bool, lost: bool) -> None:
    """Remove a segment that is loaded whole, set one aside that lost something."""
    if not ended:
        return
    if lost:
        report.damaged.append(str(set_aside(segment.path)))
        logger.warning("the journal segment %s is damaged; it was kept as %s", segment.name, report.damaged[-1])
    else:
        retire(segment.path)


__all__ = ["LoadReport", "Loader", "take_request"]
