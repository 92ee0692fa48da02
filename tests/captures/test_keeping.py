"""Captures in a store: made of telemetry, kept, imported, collected. An unchanged run gives the same bytes."""

import datetime as dt
import json
import shutil
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest
from corpus import scenario
from made_captures import NOON, RUN, a_capture, a_run, a_step

from otel_runlog.assemble import Assembler
from otel_runlog.capture import Capture
from otel_runlog.captures.building import captures_of
from otel_runlog.captures.document import dumps, loads, write_capture
from otel_runlog.captures.keeping import (
    CapturesGone,
    Imported,
    captures_over,
    gc_captures,
    import_capture,
    keep_report,
    load_capture,
    persist_capture,
)
from otel_runlog.errors import (
    CaptureError,
    CaptureMissingError,
    ConfigError,
    RunNotFoundError,
    StoreError,
    StoreLockedError,
)
from otel_runlog.maintenance import compact, gc
from otel_runlog.model import AgentUsage, Content, Cost, CostStatus, RunStatus, Usage
from otel_runlog.pricing import PriceTable
from otel_runlog.replaying.divergence import DivergenceReport, ReproVerdict
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.maintenance import CaptureSize
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter
from otel_runlog.testing import TraceBuilder
from otel_runlog.traces import Traces

PRICES = PriceTable.load([], base=None)
RECEIVED_NS = 1_795_910_500_000_000_999
RECEIVED_AT = dt.datetime(2026, 11, 29, 0, 1, 40, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    """A store without rows: to make one takes longer than all else here."""
    path = tmp_path_factory.mktemp("empty") / "runs.duckdb"
    StoreWriter(path).close()
    return path


@pytest.fixture
def db(empty, tmp_path):
    return Path(shutil.copy(empty, tmp_path / "runs.duckdb"))


@pytest.fixture
def other(empty, tmp_path):
    return Path(shutil.copy(empty, tmp_path / "other.duckdb"))


@pytest.fixture
def absent(tmp_path):
    return tmp_path / "absent.duckdb"


def load(db, spans, logs=(), received_ns=RECEIVED_NS):
    with StoreWriter(db) as writer:
        assembler = Assembler(writer, Traces(), PRICES)
        assembler.add_spans("test", received_ns, spans, {})
        assembler.add_logs("test", received_ns, logs)
        writer.append(assembler.batch())


def said(role, text):
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])


def a_trace(name="one", answer="Paris.", agents=1):
    trace = TraceBuilder(name)
    for _ in range(agents):
        agent = trace.agent("planner")
        content = {
            "gen_ai.input.messages": said("user", "What is the capital of France?"),
            "gen_ai.output.messages": said("assistant", answer),
        }
        trace.chat("m-std", content, parent=agent, input_tokens=10, output_tokens=2)
    return trace


def runs(db):
    with StoreReader(db) as reader:
        return [run.run_id for run in reader.runs()]


def rows(db, sql):
    with StoreReader(db) as reader:
        return reader.query(sql).rows


def test_a_run_of_a_store_is_captured_as_one_of_spans_is(db):
    trace = a_trace()
    load(db, trace.spans)
    [expected] = captures_of(trace.spans, prices=PRICES, captured_at=RECEIVED_AT)
    found = load_capture(db, expected.run_id)
    assert found == expected
    assert dumps(found) == dumps(expected)
    assert found.llm_io[0].answer.text == "Paris."


def test_captured_at_is_when_the_newest_span_of_the_run_came(db):
    trace = a_trace()
    load(db, trace.spans[1:])
    load(db, trace.spans, received_ns=RECEIVED_NS + 5_000)
    assert load_capture(db, "last").captured_at == RECEIVED_AT + dt.timedelta(microseconds=5)
    load(db, a_trace("another").spans, received_ns=RECEIVED_NS + 10**9)
    load(db, trace.spans, received_ns=RECEIVED_NS + 10**9)
    [one] = captures_of(trace.spans, prices=PRICES)
    assert load_capture(db, one.run_id).captured_at == RECEIVED_AT + dt.timedelta(microseconds=5)


