"""What a CaptureSink took in and nobody has asked for yet: bounded in bytes, its losses counted."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Mapping
from typing import Final, NamedTuple

from opentelemetry.sdk.trace import ReadableSpan

from otel_runlog.captures._told import SpanKey, ToldLlm, ToldTool
from otel_runlog.containment import describe, warn
from otel_runlog.model import Span

MOST_TRACES: Final = 1_000
"""Losses of more traces than this are only counted by reason."""
FULL, UNREADABLE, INTERNAL_ERROR = "full", "unreadable", "internal_error"


class Item(NamedTuple):
    """A span, or one that stands for a call told by hand."""

    span: ReadableSpan | Span
    weight_bytes: int
    told: ToldLlm | ToldTool | None = None

    @property
    def key(self) -> SpanKey | None:
        """Trace id and span id; None where the span has none."""
        if isinstance(self.span, Span):
            return self.span.trace_id, self.span.span_id
        context = self.span.get_span_context()
        return None if context is None else (f"{context.trace_id:032x}", f"{context.span_id:016x}")

    @property
    def trace_id(self) -> str | None:
        """The span's trace; None where it has none."""
        key = self.key
        return key[0] if key else None


class Taken(NamedTuple):
    """What waited, in the order it came; and how much of each trace was lost, by reason."""

    items: list[Item]
    lost: Mapping[str, Mapping[str, int]]


class Waiting:
    """Takes items in and gives them out. Any thread may call it; nobody waits for longer than a few instructions."""

    _items: deque[Item]
    _bytes: int
    _dropped: Counter[str]
    _lost: dict[str, Counter[str]]
    _lock: threading.RLock  # one that a signal handler's or finalizer's call on the same thread does not wait for

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.begin()

    def begin(self) -> None:
        """Forget all: in the child of a fork, where another thread may have held the lock."""
        self._lock = threading.RLock()
        self._items, self._bytes = deque(), 0
        self._dropped, self._lost = Counter(), {}

    @property
    def dropped(self) -> dict[str, int]:
        """What was not kept, by reason."""
        with self._lock:
            return dict(self._dropped)

    def keep(self, item: Item) -> None:
        """Take an item in, or count it as lost where it does not fit."""
        with self._lock:
            fits = self._bytes + item.weight_bytes <= self._max_bytes
            if fits:
                self._items.append(item)
                self._bytes += item.weight_bytes
        if not fits:
            self.drop(FULL, item.trace_id)

    def drop(self, reason: str, trace_id: str | None, error: BaseException | None = None) -> None:
        """Count an item as lost; the first for each reason is logged."""
        with self._lock:
            first = reason not in self._dropped
            self._dropped[reason] += 1
            if trace_id is not None and (trace_id in self._lost or len(self._lost) < MOST_TRACES):
                self._lost.setdefault(trace_id, Counter())[reason] += 1
        if first:
            cause = describe(error) if error else f"{self._max_bytes} bytes wait to be drained"
            warn("captures will lack calls (%s): %s", reason, cause)

    def count_value(self, reason: str) -> None:
        """Count a value that was left out of an item."""
        with self._lock:
            self._dropped[reason] += 1

    def look(self) -> Taken:
        """What waits; it goes on waiting."""
        with self._lock:
            return Taken(list(self._items), {trace: dict(lost) for trace, lost in self._lost.items()})

    def take(self) -> Taken:
        """What waits, taken out."""
        with self._lock:
            taken = self.look()
            self._items, self._bytes, self._lost = deque(), 0, {}
            return taken

    def give_back(self, taken: Taken) -> None:
        """Have items wait again, before those that came since."""
        with self._lock:
            self._items.extendleft(reversed(taken.items))
            self._bytes += sum(item.weight_bytes for item in taken.items)
            for trace_id, lost in taken.lost.items():
                self._lost.setdefault(trace_id, Counter()).update(lost)
