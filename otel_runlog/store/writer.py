"""Writing the store: one batch, one transaction."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias, cast

import duckdb
import msgspec

from otel_runlog.counting import free_of_cost
from otel_runlog.model import Step
from otel_runlog.store import columns, rows, telemetry
from otel_runlog.store.arrow import UNSTORABLE
from otel_runlog.store.batch import (
    Batch,
    CallSearch,
    CapturedRefs,
    KeptCapture,
    KeptDivergence,
    LoggedMessageRow,
    Position,
    RunRef,
    RunVersion,
    StoredLog,
    StoredSpan,
)
from otel_runlog.store.connection import OpenStore, StoreConnection, open_for_write
from otel_runlog.store.model_days import ModelDay, pack_model_days
from otel_runlog.store.rows import Columns, Row
from otel_runlog.store.said import using_error

MANY_SPANS = 8192
"""Checkpoints merge the small row groups that short turns leave. Who loads many spans leaves large ones: merging those
writes all behind the first that is not full again, and left a file of 32,768 spans at 1,224 bytes each instead of 650.
"""
_RECENT_CONTENTS = 100_000
"""Among how many of the newest texts a text is looked for before it is stored (again)."""

_now_ns = time.time_ns
_SPANS = [column.name for column in columns.SPANS]
_LOGS = [column.name for column in columns.LOGS]
_SCORES = [column.name for column in columns.SCORES]
_RUNS = [column.name for column in columns.RUNS]
_STEPS = [column.name for column in columns.STEPS]
_AGENTS = [column.name for column in columns.AGENTS]
_MODEL_DAYS = ModelDay.__struct_fields__
_LOGGED = ("trace_id", "span_id", "direction", "origin", "place", "position", "role", "content_id")
_CONTENTS = ("content_id", "text", "bytes")
_TRACES = ("trace_id", "first_ns", "last_ns")
_OTHER_TRACES = ("run_id", "version", "trace_id")
_SUPERSEDED = ("run_id", "version")
_ALIASES = ("old_run_id", "run_id")
_PLACES = ("place", "trace_id")
_UNPROJECTED = ("trace_id",)
_OUTDONE = ("trace_id", "span_id", "digest")
_BOOKS = ("source", "counter", "reason", "spans")
_CAPTURES = KeptCapture.__struct_fields__
_CAPTURED_REFS = CapturedRefs.__struct_fields__
_DIVERGENCES = KeptDivergence.__struct_fields__
_SUPERSEDED_DIVERGENCES = ("replay_run_id", "version")
_POSITIONS = ("segment", "byte_offset", "next_sequence", "ended", "damaged")

Append: TypeAlias = Callable[[str, Sequence[str], Columns], None]
"""Appends rows to a table: its name, those of its columns, and their values."""


class StoreWriter(OpenStore):
    """The one writer of a store; it holds the file until it is closed. Errors of opening are `open_for_write`'s."""

    def __init__(self, path: str | os.PathLike[str], *, timeout_s: float = 0.0) -> None:
        self._store = open_for_write(path, timeout_s)
        self._spans = 0

    def interrupt(self) -> None:
        """Make what runs, and whatever comes after it, fail with StoreInterruptedError. Any thread may call it."""
        self._store.interrupt()

    @property
    def is_settled(self) -> bool:
        """Whether all that was committed stands in the file itself; see `StoreConnection.is_settled`."""
        return self._store.is_settled

    def append(self, batch: Batch) -> None:
        """Write a batch, all of it or, on an error, nothing.

        A value that its column cannot hold does not keep the rest out: integers are clamped to 64 bits, lone surrogates
        become `?`.

        Raises:
            StoreInterruptedError: `interrupt` was called.
            StoreError: DuckDB refuses, a full disk for instance; the reason is its own.
        """
        try:
            self._write_storable(batch)
        except duckdb.Error as error:
            raise using_error(self._store.path, error) from error
        before, self._spans = self._spans, self._spans + len(batch.spans)
        if before < MANY_SPANS <= self._spans:
            self._store.leave_row_groups()

    def _write_storable(self, batch: Batch) -> None:
        try:
            self._write(batch, self._store.append_columns)
        except (duckdb.ConversionException, duckdb.InvalidInputException, *UNSTORABLE):
            self._write(batch, self._append_storable)

    def _append_storable(self, table: str, names: Sequence[str], data: Columns) -> None:
        self._store.append(table, names, zip(*map(rows.storable, data), strict=True))

    def _write(self, batch: Batch, append: Append) -> None:
        tables = _Tables(self._store, append)
        with self._store.transaction():
            tables.delete_replaced(batch)
            tables.append_spans(batch)
            tables.append_messages(batch)
            tables.append_closed(_as_kept(batch.closed))
            tables.append_runs("open", _as_kept(batch.open))
            tables.append_books(batch)
            tables.append_captures(batch)

    def known_traces(self, trace_ids: Iterable[str]) -> set[str]:
        """Those of the traces that have spans in the store."""
        found = self._store.rows("known_traces", telemetry.named(trace_ids))
        return {str(trace_id) for (trace_id,) in found}

    def spans_of(self, trace_ids: Iterable[str]) -> list[StoredSpan]:
        """The stored spans and the start records of the traces."""
        return telemetry.spans_of(self._store, trace_ids)

    def logs_of(self, trace_ids: Iterable[str]) -> list[StoredLog]:
        """The log records of the traces."""
        return telemetry.logs_of(self._store, trace_ids)

    def logged_traces(self, trace_ids: Iterable[str]) -> set[str]:
        """Those of the traces that have log records in the store."""
        return {str(trace_id) for (trace_id,) in self._store.rows("logged_traces", telemetry.named(trace_ids))}

    def runs_of(self, trace_ids: Iterable[str]) -> list[RunRef]:
        """The runs with steps in the traces, in the versions that count; one entry per run and trace."""
        found = self._store.rows("runs_of_traces", telemetry.named(trace_ids))
        return [RunRef(*cast("tuple[str, int, bool, str]", row)) for row in found]

    def traces_of_runs(self, run_ids: Iterable[str]) -> set[str]:
        """The traces that the runs and their steps come from."""
        return telemetry.traces_of_runs(self._store, run_ids)

    def traces_of_places(self, places: Iterable[str]) -> set[str]:
        """The traces with spans of the runs whose records are kept in these places."""
        return {str(trace_id) for (trace_id,) in self._store.rows("traces_of_places", {"places": sorted(set(places))})}

    def traces_of_sessions(self, session_ids: Iterable[str]) -> set[str]:
        """The traces that the steps of the sessions' runs come from."""
        found = self._store.rows("traces_of_sessions", {"session_ids": sorted(set(session_ids))})
        return {str(trace_id) for (trace_id,) in found}

    def calls_between(self, span: CallSearch) -> list[Step]:
        """The model calls of other traces that could be views of the calls searched for."""
        where = {"started_ns": span.started_ns, "ended_ns": span.ended_ns, "scopes": span.scopes, "lone": span.lone}
        if not self._store.rows("could_be_calls", where):
            return []
        found = self._store.records("calls_between", msgspec.structs.asdict(span))
        return [rows.unpack_step(record) for record in found]

    def versions_of(self, run_id: str) -> dict[int, bool]:
        """Every version in which the run was ever closed, and whether it still counts."""
        found = self._store.rows("versions_of_run", {"run_id": run_id})
        return dict(cast("list[tuple[int, bool]]", found))

    def positions(self) -> dict[str, Position]:
        """How far each journal segment and ingested file is loaded, by its name."""
        found = cast("list[tuple[str, int, int | None, bool, bool]]", self._store.rows("positions"))
        return {row[0]: Position(*row) for row in found}

    def close_quiet(self) -> int:
        """Close the runs that the views show as incomplete, as they show them; returns how many.

        They must not have been loaded anew for the quiet time either. No answer changes by that; what comes later for
        such a run supersedes it, as it does any closed run's version.
        """
        [(quiet,)] = cast("list[tuple[int]]", self._store.rows("count_quiet"))
        if quiet:
            try:
                with self._store.transaction():
                    self._store.rows("close_quiet")
            except duckdb.Error as error:
                raise using_error(self._store.path, error) from error
        return quiet

    def set_quiet_time(self, seconds: int) -> None:
        """After how many seconds of silence the views show an open run as incomplete."""
        with self._store.transaction():
            self._store.rows("set_meta", {"key": "quiet_time_s", "value": str(seconds)})


