"""What the store holds after many commits: names that live on, versions, open spans, bounded memory."""

from __future__ import annotations

import datetime as dt
import itertools
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_loader import PRICES, books, load, stored
from test_projection import forests

from otel_runlog import loader as loader_module
from otel_runlog.loader import Loader
from otel_runlog.logs import API_REQUEST
from otel_runlog.model import LogRecord, RunStatus, Span
from otel_runlog.runs import project
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import START_NS, TraceBuilder
from otel_runlog.traces import Traces

NOWHERE = "00000000000000aa"


def rows(db: Path, sql: str) -> list[tuple[object, ...]]:
    with StoreReader(db) as reader:
        return reader.query(sql).rows


def load_each(db: Path, parts: Sequence[Sequence[Span]], *, restart: bool = False) -> None:
    loader = Loader(db, prices=PRICES)
    for number, spans in enumerate(parts, 1):
        loader = Loader(db, prices=PRICES) if restart else loader
        load(loader, number, spans)


@given(spans=forests(), order=st.randoms(use_true_random=False), cuts=st.lists(st.integers(1, 8), max_size=3))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_store_agrees_with_project_on_any_forest(spans: list[Span], order, cuts: list[int]) -> None:
    order.shuffle(spans)
    edges = [0, *sorted({c for c in cuts if c < len(spans)}), len(spans)]
    parts = [spans[a:b] for a, b in itertools.pairwise(edges)]
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        load_each(db, parts, restart=len(cuts) % 2 == 1)
        assert stored(db) == {r.run_id: r for r in project(spans, prices=PRICES, now=dt.datetime.now(dt.UTC))}
        kept = books(db)
        assert rows(db, "SELECT count(*) FROM spans") == [(kept["stored"] + kept["conflict"],)]
        assert kept["received"] == sum(kept[k] for k in ("stored", "duplicate", "conflict", "superseded"))


@pytest.mark.parametrize("restart", [False, True])
def test_every_name_a_run_ever_had_leads_to_it(tmp_path: Path, restart: bool) -> None:
    """Provisional, then rooted, then found to be a client's view of a framework's call."""
    db = tmp_path / "runs.duckdb"
    framework, lone = TraceBuilder("one"), TraceBuilder("two")
    same = {"gen_ai.response.id": "r1"}
    root = lone.span("job", start_ms=4, duration_ms=9)
    lone.chat("m", same, parent=root, start_ms=5, scope="client")
    a = framework.agent("a")
    framework.chat("m", same, parent=a, start_ms=5)
    lone.spans[1].parent_span_id = None
    steps = [[lone.spans[1]], framework.spans[1:], [a]]
    names: list[str] = []
    loader = Loader(db, prices=PRICES)
    for number, spans in enumerate(steps, 1):
        loader = Loader(db, prices=PRICES) if restart else loader
        load(loader, number, spans)
        names += stored(db)
    [run] = stored(db)
    with StoreReader(db) as reader:
        assert {reader.find(name) for name in names} == {run}
    assert len(set(names)) > 1