def test_an_unchanged_run_gives_the_same_bytes_kept_or_not_compacted_or_not(db):
    load(db, a_trace().spans)
    before = dumps(load_capture(db, "last"))
    persist_capture(db, "last")
    persist_capture(DuckDBRunLogStore(db), "last")
    assert dumps(load_capture(db, "last")) == before
    compact(db)
    assert dumps(load_capture(db, "last")) == before
    assert rows(db, "select version, capture from captures") == [(2, before.decode())]
    assert rows(db, "select count(*) from stored_captures") == [(1,)]
    assert rows(db, "select count(*) from llm_io where request is not null") == [(1,)]


def test_newer_telemetry_of_the_run_makes_a_kept_capture_outdated(db):
    trace = a_trace()
    load(db, trace.spans)
    persist_capture(db, "last", memory_ref="notes@1")
    trace.chat("m-std", {"gen_ai.output.messages": said("assistant", "Lyon?")}, parent=trace.spans[0])
    load(db, trace.spans, received_ns=RECEIVED_NS + 1_000_000)
    found = load_capture(db, "last")
    assert (len(found.llm_io), found.memory_ref) == (2, "notes@1")
    assert rows(db, "select llm_calls from captures") == [(1,)]
    persist_capture(db, "last")
    assert rows(db, "select llm_calls, memory_ref from captures") == [(2, "notes@1")]


def test_a_capture_told_by_hand_stays_where_newer_spans_carry_no_content(db):
    trace = TraceBuilder("bare")
    trace.chat("m-std", parent=trace.agent("planner"))
    load(db, trace.spans)
    told = load_capture(db, "last")
    by_hand = msgspec.structs.replace(told, completeness=Content.FULL)
    persist_capture(db, by_hand)
    trace.tool("search", parent=trace.spans[0])
    load(db, trace.spans, received_ns=RECEIVED_NS + 1_000_000)
    assert load_capture(db, "last").llm_io == by_hand.llm_io
    assert load_capture(db, "last").completeness == Content.FULL


def test_a_run_is_found_by_the_name_it_had_before(db):
    trace = a_trace()
    load(db, trace.spans[1:])
    [provisional] = runs(db)
    load(db, trace.spans)
    [run_id] = runs(db)
    assert provisional != run_id
    assert load_capture(db, provisional).run_id == run_id
    assert load_capture(db, run_id[:6]).run_id == run_id


def test_a_capture_under_the_name_before_gives_way_to_that_of_the_run(db):
    trace = a_trace()
    load(db, trace.spans[1:])
    [provisional] = runs(db)
    persist_capture(db, provisional, memory_ref="m1", pinned=True)
    load(db, trace.spans, received_ns=RECEIVED_NS + 1_000_000)
    [run_id] = runs(db)
    assert load_capture(db, provisional[:8]).run_id == run_id
    assert persist_capture(db, provisional).memory_ref == "m1"
    assert rows(db, "select run_id, pinned from captures") == [(run_id, True)]
    assert rows(db, "select distinct run_id from llm_io") == [(run_id,)]


def test_a_name_that_means_nothing_is_an_error(db):
    load(db, a_trace().spans)
    with pytest.raises(RunNotFoundError, match="no run has an id that starts with 'zzzz'"):
        load_capture(db, "zzzz")
    with pytest.raises(RunNotFoundError, match="no run has the id 'z', and a prefix takes 4"):
        persist_capture(db, "z")


def test_a_run_put_without_its_spans_has_no_capture(db):
    DuckDBRunLogStore(db).put(a_run())
    with pytest.raises(CaptureMissingError, match="was put into this store without its spans"):
        load_capture(db, RUN)


def test_a_store_without_a_run_named_is_an_error_and_a_file_is_read(db, tmp_path):
    load(db, a_trace().spans)
    for store in (db, str(db), DuckDBRunLogStore(db)):
        with pytest.raises(ConfigError, match="a store has many runs: name one"):
            load_capture(store)
    file = write_capture(tmp_path / "one.json", a_capture())
    assert load_capture(file) == load_capture(str(file)) == a_capture()


def test_a_held_store_is_told(db):
    load(db, a_trace().spans)
    store = DuckDBRunLogStore(db, timeout_s=0)
    with StoreWriter(db), pytest.raises(StoreLockedError):
        load_capture(store, "last")
    with StoreReader(db), pytest.raises(StoreLockedError):
        persist_capture(store, a_capture())


def test_kept_again_a_capture_is_replaced_and_stays_pinned_until_told(db):
    persist_capture(db, a_capture(), pinned=True)
    persist_capture(db, a_capture(memory_ref="b"))
    assert rows(db, "select pinned, memory_ref from captures") == [(True, "b")]
    persist_capture(db, RUN, pinned=False)
    assert rows(db, "select pinned, memory_ref from captures") == [(False, "b")]


