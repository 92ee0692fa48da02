"""Compaction changes no answer, retention removes whole runs; both a turn at a time."""

import datetime as dt
from decimal import Decimal

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from test_loader import load as load_by

from otel_runlog.assemble import Assembler
from otel_runlog.errors import StoreError
from otel_runlog.journal import journal_folder
from otel_runlog.loader import Loader
from otel_runlog.maintenance import CompactReport, GcReport, compact, gc
from otel_runlog.model import LogRecord
from otel_runlog.pricing import PriceTable
from otel_runlog.store import statements
from otel_runlog.store.batch import Batch, Position
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter
from otel_runlog.testing import START_NS, TraceBuilder
from otel_runlog.traces import Traces

PRICES = PriceTable.load([], base=None)
DAY_NS = 86_400_000_000_000
NOV_1 = 1_793_491_200_000_000_000
"""2026-11-01T00:00:00Z."""
MESSAGES = '[{"role": "user", "parts": [{"type": "text", "content": "What is the capital of France, please?"}]}]'


def november(day):
    return dt.datetime(2026, 11, day, tzinfo=dt.UTC)


def trace_of(day, name=None):
    trace = TraceBuilder(name or f"day {day}", start_ns=NOV_1 + (day - 1) * DAY_NS)
    agent = trace.agent("planner")
    said = {"gen_ai.input.messages": MESSAGES, "gen_ai.conversation.id": f"s{day}"}
    trace.chat("m-std", said, parent=agent, input_tokens=1000, output_tokens=100)
    return trace


def load(db, spans, logs=()):
    with StoreWriter(db) as writer:
        assembler = Assembler(writer, Traces(), PRICES)
        assembler.add_spans("test", 1, spans, {})
        assembler.add_logs("test", 1, logs)
        writer.append(assembler.batch())


def rows(db, sql):
    with StoreReader(db) as reader:
        return reader.query(sql).rows


def answers(db):
    """What every view says."""
    return {view: rows(db, f"select * from {view} order by all") for view in statements.VIEWS}


def table_rows(db, *tables):
    with duckdb.connect(db, read_only=True) as plain:
        return [len(plain.table(table).fetchall()) for table in tables]


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@settings(max_examples=4, deadline=None, phases=[Phase.explicit, Phase.generate],
          suppress_health_check=[HealthCheck.function_scoped_fixture])  # fmt: skip
@given(pieces=st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=6))
def test_compaction_changes_no_answer(pieces, tmp_path_factory):
    """Spans come late, one by one: runs are provisional, closed, and closed again."""
    db = tmp_path_factory.mktemp("store") / "runs.duckdb"
    for day, with_root in pieces:
        agent, chat = trace_of(day).spans
        load(db, [agent, chat] if with_root else [chat])
    segment = journal_folder(db) / "1-2-00000003.seg"
    segment.parent.mkdir(mode=0o700)
    segment.touch()
    with StoreWriter(db) as writer:
        writer.append(Batch(positions=[Position(segment.name, 10, 1), Position(segment.name, 20, 2, ended=True)]))
        positions = writer.positions()
    before = answers(db)
    compact(db)
    assert answers(db) == before
    assert table_rows(db, "superseded", "positions") == [0, 1]
    with StoreWriter(db) as writer:
        assert writer.positions() == positions
    size = db.stat().st_size
    assert msgspec.structs.replace(compact(db), bytes_free=0) == CompactReport(bytes_before=size, bytes_after=size)


def test_compaction_forgets_segments_that_were_loaded_whole_and_are_gone(db):
    load(db, trace_of(1).spans)
    gone, pending, file = "1-2-00000003.seg", "1-2-00000004.seg", "sha256:5e9"
    whole = [Position(gone, 10, 1), Position(gone, 20, 2, ended=True), Position(file, 7, ended=True)]
    with StoreWriter(db) as writer:
        writer.append(Batch(positions=[*whole, Position(pending, 5, 1)]))
    assert compact(db).folded == 2
    with StoreWriter(db) as writer:
        assert sorted(writer.positions()) == [pending, file]


def test_compaction_says_what_it_gained_and_works_in_turns(db, monkeypatch):
    with DuckDBRunLogStore(db) as store:
        load(db, trace_of(1).spans)
        [run] = store.list()
        for _ in range(5):
            store.put(run)
    monkeypatch.setattr("otel_runlog.store.maintenance.VERSIONS_PER_TURN", 2)
    turns = []

    def meanwhile(report):
        turns.append(report.versions)
        assert rows(db, "select count(*), max(version) from runs") == [(1, 6)]

    report = compact(db, on_turn=meanwhile)
    assert (report.versions, report.steps, turns) == (5, 10, [2, 4, 5])
    assert table_rows(db, "closed_runs", "closed_steps", "closed_agents", "closed_models") == [1, 2, 1, 1]


def test_a_run_that_comes_again_after_compaction_is_a_version_of_its_own(db):
    agent, chat = trace_of(1).spans
    load(db, [chat])
    load(db, [agent])
    compact(db)
    late = TraceBuilder("day 1", start_ns=NOV_1 + 5_000_000)
    late.spans.append(agent)
    late.chat("m-std", {"n": 1}, parent=agent, input_tokens=5, output_tokens=5)
    late.spans[-1].span_id = "77" * 8
    load(db, [late.spans[-1]])
    assert rows(db, "select count(*), sum(llm_calls), sum(input_tokens) from runs") == [(1, 2, 1005)]


