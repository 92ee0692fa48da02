"""Questions on the store, each answered by a process that may be lost, between the loader's turns.

One process waits warm. Where a question takes too long it is killed, and nothing else notices.
"""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Final

import msgspec

from otel_runlog.errors import RunLogError, ServerBusyError, ServerError, SizeLimitError, TimeLimitError
from otel_runlog.server.failures import error_named
from otel_runlog.server.query_child import ChildLimits, Reply
from otel_runlog.server.questions import Question
from otel_runlog.server.turns import StoreTurns

FRESHNESS_WAIT_S: Final = 5.0
"""So long a question waits for what is pending to be loaded; then it is answered from what is there."""
GRACE_S: Final = 0.5
"""DuckDB is interrupted at the limit; so much later the process is killed, to be gone within a second."""
START_S: Final = 20.0
"""A process that is not ready by then will never be."""
END_S: Final = 2.0
MOST_WAITING: Final = 4
"""Each question that waits for a slot keeps one of the threads that also take in telemetry."""
_CHILD: Final = "otel_runlog.server.query_child"


class QueryPool:
    """Answers questions, a few at a time. Any thread may ask.

    Args:
        limits: what one question may take.
        turns: the gate that the loader goes through too.
        load_pending: asked before every question to load what was received, within so many seconds.
        concurrent: so many questions run at once; more wait.
        count: told of every question: `answered`, or the class of the error.
    """

    def __init__(
        self,
        limits: ChildLimits,
        turns: StoreTurns,
        load_pending: Callable[[float], bool] = lambda _timeout_s: True,
        *,
        concurrent: int = 2,
        count: Callable[[str], None] = lambda _outcome: None,
    ) -> None:
        self._limits = limits
        self._count = count
        self._turns = turns
        self._load_pending = load_pending
        self._slots = threading.Semaphore(concurrent)
        self._seats = threading.BoundedSemaphore(concurrent + MOST_WAITING)
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._busy: set[_Child] = set()
        self._is_closed = False

    def start(self) -> None:
        """Have a process ready for the first question."""
        self._keep_new()

    def ask(self, question: Question) -> bytes:
        """The answer, in the question's form.

        Raises:
            RunLogError: what the process that answers raised; TimeLimitError and SizeLimitError over a limit.
            ServerBusyError: no slot, or no turn for the store, within the time that a question may take.
        """
        try:
            answer = self._ask(question)
        except RunLogError as error:
            self._count(type(error).__name__)
            raise
        self._count("answered")
        return answer

    def _ask(self, question: Question) -> bytes:
        with _held(self._seats, 0.0), _held(self._slots, self._limits.time_s):
            self._require_open()
            deadline = time.monotonic() + self._limits.time_s
            self._load_pending(FRESHNESS_WAIT_S)
            with self._turns.reading(max(deadline - time.monotonic(), 0.0)):
                return self._ask_child(question)

    def close(self) -> None:
        """End all processes, also those that are answering; whoever waits is told at once. Twice is fine."""
        with self._lock:
            self._is_closed = True
            idle, self._idle = self._idle, []
            busy = list(self._busy)
        self._turns.end_reading()
        self._slots.release(MOST_WAITING)  # for those who wait for one, to be told
        for child in busy:
            child.end()  # whoever asked it takes it away
        for child in idle:
            child.kill()

    def _require_open(self) -> None:
        if self._is_closed:
            raise ServerBusyError("the server is ending: ask again when it is back")

    def _ask_child(self, question: Question) -> bytes:
        child = self._take()
        goes_on = False
        try:
            reply, body = child.ask(question)
            goes_on = reply.goes_on
        except ServerError:
            self._require_open()  # else it was ended by `close`
            raise
        finally:
            self._give_back(child, goes_on=goes_on)
        if reply.error:
            raise error_named(reply.error, reply.message)
        return body

    def _take(self) -> _Child:
        while child := self._idle_one():
            if child.lives:
                break
            child.kill()
        try:
            child = child or _Child(self._limits)
        except OSError as error:
            raise ServerBusyError(f"no process can be started to answer: {error.strerror or error}") from error
        with self._lock:
            self._busy.add(child)
            is_late = self._is_closed  # `close` did not see it, and whoever asks would wait for it
        if is_late:
            child.end()
        return child

    def _idle_one(self) -> _Child | None:
        with self._lock:
            self._require_open()
            return self._idle.pop() if self._idle else None

    def _give_back(self, child: _Child, *, goes_on: bool) -> None:
        """One that does not go on has let go of the store afterwards; another one starts for the next question."""
        if not goes_on:
            child.kill()
        with self._lock:
            self._busy.discard(child)
        if goes_on:
            self._keep(child)
        elif not self._is_closed:
            self._keep_new()

    def _keep_new(self) -> None:
        with contextlib.suppress(OSError):  # the next question tries again, and says so
            self._keep(_Child(self._limits))

    def _keep(self, child: _Child) -> None:
        with self._lock:
            if not self._idle and not self._is_closed:
                self._idle.append(child)
                return
        child.kill()


@contextlib.contextmanager
def _held(semaphore: threading.Semaphore, timeout_s: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=timeout_s):
        raise ServerBusyError("the server answers other questions: ask again")
    try:
        yield
    finally:
        semaphore.release()


class _Child:
    """A process that answers, one question after another."""

    def __init__(self, limits: ChildLimits) -> None:
        self._limits = limits
        ours, theirs = socket.socketpair()
        with ours, theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _CHILD, msgspec.json.encode(limits).decode()],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            self._connection = Connection(ours.detach())
        self._is_ready = False

    def ask(self, question: Question) -> tuple[Reply, bytes]:
        """The reply and the answer."""
        self._wait_until_ready()
        watch = threading.Timer(self._limits.time_s + GRACE_S, self._process.kill)
        watch.start()
        try:
            self._connection.send_bytes(msgspec.msgpack.encode(question))
            reply = msgspec.msgpack.decode(self._connection.recv_bytes(), type=Reply)
            return reply, self._connection.recv_bytes()
        except (EOFError, OSError):
            raise self._ending() from None
        finally:
            watch.cancel()

    def end(self) -> None:
        """Have it end now; whoever asked it is told."""
        self._process.kill()

    def kill(self) -> None:
        """End it now; it has let go of the store afterwards. Twice is fine."""
        self._process.kill()
        self._process.wait()
        self._connection.close()

    @property
    def lives(self) -> bool:
        """Whether it can be asked."""
        return self._process.poll() is None

    def _wait_until_ready(self) -> None:
        if self._is_ready:
            return
        with contextlib.suppress(EOFError, OSError):
            if self._connection.poll(START_S):
                self._is_ready = self._connection.recv_bytes() == b"ready"
        if not self._is_ready:
            raise ServerError("the process that answers questions does not start")

    def _ending(self) -> RunLogError:
        """What it means that the process ended: it was killed for the time, or took more memory than there is."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        code = self._process.returncode
        if code is None or -code in (signal.SIGKILL, signal.SIGXCPU):
            return TimeLimitError(f"the question takes longer than the {self._limits.time_s:g} s it may")
        memory = f"{self._limits.memory_bytes >> 20:,} MiB of memory"
        return SizeLimitError(f"the question takes more than the {memory} it may: its process ended with {code}")
