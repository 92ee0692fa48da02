"""The thread that loads the journal into the store: in short turns, only when something is pending.

DuckDB is imported and its handles live in this thread alone. A fork waits at most 50 ms for a turn in progress; the
child has no such thread and never touches what the parent's has open.
"""

from __future__ import annotations

import enum
import threading
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, Literal, Protocol, TypeAlias

from otel_runlog.containment import contain, warn
from otel_runlog.door.worker import NATIVE_S, Receipt, Worker
from otel_runlog.model import RunLog

FORK_WAIT_S: Final = 0.05
QUICK_TURN_S: Final = 0.1
"""A root that ended is loaded this soon, and turns are at least this far apart."""
REST_FACTOR: Final = 3.0
"""In an agent's process loading takes a quarter of a core at most: t seconds of it are followed by this times t."""
LONGEST_RETRY_S: Final = 30.0
LONGEST_TURN_S: Final = 1.0
"""A turn ends after the commit that reaches this time, so that others can have the store and a process can end."""
FLUSH_PATIENCE_S: Final = 0.5
"""So long a flush waits for another process's turn to end, before it is content with the journal."""


class Loaded(Protocol):
    """What a turn says: see otel_runlog.loader.LoadReport. Where it has `more`, something may be left to load."""

    @property
    def finished(self) -> list[RunLog]:
        """The runs that finished in this turn."""
        ...

    @property
    def held_by(self) -> str | None:
        """The process that holds the store; nothing was loaded then."""
        ...


class Loads(Protocol):
    """What this thread needs of otel_runlog.loader.Loader.

    Where it has an `interrupt()`, that is called from another thread and makes the turn that goes on end soon.
    """

    def turn(self, timeout_s: float = 0.0, *, limit_s: float | None = None) -> Loaded:
        """Load what is pending in one open-write-close turn, waiting for the store and loading only so long."""
        ...


class _Note(enum.Enum):
    PENDING = enum.auto()
    URGENT = enum.auto()
    STOP = enum.auto()


_Message: TypeAlias = _Note | Receipt


