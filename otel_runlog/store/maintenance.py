"""What takes rows out of the store for good (DESIGN rule 4): compaction and retention, a short turn at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from typing import Any, cast

import duckdb
import msgspec

from otel_runlog.store.connection import OpenStore, open_for_write
from otel_runlog.store.said import using_error

VERSIONS_PER_TURN = 4_096
"""Superseded versions of runs that go in one turn: a tenth of a second for 16 steps each."""
RUNS_PER_TURN = 2_048
"""Old runs that go in one turn."""


class Compacted(msgspec.Struct, frozen=True):
    """What a turn of compaction took: versions of runs, their steps, and the marks that they no longer count."""

    versions: int
    steps: int
    marks: int


class Collected(msgspec.Struct, frozen=True):
    """What a turn of retention took, or would take."""

    runs: int
    steps: int
    spans: int
    logs: int
    messages: int


class CaptureSize(msgspec.Struct, frozen=True):
    """A capture that is kept: of which run, how old, how large, and whether it may go."""

    run_id: str
    captured_ns: int
    bytes: int
    pinned: bool


class MaintenanceStore(OpenStore):
    """A store open for one turn of maintenance; nobody else has it meanwhile. Errors are `open_for_write`'s."""

    def __init__(self, path: str | os.PathLike[str], timeout_s: float) -> None:
        self._store = open_for_write(path, timeout_s)

    def compact(self) -> Compacted:
        """Remove some versions of runs that no longer count; `marks` is 0 where there were none left."""
        with self._transaction():
            self._store.rows("compact_pick", {"versions": VERSIONS_PER_TURN})
            [counts] = self._store.rows("compact_counts")
            taken = Compacted(*cast("tuple[Any, ...]", counts))
            if taken.marks:
                self._store.rows("compact_delete")
        return taken

    def fold(self) -> int:
        """Keep sums of the books and the furthest positions; returns how many rows that saved."""
        [(saved,)] = cast("list[tuple[int]]", self._store.rows("compact_foldable"))
        if saved:
            with self._transaction():
                self._store.rows("compact_fold")
        return saved

    def forget_segments(self, there: Collection[str]) -> int:
        """Forget segments that were loaded whole and are not `there` any more; returns how many rows that saved."""
        with self._transaction():
            [(saved,)] = cast("list[tuple[int]]", self._store.rows("compact_positions", {"there": sorted(there)}))
        return saved

    def drop_old_captures(self) -> int:
        """Remove captures and reports of replays that were kept again since; returns how many."""
        [(marks,)] = cast("list[tuple[int]]", self._store.rows("compact_old_captures"))
        if marks:
            with self._transaction():
                self._store.rows("compact_captures")
        return marks

    def captures(self) -> list[CaptureSize]:
        """The captures that are kept, the oldest first."""
        return [CaptureSize(*cast("tuple[Any, ...]", row)) for row in self._store.rows("gc_kept_captures")]

    def remove_captures(self, run_ids: Collection[str]) -> None:
        """Remove the captures of these runs for good."""
        with self._transaction():
            self._store.rows("gc_pick_captures", {"run_ids": sorted(run_ids)})
            self._store.rows("gc_delete_captures")

    def free_bytes(self) -> int:
        """Bytes inside the file that are used again before it grows."""
        [(free,)] = cast("list[tuple[int]]", self._store.rows("compact_free"))
        return free

    def kept_from_ns(self, keep_runs: int) -> int | None:
        """When the oldest of the newest runs started; None where nobody knows, or there are none."""
        [(started_ns,)] = self._store.rows("gc_kept_from", {"keep_runs": keep_runs})
        return cast("int | None", started_ns)

    def collect(
        self, before_ns: int, kept_from_ns: int | None, after: tuple[int, str], *, delete: bool
    ) -> tuple[Collected, tuple[int, str] | None]:
        """Take the next old runs after (start, run_id); what that was, and where the next turn begins, if any."""
        at_ns, run_id = after
        with self._transaction():
            self._store.rows("gc_age", {"before_ns": before_ns, "kept_from_ns": kept_from_ns})
            self._store.rows("gc_pick", {"at_ns": at_ns, "run_id": run_id, "limit": RUNS_PER_TURN})
            self._store.rows("gc_scope")
            cursor = cast("list[tuple[int, str]]", self._store.rows("gc_cursor"))
            return self._take(delete=delete), cursor[0] if cursor else None

    def collect_lone(self, before_ns: int, *, delete: bool) -> Collected:
        """Take the old traces that belong to no run, and texts that nothing names any more."""
        with self._transaction():
            self._store.rows("gc_pick_lone", {"before_ns": before_ns})
            taken = self._take(delete=delete)
            age: dict[str, object] = {"before_ns": before_ns}
            [(placeless,)] = cast("list[tuple[int]]", self._store.rows("gc_count_placeless", age))
            taken = msgspec.structs.replace(taken, logs=taken.logs + placeless)
            if delete:
                self._store.rows("gc_delete_placeless", age)
                self._store.rows("gc_delete_texts")
        return taken

    def _take(self, *, delete: bool) -> Collected:
        [counts] = self._store.rows("gc_counts")
        taken = Collected(*cast("tuple[Any, ...]", counts))
        if delete and any(msgspec.structs.astuple(taken)):
            self._store.rows("gc_delete")
            self._store.rows("gc_tell")
        return taken

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        try:
            with self._store.transaction():
                yield
        except duckdb.Error as error:
            raise using_error(self._store.path, error) from error