def test_a_capture_brings_its_run_where_the_store_has_none(db):
    persist_capture(db, a_capture())
    persist_capture(db, a_capture(memory_ref="again"))
    assert DuckDBRunLogStore(db).list() == [a_run()]
    assert rows(db, "select input, output from runs") == [("How warm is Paris?", "Let me see.")]


def test_a_run_that_the_store_has_stays_as_it_is(db):
    DuckDBRunLogStore(db).put(a_run(agent="mine"))
    persist_capture(db, a_capture())
    assert [run.agent for run in DuckDBRunLogStore(db).list()] == ["mine"]


def test_spans_that_come_after_the_capture_do_not_make_its_run_twice(db, tmp_path):
    trace = a_trace(agents=2)
    captures = captures_of(trace.spans, prices=PRICES, captured_at=RECEIVED_AT)
    for capture in captures:
        persist_capture(db, capture)
    load(db, trace.spans)
    assert sorted(runs(db)) == sorted(capture.run_id for capture in captures)
    assert rows(db, "select count(*) from spans") == [(4,)]
    load(db, trace.spans)
    assert len(runs(db)) == 2


def test_a_run_that_ran_when_it_was_captured_is_open_until_the_quiet_time_is_over(db):
    persist_capture(db, a_capture(run=a_run(status=RunStatus.RUNNING, finished_at=None)))
    [run] = DuckDBRunLogStore(db).list()
    assert run.status is RunStatus.INCOMPLETE  # of 2026-11-05


def test_captures_outlive_their_runs(db):
    load(db, a_trace().spans)
    kept = persist_capture(db, "last")
    report = gc(db, dt.datetime(2027, 1, 1, tzinfo=dt.UTC))
    assert (report.runs, runs(db)) == (1, [])
    assert load_capture(db, kept.run_id[:8]) == kept
    assert persist_capture(db, kept.run_id, pinned=True) == kept
    assert runs(db) == [kept.run_id]


def test_a_prefix_of_two_captures_is_told(db):
    persist_capture(db, a_capture("abcd1" + "0" * 27))
    persist_capture(db, a_capture("abcd2" + "0" * 27))
    with pytest.raises(RunNotFoundError, match="2 runs have an id that starts with 'abcd'"):
        load_capture(db, "abcd")


def test_export_import_export_is_byte_identical(db, other, tmp_path):
    load(db, a_trace().spans)
    first = write_capture(tmp_path / "first.json", load_capture(db, "last"))
    capture, outcome = import_capture(other, first)
    assert (outcome, runs(other)) == (Imported.KEPT, [capture.run_id])
    second = write_capture(tmp_path / "second.json", load_capture(other, "last"))
    assert second.read_bytes() == first.read_bytes()
    assert import_capture(other, second)[1] is Imported.KNOWN
    assert rows(other, "select version from captures") == [(1,)]
    assert DuckDBRunLogStore(other).get(capture.run_id) == DuckDBRunLogStore(db).get(capture.run_id)


SAMPLE = (
    "openinference-openai-agents/tool_loop_parallel",
    "otel-genai-openai@events/responses_tool_loop",
)


def test_recorded_runs_are_captured_as_their_spans_are_and_come_through_files_unchanged(db, other, tmp_path):
    recorded = [scenario(name) for name in SAMPLE]
    spans = [span for found in recorded for span in found.spans()]
    logs = [record for found in recorded for record in found.log_records()]
    load(db, spans, logs)
    expected = captures_of(spans, logs=logs, prices=PRICES, captured_at=RECEIVED_AT)
    assert len(expected) >= len(SAMPLE)
    for capture in expected:
        file = write_capture(tmp_path, load_capture(db, capture.run_id))
        assert file.read_bytes() == dumps(capture)
        assert import_capture(other, file)[1] is Imported.KEPT
        assert dumps(load_capture(other, capture.run_id)) == file.read_bytes()
    assert DuckDBRunLogStore(other).list() == DuckDBRunLogStore(db).list()


