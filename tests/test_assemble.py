"""A batch as the loader makes it: what it asks of the store, and how often it reads a span."""

from __future__ import annotations

from pathlib import Path

import pytest

from otel_runlog.loader import Loader
from otel_runlog.model import Span
from otel_runlog.store.batch import Batch
from otel_runlog.store.writer import StoreWriter
from otel_runlog.testing import TraceBuilder


def one_run() -> TraceBuilder:
    trace = TraceBuilder("assemble")
    boss = trace.agent("boss")
    for said in ("first", "last"):
        call = trace.chat("gpt-4o-mini", parent=boss, input_tokens=10, output_tokens=1)
        call.attributes["gen_ai.input.messages"] = f'[{{"role":"user","content":"asked {said}"}}]'
        call.attributes["gen_ai.output.messages"] = f'[{{"role":"assistant","content":"said {said}"}}]'
    return trace


def batch_of(db: Path, spans: list[Span]) -> Batch:
    loader = Loader(db)
    with loader.open() as writer:
        assembler = loader.assembler(writer)
        assembler.add_spans("test", 1, spans, {})
        return assembler.batch()


def test_runs_of_new_traces_are_not_looked_up_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def versions_of(writer: StoreWriter, run_id: str) -> dict[int, bool]:
        asked.append(run_id)
        return {}

    monkeypatch.setattr(StoreWriter, "versions_of", versions_of)
    batch = batch_of(tmp_path / "runs.duckdb", one_run().spans)
    assert [v.version for v in batch.closed] == [1]
    assert asked == []