def _as_kept(runs: list[RunVersion]) -> list[RunVersion]:
    return [v if v.run.replay_of is None else msgspec.structs.replace(v, run=free_of_cost(v.run)) for v in runs]


class _Tables:
    """The tables inside one transaction; `append` puts rows into them."""

    def __init__(self, store: StoreConnection, append: Append) -> None:
        self._store = store
        self._append_columns = append

    def _append(self, table: str, names: Sequence[str], data: Columns) -> None:
        if data and data[0]:
            self._append_columns(table, names, data)

    def _append_rows(self, table: str, names: Sequence[str], data: Iterable[Row]) -> None:
        self._append(table, names, list(zip(*data, strict=True)))

    def delete_replaced(self, batch: Batch) -> None:
        spans = (item.span for item in batch.start_records)
        keys = batch.ended + [(span.trace_id, span.span_id, span.started_ns) for span in spans]
        if keys:
            parameters: dict[str, object] = {
                "trace_ids": [key[0] for key in keys],
                "span_ids": [key[1] for key in keys],
                "starts_ns": [key[2] or 0 for key in keys],
            }
            self._store.rows("delete_open_spans", parameters)
        run_ids = [item.run.run_id for item in (*batch.open, *batch.closed)] + batch.cleared
        if run_ids:
            for query in ("delete_open_runs", "delete_open_steps", "delete_open_agents"):
                self._store.rows(query, {"run_ids": run_ids})

    def append_spans(self, batch: Batch) -> None:
        # what one agent sends stands together and compresses together: 3.9 % of 20 histories sent at once, 7.5 unsorted
        by_trace = sorted(batch.spans, key=lambda item: item.span.trace_id)
        self._append("stored_spans", _SPANS, rows.pack_spans(by_trace))
        self._append_rows("stored_traces", _TRACES, rows.pack_traces(by_trace))
        self._append("open_spans", _SPANS, rows.pack_spans(batch.start_records))
        self._append("stored_logs", _LOGS, rows.pack_logs(batch.logs))
        self._append("stored_scores", _SCORES, rows.pack_scores(batch.scores))

    def append_messages(self, batch: Batch) -> None:
        names = self._store_texts(batch.logged_messages)
        self._append_rows("logged_messages", _LOGGED, map(rows.pack_logged_message, batch.logged_messages, names))

    def _store_texts(self, messages: Sequence[LoggedMessageRow]) -> list[str]:
        """Store the messages' texts that were not stored lately; returns how they are called."""
        if not messages:
            return []
        names = [rows.content_id(message.text) for message in messages]
        texts = {name: message.text for name, message in zip(names, messages, strict=True)}
        for name in self._recently_stored(list(texts)):
            del texts[name]
        self._append_rows("contents", _CONTENTS, map(rows.pack_content, texts, texts.values()))
        return names

    def _recently_stored(self, names: list[str]) -> set[str]:
        parameters: dict[str, object] = {"rows": _RECENT_CONTENTS, "content_ids": names}
        return {str(name) for (name,) in self._store.rows("recent_contents", parameters)}

    def append_runs(self, state: str, runs: list[RunVersion]) -> None:
        touched = {"touched_ns": [_now_ns()] * len(runs)} if state == "open" else {}
        self._append(f"{state}_runs", [*_RUNS, *touched], [*rows.pack_runs(runs), *touched.values()])
        self._append(f"{state}_steps", _STEPS, rows.pack_steps(runs))
        self._append(f"{state}_agents", _AGENTS, rows.pack_agents(runs))

    def append_closed(self, runs: list[RunVersion]) -> None:
        self.append_runs("closed", runs)
        self._append_rows("closed_traces", _OTHER_TRACES, (row for run in runs for row in rows.pack_other_traces(run)))
        self._append_rows("closed_models", _MODEL_DAYS, (row for run in runs for row in pack_model_days(run)))

    def append_books(self, batch: Batch) -> None:
        self._append_rows("superseded", _SUPERSEDED, batch.superseded)
        self._append_rows("run_aliases", _ALIASES, batch.aliases)
        self._append_rows("trace_places", _PLACES, batch.places)
        self._append_rows("unprojected_traces", _UNPROJECTED, [(trace_id,) for trace_id in batch.unprojected])
        self._append_rows("outdone_spans", _OUTDONE, batch.outdone)
        self._append_rows("book_entries", _BOOKS, (row for entry in batch.books for row in rows.pack_book(entry)))
        self._append_rows("positions", _POSITIONS, map(msgspec.structs.astuple, batch.positions))

    def append_captures(self, batch: Batch) -> None:
        self._append_rows("stored_traces", _TRACES, batch.foreign_traces)
        self._append_rows("stored_captures", _CAPTURES, map(msgspec.structs.astuple, batch.captures))
        self._append_rows("captured_refs", _CAPTURED_REFS, map(msgspec.structs.astuple, batch.captured_refs))
        self._append_rows("superseded_captures", _SUPERSEDED, batch.superseded_captures)
        self._append_rows("stored_divergences", _DIVERGENCES, map(msgspec.structs.astuple, batch.divergences))
        self._append_rows("superseded_divergences", _SUPERSEDED_DIVERGENCES, batch.superseded_divergences)
