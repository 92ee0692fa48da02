"""Spans that could not be kept: counted by reason and trace, logged when loss starts and when it ends."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Final

from otel_runlog.containment import LOGGER, describe, warn
from otel_runlog.door.loss_records import Loss

__all__ = ["LOGGER", "MOST_TRACES", "Losses"]

MOST_TRACES: Final = 1_000
"""Losses of more traces than this, while the journal cannot be written, are only counted by reason."""


class Losses:
    """The count of what was lost. `losing` is True from the first loss until something was written again."""

    losing: bool
    _by_reason: Counter[str]
    _values: Counter[str]
    _unreported: Counter[tuple[str, int | None]]
    _told: int
    _flushed: int
    _lock: threading.RLock

    def __init__(self) -> None:
        self.after_fork()

    def count_value(self, reason: str, values: int = 1) -> None:
        """Count values that were left out of a span, the span itself being kept; the first is logged."""
        with self._lock:
            first = reason not in self._values
            self._values[reason] += values
        if first:
            warn("values are being left out of spans (%s)", reason)

    @property
    def values_by_reason(self) -> dict[str, int]:
        """Values left out of spans that were kept, by reason."""
        return dict(self._values)

    @property
    def by_reason(self) -> dict[str, int]:
        """Spans lost since the door was opened, by reason."""
        return dict(self._by_reason)

    @property
    def has_unreported(self) -> bool:
        """Whether there are losses that `take_unreported` would give."""
        return bool(self._unreported)

    def count(
        self, reason: str, spans: int = 1, error: BaseException | None = None, trace_id: int | None = None
    ) -> None:
        """Count `spans` as lost; the first of a row is logged with its cause. 0 spans: none yet, but the next will."""
        with self._lock:
            if spans:
                self._by_reason[reason] += spans
                self._note(Loss(reason, trace_id, spans))
            starts, self.losing = not self.losing, True
        if starts:
            warn("spans are being lost (%s): %s", reason, describe(error) if error else "no further cause is known")

    def take_unreported(self) -> list[Loss]:
        """The losses that the journal does not tell of yet; whoever takes them writes them or gives them back."""
        with self._lock:
            taken, self._unreported = self._unreported, Counter()
        return [Loss(reason, trace_id, spans) for (reason, trace_id), spans in taken.items()]

    def give_back(self, losses: list[Loss]) -> None:
        """They could not be written."""
        with self._lock:
            for loss in losses:
                self._note(loss)

    def over(self) -> None:
        """Something was written again: say how many were lost in between."""
        with self._lock:
            if not self.losing:
                return
            lost, self._told, self.losing = self._total() - self._told, self._total(), False
        if lost:
            warn("writing again after %d lost spans; all in all: %s", lost, self.by_reason)

    def at_end(self) -> None:
        """The door closes: say how many were lost where that was not said."""
        with self._lock:
            lost, self._told = self._total() - self._told, self._total()
        if lost:
            warn("closing after %d lost spans; all in all: %s", lost, self.by_reason)

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
        self._unreported = Counter()
        self._told = 0
        self._flushed = 0
        self._lock = threading.RLock()

    def _note(self, loss: Loss) -> None:
        key = (loss.reason, loss.trace_id)
        if key not in self._unreported and len(self._unreported) >= MOST_TRACES:
            key = (loss.reason, None)
        self._unreported[key] += loss.spans

    def _total(self) -> int:
        return self._by_reason.total()
