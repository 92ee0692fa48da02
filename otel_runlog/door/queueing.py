"""Durability `queue`: on_end only puts the span into memory, a thread encodes and writes it."""

from __future__ import annotations

import enum
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

from otel_runlog.containment import describe, is_applications, warn
from otel_runlog.door.worker import Receipt, Worker
from otel_runlog.otlp.wire import Signal
from otel_runlog.span_weight import weigh

POLL_S: Final = 0.0005
PAUSE_S: Final = 0.05
"""The thread lets spans gather so long: woken by each of them it would take turns with whoever makes them."""
STALLED_S: Final = 1.0
"""A disk that writes nothing for so long stands still: what does not fit is lost then, without further waiting."""


Waiting: TypeAlias = tuple[Signal, ReadableSpan, int, int]
"""What a span is written as, as ended or (`Signal.STARTS`) as started; the span; when it came; its weight in bytes.

A bare tuple: every span pays for it.
"""


class _Note(enum.Enum):
    WAITING = enum.auto()


_WAITING: Final = _Note.WAITING
_Message: TypeAlias = _Note | Receipt


class SpanQueue:
    """A queue bounded in bytes, emptied by a thread. One span may always wait, however large.

    Who brings what does not fit waits until it does, as long as the thread makes headway, and never writes itself: on
    a disk that stands still it would hang. Where no thread can be started, it does write.

    Args:
        write: called with every span, what it is written as, and when it came; True where the span was kept.
        most_bytes: what may wait.
    """

    _waiting: deque[Waiting]
    _waiting_bytes: int
    _is_told: bool
    _moved_at: float
    _lock: threading.RLock

    def __init__(self, write: Callable[[Signal, ReadableSpan, int], bool], most_bytes: int) -> None:
        self._write = write
        self._most_bytes = most_bytes
        self._worker: Worker[_Message] = Worker("otel-runlog-writer", self._body)
        self.after_fork()

    def put(self, signal: Signal, span: ReadableSpan, received_ns: int) -> bool:
        """Queue a span; False where it does not fit and nothing was written for STALLED_S."""
        weight_bytes = weigh(span)
        if not self._admits(weight_bytes) and not self._gets_room(weight_bytes):
            return False
        self._waiting.append((signal, span, received_ns, weight_bytes))
        if not self._is_told:
            self._is_told = True
            if not self._worker.send(_WAITING):
                self._empty()  # better late on this thread than never
        return True

    def _admits(self, weight_bytes: int, *, anything: bool = False) -> bool:
        with self._lock:
            if self._waiting_bytes == 0:
                self._moved_at = time.monotonic()
            elif self._waiting_bytes + weight_bytes > self._most_bytes and not anything:
                return False
            self._waiting_bytes += weight_bytes
        return True

    def _gets_room(self, weight_bytes: int) -> bool:
        """Wait for room. The queue's own thread gets it at once: it would wait for itself."""
        own = self._worker.is_this_thread()
        while not self._admits(weight_bytes, anything=own):
            if time.monotonic() - self._moved_at > STALLED_S:
                return False
            time.sleep(POLL_S)
        return True

    def flush(self, timeout_s: float) -> bool:
        """Whether all that was put before is written within `timeout_s`."""
        if self._waiting_bytes == 0:
            return True
        receipt = Receipt(timeout_s)
        return self._worker.send(receipt) and receipt.wait()

    def stop(self, timeout_s: float) -> bool:
        """Write what waits and end the thread; False where that takes longer than `timeout_s`."""
        return self._worker.stop(timeout_s)

    def after_fork(self) -> None:
        """In the child: what waits is the parent's to write."""
        self._worker.after_fork()
        self._waiting = deque()
        self._waiting_bytes = 0
        self._is_told = False
        self._lock = threading.RLock()
        self._moved_at = 0.0

    def _body(self, inbox: SimpleQueue[_Message | None]) -> None:
        message: _Message | None = _WAITING
        while message is not None:
            message = inbox.get()
            if message is _WAITING:
                message = _next(inbox, PAUSE_S)
            self._empty()
            if isinstance(message, Receipt):
                message.answer(good=True)

    def _empty(self) -> None:
        """Write all that waits; `put` tells of what comes later."""
        self._is_told = False
        while self._waiting:
            try:
                waiting = self._waiting.popleft()
            except IndexError:  # another thread was faster: one that was to stop and could not
                return
            self._take(*waiting)

    def _take(self, signal: Signal, span: ReadableSpan, received_ns: int, weight_bytes: int) -> None:
        try:
            self._write(signal, span, received_ns)
        except BaseException as error:
            if is_applications(error):
                raise
            warn("a span could not be written: %s", describe(error))  # a bug of ours must not cost the next ones
        finally:
            with self._lock:
                self._waiting_bytes -= weight_bytes
                self._moved_at = time.monotonic()


def _next(inbox: SimpleQueue[_Message | None], timeout_s: float) -> _Message | None:
    """The next message; `WAITING` again where none comes in time."""
    try:
        return inbox.get(timeout=timeout_s)
    except Empty:
        return _WAITING
