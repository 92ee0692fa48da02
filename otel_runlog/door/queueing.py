"""Durability `queue`: on_end only puts the span into memory, a thread encodes and writes it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from queue import SimpleQueue
from typing import Any, Final, NamedTuple, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan

from otel_runlog.door.worker import Receipt, Worker

SPAN_BYTES: Final = 1_000
"""What a span without text weighs, about."""
VALUE_BYTES: Final = 50
"""What an attribute weighs beside its text, about."""


class Waiting(NamedTuple):
    """A span that waits to be written."""

    span: ReadableSpan
    received_ns: int
    weight_bytes: int


_Message: TypeAlias = Waiting | Receipt


class SpanQueue:
    """A queue bounded in bytes, emptied by a thread.

    Args:
        write: called in the thread with every span and when it came; it never raises.
        most_bytes: what does not fit is refused.
    """

    _waiting_bytes: int
    _lock: threading.RLock

    def __init__(self, write: Callable[[ReadableSpan, int], object], most_bytes: int) -> None:
        self._write = write
        self._most_bytes = most_bytes
        self._worker: Worker[_Message] = Worker("otel-runlog-writer", self._body)
        self.after_fork()

    def put(self, span: ReadableSpan, received_ns: int) -> bool:
        """Queue a span; False where it does not fit."""
        weight = weigh(span)
        with self._lock:
            if self._waiting_bytes + weight > self._most_bytes:
                return False
            self._waiting_bytes += weight
        waiting = Waiting(span, received_ns, weight)
        if not self._worker.send(waiting):
            self._take(waiting)  # better late on this thread than never
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
        self._waiting_bytes = 0
        self._lock = threading.RLock()

    def _body(self, inbox: SimpleQueue[_Message | None]) -> None:
        while (message := inbox.get()) is not None:
            if isinstance(message, Receipt):
                message.answer(good=True)
                continue
            self._take(message)

    def _take(self, waiting: Waiting) -> None:
        self._write(waiting.span, waiting.received_ns)
        with self._lock:
            self._waiting_bytes -= waiting.weight_bytes


def weigh(span: ReadableSpan) -> int:
    """About how many bytes a span keeps in memory: its text counts in full."""
    weight = _weigh_attributes(span.attributes)
    for event in span.events:
        weight += _weigh_attributes(event.attributes)
    return weight


def _weigh_attributes(attributes: Mapping[str, Any] | None) -> int:
    copy = getattr(attributes, "copy", None)  # the SDK's own mapping takes a lock for each value
    return SPAN_BYTES + _weigh_values((copy() if copy else attributes or {}).values())


def _weigh_values(values: Collection[Any]) -> int:
    weight = VALUE_BYTES * len(values)
    for value in values:
        kind = type(value)
        if kind is str or kind is bytes:
            weight += len(value)
        elif kind is tuple or kind is list:
            weight += _weigh_values(value)
    return weight
