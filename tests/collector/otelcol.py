"""A Collector and otel-runlog as processes of a test: on ports of their own, stopped, killed and started again."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

CONFIGS = Path(__file__).parents[2] / "collector-config"
BACKEND = Path(__file__).with_name("backend.yaml")
WAIT_S = 60.0
"""So long may anything take on a machine that is busy; mostly it is done in a few seconds."""


def cached_binary() -> Path | str:
    """The Collector of the manifest where it was built, else why there is none."""
    done = subprocess.run([CONFIGS / "build", "--cached"], capture_output=True, text=True, check=False)
    return Path(done.stdout.strip()) if done.returncode == 0 else done.stderr.strip()


def free_address() -> str:
    """An address of this machine that nobody listens at."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{listener.getsockname()[1]}"


def until(what: str, holds: Callable[[], object], seconds: float = WAIT_S) -> None:
    """Wait for it; AssertionError says what did not come."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"{what}: not within {seconds:g} s"
        time.sleep(0.05)


class Process:
    """Something that listens, keeps its addresses over a restart, and writes to a log of its own."""

    def __init__(self, folder: Path, command: list[str | Path], environ: Mapping[str, str]) -> None:
        self.log = folder / "log.txt"
        self._command = command
        self._environ = {**os.environ, **environ}
        self._running: subprocess.Popen[bytes] | None = None

    def is_ready(self) -> bool:
        """Whether it takes spans."""
        raise NotImplementedError

    def start(self) -> None:
        with self.log.open("ab") as log:
            self._running = subprocess.Popen(self._command, env=self._environ, stdout=log, stderr=log)
        until(f"the start of {self._command}: {self.log}", self._is_up)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Stop or kill it; returns its exit code."""
        assert self._running is not None
        self._running.send_signal(how)
        code = self._running.wait(WAIT_S)
        self._running = None
        return code

    @contextmanager
    def running(self) -> Iterator[None]:
        self.start()
        try:
            yield
        finally:
            if self._running is not None:
                self.end(signal.SIGKILL)

    def _is_up(self) -> bool:
        assert self._running is not None
        assert self._running.poll() is None, self.log.read_text("utf-8", "replace")[-2000:]
        return self.is_ready()


class Collector(Process):
    """One file of collector-config, its ports and folders set by the variables that the file names."""

    def __init__(self, binary: Path, config: Path, folder: Path, environ: Mapping[str, str] | None = None) -> None:
        folder.mkdir()
        self.grpc, self.http, self.back, self.health = (free_address() for _ in range(4))
        self.metrics = free_address()
        own = {
            "COLLECTOR_GRPC": self.grpc,
            "COLLECTOR_HTTP": self.http,
            "COLLECTOR_RETURN": self.back,
            "COLLECTOR_RETURN_HTTP": free_address(),
            "COLLECTOR_HEALTH": self.health,
            "COLLECTOR_METRICS_PORT": self.metrics.rpartition(":")[2],
            "COLLECTOR_DIR": str(folder / "queue"),
        }
        super().__init__(folder, [binary, "--config", config], {**own, **(environ or {})})

    def is_ready(self) -> bool:
        return get(f"http://{self.health}/") is not None

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels; 0 where there is none yet."""
        lines = (get(f"http://{self.metrics}/metrics") or "").splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith((f"{name}{{", f"{name} ")))


class RunLogServer(Process):
    """`otel-runlog serve` on fixed ports."""

    def __init__(self, folder: Path, db: Path, forward: str | None = None, grpc: str | None = None) -> None:
        folder.mkdir()
        self.db = db
        self.grpc, self.http = grpc or free_address(), free_address()
        command = [sys.executable, "-m", "otel_runlog", "serve", "--db", str(db)]
        command += ["--grpc", self.grpc, "--http", self.http]
        super().__init__(folder, [*command, *(["--forward", forward] if forward else [])], {})

    def is_ready(self) -> bool:
        return get(f"http://{self.http}/healthz") is not None

    def spans(self) -> dict[tuple[str, str], tuple[str, dict[str, Any]]]:
        """Name and attributes of every span that the store holds, by trace and span id; none is there twice."""
        if not self.db.exists():
            return {}  # nothing was loaded yet
        rows = self.sql("select trace_id, span_id, name, attributes from spans")
        found = {(row["trace_id"], row["span_id"]): (row["name"], row["attributes"]) for row in rows}
        assert len(found) == len(rows)
        return found

    def sql(self, statement: str) -> list[dict[str, Any]]:
        """What the living server answers."""
        token = json.loads(Path(f"{self.db}.journal", "server.json").read_text())["token"]
        headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
        body = json.dumps({"sql": statement}).encode()
        request = urllib.request.Request(f"http://{self.http}/v1/sql", body, headers)
        try:
            with urllib.request.urlopen(request, timeout=WAIT_S) as answer:
                rows: list[dict[str, Any]] = json.load(answer)
        except urllib.error.HTTPError as error:
            with error:
                pytest.fail(f"{error.code}: {error.read().decode()}; {self.log.read_text()[-2000:]}")
        return rows


def get(url: str) -> str | None:
    """What it answers, where that is 200."""
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            return str(answer.read().decode())
    except OSError:
        return None
