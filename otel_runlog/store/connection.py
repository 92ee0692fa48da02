"""Opening the store by intent: to write it alone, or to read it. Every error says what holds and what to do."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import duckdb

from otel_runlog.errors import SchemaError, StoreDamagedError, StoreError, StoreLockedError
from otel_runlog.store import statements

_RETRY_S = 0.05
_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
_BASE_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_WRITE_SETTINGS = _BASE_SETTINGS | {
    "threads": 1,  # a load turn is one stream of small batches; more threads only take the agent's cores
    "wal_autocheckpoint": "128MB",  # of 16 MB, zstd text costs 1.6 times the CPU and 1.8 times the bytes
}


class StoreConnection:
    """A DuckDB connection with the store attached. Not for use by several threads at once."""

    def __init__(self, duck: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Take over a connection whose current database is the store at `path`."""
        self.duck = duck
        self.path = path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def rows(self, query: str, parameters: dict[str, object] | None = None) -> list[tuple[object, ...]]:
        """The rows of `queries/<query>.sql`.

        Raises:
            StoreDamagedError: the file cannot be read any more.
            StoreError: DuckDB refuses for another reason.
        """
        return self._execute(query, parameters).fetchall()

    def records(self, query: str, parameters: dict[str, object] | None = None) -> list[dict[str, object]]:
        """The rows of `queries/<query>.sql` by column names; errors as in `rows`."""
        cursor = self._execute(query, parameters)
        names = [column[0] for column in cursor.description or ()]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def _execute(self, query: str, parameters: dict[str, object] | None) -> duckdb.DuckDBPyConnection:
        try:
            return self.duck.execute(statements.query(query), parameters or {})
        except duckdb.Error as error:
            raise _use_error(self.path, error) from error

    def append(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Append rows to a table (twice as fast as unnest over parameters, a hundred times executemany).

        Raises:
            duckdb.Error: a value does not fit its column; no row of this call is kept.
        """
        appender = self.duck.appender(table, columns=list(columns))
        try:
            appender.append_rows(rows)
            appender.flush()
        except BaseException:
            appender.clear()
            raise

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what happens inside."""
        _touch_private(self.path.with_name(self.path.name + ".wal"))
        self.duck.begin()
        try:
            yield
            self.duck.commit()
        except BaseException:
            with contextlib.suppress(duckdb.Error):  # nothing to roll back where DuckDB gave the database up
                self.duck.rollback()
            raise

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self.duck.close()


def open_for_write(path: str | os.PathLike[str], timeout_s: float = 0.0) -> StoreConnection:
    """Open the store alone, creating it or taking it to this version's schema where needed.

    Args:
        path: The DuckDB file. A new one is made whole beside it first and gets mode 0600, whatever the umask.
        timeout_s: How long to wait for another process to let go of the file.

    Raises:
        StoreLockedError: another process still holds the file.
        StoreDamagedError: the file is no readable DuckDB database.
        SchemaError: it was written by a newer version, or is no runlog store.
        StoreError: it cannot be created or opened.
    """
    from otel_runlog.store import migrations

    file = Path(path).absolute()
    if not file.exists():
        _create(file)
    connection = _attach_patiently(file, "attach_write", timeout_s)
    try:
        migrations.migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_read(path: str | os.PathLike[str], timeout_s: float = 0.0) -> StoreConnection:
    """Open the store to read it, beside other readers. Arguments and errors are those of `open_for_write`.

    A store of an older schema is taken to this version's first. A missing file is a StoreError.
    """
    from otel_runlog.store import migrations

    file = Path(path).absolute()
    if not file.exists():
        raise StoreError(f"there is no store at {file}: nothing has been loaded into it yet, or the path is wrong")
    connection = _attach_patiently(file, "attach_read", timeout_s)
    try:
        if migrations.is_current(connection):
            return connection
    except BaseException:
        connection.close()
        raise
    connection.close()
    open_for_write(file, timeout_s).close()
    return _attach_patiently(file, "attach_read", timeout_s)


def _create(file: Path) -> None:
    """Make an empty store beside `file` and link it there whole, so that nobody sees half a store or an open mode."""
    from otel_runlog.store import migrations

    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{file.name}.", dir=file.parent))
    except OSError as error:
        raise StoreError(f"cannot create the store {file}: {error.strerror or error}") from error
    try:
        draft = folder / file.name
        with _attach(draft, "attach_new") as connection:
            migrations.migrate(connection)
        draft.chmod(0o600)
        _publish(draft, file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _publish(draft: Path, file: Path) -> None:
    try:
        os.link(draft, file)
    except FileExistsError:
        return  # another process was faster: its store is as good
    except OSError:  # a file system without hard links
        if not file.exists():
            draft.rename(file)


def _attach_patiently(file: Path, statement: str, timeout_s: float) -> StoreConnection:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return _attach(file, statement)
        except StoreLockedError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_S)


def _attach(file: Path, statement: str) -> StoreConnection:
    settings = _BASE_SETTINGS if statement == "attach_read" else _WRITE_SETTINGS
    duck = duckdb.connect(":memory:", config=settings | {"temp_directory": f"{file}.tmp"})
    try:
        duck.execute(statements.query(statement), [str(file)])
        duck.execute(statements.query("use_store"))
    except duckdb.Error as error:
        duck.close()
        raise _store_error(file, str(error)) from error
    return StoreConnection(duck, file)


def _store_error(file: Path, message: str) -> StoreError:
    if holder := _HOLDER.search(message):
        return StoreLockedError(
            f"{file} is held by process {holder['pid']} ({holder['program']}): stop it or wait until it lets go, "
            "or ask its server"
        )
    if "Unique file handle conflict" in message:
        return StoreLockedError(
            f"{file} is held by process {os.getpid()} (this one): close the other store on it first"
        )
    if "Could not set lock" in message:
        return StoreLockedError(f"{file} is held by another process: stop it or wait until it lets go")
    if "Permission denied" in message or "No such file" in message:
        return StoreError(f"cannot open the store {file}: {_first_line(message)}")
    if "we can only read versions" in message:
        return SchemaError(
            f"{file} was written by a newer DuckDB than {duckdb.__version__}: upgrade the package duckdb"
        )
    return StoreDamagedError(
        f"{file} is no readable DuckDB database and was left as it is ({_first_line(message)}): "
        "move it away, or choose another file"
    )


def _use_error(file: Path, error: duckdb.Error) -> StoreError:
    if isinstance(error, duckdb.IOException) or "Corrupt" in str(error):
        return StoreDamagedError(
            f"{file} cannot be read any more ({_first_line(str(error))}): take a copy, then move it away"
        )
    return StoreError(f"{file}: {_first_line(str(error))}")


def _first_line(message: str) -> str:
    return message.split("\n", 1)[0]


def _touch_private(file: Path) -> None:
    """Make `file` with mode 0600 unless it is there: DuckDB would make it with the umask's."""
    os.close(os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))
