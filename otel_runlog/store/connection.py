"""Opening the store by intent: to write it alone, or to read it. Every error says what holds and what to do."""

from __future__ import annotations

import contextlib
import fcntl
import glob
import logging
import os
import shutil
import stat
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import duckdb

from otel_runlog.errors import StoreError, StoreLockedError
from otel_runlog.store import arrow, statements
from otel_runlog.store.closing import Closes
from otel_runlog.store.said import interrupted, opening_error, signals_told, using_error

_RETRY_S = 0.05
_ORPHAN = ".orphan-"
_SURELY_BEGUN_S = 60.0
Settings: TypeAlias = dict[str, str | bool | int | float | list[str]]

BASE_SETTINGS: Settings = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
_WRITE_SETTINGS = BASE_SETTINGS | {
    "threads": 1,  # a load turn is one stream of small batches; more threads only take the agent's cores
    "wal_autocheckpoint": "128MB",  # of 16 MB, zstd text costs 1.6 times the CPU and 1.8 times the bytes
}


logger = logging.getLogger("otel_runlog")


class StoreConnection(Closes):
    """A DuckDB connection with the store attached. Not for use by several threads at once, `interrupt` excepted."""

    def __init__(self, duck: duckdb.DuckDBPyConnection, path: Path) -> None:
        """Take over a connection whose current database is the store at `path`."""
        self.duck = duck
        self.path = path
        self._lock = threading.Lock()
        self._is_open = True
        self._interrupted = False

    def rows(self, query: str, parameters: dict[str, object] | None = None) -> list[tuple[object, ...]]:
        """The rows of `queries/<query>.sql`.

        Raises:
            StoreDamagedError: the file cannot be read any more.
            StoreInterruptedError: `interrupt` was called, or a signal handler raised.
            StoreError: DuckDB refuses for another reason.
        """
        return self._fetch(query, parameters)[1]

    def records(self, query: str, parameters: dict[str, object] | None = None) -> list[dict[str, object]]:
        """The rows of `queries/<query>.sql` by column names; errors as in `rows`."""
        names, rows = self._fetch(query, parameters)
        return [dict(zip(names, row, strict=True)) for row in rows]

    def _fetch(self, query: str, parameters: dict[str, object] | None) -> tuple[list[str], list[tuple[object, ...]]]:
        self._go_on()
        try:
            with signals_told(self.path):
                cursor = self.duck.execute(statements.query(query), parameters or {})
                return [column[0] for column in cursor.description or ()], cursor.fetchall()
        except duckdb.Error as error:
            raise using_error(self.path, error) from error

    def append(self, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        """Append rows to a table (twice as fast as unnest over parameters, a hundred times executemany).

        Raises:
            duckdb.Error: a value does not fit its column; no row of this call is kept.
            StoreInterruptedError: `interrupt` was called, or a signal handler raised.
        """
        self._go_on()
        appender = self.duck.appender(table, columns=list(columns))
        try:
            with signals_told(self.path):
                appender.append_rows(rows)
                appender.flush()
        except BaseException:
            appender.clear()
            raise

    def append_columns(self, table: str, names: Sequence[str], columns: Sequence[Sequence[object]]) -> None:
        """Append rows that are given column by column: all columns of the table, in their order.

        Raises:
            duckdb.Error: as `append`.
            ValueError: a value does not fit its column; so do the others of `arrow.UNSTORABLE`.
            StoreInterruptedError: `interrupt` was called, or a signal handler raised.
        """
        self._go_on()
        with signals_told(self.path):
            is_appended = arrow.append(self.duck, table, names, columns)
        if not is_appended:
            self.append(table, names, zip(*columns, strict=True))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All or nothing of what happens inside."""
        self._go_on()
        _touch_private(_wal(self.path))
        with signals_told(self.path):
            self.duck.begin()
            try:
                yield
                self.duck.commit()
            except BaseException:
                with contextlib.suppress(duckdb.Error):  # nothing to roll back where DuckDB gave the database up
                    self.duck.rollback()
                raise

    def leave_row_groups(self) -> None:
        """Have checkpoints leave row groups as they are, also those that are not full."""
        self.rows("leave_row_groups")

    def interrupt(self) -> None:
        """Make the statement that runs, and every later one, fail. Any thread may call it."""
        with self._lock:
            self._interrupted = True
            if self._is_open:
                self.duck.interrupt()

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        with self._lock:  # DuckDB does not survive an interrupt of a connection that is being closed
            self._is_open = False
        self.duck.close()
        self.remove_spill_folder()

    def remove_spill_folder(self) -> None:
        """Remove the folder for what does not fit in memory, unless something is in it."""
        with contextlib.suppress(OSError):  # not there, or another reader's
            _spill_folder(self.path).rmdir()

    @property
    def is_settled(self) -> bool:
        """Whether all that was committed stands in the file itself, and none of it in the write-ahead log alone.

        Of a log that is damaged or deleted DuckDB notices little: it replays what comes before the damage, and opens
        the file. What stands in the log alone must therefore be kept elsewhere too.
        """
        wal = _wal(self.path)
        return not wal.exists() or not wal.stat().st_size

    def _go_on(self) -> None:
        if self._interrupted:
            raise interrupted(self.path)


class OpenStore(Closes):
    """What holds a store open until it is closed: `_store` is its connection."""

    _store: StoreConnection

    def close(self) -> None:
        """Let go of the file. Closing twice is fine."""
        self._store.close()


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
        _make_private(file)
    except BaseException:
        connection.close()
        raise
    return connection


def open_for_read(path: str | os.PathLike[str], timeout_s: float = 0.0) -> StoreConnection:
    """Open the store to read it, beside other readers. Arguments and errors are those of `open_for_write`.

    A store of an older schema is taken to this version's first. A missing file is a StoreError.
    """
    from otel_runlog.store import migrations

    file = _existing(path)
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


def attach_for_read(
    path: str | os.PathLike[str], timeout_s: float = 0.0, settings: Settings | None = None
) -> StoreConnection:
    """Open the store as `open_for_read` does, whichever version it is of, with DuckDB's settings as given."""
    return _attach_patiently(_existing(path), "attach_read", timeout_s, settings)


def _existing(path: str | os.PathLike[str]) -> Path:
    file = Path(path).absolute()
    if not file.exists():
        raise StoreError(f"there is no store at {file}: nothing has been loaded into it yet, or the path is wrong")
    return file


def _create(file: Path) -> None:
    """Make an empty store beside `file` and link it there whole, so that nobody sees half a store or an open mode."""
    from otel_runlog.store import migrations

    try:
        folder = Path(tempfile.mkdtemp(prefix=f".{file.name}.", dir=file.parent))
        lock = _lock(folder)
    except OSError as error:
        raise StoreError(f"cannot create the store {file}: {error.strerror or error}") from error
    try:
        draft = folder / file.name
        with _attach(draft, "attach_new") as connection:
            migrations.migrate(connection)
        draft.chmod(0o600)
        _set_orphan_aside(file)
        _publish(draft, file)
        _sweep(file)
    except OSError as error:
        raise StoreError(f"cannot create the store {file}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _lock(folder: Path) -> int:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        raise
    return fd


def _sweep(file: Path) -> None:
    """Remove the half-made stores that killed processes left beside `file`; those of living ones are locked."""
    for folder in file.parent.glob(f".{file.name}.*/"):
        with contextlib.suppress(OSError):
            found = folder.stat()
            begun = any(folder.iterdir()) or time.time() - found.st_mtime > _SURELY_BEGUN_S
            if begun and found.st_uid == os.geteuid():
                os.close(_lock(folder))
                shutil.rmtree(folder, ignore_errors=True)


def _set_orphan_aside(file: Path) -> None:
    """Keep the write-ahead log of a store that is gone apart from the new one: it is not its log."""
    wal = _wal(file)
    if wal.exists() and not file.exists():
        aside = wal.with_name(f"{wal.name}{_ORPHAN}{time.time_ns()}")
        wal.rename(aside)
        logger.warning("%s belongs to a store that is gone; it was kept as %s", wal, aside)


def orphan_logs(path: str | os.PathLike[str]) -> list[Path]:
    """The write-ahead logs that were kept when a new store took the place of theirs."""
    wal = _wal(Path(path))
    return sorted(wal.parent.glob(f"{glob.escape(wal.name)}{_ORPHAN}*"))


def _publish(draft: Path, file: Path) -> None:
    try:
        os.link(draft, file)
    except FileExistsError:
        return  # another process was faster: its store is as good
    except OSError:  # a file system without hard links
        if not file.exists():
            draft.rename(file)


def _attach_patiently(
    file: Path, statement: str, timeout_s: float, settings: Settings | None = None
) -> StoreConnection:
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            return _attach(file, statement, settings)
        except StoreLockedError:
            if time.monotonic() >= deadline:
                raise
            time.sleep(_RETRY_S)


def _attach(file: Path, statement: str, settings: Settings | None = None) -> StoreConnection:
    _require_file(file)
    duck = duckdb.connect(":memory:", config=settings or _settings_for(file, statement))
    connection = StoreConnection(duck, file)
    try:
        with signals_told(file):
            duck.execute(statements.query(statement), [str(file)])
            duck.execute(statements.query("use_store"))
    except duckdb.Error as error:
        connection.close()
        raise opening_error(file, str(error)) from error
    except BaseException:
        connection.close()
        raise
    return connection


def _settings_for(file: Path, statement: str) -> Settings:
    settings = BASE_SETTINGS if statement == "attach_read" else _WRITE_SETTINGS
    return settings | {"temp_directory": str(_make_spill_folder(file))}


def _require_file(file: Path) -> None:
    """Opening a pipe or a device would wait for ever, or worse."""
    if file.exists() and not file.is_file():
        what = "a folder" if file.is_dir() else "no regular file"
        raise StoreError(f"{file} is {what}, and was left as it is: choose another file for the store")


def _make_private(file: Path) -> None:
    """Nobody else may read prompts, whoever made the file, and with which umask."""
    with contextlib.suppress(OSError):
        found = file.stat()
        if stat.S_ISREG(found.st_mode) and found.st_mode & 0o077 and found.st_uid == os.geteuid():
            file.chmod(stat.S_IMODE(found.st_mode) & 0o700)
            logger.warning("%s could be read by others; its mode is now 0600", file)


def _touch_private(file: Path) -> None:
    """Make `file` with mode 0600, also where it is there: DuckDB would make it with the umask's."""
    fd = os.open(file, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(fd).st_mode & 0o077:
            os.fchmod(fd, 0o600)
    finally:
        os.close(fd)


def _wal(file: Path) -> Path:
    return file.with_name(file.name + ".wal")


def _spill_folder(file: Path) -> Path:
    return file.with_name(file.name + ".tmp")


def _make_spill_folder(file: Path) -> Path:
    """Where DuckDB puts what does not fit in memory; of its own making, it would be open to others."""
    folder = _spill_folder(file)
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
        folder.chmod(0o700)
    return folder
