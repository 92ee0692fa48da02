"""What a living server says of itself at /readyz, for `doctor` and for whoever watches it."""

from __future__ import annotations

import msgspec


class DestinationStatus(msgspec.Struct, frozen=True):
    """How it stands with a destination: what it has yet to get, and what it will never get, by reason.

    `error` is why nothing can be sent there now.
    """

    name: str
    pending_bytes: int
    forwarded: int
    dropped: dict[str, int]
    error: str | None


class ServerStatus(msgspec.Struct, frozen=True):
    """A server at one moment.

    Attributes:
        ready: whether it is as it should be.
        reasons: why it is not.
        version: of otel-runlog.
        load_lag_s: how long the oldest request that is not loaded has waited.
        journal_bytes: how large the journal is, loaded or not.
        disk_free_bytes: what may still be written where it lies.
        memory_in_flight_bytes: requests that are being taken in.
        totals: its counters since it started, see otel_runlog.server.counters.
        rejected: spans that cannot be kept, by reason.
        dropped: spans that were received and are lost, by reason.
        destinations: where spans go on to.
    """

    ready: bool
    reasons: list[str]
    version: str
    load_lag_s: float
    journal_bytes: int
    disk_free_bytes: int
    memory_in_flight_bytes: int
    totals: dict[str, int]
    rejected: dict[str, int]
    dropped: dict[str, int]
    destinations: list[DestinationStatus]
