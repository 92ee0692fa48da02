"""Reading the store for others: one statement that reads, in an instance that reaches nothing but the store."""

from __future__ import annotations

import os
from collections.abc import Callable

import duckdb
import msgspec

from otel_runlog.errors import SchemaError, SizeLimitError, StatementError, StoreDamagedError, TimeLimitError
from otel_runlog.store import migrations, statements
from otel_runlog.store.connection import BASE_SETTINGS, Settings, StoreConnection, attach_for_read
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.said import asking_error

ANSWERED = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
"""SELECT is also FROM, VALUES, SHOW, DESCRIBE and SUMMARIZE. A courtesy: what writes is stopped by other means."""
_SETTINGS = BASE_SETTINGS | {
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}
_DUCKDB_SHARE = 0.6
"""DuckDB's own limit as a part of the process's: it does not count all that it takes."""


class Confinement(msgspec.Struct, frozen=True):
    """What one question may take of DuckDB."""

    memory_bytes: int
    threads: int = 2


class ConfinedReader(StoreReader):
    """A reader whose statements come from others: without files, network or settings, in one transaction that reads.

    Statement types do not tell what writes (`WITH x AS (DELETE ... RETURNING *) FROM x` is a SELECT): the file is open
    read-only. Memory and time are not contained by DuckDB: that takes a process (otel_runlog.server.query_child).

    Raises:
        SchemaError: the store is of an older version, which only those upgrade that load.
        StoreError: as in `open_for_read`.
    """

    def __init__(self, path: str | os.PathLike[str], confinement: Confinement, timeout_s: float = 0.0) -> None:
        limits: Settings = {
            "memory_limit": f"{int(confinement.memory_bytes * _DUCKDB_SHARE) >> 20}MiB",
            "threads": confinement.threads,
        }
        self._store = attach_for_read(path, timeout_s, _SETTINGS | limits)
        try:
            _require_current(self._store)
            self._store.duck.execute(statements.query("confine"))
        except BaseException:
            self._store.close()
            raise

    @property
    def interrupt(self) -> Callable[[], None]:
        """Makes the statement that runs fail, and every later one; any thread may call it."""
        return self._store.interrupt

    def statement(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one statement that reads; its rows wait in the connection.

        Raises:
            StatementError: it is wrong, not one, or not one that is answered.
            SizeLimitError: it takes more memory than DuckDB may have.
            TimeLimitError: it was interrupted.
            StoreDamagedError: the file cannot be read any more.
        """
        duck = self._store.duck
        try:
            return duck.execute(_only(duck.extract_statements(sql)))
        except duckdb.Error as error:
            raise self.error_of(error) from error

    def error_of(self, error: duckdb.Error) -> Exception:
        """What an error of DuckDB means to whoever asked."""
        if isinstance(error, duckdb.InterruptException):
            return TimeLimitError("the statement took longer than it may")
        if isinstance(error, duckdb.OutOfMemoryException):
            return SizeLimitError(f"the statement takes more memory than it may: {_first_sentence(error)}")
        known = asking_error(self._store.path, error)
        return known if isinstance(known, StoreDamagedError) else StatementError(str(error))


def _require_current(store: StoreConnection) -> None:
    if not migrations.is_current(store):
        raise SchemaError(f"{store.path} is of an older version: loading anything into it upgrades it")


def _only(found: list[duckdb.Statement]) -> duckdb.Statement:
    if len(found) != 1:
        raise StatementError(f"one SQL statement is answered at a time, not {len(found)}")
    [statement] = found
    if statement.type not in ANSWERED:
        raise StatementError(
            f"{statement.type.name} statements are not answered, only those that read: SELECT, FROM, VALUES, SHOW, "
            "DESCRIBE, SUMMARIZE, EXPLAIN, and PIVOT with its values (`on x in (...)`)"
        )
    return statement


def _first_sentence(error: duckdb.Error) -> str:
    return str(error).split("\n", 1)[0]
