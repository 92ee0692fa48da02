"""The process that answers questions: `python -m otel_runlog.server.query_child LIMITS`, with a socket as its stdin.

SQL is a program: no setting of DuckDB's contains its memory or its time (`select len(range(1000000000))` takes 20 GB
under a limit of 256 MB and cannot be interrupted). So it runs where only a process can be lost, and within what the
system holds it to. What fails takes the process along; the server starts another.

It opens the store for one question and lets go of it before it answers. It serves further questions while it stays
small, since starting costs 0.4 s of CPU and a question on a small store 15 ms; nothing of one question's DuckDB is left
when the next one comes.
"""

from __future__ import annotations

import os
import resource
import select
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import duckdb
import msgspec

from otel_runlog.errors import RunLogError, ServerError, SizeLimitError, StoreInterruptedError, TimeLimitError
from otel_runlog.server.failures import name_of
from otel_runlog.server.questions import Question, answer
from otel_runlog.store.confined import ConfinedReader, Confinement

DATA_ASIDE_BYTES: Final = 64 << 20
"""Program text and what is shared count as resident, but not as data: 40 MiB measured."""
RESERVED_BYTES: Final = 1 << 30
"""DuckDB and glibc reserve address space that they do not touch: 840 MiB with 4 threads measured."""
SMALL_BYTES: Final = 256 << 20
"""A process that has grown beyond this ends after its answer."""
LEAST_MEMORY_BYTES: Final = 256 << 20
"""Python, DuckDB and this module take 70 MiB before the first row is read."""
NICENESS: Final = 5
"""Receiving and loading come first."""
_OWN_STATUS: Final = Path("/proc/self/status")


class ChildLimits(msgspec.Struct, frozen=True):
    """What one question may take.

    Attributes:
        db: the store's file.
        time_s: so much after it came, DuckDB is interrupted.
        memory_bytes: what the process may have resident.
        answer_bytes: how large the answer may be.
        store_wait_s: how long to wait for another process to let go of the store.
        threads: DuckDB's.
    """

    db: str
    time_s: float = 30.0
    memory_bytes: int = 1 << 30
    answer_bytes: int = 64 << 20
    store_wait_s: float = 5.0
    threads: int = 2


class Reply(msgspec.Struct, frozen=True):
    """What comes before the answer: which error there was instead, by its class, and whether more can be asked."""

    error: str = ""
    message: str = ""
    goes_on: bool = True


def serve(connection: Connection, limits: ChildLimits) -> None:
    """Answer questions until the server hangs up, or the process has grown."""
    goes_on = True
    while goes_on:
        try:
            asked = connection.recv_bytes()
        except EOFError:
            return
        _hold_cpu_to(limits)
        reply, body = _reply_to(connection, limits, asked)
        goes_on = reply.goes_on
        connection.send_bytes(msgspec.msgpack.encode(reply))
        connection.send_bytes(body)


def _reply_to(connection: Connection, limits: ChildLimits, asked: bytes) -> tuple[Reply, bytes]:
    try:
        question = msgspec.msgpack.decode(asked, type=Question)
        body = _answer(connection, limits, question)
    except RunLogError as error:
        return _refusal(_within(limits, error)), b""
    except MemoryError:
        return _refusal(_too_large(limits), goes_on=False), b""
    except Exception as error:  # noqa: BLE001 - it is told to whoever asked, and this process ends
        return _refusal(ServerError(f"{type(error).__name__}: {error}"), goes_on=False), b""
    return Reply(goes_on=_is_small()), body


def _refusal(error: RunLogError, *, goes_on: bool = True) -> Reply:
    return Reply(name_of(error), str(error), goes_on and _is_small())


def _within(limits: ChildLimits, error: RunLogError) -> RunLogError:
    """What an error means here: which limit it was."""
    if isinstance(error, StoreInterruptedError | TimeLimitError):
        return TimeLimitError(f"the question takes longer than the {limits.time_s:g} s it may")
    if isinstance(error.__cause__, duckdb.OutOfMemoryException):
        return _too_large(limits)
    return error


def _too_large(limits: ChildLimits) -> SizeLimitError:
    return SizeLimitError(f"the question takes more than the {limits.memory_bytes >> 20:,} MiB of memory it may")


def _answer(connection: Connection, limits: ChildLimits, question: Question) -> bytes:
    confinement = Confinement(limits.memory_bytes, limits.threads)
    end = time.monotonic() + limits.time_s
    with (
        ConfinedReader(limits.db, confinement, min(limits.store_wait_s, limits.time_s)) as reader,
        _watched(connection, reader, max(end - time.monotonic(), 0.0)),
    ):
        return answer(reader, question, limits.answer_bytes)


@contextmanager
def _watched(connection: Connection, reader: ConfinedReader, time_s: float) -> Iterator[None]:
    """Interrupt what takes too long; end where the server has hung up: nobody waits for the answer any more."""
    ours, theirs = os.pipe()
    watch = select.poll()
    watch.register(connection.fileno(), select.POLLHUP | select.POLLERR)
    watch.register(ours, select.POLLHUP)

    def body() -> None:
        events = dict(watch.poll(time_s * 1000))
        if ours in events:
            return
        if events:
            os._exit(1)
        reader.interrupt()

    watcher = threading.Thread(target=body, name="otel-runlog-query-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        os.close(theirs)
        watcher.join()
        os.close(ours)


def _is_small() -> bool:
    return _peak_bytes() < SMALL_BYTES


def _peak_bytes() -> int:
    """The most that this process had resident.

    Linux counts in `ru_maxrss` what the process had that started this one: a server of 300 MiB would have every process
    end after one answer.
    """
    with suppress(OSError), _OWN_STATUS.open("rb") as status:
        for line in status:
            if line.startswith(b"VmHWM:"):
                return int(line.split()[1]) << 10
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak << 10


def _confine(limits: ChildLimits) -> None:
    memory_bytes = max(limits.memory_bytes, LEAST_MEMORY_BYTES)
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":  # elsewhere they are not kept to, or cannot be set; DuckDB's own limit remains
        _lower(resource.RLIMIT_DATA, memory_bytes - DATA_ASIDE_BYTES)
        _lower(resource.RLIMIT_AS, memory_bytes + RESERVED_BYTES)
    os.nice(NICENESS)


def _lower(what: int, to: int) -> None:
    _, hard = resource.getrlimit(what)
    least = to if hard == resource.RLIM_INFINITY else min(to, hard)
    resource.setrlimit(what, (least, least))


def _hold_cpu_to(limits: ChildLimits) -> None:
    """So that a question ends when the server has died and this process does nothing but compute."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    budget_s = int(used.ru_utime + used.ru_stime + (limits.time_s + 2) * limits.threads) + 1
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (budget_s if hard < 0 else min(budget_s, hard), hard))


def main(arguments: list[str]) -> None:
    """Confine this process, say that it is ready, answer."""
    limits = msgspec.json.decode(arguments[0], type=ChildLimits)
    connection = Connection(socket.socket(fileno=os.dup(0)).detach())
    _confine(limits)
    connection.send_bytes(b"ready")
    serve(connection, limits)


if __name__ == "__main__":
    main(sys.argv[1:])
