"""OTLP files into the store. A file is its own journal: (its digest, offset) is committed with its rows.

The same file given again is not loaded again; a file that grew is read again and its old spans are duplicates.
"""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from otel_runlog.assemble import Assembler
from otel_runlog.journal.layout import Record
from otel_runlog.loader import BYTES_PER_READ, SPANS_PER_COMMIT, Loader, take_request
from otel_runlog.otlp.files import BadInput, RawRequest, files_in, iter_requests
from otel_runlog.otlp.wire import Signal
from otel_runlog.store.batch import Position
from otel_runlog.store.writer import StoreWriter

SOURCE = "ingest"
THRESHOLDS = (50_000, 20, 20)
"""Objects made between collections, and how many of those pass until older ones are looked at too."""


class IngestReport(msgspec.Struct):
    """How far an ingest has come. Bytes are those of the files on disk; `runs` counts the runs written."""

    requests: int = 0
    spans: int = 0
    stored: int = 0
    duplicates: int = 0
    rejected: int = 0
    logs: int = 0
    metrics_skipped: int = 0
    files_known: int = 0
    run_ids: set[str] = set()
    bytes_done: int = 0
    bytes_total: int = 0
    bad: list[BadInput] = []

    @property
    def runs(self) -> int:
        """How many runs were written."""
        return len(self.run_ids)


def ingest(
    loader: Loader,
    paths: Sequence[str | os.PathLike[str]],
    progress: Callable[[IngestReport], None] | None = None,
    *,
    timeout_s: float = 2.0,
) -> IngestReport:
    """Load OTLP files and folders.

    What cannot be read is in the report's `bad`, by place and reason; all else is stored.

    Raises:
        StoreError: the store cannot be used, or another process holds it for longer than `timeout_s`.
    """
    files = [f for path in paths for f in files_in(Path(path))]
    report = IngestReport(bytes_total=sum(_size(f) for f in files))
    with loader.open(timeout_s) as writer:
        work = _Work(loader, writer, report, progress)
        for file in files:
            work.load(file)
        work.commit()
    return report


@contextlib.contextmanager
def rare_collections() -> Iterator[None]:
    """Let Python's garbage collector run rarely: for a process of ours that does nothing but load.

    Loading leaves hardly any cycles, and looking for them takes 25 us a span; so it takes 4. What is there already is
    not looked at at all. Afterwards everything is as it was.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _digest(file: Path) -> str | None:
    """What the file is called in the positions; None for what is no file: a pipe would be waited for."""
    if not file.is_file():
        return None
    try:
        with file.open("rb") as content:
            return "file:" + hashlib.file_digest(content, "sha256").hexdigest()
    except OSError:
        return None


class _Work:
    """The commit that is being gathered, over as many files as fit in."""

    def __init__(
        self,
        loader: Loader,
        writer: StoreWriter,
        report: IngestReport,
        progress: Callable[[IngestReport], None] | None,
    ) -> None:
        self._loader, self._writer, self._report, self._progress = loader, writer, report, progress
        self._assembler = loader.assembler(writer)
        self._positions: dict[str, int] = {}
        self._bytes = 0

    def load(self, file: Path) -> None:
        """Take in one file from where it was left."""
        name = _digest(file)
        done = self._loader.position(name).offset if name else 0
        for item in iter_requests(file):
            if isinstance(item, BadInput):
                self._report.bad.append(item)
            elif item.end_offset > done:
                if name and item.end_offset != self._positions.get(name):  # one body may hold two requests
                    self._commit_when_full()
                    self._positions[name] = item.end_offset
                self._take(item)
        self._report.files_known += bool(done)
        self._report.bytes_done += _size(file)

    def _take(self, request: RawRequest) -> None:
        self._report.requests += 1
        self._bytes += len(request.body)
        if request.signal is Signal.METRICS:
            self._report.metrics_skipped += 1
            return
        record = Record(request.signal, request.encoding, time.time_ns(), 0, request.body)
        wrong = take_request(self._assembler, SOURCE, record)
        if wrong:
            self._report.bad.append(BadInput(request.where, wrong))

    def _commit_when_full(self) -> None:
        if self._assembler.span_count >= SPANS_PER_COMMIT or self._bytes >= BYTES_PER_READ:
            self.commit()

    def commit(self) -> None:
        """Write what was gathered."""
        assembler = self._assembler
        positions = [Position(name, offset) for name, offset in self._positions.items()]
        runs = self._loader.commit(self._writer, assembler, positions)
        self._count(assembler, {run.run_id for run in runs})
        self._assembler, self._positions, self._bytes = self._loader.assembler(self._writer), {}, 0
        if self._progress:
            self._progress(self._report)

    def _count(self, assembler: Assembler, run_ids: set[str]) -> None:
        for book in assembler.books:
            self._report.spans += book.received
            self._report.stored += book.stored + book.conflict
            self._report.duplicates += book.duplicate
            self._report.rejected += sum(book.rejected.values())
        self._report.logs += assembler.log_count
        self._report.run_ids |= run_ids