def test_old_runs_go_with_all_that_is_theirs(db):
    for day in (1, 10, 20):
        trace = trace_of(day)
        record = LogRecord(NOV_1, NOV_1, trace.trace_id, trace.spans[1].span_id, event_name="app.note", body="hello")
        load(db, trace.spans, [record])
    expected = GcReport(runs=2, steps=4, spans=4, logs=2, messages=2)
    before = answers(db)
    assert gc(db, november(15), dry_run=True) == expected
    assert answers(db) == before
    assert gc(db, november(15)) == expected
    assert rows(db, "select started_at from runs") == [(november(20),)]
    counts = "select (select count(*) from {}), (select count(*) from {}), (select count(*) from {})"
    assert rows(db, counts.format("steps", "spans", "messages")) == [(2, 2, 1)]
    assert rows(db, counts.format("logs", "agents", "sessions")) == [(1, 1, 1)]
    assert table_rows(db, "closed_models") == [1]
    assert gc(db, november(15)) == GcReport()


def test_the_newest_runs_stay_however_old(db):
    for day in (1, 10, 20):
        load(db, trace_of(day).spans)
    assert gc(db, november(30), keep_runs=2).runs == 1
    assert rows(db, "select started_at from runs order by all") == [(november(10),), (november(20),)]
    assert gc(db, november(30), keep_runs=5).runs == 0


def test_a_run_that_shares_a_trace_with_a_younger_one_stays(db):
    old, young = trace_of(1, "shared"), trace_of(20, "shared")
    for span in young.spans:
        span.span_id = f"f{span.span_id[1:]}"
    young.spans[1].parent_span_id = young.spans[0].span_id
    load(db, [*old.spans, *young.spans])
    assert rows(db, "select count(*) from runs") == [(2,)]
    assert gc(db, november(15)) == GcReport()
    assert gc(db, november(30)).runs == 2
    assert rows(db, "select count(*) from spans") == [(0,)]


def test_old_spans_without_a_run_and_open_runs_go_too(db):
    plain = TraceBuilder("http", start_ns=NOV_1)
    plain.span("GET /")
    load(db, plain.spans)
    load(db, trace_of(2).spans[1:])
    assert rows(db, "select status from runs") == [("incomplete",)]
    assert gc(db, november(15)) == GcReport(runs=1, steps=1, spans=2, messages=1)
    assert table_rows(db, "stored_spans", "stored_traces", "open_runs", "open_steps", "open_agents") == [0] * 5


def test_turns_of_retention_take_the_oldest_first(db, monkeypatch):
    for day in (3, 1, 2):
        load(db, trace_of(day).spans)
    monkeypatch.setattr("otel_runlog.store.maintenance.RUNS_PER_TURN", 1)
    seen = []
    gc(db, november(15), on_turn=lambda _: seen.append(rows(db, "select min(started_at) from runs")[0][0]))
    assert seen == [november(2), november(3), None, None]


def test_what_was_ingested_and_is_gone_is_no_duplicate_in_the_books(db):
    load(db, trace_of(1).spans)
    gc(db, november(15))
    assert rows(db, "select received, stored from books") == [(2, 2)]


@pytest.mark.parametrize("work", [compact, lambda db: gc(db, november(15))])
def test_no_store_is_made_by_maintenance(db, work):
    with pytest.raises(StoreError, match="there is no store at"):
        work(db)
    assert not db.exists()


def test_repriced_runs_keep_their_audit_through_compaction(db, tmp_path):
    from otel_runlog.reprice import reprice

    prices = tmp_path / "acme.toml"
    prices.write_text('name = "acme"\nversion = "1"\n[[model]]\nmatch = "m-std"\ninput = "1"\noutput = "2"\n')
    load(db, trace_of(1).spans)
    reprice(db, PriceTable.load([prices], base=None))
    before = answers(db)
    assert compact(db).versions == 1
    assert answers(db) == before
    assert rows(db, "select cost_after from cost_changes") == [(Decimal("0.0012"),)]


def test_gc_removes_old_records_that_name_no_trace(tmp_path):
    db = tmp_path / "runs.duckdb"
    loader = Loader(db, prices=PRICES)
    load_by(loader, 1, [], [LogRecord(NOV_1, body="claude_code.user_prompt", attributes={"prompt": "a secret"})])
    report = gc(db, dt.datetime.fromtimestamp(NOV_1 / 1e9 + 86_400, dt.UTC))
    assert report.logs == 1
    with StoreReader(db) as reader:
        assert reader.query("SELECT count(*) FROM logs").rows == [(0,)]


def test_a_loader_that_lives_on_forgets_what_gc_removed(tmp_path):
    t, db = TraceBuilder(), tmp_path / "runs.duckdb"
    root = t.agent("a")
    t.span("chat m", {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 3}, parent=root, duration_ms=3)
    loader = Loader(db, prices=PRICES)
    load_by(loader, 1, t.spans)
    gc(db, dt.datetime.fromtimestamp(START_NS / 1e9 + 86_400, dt.UTC))
    load_by(loader, 2, [t.span("late", {}, parent=root, start_ms=2)])
    with StoreReader(db) as reader:
        assert reader.query("SELECT (SELECT count(*) FROM spans), (SELECT count(*) FROM steps)").rows == [(1, 0)]
