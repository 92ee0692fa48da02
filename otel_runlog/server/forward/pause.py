"""How a forwarding thread waits: until something is journalled, until a backend may be asked again, or for its end."""

from __future__ import annotations

import enum
import random
import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Final

FIRST_RETRY_S: Final = 0.5
LONGEST_RETRY_S: Final = 60.0
_MOST_DOUBLINGS: Final = 30


class Note(enum.Enum):
    """What is put in a thread's inbox, beside None for its end."""

    NEWS = enum.auto()


class Pause:
    """Waits on the inbox of a worker. `stopping`: the end was asked for, so nothing is waited for any more."""

    def __init__(self, inbox: SimpleQueue[Note | None]) -> None:
        self._inbox = inbox
        self.stopping = False

    def until_news(self, timeout_s: float) -> None:
        """Wait for a note, the end, or so long."""
        self._wait(timeout_s, for_news=True)

    def for_s(self, seconds: float) -> None:
        """Wait so long, or for the end."""
        self._wait(seconds, for_news=False)

    def _wait(self, seconds: float, *, for_news: bool) -> None:
        deadline = time.monotonic() + seconds
        while not self.stopping:
            try:
                message = self._inbox.get(timeout=max(deadline - time.monotonic(), 0.0))
            except Empty:
                return
            self.stopping = message is None
            if for_news:
                return


class Backoff:
    """How long to wait before a request is sent again: twice as long each time, and never the same for two senders.

    A backend's own hint is the least; retries go on for as long as the journal keeps the records.
    """

    def __init__(self, chance: Callable[[], float] = random.random) -> None:
        self._chance = chance
        self._tries = 0

    def next_s(self, hint_s: float | None = None) -> float:
        """Seconds until the next try."""
        grown_s = min(FIRST_RETRY_S * 2.0**self._tries, LONGEST_RETRY_S)
        self._tries = min(self._tries + 1, _MOST_DOUBLINGS)
        jittered_s = grown_s * (0.5 + self._chance() / 2)
        return jittered_s if hint_s is None else max(hint_s * (1.0 + self._chance() / 10), jittered_s)

    def reset(self) -> None:
        """A request was answered."""
        self._tries = 0
