"""What the server pays for a span over the network, and how it feels at half load: a process of its own, watched.

CPU is that of the server's process and its children, from the first request until the last span can be queried. At half
load requests come at their times whether earlier ones were answered or not.
"""

from __future__ import annotations

import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import grpc
import msgspec

from .measure import Scale
from .report import RATE, Line
from .workload import SPANS_PER_REQUEST, Workload, protobuf_body, requests

SECTION = "server"
RATE_GOAL = 8_000
HALF_LOAD_SPANS_A_S = 5_000
"""CONTRACT: half load in the bars."""
LAG_GOAL_S, ACK_GOAL_MS, MEMORY_GOAL_MB = 1.0, 100, 512
EXPORT = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
SENDERS = 4
PATIENCE_S = 300.0
_TICKS = os.sysconf("SC_CLK_TCK")

Send = Callable[[bytes], None]


class Watched(msgspec.Struct):
    """A server of its own store."""

    pid: int
    grpc: str
    http: str

    def cpu_s(self) -> float:
        """User and system time of the process and of the children it has waited for."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS

    def peak_mb(self) -> float:
        """The most memory it had at once."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024

    def stored(self) -> int:
        """How many spans can be queried."""
        connection = http.client.HTTPConnection(self.http, timeout=60)
        connection.request("GET", "/readyz")
        totals = json.loads(connection.getresponse().read())["totals"]
        connection.close()
        return int(totals["stored"])

    def wait_for(self, spans: int) -> None:
        """Until so many spans are stored."""
        deadline = time.monotonic() + PATIENCE_S
        while self.stored() < spans:
            assert time.monotonic() < deadline, f"{self.stored()} of {spans} spans after {PATIENCE_S} s"
            time.sleep(0.05)


def lines(scale: Scale) -> list[Line]:
    """The section's figures."""
    bodies = [protobuf_body(spans) for spans in requests(Workload().spans(scale.spans_end_to_end))]
    found = [line for protocol in ("grpc", "http") for line in _at_full_load(protocol, bodies)]
    return found + _at_half_load(bodies)


@contextmanager
def served() -> Iterator[Watched]:
    """A server on a new store."""
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        db = str(Path(folder, "runs.duckdb"))
        binds = ["--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0"]
        command = [sys.executable, "-m", "otel_runlog", "serve", "--db", db, *binds]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            try:
                yield Watched(process.pid, said["grpc"], said["http"])
            finally:
                process.send_signal(signal.SIGTERM)


@contextmanager
def sending(server: Watched, protocol: str) -> Iterator[Send]:
    """A client that sends one request and waits for the answer."""
    if protocol == "grpc":
        with grpc.insecure_channel(server.grpc) as channel:
            yield lambda body: channel.unary_unary(EXPORT)(body, timeout=60)
        return
    connection = http.client.HTTPConnection(server.http, timeout=60)
    try:
        yield lambda body: _post(connection, body)
    finally:
        connection.close()


def _post(connection: http.client.HTTPConnection, body: bytes) -> None:
    connection.request("POST", "/v1/traces", body, {"content-type": "application/x-protobuf"})
    response = connection.getresponse()
    answer = response.read()
    assert response.status == 200, answer


def _at_full_load(protocol: str, bodies: list[bytes]) -> list[Line]:
    with served() as server:
        before_s = server.cpu_s()
        waiting = iter(bodies)
        lock = threading.Lock()

        def work() -> None:
            with sending(server, protocol) as send:
                while True:
                    with lock:
                        body = next(waiting, None)
                    if body is None:
                        return
                    send(body)

        _all([work] * SENDERS)
        spans = len(bodies) * SPANS_PER_REQUEST
        server.wait_for(spans)
        cpu_s, peak_mb = server.cpu_s() - before_s, server.peak_mb()
    return [
        Line(
            section=SECTION,
            figure=f"{protocol}, 512-span requests, until queryable",
            unit=RATE,
            ours=spans / cpu_s,
            target=RATE_GOAL,
            target_text=f">= {RATE_GOAL:,}",
            cpu_s=cpu_s,
        ),
        Line(
            section=SECTION,
            figure=f"{protocol}, most memory",
            unit="MB",
            ours=peak_mb,
            target=MEMORY_GOAL_MB,
            target_text=f"<= {MEMORY_GOAL_MB}",
        ),
    ]


def _at_half_load(bodies: list[bytes]) -> list[Line]:
    every_s = SPANS_PER_REQUEST / HALF_LOAD_SPANS_A_S
    answered: list[tuple[float, float]] = []
    with served() as server:
        start_s = time.monotonic() + 0.5
        turns = enumerate(bodies)
        lock = threading.Lock()

        def work() -> None:
            with sending(server, "grpc") as send:
                while True:
                    with lock:
                        number, body = next(turns, (0, None))
                    if body is None:
                        return
                    due_s = start_s + number * every_s
                    time.sleep(max(due_s - time.monotonic(), 0.0))
                    send(body)
                    answered.append((due_s, time.monotonic()))

        watcher = _Stored(server, len(bodies) * SPANS_PER_REQUEST)
        _all([work] * SENDERS + [watcher.watch])
    answered.sort(key=lambda pair: pair[1])
    lags_s = [watcher.at_s((n + 1) * SPANS_PER_REQUEST) - done for n, (_, done) in enumerate(answered)]
    acks_ms = sorted((done - due) * 1000 for due, done in answered)
    lag_s, ack_ms = max(statistics.median(lags_s), 0.0), acks_ms[int(len(acks_ms) * 0.99)]
    return [
        _goal("5,000 spans a second: from answer to queryable, p50", "s", lag_s, LAG_GOAL_S),
        _goal("5,000 spans a second: answered, p99", "ms", ack_ms, ACK_GOAL_MS),
    ]


def _goal(figure: str, unit: str, ours: float, goal: float) -> Line:
    return Line(section=SECTION, figure=figure, unit=unit, ours=ours, target=goal, target_text=f"<= {goal:g}")


class _Stored:
    """When how many spans were stored."""

    def __init__(self, server: Watched, spans: int) -> None:
        self._server, self._spans = server, spans
        self._seen: list[tuple[float, int]] = []

    def watch(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        stored = 0
        while stored < self._spans:
            assert time.monotonic() < deadline, f"{stored} of {self._spans} spans after {PATIENCE_S} s"
            time.sleep(0.05)
            stored = self._server.stored()
            self._seen.append((time.monotonic(), stored))

    def at_s(self, spans: int) -> float:
        return next(at_s for at_s, stored in self._seen if stored >= spans)


def _all(actions: list[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
