"""A batch goes in whole or not at all, and comes back exactly."""

import os
import signal
import subprocess
import sys
import types

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_runlog.errors import StoreError
from otel_runlog.model import LogRecord, Resource, Scope, Span, SpanEvent, SpanLink, Usage
from otel_runlog.scores import Score
from otel_runlog.store import arrow
from otel_runlog.store.batch import (
    Batch,
    BookEntry,
    LoggedMessageRow,
    Position,
    RunRef,
    RunVersion,
    StoredLog,
    StoredSpan,
)
from otel_runlog.store.writer import StoreWriter

TRACE = "7a" * 16
OTHER = "7b" * 16


def stored(span_id="51" * 8, trace_id=TRACE, **changes):
    return StoredSpan(Span(trace_id, span_id, **changes), digest=b"\x00\xff" * 8, received_ns=1, source="grpc")


FULL = stored(
    parent_span_id="50" * 8,
    name="chat",
    kind=3,
    started_ns=1_793_880_000_123_456_789,
    ended_ns=1_793_880_001_123_456_789,
    status_code=2,
    status_message="no",
    attributes={"i": 1, "f": 1.0, "b": b"\x00", "t": True, "n": None, "l": [1, 2.0, b"x"], "d": {"$bytes": "x"}},
    events=(SpanEvent("exception", 5, {"exception.type": "ValueError"}, 2),),
    links=(SpanLink(OTHER, "52" * 8, "a=b", {"k": 1}, 3, 256),),
    scope=Scope("lib", "1.2"),
    resource=Resource({"service.name": "bot", "process.pid": 12}),
    trace_state="a=b",
    flags=257,
    dropped_attributes_count=1,
    dropped_events_count=2,
    dropped_links_count=3,
    repairs=("clock_skew: clamped",),
)


@pytest.fixture(params=[True, False], ids=["arrow", "appender"])
def by_arrow(request, monkeypatch):
    """Whether even a single row is appended by Arrow, or none at all."""
    monkeypatch.setattr(arrow, "MANY_ROWS", 1 if request.param else 10**9)
    return request.param


@pytest.fixture
def writer(db, by_arrow):
    with StoreWriter(db) as writer:
        yield writer


def rows(writer, table):
    return writer._store.duck.table(table).fetchall()


def test_a_span_comes_back_exactly(writer):
    writer.append(Batch(spans=[FULL]))
    assert writer.spans_of([TRACE]) == [FULL]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    attributes=st.dictionaries(st.text(max_size=5), VALUES, max_size=5), name=st.text(), number=st.integers(0, 10**9)
)
def test_any_attributes_come_back_exactly(writer, attributes, name, number):
    span = stored(trace_id=f"{number:032x}", name=name, attributes=attributes)
    writer.append(Batch(spans=[span]))
    assert repr(writer.spans_of([f"{number:032x}"])[-1]) == repr(span)


def test_a_log_record_comes_back_exactly(writer):
    record = LogRecord(
        1, 2, TRACE, "51" * 8, "gen_ai.choice", 9, "INFO", {"a": [b"x", 1.0]}, {"k": "v"}, Scope("s", "1")
    )
    log = StoredLog(record, received_ns=3, place=TRACE)
    writer.append(Batch(logs=[log, StoredLog(LogRecord(body="lonely"), 4)]))
    assert writer.logs_of([TRACE]) == [log]


def test_only_traces_that_are_stored_are_known(writer):
    writer.append(Batch(spans=[stored()], start_records=[stored(trace_id=OTHER, start_record=True)]))
    assert writer.known_traces([TRACE, OTHER, "00" * 16]) == {TRACE, OTHER}
    assert writer.known_traces([]) == set()


def test_spans_of_a_trace_are_found_whenever_they_started(writer):
    starts = [5, None, 10**18, 7]
    spans = [stored(f"{number:016x}", started_ns=at) for number, at in enumerate(starts)]
    writer.append(Batch(spans=[*spans[:3], stored(trace_id=OTHER, started_ns=None)]))
    writer.append(Batch(spans=spans[3:]))
    assert {item.span.started_ns for item in writer.spans_of([TRACE])} == set(starts)
    assert [item.span.started_ns for item in writer.spans_of([OTHER])] == [None]


def test_an_end_takes_the_place_of_its_start_record(writer):
    started = stored(start_record=True)
    writer.append(Batch(start_records=[started, stored("52" * 8, start_record=True)]))
    writer.append(Batch(spans=[FULL], ended=[(TRACE, "51" * 8, started.span.started_ns)]))
    assert sorted((s.span.span_id, s.span.start_record) for s in writer.spans_of([TRACE])) == [
        ("51" * 8, False),
        ("52" * 8, True),
    ]