def test_an_older_capture_does_not_replace_a_newer_one(db, tmp_path):
    persist_capture(db, a_capture(memory_ref="newer"))
    old = write_capture(tmp_path / "old.json", a_capture(captured_at=NOON, memory_ref="older"))
    assert import_capture(db, old)[1] is Imported.OLDER
    assert load_capture(db, RUN).memory_ref == "newer"
    new = write_capture(tmp_path / "new.json", a_capture(captured_at=NOON + dt.timedelta(days=1)))
    assert import_capture(db, new)[1] is Imported.KEPT
    assert load_capture(db, RUN).memory_ref is None


@pytest.mark.fault(44)
@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\x00" * 64, b"[" * 100_000, b'{"schema": "runlog.capture/99"}', b'{"schema": 1}']
)
def test_what_is_no_capture_is_not_imported(absent, tmp_path, data):
    file = tmp_path / "evil.json"
    file.write_bytes(data)
    with pytest.raises(CaptureError, match=r"evil\.json: "):
        import_capture(absent, file)
    assert not absent.exists()


def test_a_capture_that_does_not_fit_together_is_not_imported(absent, tmp_path, monkeypatch):
    file = write_capture(tmp_path / "wrong.json", a_capture())
    monkeypatch.setattr(
        "otel_runlog.captures.keeping.problems_of", lambda _capture: ["its fingerprint is wrong", "more"]
    )
    with pytest.raises(
        CaptureError, match=r"wrong\.json: its fingerprint is wrong, and 1 more: `verify` says them all"
    ):
        import_capture(absent, file)
    assert not absent.exists()


FAR = dt.datetime(9999, 12, 31, tzinfo=dt.UTC)
LATE = msgspec.structs.replace(a_step(RUN, 1), ended_ns=2**80)


@pytest.mark.fault(44)
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"captured_at": FAR}, "captured_at is out of range: 9999-12-31"),
        ({"run": a_run(finished_at=FAR)}, "run.finished_at is out of range"),
        ({"run": a_run(started_at=NOON.replace(year=1))}, "run.started_at is out of range"),
        ({"run": a_run(tokens=Usage(2**62, 2**62))}, "run.tokens.input_tokens is out of range: 4611686018427387904"),
        ({"run": a_run(steps=(a_step(RUN, 1), a_step(RUN, 2, usage=Usage(-1))))}, r"run.steps\[1\].input_tokens is"),
        ({"run": a_run(steps=(LATE,))}, r"run.steps\[0\].ended_ns is out of range"),
        ({"run": a_run(agents=(AgentUsage("a", depth=-1),))}, r"run.agents\[0\].depth is out of range: -1"),
    ],
)
def test_figures_that_would_fail_every_view_are_refused(absent, changes, said):
    with pytest.raises(CaptureError, match=said):
        persist_capture(absent, a_capture(**changes))
    assert not absent.exists()


@pytest.mark.fault(44)
def test_texts_that_no_column_holds_are_kept_in_the_capture(db, tmp_path):
    odd = a_run(agent="a\0b", labels={"a\0": "\0"}, attributes={"x": b"\x00", "y": "\ud800"})
    file = write_capture(tmp_path / "odd.json", a_capture(run=odd, memory_ref="\0\ud800"))
    assert import_capture(db, file)[1] is Imported.KEPT
    assert dumps(load_capture(db, RUN)) == file.read_bytes()
    assert len(rows(db, "select * from runs")) == len(rows(db, "select * from captures")) == 1
    assert load_capture(db, RUN).run == odd


@pytest.mark.fault(44)
@pytest.mark.parametrize("usd", ["1e999999999", "9" * 100, "1e-999999999", "NaN"])
def test_amounts_that_no_column_holds_are_kept_in_the_capture(db, usd):
    cost = Cost(Decimal(usd), CostStatus.REPORTED)
    persist_capture(db, a_capture(run=a_run(cost_estimate=cost, steps=(a_step(RUN, 1, cost=cost),))))
    assert len(rows(db, "select * from runs")) == len(rows(db, "select * from steps")) == 1
    assert str(load_capture(db, RUN).run.cost_estimate.usd) == str(Decimal(usd))


def sized(*pinned):
    """Captures of 100 bytes, one of each day from 2026-11-01."""
    first_ns, day_ns = 1_793_491_200_000_000_000, 86_400_000_000_000
    return [CaptureSize(str(n + 1), first_ns + n * day_ns, 100, is_pinned) for n, is_pinned in enumerate(pinned)]


NOV_3_NS = 1_793_491_200_000_000_000 + 2 * 86_400_000_000_000


