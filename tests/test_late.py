"""What comes late, apart or never, through the loader in several turns: each run has one defined answer, once."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from models_of_steps import assert_models_are_their_steps
from test_loader import PRICES, books, stored

from otel_runlog.cli.main import main
from otel_runlog.journal import JournalWriter, journal_folder
from otel_runlog.loader import Loader
from otel_runlog.model import RunLog, RunStatus, Span
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.runs import project
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import MS, START_NS, TraceBuilder

NOWHERE = "00000000000000aa"
DAY_NS = 24 * 3600 * 10**9
REMOTE_PARENT = 0x301


class Late:
    """A store that gets its spans in turns, by a loader that lives on or a new one each time."""

    def __init__(self, folder: Path, *, restart: bool) -> None:
        self.db = folder / "runs.duckdb"
        self._restart = restart
        self._loader = Loader(self.db, prices=PRICES)
        self.arrived: list[Span] = []

    def turn(self, *spans: Span) -> dict[str, RunLog]:
        """Journal the spans, load, and return the runs there are; the books balance and `project` says the same."""
        writer = JournalWriter(journal_folder(self.db))
        for span in spans:
            body = encode_spans([span])
            signal = Signal.STARTS if span.start_record else Signal.TRACES
            writer.append(signal, Encoding.PROTOBUF, START_NS, body)
            self.arrived += [_as(span, read) for read in read_traces(body, Encoding.PROTOBUF).spans]
        writer.close()
        if self._restart:
            self._loader = Loader(self.db, prices=PRICES)
        assert self._loader.turn().damaged == []
        found = stored(self.db)
        assert found == {r.run_id: r for r in project(self.arrived, prices=PRICES, now=dt.datetime.now(dt.UTC))}
        kept = books(self.db)
        assert kept["received"] == len(self.arrived)
        assert kept["received"] == sum(int(str(kept[k])) for k in ("stored", "duplicate", "conflict", "superseded"))
        return found

    def only(self, *spans: Span) -> RunLog:
        """The one run there is after a turn."""
        [run] = self.turn(*spans).values()
        return run

    def cli(self, *arguments: str) -> list[dict[str, object]]:
        """What a command prints as JSON."""
        done = CliRunner().invoke(main, [*arguments, "--db", str(self.db), "--format", "json"])
        assert done.exit_code == 0, done.output
        found: list[dict[str, object]] = json.loads(done.stdout)
        return found


ONE_LOADER, A_LOADER_A_TURN, LONG_PAUSES = "one loader", "a loader a turn", "long pauses between turns"


@pytest.fixture(params=[ONE_LOADER, A_LOADER_A_TURN, LONG_PAUSES])
def late(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Late:
    if request.param == LONG_PAUSES:
        monkeypatch.setattr("otel_runlog.store.writer._now_ns", lambda: 0)
    return Late(tmp_path, restart=request.param == A_LOADER_A_TURN)


def a_run(name: str = "trace", start_ns: int = START_NS, calls: int = 3) -> TraceBuilder:
    t = TraceBuilder(name, start_ns=start_ns)
    root = t.agent("a")
    for _ in range(calls):
        t.chat("gpt-4o-mini", {"session.id": "s1"}, parent=root, input_tokens=100, output_tokens=10)
    return t


def _as(sent: Span, read: Span) -> Span:
    """A span as it is read again, with what reading notes of it."""
    return msgspec.structs.replace(read, start_record=sent.start_record)


def names(runs: Sequence[dict[str, object]]) -> list[object]:
    return [run["run_id"] for run in runs]


@pytest.mark.fault(21)
def test_orphans_are_one_run_that_quiet_time_closes_with_its_last_end(late: Late) -> None:
    spans = a_run().spans[1:]
    for number, span in enumerate(spans, 1):
        run = late.only(span)
        assert (run.llm_calls, run.tokens.input_tokens, run.root_span_id) == (number, 100 * number, None)
    assert (run.status, run.complete, run.session_id) == (RunStatus.INCOMPLETE, False, "s1")
    assert run.finished_at is not None
    assert run.finished_at.timestamp() * 1000 == (spans[-1].ended_ns or 0) / MS
    assert "root_missing: the root span has not come" in run.notes


@pytest.mark.fault(21)
def test_orphans_of_this_minute_are_still_running(late: Late) -> None:
    now_ns = int(dt.datetime.now(dt.UTC).timestamp() * 1e9)
    run = late.only(*a_run(start_ns=now_ns).spans[1:])
    assert (run.status, run.finished_at) == (RunStatus.RUNNING, None)


def open_rows(db: Path) -> list[object]:
    with StoreReader(db) as reader:
        counts = reader.query("FROM (SELECT count(*) FROM open_runs), (SELECT count(*) FROM open_steps)").rows
        assert_models_are_their_steps(reader)
    return list(counts[0])


@pytest.mark.fault(21)
@pytest.mark.parametrize("late", [LONG_PAUSES], indirect=True)
def test_a_quiet_run_is_closed_by_the_next_turn_and_what_comes_later_supersedes_it(late: Late) -> None:
    quiet, other = a_run("quiet"), a_run("other")
    late.turn(*quiet.spans[1:3])
    assert open_rows(late.db) == [1, 2]
    [before] = [run for run in late.turn(*other.spans).values() if run.trace_id == quiet.trace_id]
    assert (before.status, before.complete) == (RunStatus.INCOMPLETE, False)
    assert open_rows(late.db) == [0, 0]
    late.turn(quiet.spans[3])
    assert open_rows(late.db) == [1, 3]
    runs = late.turn(quiet.spans[0])
    assert {run.status for run in runs.values()} == {RunStatus.COMPLETED}
    assert len(runs) == 2
    assert open_rows(late.db) == [0, 0]


@pytest.mark.fault(21)
@pytest.mark.parametrize("late", [ONE_LOADER], indirect=True)
def test_an_old_run_that_came_lately_stays_open_in_the_next_turn(late: Late) -> None:
    late.turn(*a_run("old").spans[1:])
    assert {run.status for run in late.turn(*a_run("other").spans).values()} == {"incomplete", "completed"}
    assert open_rows(late.db) == [1, 3]


@pytest.mark.fault(21)
def test_a_run_of_this_minute_stays_open_in_the_next_turn(late: Late) -> None:
    now_ns = int(dt.datetime.now(dt.UTC).timestamp() * 1e9)
    late.turn(*a_run("now", start_ns=now_ns).spans[1:])
    late.turn(*a_run("other").spans)
    assert open_rows(late.db) == [1, 3]


@pytest.mark.fault(21)
def test_a_root_that_comes_a_day_late_completes_the_run_under_both_names(late: Late) -> None:
    t = a_run()
    [old] = late.turn(*t.spans[1:])
    late.turn(*a_run("another", start_ns=START_NS + DAY_NS).spans)
    runs = late.turn(t.spans[0])
    [new] = [run_id for run_id, run in runs.items() if run.trace_id == t.trace_id]
    assert (new == old, old in runs, len(runs)) == (False, False, 2)
    assert (runs[new].status, runs[new].complete, runs[new].tokens.input_tokens) == (RunStatus.COMPLETED, True, 300)
    assert sorted(names(late.cli("runs"))) == sorted(runs)
    for name in (old, old[:8], new):
        done = CliRunner().invoke(main, ["show", name, "--db", str(late.db), "--format", "json"])
        assert done.exit_code == 0, done.output
        assert new in done.stdout
    with StoreReader(late.db) as reader:
        assert (reader.find(old), reader.run(old).run_id) == (new, new)


@pytest.mark.fault(21)
def test_a_remote_parent_makes_a_local_root_at_once_also_when_the_caller_comes_later(late: Late) -> None:
    caller, callee = TraceBuilder("one", service="front"), TraceBuilder("one", service="back")
    boss = caller.agent("boss")
    called = callee.span(
        "invoke_agent helper",
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        parent=boss,
        flags=REMOTE_PARENT,
        duration_ms=20,
    )
    called.span_id = "00000000000000bb"
    run = late.only(called)
    assert (run.status, run.agent, run.root_span_id) == (RunStatus.COMPLETED, "helper", called.span_id)
    whole = late.only(boss)
    assert (whole.agent, whole.root_span_id) == ("boss", boss.span_id)
    with StoreReader(late.db) as reader:
        assert reader.find(run.run_id) == whole.run_id


@pytest.mark.fault(21)
def test_children_after_the_end_are_counted_once(late: Late) -> None:
    t = a_run()
    assert late.only(t.spans[0]).llm_calls == 0
    assert late.only(*t.spans[2:]).llm_calls == 2
    assert late.only(*t.spans[1:3]).llm_calls == 3
    after = t.chat("gpt-4o-mini", parent=t.spans[0], input_tokens=7, output_tokens=1, start_ms=5000)
    run = late.only(after)
    assert (run.status, run.tokens.input_tokens) == (RunStatus.COMPLETED, 307)
    assert run.finished_at is not None
    assert run.finished_at.timestamp() * 1000 == (after.ended_ns or 0) / MS


@pytest.mark.fault(3, 21)
def test_a_span_without_end_keeps_its_run_open_until_its_end_or_quiet_time(late: Late) -> None:
    t = a_run()
    begun = msgspec.structs.replace(t.spans[0], ended_ns=None, start_record=True)
    run = late.only(begun, *t.spans[1:])
    assert (run.status, run.complete, run.steps[0].finished_at) == (RunStatus.INCOMPLETE, False, None)
    ended = late.only(t.spans[0])
    assert (ended.run_id, ended.status, ended.complete) == (run.run_id, RunStatus.COMPLETED, True)
    assert late.only(begun).status is RunStatus.COMPLETED
    assert (books(late.db)["superseded"], books(late.db)["stored"]) == (2, 4)


@pytest.mark.fault(21)
def test_cycles_and_spans_that_are_their_own_parents_are_stored(late: Late) -> None:
    t = TraceBuilder()
    boss = t.agent("boss")
    call = t.chat("gpt-4o-mini", parent=boss, input_tokens=3, output_tokens=1)
    own = t.chat("gpt-4o-mini", input_tokens=4, output_tokens=1)
    boss.parent_span_id, own.parent_span_id = call.span_id, own.span_id
    for span in (boss, call, own):
        runs = late.turn(span)
    assert sum(run.tokens.input_tokens or 0 for run in runs.values()) == 7
    assert sum(run.llm_calls for run in runs.values()) == 2


@pytest.mark.fault(21)
def test_a_start_of_zero_is_unknown_and_the_run_is_still_one(late: Late) -> None:
    t = a_run(calls=1)
    t.spans[1].started_ns = None
    run = late.only(t.spans[1])
    assert (run.started_at, run.steps[0].started_at) == (None, None)
    run = late.only(t.spans[0])
    assert (run.status, run.llm_calls, run.started_at is None) == (RunStatus.COMPLETED, 1, False)


@pytest.mark.fault(21, 54)
def test_an_end_before_the_start_is_kept_and_said(late: Late) -> None:
    t = a_run(calls=1)
    call = t.spans[1]
    assert call.started_ns is not None
    call.ended_ns = call.started_ns - 5 * MS
    late.turn(call)
    run = late.only(t.spans[0])
    assert any(note.startswith("clock_skew: the end is 5000000 ns before the start") for note in run.notes)
    with StoreReader(late.db) as reader:
        assert reader.query("SELECT count(*) FROM steps WHERE duration_ms < 0").rows == [(0,)]
        assert reader.query("SELECT count(*) FROM runs WHERE duration_ms < 0").rows == [(0,)]


@pytest.mark.fault(21)
def test_times_that_no_column_holds_are_clamped_and_said(late: Late) -> None:
    t = TraceBuilder()
    call = t.chat("gpt-4o-mini", input_tokens=1, output_tokens=1)
    call.started_ns, call.ended_ns = 2**64 - 1, 2**64 - 1
    writer = JournalWriter(journal_folder(late.db))
    writer.append(Signal.TRACES, Encoding.PROTOBUF, START_NS, encode_spans([call]))
    writer.close()
    assert Loader(late.db, prices=PRICES).turn().spans == 1
    [run] = stored(late.db).values()
    assert (run.llm_calls, books(late.db)["stored"]) == (1, 1)
    assert any("beyond 64 bits clamped" in note for note in run.notes)
