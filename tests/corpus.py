"""The span corpus in tests/data/corpus: real telemetry of 73 instrumentation variants, with what was truly served.

A file a variant: {scenario: {traces: [OTLP/JSON requests], logs: [...], truth: {tokens, runs, sessions, tool_calls}}}.
`tokens` are (input with cache, output with reasoning, cache read, cache write, reasoning or null).
"""

from __future__ import annotations

import functools
import gzip
import json
from pathlib import Path

import msgspec

from otel_runlog.model import LogRecord, RunLog, Span
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.wire import Encoding

FOLDER = Path(__file__).parent / "data" / "corpus"
COUNTERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


class Truth(msgspec.Struct):
    """What the provider served, and what a person would count."""

    tokens: tuple[int, int, int, int, int | None]
    runs: int
    sessions: list[str | None]
    tool_calls: list[str]


class Scenario(msgspec.Struct):
    name: str
    truth: Truth
    traces: list[bytes]
    logs: list[bytes]

    def spans(self) -> list[Span]:
        return [s for body in self.traces for s in read_traces(body, Encoding.JSON).spans]

    def log_records(self) -> list[LogRecord]:
        return [r for body in self.logs for r in read_logs(body, Encoding.JSON).records]


def variants() -> list[str]:
    return sorted(f.name.removesuffix(".json.gz") for f in FOLDER.glob("*.json.gz"))


@functools.cache
def scenarios(variant: str) -> dict[str, Scenario]:
    content = json.loads(gzip.decompress((FOLDER / f"{variant}.json.gz").read_bytes()))
    return {
        name: Scenario(
            f"{variant}/{name}",
            msgspec.convert(found["truth"], Truth),
            [json.dumps(r).encode() for r in found["traces"]],
            [json.dumps(r).encode() for r in found["logs"]],
        )
        for name, found in content.items()
    }


def scenario(name: str) -> Scenario:
    variant, _, rest = name.partition("/")
    return scenarios(variant)[rest]


def all_names() -> list[str]:
    return [s.name for v in variants() for s in scenarios(v).values()]


def counted(runs: list[RunLog]) -> tuple[int | None, ...]:
    """The sums of the five counters over runs; None where nothing is known."""
    return tuple(_sum([getattr(r.tokens, c) for r in runs]) for c in COUNTERS)


def _sum(values: list[int | None]) -> int | None:
    known = [v for v in values if v is not None]
    return sum(known) if known else None