def test_a_start_record_replaces_the_one_before(writer):
    writer.append(Batch(start_records=[stored(start_record=True, name="old")]))
    writer.append(Batch(start_records=[stored(start_record=True, name="new")]))
    assert [s.span.name for s in writer.spans_of([TRACE])] == ["new"]


def test_an_open_run_is_replaced_until_it_closes(writer, run):
    writer.append(Batch(open=[RunVersion(run(), 1)]))
    writer.append(Batch(open=[RunVersion(run(), 1)]))
    assert writer.runs_of([TRACE]) == [RunRef("a1" * 16, 1, True, TRACE)]
    writer.append(Batch(closed=[RunVersion(run(), 1)]))
    assert writer.runs_of([TRACE]) == [RunRef("a1" * 16, 1, False, TRACE)]


def test_a_cleared_run_is_no_longer_open(writer, run):
    writer.append(Batch(open=[RunVersion(run(), 1)]))
    writer.append(Batch(cleared=["a1" * 16]))
    assert writer.runs_of([TRACE]) == []
    assert [len(rows(writer, table)) for table in ("open_runs", "open_steps", "open_agents")] == [0, 0, 0]


def test_superseded_versions_are_not_among_the_runs_of_a_trace(writer, run):
    writer.append(Batch(closed=[RunVersion(run(), 1)]))
    writer.append(Batch(closed=[RunVersion(run(), 2)], superseded=[("a1" * 16, 1)]))
    assert writer.runs_of([TRACE]) == [RunRef("a1" * 16, 2, False, TRACE)]
    assert writer.versions_of("a1" * 16) == {1: False, 2: True}


def test_a_run_belongs_to_every_trace_of_its_steps(writer, run, step):
    writer.append(Batch(closed=[RunVersion(run(steps=(step(trace_id=OTHER),)))]))
    assert [ref.trace_id for ref in writer.runs_of([TRACE, OTHER])] == [TRACE, OTHER]


def test_the_furthest_position_counts(writer):
    writer.append(Batch(positions=[Position("a.seg", 10), Position("b.seg", 7)]))
    writer.append(Batch(positions=[Position("a.seg", 30)]))
    assert writer.positions() == {"a.seg": Position("a.seg", 30), "b.seg": Position("b.seg", 7)}


def logged(text, span_id="51" * 8, position=0):
    return LoggedMessageRow(TRACE, span_id, "input", "call", "1", position, "user", text)


def test_a_logged_text_is_stored_once_within_and_across_batches(writer):
    writer.append(Batch(logged_messages=[logged("hello"), logged("hello", position=1), logged("you")]))
    writer.append(Batch(logged_messages=[logged("hello", span_id="52" * 8)]))
    assert len(rows(writer, "logged_messages")) == 4
    assert sorted(rows(writer, "contents"), key=lambda row: row[1]) == [
        ("2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824", "hello", 5),
        ("bb0347a468d97e98a9c00e37cebec1ab930f6f1221cae0f1fbb92b07e1900ba2", "you", 3),
    ]


def test_a_failing_batch_leaves_nothing_behind(writer, run):
    broken = RunVersion(run("b2" * 16), version="no number")
    with pytest.raises(StoreError, match=r"runs\.duckdb.*no number"):
        writer.append(Batch(spans=[FULL], closed=[broken], positions=[Position("a.seg", 10)]))
    assert writer.spans_of([TRACE]) == []
    assert writer.positions() == {}
    writer.append(Batch(spans=[FULL]))
    assert writer.spans_of([TRACE]) == [FULL]


def test_a_value_that_no_column_holds_does_not_keep_the_batch_out(writer, run):
    writer.append(
        Batch(
            spans=[FULL, stored("52" * 8, name="a\ud800", flags=2**64)],
            closed=[RunVersion(run(tokens=Usage(2**70, -(2**70))))],
        )
    )
    assert [(s.span.name, s.span.flags) for s in writer.spans_of([TRACE])] == [("chat", 257), ("a?", 2**63 - 1)]
    duck = writer._store.duck
    assert duck.sql("select input_tokens, output_tokens from closed_runs").fetchall() == [(2**63 - 1, -(2**63))]


def test_a_store_in_memory_imports_no_duckdb():
    modules = "import otel_runlog.store.batch, otel_runlog.store.memory, otel_runlog.store.protocol, sys"
    subprocess.run([sys.executable, "-c", f"{modules}; sys.exit('duckdb' in sys.modules)"], check=True)


