"""The memory of a process with both doors, whatever is sent to it at once: 512 MiB by default."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from doors import MIB, Doors, request_of, span
from protobuf_bytes import field

from otel_runlog.server.budget import Budget
from otel_runlog.server.counters import Counters

MEMORY_BYTES = 512 * MIB
LARGE = 60 * MIB


class Served(Doors):
    """Doors in a process of their own."""

    pid: int

    def peak_bytes(self) -> int:
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    command = [sys.executable, str(Path(__file__).with_name("door_process.py")), str(tmp_path / "journal")]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        http_at, grpc_at = child.stdout.readline().split()
        there = Served(tmp_path / "journal", http_at, grpc_at, Counters(), Budget(MEMORY_BYTES))
        there.pid = child.pid
        yield there
        child.kill()


def at_once(number: int, send: Callable[[], object]) -> list[object]:
    """What each of them was answered."""
    answers: list[object] = []

    def ask() -> None:
        try:
            answers.append(send())
        except grpc.RpcError as error:
            answers.append(error.code())

    threads = [threading.Thread(target=ask) for _ in range(number)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.mark.slow
@pytest.mark.fault(29)
def test_eight_of_60_mb_over_either_door(served: Served) -> None:
    body = request_of(*[span(number, name="x" * (LARGE // 10)) for number in range(1, 11)])
    over_http = at_once(8, lambda: served.post(body).status)
    over_grpc = at_once(8, lambda: served.call(body, timeout=60))
    assert set(over_http) <= {200, 503}
    assert set(over_grpc) <= {b"", grpc.StatusCode.UNAVAILABLE}
    assert 200 in over_http
    assert b"" in over_grpc
    assert served.peak_bytes() < MEMORY_BYTES


@pytest.mark.fault(31, 32, 34)
def test_requests_that_would_swell(served: Served) -> None:
    empty_spans = field(1, field(2, b"\x12\x00" * (16 << 20)))
    empty_events = request_of(*[span(number) + b"\x5a\x00" * 90_000 for number in range(1, 30)])
    empty_json = b'{"resourceSpans":[' + b"{}," * 2_000_000 + b"{}]}"
    packed = gzip.compress(empty_spans, 1)
    assert served.post(empty_spans).status == 413
    assert served.refused_call(empty_spans).code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert served.post(packed, Content_Encoding="gzip").status == 413
    assert served.post(empty_events).status == 413
    assert served.post(empty_json, content_type="application/json").status == 413
    assert served.peak_bytes() < MEMORY_BYTES