def test_a_late_span_gives_a_closed_run_a_new_version_and_takes_the_old_one_back(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    a = t.agent("a")
    for _ in range(3):
        t.chat("m", parent=a, input_tokens=10, output_tokens=1)
    load_each(db, [[a], *([s] for s in t.spans[1:])], restart=True)
    assert rows(db, "SELECT version, input_tokens FROM runs") == [(4, 30)]
    assert rows(db, "SELECT count(*) FROM steps") == [(4,)]


def test_a_run_that_opens_again_and_closes_again_keeps_counting_its_versions(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    first = t.agent("a", {"runlog.run.id": "r1"})
    second = TraceBuilder("two", start_ns=START_NS + 10**9).agent("a", {"runlog.run.id": "r1"})
    begun = msgspec.structs.replace(second, ended_ns=None, start_record=True)
    load_each(db, [[first], [begun]])
    assert stored(db)["r1"].status is RunStatus.INCOMPLETE
    load_each(db, [[first], [begun], [second]])
    assert rows(db, "SELECT status, version FROM runs") == [("completed", 2)]


def test_a_span_without_end_is_superseded_by_its_end_and_a_reused_id_is_not(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    end = TraceBuilder().agent("a")
    pending = msgspec.structs.replace(end, ended_ns=None)
    reused = msgspec.structs.replace(end, started_ns=START_NS + 10**9, ended_ns=None)
    load_each(db, [[pending], [reused], [end]], restart=True)
    assert rows(db, "SELECT started_ns, ended_ns FROM spans ORDER BY ALL") == [
        (end.started_ns, end.ended_ns),
        (reused.started_ns, None),
    ]
    kept = books(db)
    assert (kept["received"], kept["stored"], kept["superseded"], kept["conflict"]) == (3, 2, 1, 0)


@pytest.mark.parametrize("restart", [False, True])
def test_log_records_find_spans_that_come_later_and_are_stored_once(tmp_path: Path, restart: bool) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    numbers = {"input_tokens": 100, "output_tokens": 10}
    t.span("claude_code.llm_request", {"span.type": "llm_request", "model": "m", **numbers})
    record = LogRecord(START_NS, trace_id=t.trace_id, body=API_REQUEST, attributes={**numbers, "cost_usd": 0.25})
    lonely = LogRecord(START_NS, body="no trace")
    loader = Loader(db, prices=PRICES)
    load(loader, 1, [], [record, lonely])
    loader = Loader(db, prices=PRICES) if restart else loader
    load(loader, 2, t.spans, [record])
    assert stored(db) == {r.run_id: r for r in project(t.spans, logs=[record], prices=PRICES)}
    assert rows(db, "SELECT reported_cost_usd > 0 FROM runs") == [(True,)]
    assert rows(db, "SELECT count(*) FROM logs") == [(2,)]


def test_two_loaders_that_take_turns_never_work_on_old_memory(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    a = t.agent("a")
    for _ in range(5):
        t.chat("m", parent=a, input_tokens=10, output_tokens=1)
    loaders = [Loader(db, prices=PRICES), Loader(db, prices=PRICES)]
    for number, span in enumerate([*t.spans[1:], a, a], 1):
        load(loaders[number % 2], number, [span])
    assert stored(db) == {r.run_id: r for r in project(t.spans, prices=PRICES)}
    assert (books(db)["stored"], books(db)["duplicate"]) == (6, 1)


def test_a_commit_that_fails_leaves_memory_as_the_store_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    t.chat("m", parent=t.agent("a"), input_tokens=10, output_tokens=1)
    loader = Loader(db, prices=PRICES)
    load(loader, 1, t.spans[:1])

    def full(self: object, batch: object) -> None:
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr(loader_module.StoreWriter, "append", full)
        with pytest.raises(OSError, match="disk full"):
            load(loader, 2, t.spans[1:])
    load(loader, 2, t.spans[1:])
    assert stored(db) == {r.run_id: r for r in project(t.spans, prices=PRICES)}
    assert (books(db)["received"], books(db)["stored"]) == (2, 2)


def test_memory_lets_go_of_old_traces_and_a_trace_larger_than_it_still_loads(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    loader = Loader(db, prices=PRICES)
    loader._traces = Traces(max_bytes=10_000)
    traces = [TraceBuilder(str(i)) for i in range(4)]
    for t in traces:
        a = t.agent("a", {"gen_ai.input.messages": "x" * 3000})
        for _ in range(5):
            t.chat("m", parent=a, input_tokens=10, output_tokens=1)
    load(loader, 1, [t.spans[0] for t in traces])
    load(loader, 2, [s for t in traces for s in t.spans[1:]])
    assert len(loader._traces._states) == 1
    assert stored(db) == {r.run_id: r for r in project([s for t in traces for s in t.spans], prices=PRICES)}


def test_the_end_of_a_provisional_run_is_not_shown_twice(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    t = TraceBuilder()
    t.chat("m", parent=NOWHERE, input_tokens=10, output_tokens=1)
    request = t.span("POST /", kind=2)
    load_each(db, [t.spans[:1], [msgspec.structs.replace(request, span_id=NOWHERE)]], restart=True)
    assert rows(db, "SELECT status, input_tokens, complete FROM runs") == [("completed", 10, True)]
    assert rows(db, "SELECT count(*) FROM run_aliases") == [(1,)]
