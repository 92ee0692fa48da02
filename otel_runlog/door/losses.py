"""Spans that could not be kept: counted by reason, logged when loss starts and when it ends."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from typing import Final

LOGGER: Final = logging.getLogger("otel_runlog")


class Losses:
    """The count of what was lost. `losing` is True from the first loss until something was written again."""

    losing: bool
    _by_reason: Counter[str]
    _values: Counter[str]
    _told: int
    _flushed: int
    _lock: threading.RLock

    def __init__(self) -> None:
        self.after_fork()

    def count_value(self, reason: str) -> None:
        """Count a value that was left out of a span, the span itself being kept; the first is logged."""
        with self._lock:
            self._values[reason] += 1
            first = self._values[reason] == 1
        if first:
            LOGGER.warning("values are being left out of spans (%s)", reason)

    @property
    def values_by_reason(self) -> dict[str, int]:
        """Values left out of spans that were kept, by reason."""
        return dict(self._values)

    @property
    def by_reason(self) -> dict[str, int]:
        """Spans lost since the door was opened, by reason."""
        return dict(self._by_reason)

    def count(self, reason: str, spans: int = 1, error: BaseException | None = None) -> None:
        """Count `spans` as lost; the first of a row is logged with its cause. 0 spans: none yet, but the next will."""
        with self._lock:
            if spans:
                self._by_reason[reason] += spans
            starts, self.losing = not self.losing, True
        if starts:
            LOGGER.warning("spans are being lost (%s): %s", reason, error or "no further cause is known")

    def over(self) -> None:
        """Something was written again: say how many were lost in between."""
        with self._lock:
            if not self.losing:
                return
            lost, self._told, self.losing = self._total() - self._told, self._total(), False
        if lost:
            LOGGER.warning("writing again after %d lost spans; all in all: %s", lost, self.by_reason)

    def any_since_asked(self) -> bool:
        """Whether a span was lost since this was asked last."""
        with self._lock:
            lost, self._flushed = self._total() > self._flushed, self._total()
        return lost

    def after_fork(self) -> None:
        """The child counts its own losses; the lock may have been held by a thread it does not have."""
        self.losing = False
        self._by_reason = Counter()
        self._values = Counter()
        self._told = 0
        self._flushed = 0
        self._lock = threading.RLock()

    def _total(self) -> int:
        return self._by_reason.total()
