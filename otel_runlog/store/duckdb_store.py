"""The store of runs in a DuckDB file, as a Python object."""

from __future__ import annotations

import os

import duckdb

from otel_runlog.errors import RunNotFoundError, StoreError
from otel_runlog.model import RunLog, RunLogQuery, Step
from otel_runlog.store import statements
from otel_runlog.store.batch import Batch, RunVersion, counting
from otel_runlog.store.closing import Closes
from otel_runlog.store.connection import StoreConnection, open_for_read, open_for_write
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.rows import pack_foreign_traces
from otel_runlog.store.said import asking_error, signals_told
from otel_runlog.store.writer import StoreWriter


class DuckDBRunLogStore(Closes):
    """A `RunLogStore` over the file that processor and server load into.

    Every call opens the file, does its work and lets go of it, so that the store can be kept beside a running loader.

    Args:
        path: The DuckDB file; it is created unless it is there.
        timeout_s: How long a call waits for another process to let go of the file.

    Raises:
        StoreLockedError: another process still holds the file (any call).
        StoreDamagedError: the file is no readable DuckDB database (any call).
        SchemaError: it was written by a newer version, or is no runlog store (any call).
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout_s: float = 2.0) -> None:
        self.path = path
        self.timeout_s = timeout_s
        if not os.path.exists(path):  # noqa: PTH110 - os.PathLike
            open_for_write(path, timeout_s).close()

    def put(self, run: RunLog) -> None:
        """Keep a run; one of the same run_id is replaced by this new version. A replay is kept without cost."""
        with self._write() as writer:
            versions = writer.versions_of(run.run_id)
            closed = RunVersion(run, version=max(versions, default=0) + 1)
            traces = list(pack_foreign_traces(run))
            writer.append(Batch(closed=[closed], superseded=counting(run.run_id, versions), foreign_traces=traces))

    def get(self, run_id: str) -> RunLog | None:
        """The run of that id, or the one that it was renamed to; None where there is none."""
        with self._read() as reader:
            try:
                return reader.run(run_id)
            except RunNotFoundError:
                return None

    def list(self, query: RunLogQuery | None = None) -> list[RunLog]:
        """The runs that a query selects, newest start first."""
        with self._read() as reader:
            return reader.runs(query, with_steps=True)

    def steps(self, run_id: str) -> tuple[Step, ...]:
        """The steps of a run by step_index; none where there is no such run."""
        run = self.get(run_id)
        return run.steps if run else ()

    def delete(self, run_id: str) -> bool:
        """Take a run out of every view; its spans stay. False where there was none."""
        run = self.get(run_id)
        if run is None:
            return False
        with self._write() as writer:
            versions = writer.versions_of(run.run_id)
            writer.append(Batch(cleared=[run.run_id], superseded=counting(run.run_id, versions)))
        return True

    def sql(self, query: str, params: object = None) -> duckdb.DuckDBPyRelation:
        """The answer to any SQL over the views, as a relation (`.df()`, `.arrow()`, `.fetchall()`).

        The rows are copied into memory and the file is let go of: filter and limit in the SQL.

        Raises:
            StoreError: the statement is wrong, writes, or gives no rows; the reason is DuckDB's.
        """
        store = open_for_read(self.path, self.timeout_s)
        try:
            with signals_told(store.path):
                _answer(store, query, params)
        except duckdb.Error as error:
            store.close()
            raise asking_error(store.path, error) from error
        except BaseException:
            store.close()
            raise
        return store.duck.table("answer")

    def close(self) -> None:
        """Nothing is held between calls; the store can be used again."""

    def _read(self) -> StoreReader:
        return StoreReader(self.path, self.timeout_s)

    def _write(self) -> StoreWriter:
        return StoreWriter(self.path, timeout_s=self.timeout_s)


def _answer(store: StoreConnection, query: str, params: object) -> None:
    """Copy an answer into memory and let go of the file."""
    relation = store.duck.sql(query, params=params)
    if relation is None:
        raise StoreError(f"the statement gives no rows: {query}")
    relation.to_table("memory.main.answer")
    store.duck.execute(statements.query("let_go"))
    store.remove_spill_folder()
