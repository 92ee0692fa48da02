"""The server is killed and restarted while real exporters send to it."""

from __future__ import annotations

import random
import signal
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_runlog.server.app import serve_until_told
from otel_runlog.server_config import ServerConfig

from .acks import Acks, so_far
from .agent import Agent
from .work import Outcome, Work

SEED = 17
LONGEST_LIFE_S = 0.6
CYCLES_A_SENDER = 20
"""Senders live for a minute at most: see nursery.LONGEST_LIFE_S."""
RUN_SPANS = 10
RESTARTS, RESTART_S = 5, 4.0
"""The stock exporters try again for 7 s."""
PROTOCOLS: dict[str, Callable[[int, int], SpanExporter]] = {
    "grpc": lambda grpc, _http: GrpcExporter(endpoint=f"127.0.0.1:{grpc}", insecure=True),
    "http": lambda _grpc, http: HttpExporter(endpoint=f"http://127.0.0.1:{http}/v1/traces"),
}


def killed_under_load(work: Work) -> Outcome:
    """Both exporters send without a pause; the server is killed within 0.6 s of listening, and starts again."""
    chance, ports = random.Random(SEED), free_ports()
    senders: list[int] = []
    tried = 0
    for tried in work.times(200, 3):
        server = start_server(work, ports)
        if tried % CYCLES_A_SENDER == 0:
            kill_all(work, senders)
            senders = [start_sender(work, ports, name, f"{name}{tried}") for name in PROTOCOLS]
        time.sleep(chance.uniform(0, LONGEST_LIFE_S))
        work.expect_code("the server", work.nursery.kill(server), -signal.SIGKILL)
    kill_all(work, senders)
    return work.outcome(tried + 1)


def restarted_under_load(work: Work) -> Outcome:
    """The server ends, and another one listens on the same ports four seconds later: no exporter loses a span."""
    ports = free_ports()
    server = start_server(work, ports)
    senders = [start_sender(work, ports, name, name, end_file=str(work.folder / "end")) for name in PROTOCOLS]
    time.sleep(1.0)
    for _ in work.times(RESTARTS, 1):
        work.nursery.signal(server, signal.SIGTERM)
        work.wait_for(lambda: not any(map(listens, ports)), "the server to listen no more")
        gone_at = time.monotonic()
        work.expect_code("the server", work.nursery.wait(server), 0)
        time.sleep(max(gone_at + RESTART_S - time.monotonic(), 0.0))
        server = start_server(work, ports)
        work.notes.append(f"away for {time.monotonic() - gone_at:.1f} s")
        for name in PROTOCOLS:  # whoever still waits to try again must not be left waiting once more
            wanted = so_far(work.folder / "acks" / name) + RUN_SPANS
            work.wait_for(partial(has_tried, work.folder / "acks" / name, wanted), f"{name} to send again")
    (work.folder / "end").touch()
    for sender in senders:
        work.expect_code("a sender, which fails where it lost a span", work.nursery.wait(sender), 0)
    work.nursery.signal(server, signal.SIGTERM)
    work.expect_code("the server", work.nursery.wait(server), 0)
    return work.outcome(1 if work.short else RESTARTS)


def start_server(work: Work, ports: tuple[int, int]) -> int:
    """A server in a child, once it listens."""
    pid = work.nursery.start("servers:serve", folder=str(work.folder), grpc=ports[0], http=ports[1])
    work.wait_for(lambda: all(map(listens, ports)), "the server to listen")
    return pid


def start_sender(work: Work, ports: tuple[int, int], protocol: str, who: str, end_file: str = "") -> int:
    """A child that sends until it is killed, or a file is there."""
    return work.start("servers:send", who, protocol=protocol, ports=ports, end_file=end_file)


def serve(folder: str, grpc: int, http: int) -> None:
    given = {"db": str(Path(folder, "runs.duckdb")), "grpc": f"127.0.0.1:{grpc}", "http": f"127.0.0.1:{http}"}
    serve_until_told(ServerConfig.load(None, given, {}), lambda _address: None)


def send(folder: str, who: str, protocol: str, ports: tuple[int, int], end_file: str) -> None:
    sender = Sender(folder, who, PROTOCOLS[protocol](*ports))
    while not (end_file and Path(end_file).exists()):
        taken = sender.send_run()
        if end_file and not taken:
            raise RuntimeError("the exporter gave up")


class Sender(Agent):
    """An agent whose spans a stock exporter sends, run by run; acknowledged is what it was told is taken."""

    def __init__(self, folder: str, who: str, exporter: SpanExporter) -> None:
        self.folder = Path(folder)
        self._exporter = exporter
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.tracer = self.provider.get_tracer("faults")
        self.acks = Acks(self.folder / "acks", who)
        self._numbers: list[int] = []

    def send_run(self) -> bool:
        """One run in one request; whether it was taken."""
        self.run(RUN_SPANS - 1)
        started = time.perf_counter()
        taken = self._exporter.export(self._kept.get_finished_spans()) is SpanExportResult.SUCCESS
        took_s = time.perf_counter() - started
        for number in self._numbers if taken else ():
            self.acks.acknowledge(number, took_s)
        self._numbers.clear()
        self._kept.clear()
        return taken

    def ended(self, number: int, end: Callable[[], object]) -> None:
        """End span `number`; it is not acknowledged yet."""
        end()
        self._numbers.append(number)


def has_tried(acks: Path, spans: int) -> bool:
    return so_far(acks) > spans


def kill_all(work: Work, pids: list[int]) -> None:
    for pid in pids:
        work.nursery.kill(pid)


def free_ports() -> tuple[int, int]:
    """Two ports that nobody has, for servers that come and go."""
    with socket.socket() as first, socket.socket() as second:
        for sock in (first, second):
            sock.bind(("127.0.0.1", 0))
        return first.getsockname()[1], second.getsockname()[1]


def listens(port: int) -> bool:
    with socket.socket() as sock:
        return sock.connect_ex(("127.0.0.1", port)) == 0
