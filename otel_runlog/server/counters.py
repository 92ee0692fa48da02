"""What the server counts: OTel instruments, and the same numbers for /healthz and tests.

Attributes of every counter are named here; a name that is not is a mistake of the caller's and raises KeyError.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from opentelemetry import metrics
from opentelemetry.metrics import CallbackOptions, Observation


class Instrument(NamedTuple):
    """A counter or gauge: its unit, what it counts, and the names of its attributes."""

    unit: str
    description: str
    labels: tuple[str, ...] = ()


COUNTERS: Final = {
    "received": Instrument("{item}", "Spans and log records of requests that were journalled", ("signal", "door")),
    "requests": Instrument("{request}", "Requests by what became of them", ("signal", "door", "outcome")),
    "bytes": Instrument("By", "Bytes of requests that were journalled, decompressed", ("signal", "door")),
    "stored": Instrument("{span}", "Spans loaded for the first time"),
    "duplicate": Instrument("{span}", "Spans that were there before, equal"),
    "conflict": Instrument("{span}", "Spans that were there before, different"),
    "superseded": Instrument("{span}", "Start records whose spans have ended"),
    "rejected": Instrument("{span}", "Spans that cannot be kept", ("reason",)),
    "dropped": Instrument("{span}", "Spans that were received and are lost", ("reason",)),
    "forwarded": Instrument("{item}", "Spans and log records that a destination took", ("destination",)),
    "forward_dropped": Instrument("{item}", "What a destination will never get", ("destination", "reason")),
    "forward_retries": Instrument("{request}", "Requests that a destination could not take yet", ("destination",)),
    "questions": Instrument("{request}", "Questions over HTTP by what became of them", ("outcome",)),
    "redacted": Instrument("{value}", "Values that were left out before journalling", ("reason",)),
}
GAUGES: Final = {
    "journal_bytes": Instrument("By", "What stands in the journal, loaded or not"),
    "load_lag": Instrument("s", "Age of the oldest request that is not loaded"),
    "memory_in_flight": Instrument("By", "Requests that are being taken in"),
    "forward_lag": Instrument("By", "What a destination has yet to get", ("destination",)),
}
PREFIX: Final = "runlog.server."

Gauge = Callable[[], Iterable[tuple[float, tuple[str, ...]]]]
"""Gives a gauge's values with the values of its labels."""


class Counters:
    """Counts by name and labels; any thread may add.

    Args:
        provider: where the instruments are made; None is the global one.
    """

    def __init__(self, provider: metrics.MeterProvider | None = None) -> None:
        self._meter = metrics.get_meter("otel_runlog.server", meter_provider=provider)
        self._instruments = {
            name: self._meter.create_counter(PREFIX + name, what.unit, what.description)
            for name, what in COUNTERS.items()
        }
        self._lock = threading.Lock()
        self._totals: Counter[tuple[str, ...]] = Counter()

    def add(self, name: str, amount: int, *labels: str) -> None:
        """Count `amount` more under the labels that COUNTERS names."""
        if not amount:
            return
        attributes = dict(zip(COUNTERS[name].labels, labels, strict=True))
        with self._lock:
            self._totals[name, *labels] += amount
        self._instruments[name].add(amount, attributes)

    def total(self, name: str, *labels: str) -> int:
        """What was counted under the name, all labels that begin with these together."""
        start = (name, *labels)
        with self._lock:
            return sum(amount for key, amount in self._totals.items() if key[: len(start)] == start)

    def by_reason(self, name: str) -> dict[str, int]:
        """What was counted under the name, by its last label."""
        found: Counter[str] = Counter()
        with self._lock:
            for key, amount in self._totals.items():
                if key[0] == name:
                    found[key[-1]] += amount
        return dict(found)

    def watch(self, name: str, values: Gauge) -> None:
        """Have a gauge of GAUGES read whenever somebody asks for the metrics."""
        what = GAUGES[name]

        def observe(_options: CallbackOptions) -> list[Observation]:
            return [Observation(value, dict(zip(what.labels, labels, strict=True))) for value, labels in values()]

        self._meter.create_observable_gauge(PREFIX + name, [observe], what.unit, what.description)
