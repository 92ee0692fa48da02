"""One request from the wire to the disk: looked through, redacted where asked for, journalled, answered.

Nothing of the store is touched here. A request is accepted once its record is on the disk; threads that wait share one
fdatasync. What the disk refuses is not accepted and may be sent again: the journal has begun a new segment by then
(after a failed fdatasync the kernel calls the lost pages clean, so that one is never tried again), and what did reach
the disk after all is a duplicate.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from otel_runlog.errors import JournalError, OtlpError
from otel_runlog.otlp.scan import OverLimitError, ScanLimits, Scanned, scan
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.answers import ACCEPTED, Answer, Outcome
from otel_runlog.server.counters import Counters
from otel_runlog.server.dividing import divided

LARGE_BODY_BYTES: Final = 4 << 20
"""Larger bodies are looked through one at a time: a million values in one take some 200 MB for a moment."""
WHY: Final[Mapping[str, str]] = {
    "bad_trace_id": "a trace id is 16 bytes (32 hex digits in JSON), not all zero",
    "bad_span_id": "a span id is 8 bytes (16 hex digits in JSON), not all zero",
    "too_deep": "a value has more levels of lists and maps than are kept",
    "too_many_items": "it has more attributes, values, events and links than are kept",
    "undecodable": "it is no span or log record",
}
"""What is wrong with a rejected item, by the reason under which it is counted."""

_WAY_OUT: Final = "send smaller batches, or raise --max-spans-per-request or --max-attributes-per-span"
_LOSES_DATA: Final = frozenset({Outcome.TOO_LARGE, Outcome.GONE})

logger = logging.getLogger("otel_runlog")


class Journal(Protocol):
    """What the intake needs of otel_runlog.journal.JournalWriter, made with fsync."""

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        """Return once the record is on the disk; raise JournalError where it is not."""
        ...


class Redacts(Protocol):
    """What the intake needs of otel_runlog.server.redacting.RequestRedaction."""

    def __call__(self, body: bytes, signal: Signal, encoding: Encoding) -> bytes:
        """The body without its secrets."""
        ...


class Intake:
    """Takes requests of both doors; any thread may call it.

    Args:
        journal: where records go.
        counters: told of every request.
        limits: what one request may hold.
        redact: what is done to a body before it is journalled; None leaves it as it is.
        on_journalled: called after a record is on the disk, to wake the loader and the forwarders.
        clock_ns: when a request came, nanoseconds since the epoch.
    """

    def __init__(
        self,
        journal: Journal,
        counters: Counters,
        *,
        limits: ScanLimits | None = None,
        redact: Redacts | None = None,
        on_journalled: Callable[[], object] = lambda: None,
        clock_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._journal = journal
        self._counters = counters
        self._limits = limits or ScanLimits()
        self._redact = redact
        self._on_journalled = on_journalled
        self._clock_ns = clock_ns
        self._large = threading.Lock()
        self._failing = False
        self._told: set[Outcome] = set()

    def take(self, signal: Signal, encoding: Encoding, body: bytes, door: str) -> Answer:
        """Take a request of TRACES or LOGS; returns when it is on the disk, or with why it is not.

        Args:
            signal: what it is to carry.
            encoding: how it is written.
            body: the request, decompressed.
            door: "grpc" or "http", for the counters.
        """
        answer = self._take(signal, encoding, body, door)
        self._count(signal, door, answer)
        return answer

    def refused(self, signal: Signal, door: str, answer: Answer) -> None:
        """Count a request that a door refused before it was taken."""
        self._count(signal, door, answer)

    def _count(self, signal: Signal, door: str, answer: Answer) -> None:
        self._counters.add("requests", 1, signal, door, answer.outcome)
        if answer.outcome in _LOSES_DATA and answer.outcome not in self._told:
            self._told.add(answer.outcome)
            logger.warning(
                "a request with %s over %s was refused as %s, which clients do not send again (told once, then counted "
                "in runlog.server.requests): %s",
                *(signal, door, answer.outcome, answer.message),
            )

    def _take(self, signal: Signal, encoding: Encoding, body: bytes, door: str) -> Answer:
        try:
            with self._large if len(body) > LARGE_BODY_BYTES else contextlib.nullcontext():
                scanned = scan(body, signal, encoding, self._limits)
                kept = body if self._redact is None else self._redact(body, signal, encoding)
                parts = divided(kept, signal, encoding, scanned.items)
        except OverLimitError as error:
            return Answer(Outcome.TOO_LARGE, f"{error}: it was refused whole; {_WAY_OUT}")
        except OtlpError as error:
            return Answer(Outcome.MALFORMED, str(error))
        if not scanned.items:
            return ACCEPTED
        try:
            received_ns = max(self._clock_ns(), 0)
            for part in parts:  # what is written of a request that fails is a duplicate when it is sent again
                self._journal.append(signal, encoding, received_ns, part)
        except JournalError as error:
            self._say_failing(error)
            return Answer(Outcome.UNAVAILABLE, "nothing can be written to the journal for now: send it again")
        self._say_well()
        self._counters.add("received", scanned.items, signal, door)
        self._counters.add("bytes", len(body), signal, door)
        self._on_journalled()
        return _accepted(scanned, signal)

    def _say_failing(self, error: JournalError) -> None:
        if not self._failing:
            self._failing = True
            logger.error("requests are answered UNAVAILABLE until the journal can be written again: %s", error)

    def _say_well(self) -> None:
        if self._failing:
            self._failing = False
            logger.warning("the journal can be written again")


def _accepted(scanned: Scanned, signal: Signal) -> Answer:
    rejected = sum(scanned.rejected.values())
    if not rejected:
        return ACCEPTED
    noun = "spans" if signal is Signal.TRACES else "log records"
    reasons = "; ".join(
        f"{number} {reason} ({WHY.get(reason, reason)})" for reason, number in sorted(scanned.rejected.items())
    )
    return Answer(Outcome.ACCEPTED, f"{rejected} of {scanned.items} {noun} rejected: {reasons}", rejected)
