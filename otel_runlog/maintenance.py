"""Keeping a store small: `compact` removes what no longer counts, `gc` what is old. Both in short turns.

Between two turns the store is closed, so that a loader or a reader waits for a second at most. Stopped at any point,
what was done is done, and the rest is left for the next time.
"""

from __future__ import annotations

import datetime as dt
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from otel_runlog.errors import StoreError
from otel_runlog.journal.folder import journal_folder, segments
from otel_runlog.store.columns import ns_of
from otel_runlog.store.maintenance import Collected, MaintenanceStore

PAUSE_S = 0.1
"""Longer than those who wait take to look again."""
PATIENCE_S = 60.0
"""How long a turn in the middle waits for another process."""
BEGIN = (-(2**63), "")
"""Before the start and the id of any run."""


class CompactReport(msgspec.Struct):
    """What compaction gained.

    Attributes:
        versions: versions of runs that no longer counted, and are gone.
        steps: their steps.
        folded: rows of books, positions and aliases that others say as well, and captures that were kept again since.
        bytes_before: the file and its write-ahead log before.
        bytes_after: the same after.
        bytes_free: what is free inside the file, and is used again before it grows: DuckDB cuts a file at its end only.
    """

    versions: int = 0
    steps: int = 0
    folded: int = 0
    bytes_before: int = 0
    bytes_after: int = 0
    bytes_free: int = 0


class GcReport(msgspec.Struct):
    """What retention removed, or would remove."""

    runs: int = 0
    steps: int = 0
    spans: int = 0
    logs: int = 0
    messages: int = 0

    @property
    def is_anything(self) -> bool:
        """Whether there is anything to remove."""
        return any(msgspec.structs.astuple(self))


def compact(
    db: str | os.PathLike[str],
    *,
    on_turn: Callable[[CompactReport], None] | None = None,
    timeout_s: float = 2.0,
) -> CompactReport:
    """Remove the rows of versions that no longer count; every view answers as before.

    Args:
        db: the store.
        on_turn: called after each turn with the report so far.
        timeout_s: how long to wait for another process to let go of the store.

    Raises:
        StoreLockedError: another process holds the store for longer than that.
        StoreError: there is no store, or it cannot be used.
        JournalError: the journal cannot be read.
    """
    file = _existing(db)
    report = CompactReport(bytes_before=_bytes(file))
    while True:
        with MaintenanceStore(file, timeout_s) as store:
            taken = store.compact()
            if not taken.marks:
                there = {segment.name for segment in segments(journal_folder(file))}
                report.folded = store.fold() + store.forget_segments(there) + store.drop_old_captures()
                report.bytes_free = store.free_bytes()
        report.versions += taken.versions
        report.steps += taken.steps
        report.bytes_after = _bytes(file)
        if not taken.marks:
            return report
        (on_turn or _nothing)(report)
        timeout_s = PATIENCE_S
        time.sleep(PAUSE_S)


def gc(
    db: str | os.PathLike[str],
    older_than: dt.datetime,
    *,
    keep_runs: int = 0,
    dry_run: bool = False,
    on_turn: Callable[[GcReport], None] | None = None,
    timeout_s: float = 2.0,
) -> GcReport:
    """Remove runs of which the last sign is older, with all that belongs to them: spans, records, messages, scores.

    A run that shares a trace with a younger one stays. Old traces without a run go too. What was ingested and is gone
    is not loaded again when the same file is given again. Captures stay, and replay without the spans: they are kept on
    purpose, and go by `gc_captures`.

    Args:
        db: the store.
        older_than: what was last heard of before this time is old.
        keep_runs: so many of the newest runs stay however old they are.
        dry_run: count, and remove nothing.
        on_turn: called after each turn with the report so far.
        timeout_s: how long to wait for another process to let go of the store.

    Raises:
        StoreLockedError: another process holds the store for longer than that.
        StoreError: there is no store, or it cannot be used.
    """
    file, before_ns, delete = _existing(db), ns_of(older_than) or 0, not dry_run
    report = GcReport()
    with MaintenanceStore(file, timeout_s) as store:
        kept_from_ns = store.kept_from_ns(keep_runs) if keep_runs else None
    after: tuple[int, str] | None = BEGIN
    while after is not None:
        with MaintenanceStore(file, PATIENCE_S) as store:
            taken, after = store.collect(before_ns, kept_from_ns, after, delete=delete)
        _add(report, taken)
        (on_turn or _nothing)(report)
        time.sleep(PAUSE_S)
    with MaintenanceStore(file, PATIENCE_S) as store:
        _add(report, store.collect_lone(before_ns, delete=delete))
    return report


def _add(report: GcReport, taken: Collected) -> None:
    for name in taken.__struct_fields__:
        setattr(report, name, getattr(report, name) + getattr(taken, name))


def _nothing(_report: object) -> None:
    pass


def _existing(db: str | os.PathLike[str]) -> Path:
    file = Path(db)
    if not file.exists():
        raise StoreError(f"there is no store at {file}: --db names another one, `ingest` and `demo` make one")
    return file


def _bytes(file: Path) -> int:
    return sum(path.stat().st_size for path in (file, file.with_name(f"{file.name}.wal")) if path.exists())
