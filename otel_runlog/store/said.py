"""What DuckDB's errors mean: which file, what is wrong, what to do."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb

from otel_runlog.errors import SchemaError, StoreDamagedError, StoreError, StoreInterruptedError, StoreLockedError

_HOLDER = re.compile(r"held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")
_NOT_TO_BE_HAD = ("Permission denied", "No such file", "No space left", "Too many open files", "Read-only file system")
_FULL = ("No space left", "File too large", "Disk quota exceeded")
_CORRUPT = "Corrupt database file"
_SIGNALLED = "Query interrupted"
_LOADS_AGAIN = "what the journal still has is loaded again by itself, ingested files by `ingest`"


def opening_error(file: Path, message: str) -> StoreError:
    """The error of a store that DuckDB does not open."""
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
    if any(reason in message for reason in _NOT_TO_BE_HAD):
        return StoreError(f"cannot open the store {file}: {first_line(message)}")
    if "we can only read versions" in message:
        return SchemaError(
            f"{file} was written by a newer DuckDB than {duckdb.__version__}: upgrade the package duckdb"
        )
    return _damaged(file, message)


def _damaged(file: Path, message: str) -> StoreDamagedError:
    if "WAL" in message:
        return StoreDamagedError(
            f"{file}.wal, the write-ahead log of {file}, cannot be read, and both were left as they are "
            f"({first_line(message)}): move {file}.wal away; {_LOADS_AGAIN}"
        )
    return StoreDamagedError(
        f"{file} is no readable DuckDB database and was left as it is ({first_line(message)}): "
        f"move it away, or choose another file; {_LOADS_AGAIN}"
    )


def interrupted(file: Path) -> StoreInterruptedError:
    """The error of work that somebody asked to end."""
    return StoreInterruptedError(f"the work on {file} was interrupted; what was not committed is not kept")


@contextlib.contextmanager
def signals_told(file: Path) -> Iterator[None]:
    """Say what it is when a signal handler raises (Ctrl-C does) while DuckDB runs a statement in the main thread.

    DuckDB ends the statement, forgets what was raised and raises a RuntimeError of no kind of its own.
    """
    try:
        yield
    except RuntimeError as error:
        if str(error) != _SIGNALLED:
            raise
        raise interrupted(file) from error


def using_error(file: Path, error: duckdb.Error) -> StoreError:
    """The error of a statement on a store that is open."""
    message = str(error)
    if isinstance(error, duckdb.InterruptException):
        return interrupted(file)
    if any(reason in message for reason in _FULL):
        return StoreError(f"cannot write {file}: {first_line(message)}: free some space, what was committed is kept")
    if isinstance(error, duckdb.IOException | duckdb.SerializationException) or _CORRUPT in message:
        return _unreadable(file, message)
    return StoreError(f"{file}: {first_line(message)}")


def asking_error(file: Path, error: duckdb.Error) -> StoreError:
    """The error of somebody else's statement: the reason is DuckDB's, whole, unless the file is damaged."""
    return _unreadable(file, str(error)) if _CORRUPT in str(error) else StoreError(str(error))


def _unreadable(file: Path, message: str) -> StoreDamagedError:
    return StoreDamagedError(
        f"{file} cannot be read any more ({first_line(message)}): take a copy, then move it away; {_LOADS_AGAIN}"
    )


def first_line(message: str) -> str:
    """What DuckDB says, without its hints."""
    return message.split("\n", 1)[0]
