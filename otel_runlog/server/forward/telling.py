"""What a destination's state is called in the log: outages and losses once when they begin and once when they end."""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from typing import Final, Protocol

import msgspec

QUIET_S: Final = 10.0
"""A loss is over when nothing was lost for so long, and an outage is told this often at most: some come and go."""

logger = logging.getLogger("otel_runlog")


class Count(Protocol):
    """Counts what became of spans: `otel_runlog.server.counters.Counters.add`."""

    def __call__(self, name: str, amount: int, *labels: str) -> None:
        """Count `amount` more."""
        ...


class Reached(msgspec.Struct, frozen=True):
    """How it stands with a destination.

    Attributes:
        name: what it is called.
        error: why nothing can be sent now; None where the last request was answered.
        forwarded: spans and records that it took.
        dropped: those it will never get, by reason.
    """

    name: str
    error: str | None
    forwarded: int
    dropped: dict[str, int]


class Telling:
    """Counts and logs for one destination; one thread tells, any may ask `reached`."""

    def __init__(self, name: str, count: Count) -> None:
        self._name = name
        self._count = count
        self._lock = threading.Lock()
        self._error: str | None = None
        self._forwarded = 0
        self._dropped: Counter[str] = Counter()
        self._loss: Counter[str] = Counter()
        self._lost_at = 0.0
        self._is_outage_told = False
        self._outage_told_at = -QUIET_S
        self._told: str | None = None

    def reached(self) -> Reached:
        """How it stands now."""
        with self._lock:
            return Reached(self._name, self._error, self._forwarded, dict(self._dropped))

    def later(self, why: str) -> None:
        """A request could not be taken yet."""
        self._count("forward_retries", 1, self._name)
        if not self._is_outage_told and time.monotonic() >= self._outage_told_at + QUIET_S:
            self._is_outage_told, self._outage_told_at = True, time.monotonic()
            logger.warning("destination %s takes nothing; the journal keeps all for it: %s", self._name, why)
        with self._lock:
            self._error = why

    def taken(self, items: int) -> None:
        """So many of a request were taken."""
        self._count("forwarded", items, self._name)
        with self._lock:
            self._error = None
            self._forwarded += items
        if self._is_outage_told:
            self._is_outage_told = False
            logger.warning("destination %s takes requests again", self._name)
        if self._loss and time.monotonic() >= self._lost_at + QUIET_S:
            self.end()

    def dropped(self, reason: str, items: int, why: str) -> None:
        """So many will never get there."""
        if not items:
            return
        self._count("forward_dropped", items, self._name, reason)
        with self._lock:
            self._error = None
            self._dropped[reason] += items
        self._lost_at = time.monotonic()
        if not self._loss:
            logger.warning("destination %s loses spans or log records (%s): %s", self._name, reason, why)
        self._loss[reason] += items

    def end(self) -> None:
        """A loss is over, or nothing more is sent."""
        if self._loss:
            logger.warning("destination %s lacks %s", self._name, _in_words(self._loss))
            self._loss = Counter()

    def trouble(self, what: str) -> None:
        """Something of our own goes wrong; the same is said once."""
        if what != self._told:
            self._told = what
            logger.warning("forwarding to %s: %s", self._name, what)


def _in_words(lost: Counter[str]) -> str:
    return ", ".join(f"{number} ({reason})" for reason, number in sorted(lost.items()))