def test_books_add_up_by_source(writer):
    writer.append(
        Batch(books=[BookEntry("grpc", received=5, stored=3, rejected={"trace_id": 1}, dropped={"queue": 1})])
    )
    writer.append(
        Batch(
            books=[
                BookEntry("grpc", received=2, duplicate=1, rejected={"trace_id": 1}),
                BookEntry("f", received=1, stored=1),
            ]
        )
    )
    assert sorted(rows(writer, "books")) == [
        ("f", 1, 1, 0, 0, 0, 0, "{}", "{}"),
        ("grpc", 7, 3, 1, 0, 0, 0, '{"trace_id":2}', '{"queue":1}'),
    ]


KILLED = """
import os, signal, sys
from otel_runlog.model import Span
from otel_runlog.store.batch import Batch, Position, StoredSpan
from otel_runlog.store.writer import StoreWriter

writer = StoreWriter(sys.argv[1])
for number in range(1, 4):
    span = StoredSpan(Span(f"{number:032x}", "51" * 8), b"", 1, "grpc")
    writer.append(Batch(spans=[span], positions=[Position("a.seg", number)]))
with writer._store.transaction():
    writer._store.append("positions", ["segment", "byte_offset"], [("a.seg", 99)])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_arrow_is_for_many_rows_where_it_is_installed(writer, by_arrow, monkeypatch):
    def append():
        return arrow.append(writer._store.duck, "superseded", ["run_id", "version"], [["r"], [1]])

    assert append() is by_arrow
    monkeypatch.setattr(arrow, "_pyarrow", lambda: None)
    assert append() is False


@pytest.mark.parametrize("found", [None, types.ModuleType("pyarrow")], ids=["not installed", "too old"])
def test_a_pyarrow_that_does_not_serve_is_left_alone(found, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", found)
    assert arrow._pyarrow.__wrapped__() is None


def test_the_same_rows_are_stored_with_arrow_and_without(tmp_path, run, monkeypatch):
    monkeypatch.setattr("otel_runlog.store.writer._now_ns", lambda: 1)
    batch = Batch(
        spans=[FULL, stored("52" * 8, attributes={"nul": "a\0b", "text": "\u00e9\u2028"}), stored("53" * 8, name="\0")],
        start_records=[stored("54" * 8)],
        logs=[StoredLog(LogRecord(body={"a": [b"x", None]}, attributes={"k": float("nan")}), 3, TRACE)],
        logged_messages=[LoggedMessageRow(TRACE, "51" * 8, "input", "call", "1", 0, "user", "hello")],
        scores=[Score("m", "n", "span", value=0.1)],
        closed=[RunVersion(run(), 1, "in", "out", 5), RunVersion(run("b2" * 16, cost_estimate=None, agents=()))],
        open=[RunVersion(run("c3" * 16))],
        outdone=[(TRACE, "51" * 8, b"\x00\xff")],
        books=[BookEntry("grpc", received=1, stored=1)],
        positions=[Position("a.seg", 10)],
    )
    found = []
    for many_rows in (1, 10**9):
        monkeypatch.setattr(arrow, "MANY_ROWS", many_rows)
        with StoreWriter(tmp_path / f"{many_rows}.duckdb") as writer:
            writer.append(batch)
            found.append({table: rows(writer, table) for (table,) in writer._store.duck.sql("show tables").fetchall()})
    assert found[0] == found[1]
    assert all(found[0][table] for table in ("stored_spans", "open_spans", "stored_logs", "contents", "stored_scores"))


def test_committed_batches_survive_a_kill_and_an_open_one_leaves_nothing(db):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(db)], check=False)
    assert killed.returncode == -signal.SIGKILL
    with duckdb.connect(db, read_only=True) as plain:
        assert plain.execute("select count(*) from spans").fetchall() == [(3,)]
    with StoreWriter(db) as writer:
        assert writer.positions() == {"a.seg": Position("a.seg", 3)}
        assert writer.known_traces([f"{number:032x}" for number in range(5)]) == {f"{n:032x}" for n in (1, 2, 3)}


@pytest.mark.fault(52)
@pytest.mark.parametrize("umask", [0o000, 0o022])
def test_files_are_private_whatever_the_umask(db, umask):
    old = os.umask(umask)
    try:
        mode_of_folder = db.parent.stat().st_mode
        with StoreWriter(db) as writer:
            modes = []
            for number in range(3):
                writer.append(Batch(spans=[FULL], positions=[Position("a.seg", number)]))
                modes += [(path.is_dir(), oct(path.stat().st_mode & 0o777)) for path in sorted(db.parent.iterdir())]
                writer._store.duck.execute("checkpoint")
        assert set(modes) == {(False, "0o600"), (True, "0o700")}
        assert [path.name for path in db.parent.iterdir()] == ["runs.duckdb"]
        assert db.parent.stat().st_mode == mode_of_folder
    finally:
        os.umask(old)