@pytest.mark.parametrize(
    ("limits", "left"),
    [
        ({}, "123"),
        ({"before_ns": NOV_3_NS}, "13"),
        ({"before_ns": NOV_3_NS + 1}, "1"),
        ({"keep": 1}, "13"),
        ({"keep": 0}, "1"),
        ({"keep": 5}, "123"),
        ({"keep": 2, "before_ns": NOV_3_NS + 1}, "1"),
        ({"max_bytes": 300}, "123"),
        ({"max_bytes": 299}, "13"),
        ({"max_bytes": 200}, "13"),
        ({"max_bytes": 199}, "1"),
        ({"max_bytes": 0}, "1"),
        ({"keep": 1, "max_bytes": 100}, "1"),
    ],
)
def test_what_is_over_a_limit_goes_the_oldest_first_and_pinned_captures_stay(limits, left):
    captures = sized(True, False, False)
    going = captures_over(captures, **({"before_ns": None, "keep": None, "max_bytes": None} | limits))
    assert [capture.run_id for capture in going] == [day for day in "123" if day not in left]


def test_collected_captures_are_gone_from_every_view_and_their_runs_stay(db):
    for day in (1, 2, 3):
        at = dt.datetime(2026, 11, day, tzinfo=dt.UTC)
        persist_capture(db, a_capture(str(day) * 32, captured_at=at), pinned=day == 1)
    [(size,)] = rows(db, "select distinct bytes from captures")
    expected = CapturesGone(("2" * 32,), size, 2, 2 * size)
    november_3 = dt.datetime(2026, 11, 3, tzinfo=dt.UTC)
    assert gc_captures(db, older_than=november_3, dry_run=True) == expected
    assert rows(db, "select count(*) from captures") == [(3,)]
    assert gc_captures(DuckDBRunLogStore(db), older_than=november_3) == expected
    for source in ("captures", "llm_io", "tool_io", "captured_refs"):
        assert rows(db, f"select distinct run_id[1] from {source} order by 1") == [("1",), ("3",)]
    assert gc_captures(db, older_than=dt.timedelta(days=1)).run_ids == ("3" * 32,)
    assert len(runs(db)) == 3


@pytest.mark.parametrize(
    "limits", [{"keep": -1}, {"max_bytes": -1}, {"older_than": NOON.replace(tzinfo=None)}, {"older_than": "90d"}]
)
def test_a_limit_that_is_none_is_an_error(db, limits):
    with pytest.raises(ConfigError):
        gc_captures(db, **limits)


def test_no_age_is_too_large(db):
    persist_capture(db, a_capture())
    assert gc_captures(db, older_than=dt.timedelta.max).kept == 1


def test_where_no_store_is_none_is_made(absent):
    with pytest.raises(StoreError, match="there is no store at"):
        gc_captures(absent, keep=1)
    assert not absent.exists()


def test_what_could_not_be_read_again_is_not_kept(absent):
    with pytest.raises(CaptureError, match="memory_ref: Expected `str`, got `int`"):
        persist_capture(absent, a_capture(), memory_ref=7)
    with pytest.raises(CaptureError, match="completeness"):
        persist_capture(absent, a_capture(completeness="nearly"))
    assert not absent.exists()


def test_a_replay_is_kept_with_its_run_and_capture(db):
    report = DivergenceReport(run_id=RUN, replay_run_id="ef" * 16, verdict=ReproVerdict.IDENTICAL)
    replay = a_run("ef" * 16, replay_of=RUN)
    for _ in range(2):
        keep_report(db, report, replay, a_capture("ef" * 16, run=replay))
    assert rows(db, "select run_id, replay_of, input from runs") == [("ef" * 16, RUN, "How warm is Paris?")]
    assert rows(db, "select run_id from captures") == [("ef" * 16,)]
    assert [run.steps for run in DuckDBRunLogStore(db).list()] == [replay.steps]


def test_a_report_without_the_replays_name_is_an_error(db):
    with pytest.raises(ConfigError, match="replay_run_id"):
        keep_report(db, DivergenceReport(run_id=RUN, verdict=ReproVerdict.IDENTICAL))


def test_what_is_read_back_is_what_was_kept(db):
    kept = persist_capture(db, a_capture())
    [(document,)] = rows(db, "select capture from captures")
    assert isinstance(kept, Capture)
    assert loads(document.encode()) == kept == load_capture(db, RUN)