class Loading:
    """Wakes for pending records every `every_s`, sooner when a root ended, at once for a flush.

    Args:
        make_loader: called in the thread.
        on_finished: called in the thread with the runs of every turn.
        every_s: the longest that a record waits, while the store can be had.
        rest_factor: after a turn of t seconds the thread rests for this times t; 0 where loading is what the process
            is for.
    """

    _turn_lock: threading.Lock
    _lock_taken_by: int
    _pending: bool
    _urgent: bool
    _unloaded: bool
    _retry_s: float
    _told: str | None
    _loader: Loads | None
    _hurried: bool

    def __init__(
        self,
        make_loader: Callable[[], Loads],
        on_finished: Callable[[list[RunLog]], None],
        every_s: float,
        *,
        rest_factor: float = REST_FACTOR,
    ) -> None:
        self._make_loader = make_loader
        self._on_finished = on_finished
        self._every_s = every_s
        self._rest_factor = rest_factor
        self._barred = False  # from the store, for good
        self._worker: Worker[_Message] = Worker("otel-runlog-loader", self._body)
        self._reset()

    def notify(self, *, urgent: bool) -> None:
        """A record was journalled; `urgent`: a root ended, so a run may be over."""
        if self._barred or (self._urgent if urgent else self._pending):
            return
        self._pending, self._urgent = True, self._urgent or urgent
        if not self._worker.send(_Note.URGENT if urgent else _Note.PENDING):
            self._unloaded = True  # for a flush to know
            self._pending = self._urgent = False  # for the next record to try again

    def flush(self, timeout_s: float) -> bool:
        """Load what is pending now. True: it is in the store, or another process holds the store and will load it."""
        if self._barred or not (self._pending or self._unloaded):
            return True
        if self._worker.is_this_thread():
            return False
        receipt = Receipt(timeout_s)
        return self._worker.send(receipt) and receipt.wait()

    def stop(self, timeout_s: float, *, native_s: float = NATIVE_S) -> bool:
        """End the thread; a later record starts another. False where it is still busy after `timeout_s`.

        A turn that goes on is interrupted before that, so that a commit does not hold up the end of a process. One that
        does not end at once is waited for `native_s` longer: see Worker.stop.
        """
        return self._worker.stop(timeout_s, self._interrupt, native_s=native_s)

    def before_fork(self) -> None:
        """Wait a moment for a turn in progress."""
        if self._turn_lock.acquire(timeout=FORK_WAIT_S):
            self._lock_taken_by = threading.get_ident()

    def after_fork_in_parent(self) -> None:
        """Let the next turn go on."""
        if self._lock_taken_by == threading.get_ident():
            self._lock_taken_by = 0
            self._turn_lock.release()

    def after_fork_in_child(self) -> None:
        """Begin anew: what is pending is the parent's.

        Where a turn was in progress, DuckDB's handle on the store came along, and opening the store here would find
        it: what this process and its children journal is then for others to load.
        """
        self._barred = self._barred or self._lock_taken_by != threading.get_ident()
        self._worker.after_fork()
        self._reset()

    def _interrupt(self) -> bool:
        """Whether there was a turn's loader to interrupt, so that the thread ends soon."""
        interrupt = getattr(self._loader, "interrupt", None)
        if interrupt is None:
            return False
        self._hurried = True
        self._tell("the time for loading is up: the rest stays in the journal")
        contain(interrupt, None)
        return True

    def _reset(self) -> None:
        self._loader = None
        self._hurried = False
        self._turn_lock = threading.Lock()
        self._lock_taken_by = 0
        self._pending = False  # set by whoever journals, cleared before a turn
        self._urgent = False
        self._unloaded = False  # a turn is running, or the last one could not load
        self._retry_s = self._every_s
        self._told = None

    def _body(self, inbox: SimpleQueue[_Message | None]) -> None:
        self._loader = None
        not_before = 0.0
        while True:
            receipt = self._wait(inbox, not_before)
            if receipt is _Note.STOP:
                return
            started = time.monotonic()
            self._unloaded = True  # before the others: a flush must never see all three False in between
            self._pending = self._urgent = False
            try:
                good, rest_s = self._turn(receipt)
            except BaseException as error:  # noqa: BLE001 - the spans are safe in the journal; the next turn tries again
                self._loader, good, rest_s = None, False, self._longer_rest()
                self._tell_of(error)
            ended = time.monotonic()
            not_before = ended + max(rest_s, QUICK_TURN_S, self._rest_factor * (ended - started))
            if receipt is not None:
                receipt.answer(good=good)

    def _wait(self, inbox: SimpleQueue[_Message | None], not_before: float) -> Receipt | Literal[_Note.STOP] | None:
        """Sleep until a turn is due; the receipt to answer after it if a flush asks for it."""
        deadline: float | None = not_before if self._unloaded else None
        while True:
            try:
                message = inbox.get(timeout=None if deadline is None else max(deadline - time.monotonic(), 0.0))
            except Empty:
                return None
            if message is None:
                return _Note.STOP
            if isinstance(message, Receipt):
                if message.left_s > 0:
                    return message
                self._unloaded = True  # nobody waits any more: no turn for it, but the next one when it is due
                deadline = not_before if deadline is None else min(deadline, not_before)
                continue
            due_in_s = QUICK_TURN_S if message is _Note.URGENT else self._every_s
            due = max(time.monotonic() + due_in_s, not_before)
            deadline = due if deadline is None else min(deadline, due)

    def _turn(self, receipt: Receipt | None) -> tuple[bool, float]:
        """One turn; whether a flush may be content with it, and how long to rest after it."""
        loader = self._loader = self._loader or self._make_loader()
        limit_s = LONGEST_TURN_S if receipt is None else receipt.left_s
        started = time.monotonic()
        with self._turn_lock:
            report = loader.turn(0.0 if receipt is None else min(FLUSH_PATIENCE_S, limit_s / 2), limit_s=limit_s)
        took_s = time.monotonic() - started
        if report.finished:
            self._on_finished(report.finished)
        if report.held_by is not None:
            self._tell(f"{report.held_by}; until then the journal keeps the spans")
            return True, self._longer_rest()
        self._retry_s, self._told = self._every_s, None
        self._unloaded = getattr(report, "more", took_s >= limit_s)  # the limit may have left something
        return not self._unloaded, 0.0

    def _longer_rest(self) -> float:
        rest_s, self._retry_s = self._retry_s, min(self._retry_s * 2, LONGEST_RETRY_S)
        return rest_s

    def _tell_of(self, error: BaseException) -> None:
        if not self._hurried:  # else it was asked for
            self._tell(f"cannot load the journal into the store, it stays on disk: {error!r}")

    def _tell(self, message: str) -> None:
        if message != self._told:
            self._told = message
            warn(message)
