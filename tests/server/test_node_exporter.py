"""The exporters of the Node SDK as clients: they send chunked bodies, and JSON of their own making."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from doors import Doors, doors

from otel_runlog.errors import JournalError
from otel_runlog.otlp.wire import Encoding, Signal

NODE = Path(__file__).parents[1] / "frameworks" / "node"
pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
    pytest.mark.skipif(
        not (NODE / "node_modules" / "@opentelemetry").exists(),
        reason="needs npm packages: npm ci --ignore-scripts --prefix tests/frameworks/node",
    ),
]


def export(served: Doors, number: int, encoding: str, compression: str) -> str:
    done = subprocess.run(
        ["node", "exporter.mjs", str(number), encoding, compression],
        cwd=NODE,
        env={"PATH": os.environ["PATH"], "OTLP_URL": f"http://{served.http}/v1/traces"},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stderr + done.stdout


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_spans_arrive_as_they_were_sent(tmp_path: Path, encoding: str, compression: str) -> None:
    with doors(tmp_path / "journal") as served:
        assert export(served, 600, encoding, compression) == ""
        assert {record.encoding for record in served.records()} == {encoding}
        found = sorted(served.spans(), key=lambda one: int(one.name.removeprefix("span ")))  # batches go out at once
    assert [one.name for one in found] == [f"span {n}" for n in range(600)]
    assert found[0].attributes == {"text": "väl", "numbers": [1, 2], "big": 2**40, "half": 0.5}
    assert found[5].events[0].attributes == {"n": 5}


class FullOnce:
    """A disk that takes nothing the first time."""

    def __init__(self) -> None:
        self.asked = 0

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        self.asked += 1
        if self.asked == 1:
            raise JournalError("no space left on device")


@pytest.mark.fault(29, 48)
def test_it_comes_again_when_told_so(tmp_path: Path) -> None:
    journal = FullOnce()
    with doors(tmp_path, journal=journal) as served:
        export(served, 5, "json", "none")
    assert journal.asked == 2
