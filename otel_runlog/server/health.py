"""Whether the server lives, whether it can take requests, and its figures: /healthz, /readyz, /metrics."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec
import prometheus_client
from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.sdk.metrics import MeterProvider

from otel_runlog.journal.folder import size_bytes
from otel_runlog.server.budget import Budget
from otel_runlog.server.counters import COUNTERS, Counters
from otel_runlog.server.forward import Forwarder, Reached
from otel_runlog.server.loading import Lag
from otel_runlog.server.routes import Request, Response, Route
from otel_runlog.server_status import DestinationStatus, ServerStatus

LEAST_FREE_BYTES: Final = 64 << 20
"""With less room on the disk the server says that it is not ready, while it still takes requests."""
LONGEST_LAG_S: Final = 60.0
"""A loader that is so far behind is told of: somebody else holds the store, or it cannot keep up."""
_UNAVAILABLE: Final = 503


class Health:
    """Looks at the parts of a server; any thread may ask."""

    def __init__(self, folder: Path, lag: Lag, budget: Budget, forwarders: Sequence[Forwarder]) -> None:
        self._folder, self._lag, self._budget, self._forwarders = folder, lag, budget, forwarders

    def watch(self, counters: Counters) -> None:
        """Have the gauges show what this sees."""
        counters.watch("load_lag", lambda: [(self._lag.seconds(), ())])
        counters.watch("journal_bytes", lambda: [(size_bytes(self._folder), ())])
        counters.watch("memory_in_flight", lambda: [(self._budget.used_bytes, ())])
        counters.watch("forward_lag", lambda: [(f.pending_bytes(), (f.name,)) for f in self._forwarders])

    def status(self, counters: Counters) -> ServerStatus:
        """All of it."""
        free_bytes, lag_s = disk_free_bytes(self._folder), self._lag.seconds()
        reasons = []
        if free_bytes < LEAST_FREE_BYTES:
            reasons.append(f"only {free_bytes} bytes are free for the journal in {self._folder}")
        if lag_s > LONGEST_LAG_S:
            reasons.append(f"what came {lag_s:.0f} s ago is not loaded yet")
        return ServerStatus(
            ready=not reasons,
            reasons=reasons,
            version=version("otel-runlog"),
            load_lag_s=round(lag_s, 3),
            journal_bytes=size_bytes(self._folder),
            disk_free_bytes=free_bytes,
            memory_in_flight_bytes=self._budget.used_bytes,
            totals={name: counters.total(name) for name in COUNTERS},
            rejected=counters.by_reason("rejected"),
            dropped=counters.by_reason("dropped"),
            destinations=[_destination(f.reached(), f.pending_bytes()) for f in self._forwarders],
        )


def health_routes(health: Health, counters: Counters) -> tuple[Route, ...]:
    """The routes; only /healthz needs no token anywhere (CONTRACT)."""
    return (
        _get("/healthz", _healthz, is_open=True),
        _get("/readyz", partial(_readyz, health, counters)),
        _get("/metrics", _metrics),
    )


def metrics_provider() -> MeterProvider:
    """A provider whose metrics /metrics shows, those of this process (CPU, memory) beside them."""
    return MeterProvider(metric_readers=[PrometheusMetricReader()])


def disk_free_bytes(folder: Path) -> int:
    """What this user may still write where the journal lies."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def _get(path: str, handle: Callable[[Request], Response], *, is_open: bool = False) -> Route:
    return Route(method="GET", path=path, handle=handle, needs_token=False, is_open=is_open)


def _destination(reached: Reached, pending_bytes: int) -> DestinationStatus:
    return DestinationStatus(reached.name, pending_bytes, reached.forwarded, reached.dropped, reached.error)


def _healthz(_request: Request) -> Response:
    return Response(200, msgspec.json.encode({"status": "ok", "version": version("otel-runlog")}))


def _readyz(health: Health, counters: Counters, _request: Request) -> Response:
    status = health.status(counters)
    return Response(200 if status.ready else _UNAVAILABLE, msgspec.json.encode(status))


def _metrics(_request: Request) -> Response:
    return Response(200, prometheus_client.generate_latest(), prometheus_client.CONTENT_TYPE_LATEST)
