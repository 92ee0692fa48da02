"""A journal with spans in it, and forwarders that send it on, for the tests of forwarding."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from pathlib import Path

from otel_runlog.config import DestinationConfig, RunsForm
from otel_runlog.journal import JournalWriter
from otel_runlog.model import Span
from otel_runlog.otlp.export import encode_spans, to_json
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward import Forwarder
from otel_runlog.server.forward.requests import AsReceived
from otel_runlog.testing import TraceBuilder


class Counted:
    """Counts as the server's counters do."""

    def __init__(self) -> None:
        self.numbers: Counter[tuple[str, ...]] = Counter()
        self._lock = threading.Lock()

    def __call__(self, name: str, amount: int, *labels: str) -> None:
        with self._lock:
            self.numbers[name, *labels] += amount

    def total(self, *start: str) -> int:
        with self._lock:
            return sum(amount for key, amount in self.numbers.items() if key[: len(start)] == start)

    def dropped(self) -> dict[str, int]:
        with self._lock:
            return {key[-1]: amount for key, amount in self.numbers.items() if key[0] == "forward_dropped"}


def spans(number: int, name: str = "forwarded") -> list[Span]:
    """Model calls of one trace, each with ids of its own."""
    trace = TraceBuilder(name)
    for i in range(number):
        trace.chat("gpt-4o-mini", input_tokens=i, output_tokens=1)
    return trace.spans


def append(
    writer: JournalWriter, them: list[Span], per_record: int = 1, encoding: Encoding = Encoding.PROTOBUF
) -> None:
    """Records of so many spans each."""
    encode = encode_spans if encoding is Encoding.PROTOBUF else to_json
    for at in range(0, len(them), per_record):
        writer.append(Signal.TRACES, encoding, time.time_ns(), encode(them[at : at + per_record]))


def destination(url: str, **settings: object) -> DestinationConfig:
    runs = RunsForm(settings.pop("runs", "none"))
    return DestinationConfig(url=url, runs=runs, **{"name": "there", "timeout_s": 5.0, **settings})


def forwarder(folder: Path, url: str, count: Counted | None = None, **settings: object) -> Forwarder:
    """One that has begun."""
    if request_bytes := settings.pop("request_bytes", None):
        takes_json = url.startswith("http")
        settings["preparing"] = AsReceived(("traces", "logs"), takes_json=takes_json, request_bytes=request_bytes)
    own = {key: settings.pop(key) for key in ("preparing",) if key in settings}
    made = Forwarder(folder, destination(url, **settings), count or Counted(), **own)
    made.start()
    return made


def cursor(folder: Path, name: str = "there") -> dict:
    return json.loads((folder / "cursors" / f"{name}.json").read_text())["places"]
