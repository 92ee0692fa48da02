"""Who has the store's file next, within the server: one that writes, or any number that read.

DuckDB's file has one writer or several readers, by process. The loader of this process and the children that answer
questions therefore take turns; in the order in which they asked, so that neither side waits for ever. Other processes
are kept apart by DuckDB's own lock, between turns they can have the file.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Final

from otel_runlog.errors import StoreLockedError

LONGEST_WAIT_S: Final = 60.0
"""Longer than any question may take."""


class _Ticket:
    __slots__ = ("writes",)

    def __init__(self, *, writes: bool) -> None:
        self.writes = writes


class StoreTurns:
    """A gate for the threads of one process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: deque[_Ticket] = deque()
        self._readers = 0
        self._is_written = False
        self._reading_is_over = False

    @contextlib.contextmanager
    def writing(self, timeout_s: float = LONGEST_WAIT_S) -> Iterator[None]:
        """Have the store alone.

        Raises:
            StoreLockedError: others of this process had it for longer than `timeout_s`.
        """
        with self._turn(_Ticket(writes=True), timeout_s):
            yield

    @contextlib.contextmanager
    def reading(self, timeout_s: float = LONGEST_WAIT_S) -> Iterator[None]:
        """Have the store beside others that read. Errors as in `writing`; also after `end_reading`."""
        with self._turn(_Ticket(writes=False), timeout_s):
            yield

    def end_reading(self) -> None:
        """Nobody waits to read any longer, or begins to: the server ends."""
        with self._changed:
            self._reading_is_over = True
            self._changed.notify_all()

    @contextlib.contextmanager
    def _turn(self, ticket: _Ticket, timeout_s: float) -> Iterator[None]:
        self._begin(ticket, timeout_s)
        try:
            yield
        finally:
            self._end(ticket)

    def _begin(self, ticket: _Ticket, timeout_s: float) -> None:
        deadline = time.monotonic() + timeout_s
        with self._changed:
            self._waiting.append(ticket)
            try:
                left_s = max(deadline - time.monotonic(), 0.0)
                has_turn = self._changed.wait_for(lambda: self._is_next(ticket) or self._is_over(ticket), left_s)
                if self._is_over(ticket):
                    raise StoreLockedError("the server ends: ask again when it is back")
                if not has_turn:
                    raise StoreLockedError(f"the store had no turn left within {timeout_s:g} s: ask again")
                self._count(ticket, +1)
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()  # readers that stand behind may come in beside this one

    def _end(self, ticket: _Ticket) -> None:
        with self._changed:
            self._count(ticket, -1)
            self._changed.notify_all()

    def _is_next(self, ticket: _Ticket) -> bool:
        is_first = self._waiting[0] is ticket
        return is_first and not self._is_written and not (ticket.writes and self._readers)

    def _is_over(self, ticket: _Ticket) -> bool:
        return self._reading_is_over and not ticket.writes

    def _count(self, ticket: _Ticket, change: int) -> None:
        if ticket.writes:
            self._is_written = change > 0
        else:
            self._readers += change
