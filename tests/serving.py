"""`otel-runlog serve` in a process of its own, real exporters that send to it, and questions to it."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

START_S = 30.0


class Served(msgspec.Struct):
    """A server that listens."""

    process: subprocess.Popen[str]
    grpc: str
    http: str
    db: Path
    pid: int

    def exporter(self, protocol: str) -> SpanExporter:
        """A stock exporter that sends to it."""
        if protocol == "grpc":
            return GrpcExporter(endpoint=self.grpc, insecure=True)
        return HttpExporter(endpoint=f"http://{self.http}/v1/traces")

    def get(self, path: str, token: str = "") -> tuple[int, bytes]:
        """Status and body of a GET."""
        return self._ask(urllib.request.Request(f"http://{self.http}{path}", headers=_bearer(token)))

    def post(self, path: str, body: object, token: str = "") -> tuple[int, bytes]:
        """Status and body of a POST of JSON."""
        headers = {"content-type": "application/json", **_bearer(token)}
        url = f"http://{self.http}{path}"
        return self._ask(urllib.request.Request(url, json.dumps(body).encode(), headers))

    def kill(self) -> None:
        """Kill -9."""
        self.process.kill()
        self.process.wait()

    def end(self, by: signal.Signals = signal.SIGTERM) -> tuple[int, float]:
        """Ask it to end; its exit code and how many seconds that took."""
        started = time.monotonic()
        self.process.send_signal(by)
        return self.process.wait(30), time.monotonic() - started

    def _ask(self, request: urllib.request.Request) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


@contextlib.contextmanager
def serving(db: Path, *options: str, grpc: str = "127.0.0.1:0", http: str = "127.0.0.1:0") -> Iterator[Served]:
    """A server on `db`; it is killed at the end where it did not end itself."""
    command = [sys.executable, "-m", "otel_runlog", "serve", "--db", str(db), "--grpc", grpc, "--http", http, *options]
    log = db.with_name(f"{db.name}.{time.time_ns()}.log")
    with log.open("w") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
    try:
        yield Served(process, **_first_line(process, log))
    finally:
        process.kill()
        process.wait()
        if process.stdout:
            process.stdout.close()


def _first_line(process: subprocess.Popen[str], log: Path) -> dict[str, Any]:
    watch = threading.Timer(START_S, process.kill)
    watch.start()
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
    finally:
        watch.cancel()
    assert line, f"the server did not start: {log.read_text()}"
    said: dict[str, Any] = json.loads(line)
    return {**said, "db": Path(said["db"])}


def _bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"} if token else {}


def token_of(db: Path) -> str:
    """The token that stands in server.json."""
    found = json.loads(Path(f"{db}.journal", "server.json").read_text())
    return str(found["token"])


def agent_spans(runs: int, name: str = "planner", calls: int = 1) -> Sequence[ReadableSpan]:
    """What the SDK makes of an agent that calls a model `calls` times, `runs` times over."""
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("tests")
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    call = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.usage.input_tokens": 10,
        "gen_ai.usage.output_tokens": 5,
    }
    for _ in range(runs):
        with tracer.start_as_current_span(f"invoke_agent {name}", attributes=agent):
            for _ in range(calls):
                with tracer.start_as_current_span("chat gpt-4o-mini", attributes=call):
                    pass
    provider.shutdown()
    return kept.get_finished_spans()


def until(condition: Callable[[], bool], timeout_s: float = 20.0) -> None:
    """Wait for something that another process does."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.05)
