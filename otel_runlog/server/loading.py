"""The server's loader: turns that take their place among readers of the store, and tell what they did."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from otel_runlog.errors import StoreError
from otel_runlog.loader import Loader, LoadReport
from otel_runlog.server.counters import Counters
from otel_runlog.server.turns import StoreTurns
from otel_runlog.store.batch import BookEntry
from otel_runlog.store.connection import open_for_write

SPAN_COUNTERS: Final = ("stored", "duplicate", "conflict", "superseded")
REASON_COUNTERS: Final = ("rejected", "dropped")
START_PATIENCE_S: Final = 1.0

logger = logging.getLogger("otel_runlog")


class Lag:
    """How long the oldest request that is not loaded has waited. One thread takes turns, any may say `journalled`."""

    def __init__(self, clock_s: Callable[[], float] = time.monotonic) -> None:
        self._clock_s = clock_s
        self._since: float | None = None
        self._before_turn: float | None = None

    def journalled(self) -> None:
        """A request came."""
        if self._since is None:
            self._since = self._clock_s()

    def turn_begins(self) -> None:
        """What came until now may be loaded by it."""
        if self._before_turn is None:
            self._before_turn, self._since = self._since, None

    def turn_ends(self, *, loaded: bool) -> None:
        """Whether all that was there at its beginning is loaded."""
        if loaded:
            self._before_turn = None

    def seconds(self) -> float:
        """0 where everything is loaded."""
        oldest = self._since if self._before_turn is None else self._before_turn
        return 0.0 if oldest is None else self._clock_s() - oldest


def make_store(db: Path) -> None:
    """Have a store of this version to ask questions of before anything has come; a warning where that cannot be.

    Whatever is wrong with it, what is received stands in the journal until the store can be had.
    """
    try:
        open_for_write(db, START_PATIENCE_S).close()
    except StoreError as error:
        logger.warning("%s; what is received stays in the journal until then", error)


class TurnTaker:
    """A loader for door.loading.Loading whose turns wait for the readers of the store, and keep them waiting.

    Args:
        loader: does the work.
        turns: who has the store's file.
        count: called with every entry of the books.
        lag: told of every turn.
    """

    def __init__(self, loader: Loader, turns: StoreTurns, count: Callable[[BookEntry], None], lag: Lag) -> None:
        self._loader, self._turns, self._count, self._lag = loader, turns, count, lag

    def turn(self, timeout_s: float = 0.0, *, limit_s: float | None = None) -> LoadReport:
        """As Loader.turn."""
        with self._turns.writing():
            self._lag.turn_begins()
            report = self._loader.turn(timeout_s, limit_s=limit_s)
        self._lag.turn_ends(loaded=report.held_by is None and not report.more)
        for entry in report.books:
            self._count(entry)
        return report

    def interrupt(self) -> None:
        """As Loader.interrupt."""
        self._loader.interrupt()


def count_books(counters: Counters, entry: BookEntry) -> None:
    """Add an entry of the books to what the server counts."""
    for name in SPAN_COUNTERS:
        counters.add(name, getattr(entry, name))
    for name in REASON_COUNTERS:
        for reason, spans in getattr(entry, name).items():
            counters.add(name, spans, reason)
