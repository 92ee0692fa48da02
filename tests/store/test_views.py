"""The views are those of the contract: names, types, and what they add up to."""

import datetime as dt
import time
from decimal import Decimal

import duckdb
import msgspec
import pytest
from models_of_steps import assert_models_are_their_steps

from otel_runlog.model import (
    Cost,
    CostStatus,
    LogRecord,
    RunLog,
    RunStatus,
    Span,
    Step,
    StepKind,
    StepStatus,
    Usage,
)
from otel_runlog.store.batch import Batch, RunVersion, StoredLog, StoredSpan
from otel_runlog.store.places import SpanMessage, pack_messages
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

CONTRACT = {
    "runs": {
        "VARCHAR": "run_id native_run_id trace_id root_span_id session_id user_id service service_version environment "
        "agent status status_message cost_status price_table price_version input output launch_id replay_of fork_of",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at",
        "DOUBLE": "duration_ms",
        "BIGINT": "step_count llm_calls tool_calls error_count input_tokens output_tokens cache_read_tokens "
        "cache_write_tokens reasoning_tokens total_tokens usage_missing_calls unpriced_calls fork_at",
        "DECIMAL(18,12)": "cost_usd estimated_cost_usd",
        "VARCHAR[]": "unpriced_models models tags warnings notes",
        "JSON": "labels attributes",
        "BOOLEAN": "complete",
    },
    "steps": {
        "VARCHAR": "run_id trace_id span_id parent_span_id kind name agent provider model request_model response_model "
        "response_id status error_type error_message usage_source cost_status price_table price_version service_tier "
        "duplicate_of tool_name tool_call_id finish_reason convention content",
        "BIGINT": "step_index call_index started_ns ended_ns input_tokens output_tokens cache_read_tokens "
        "cache_write_tokens reasoning_tokens",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at",
        "DOUBLE": "duration_ms time_to_first_token_ms",
        "BOOLEAN": "streaming counted",
        "DECIMAL(18,12)": "cost_usd reported_cost_usd estimated_cost_usd",
        "VARCHAR[]": "warnings notes",
        "JSON": "params",
    },
    "spans": {
        "VARCHAR": "trace_id span_id parent_span_id trace_state name kind status status_message scope_name "
        "scope_version service",
        "BIGINT": "flags started_ns ended_ns dropped_attributes_count dropped_events_count dropped_links_count",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at received_at",
        "JSON": "resource attributes events links",
    },
    "messages": {"VARCHAR": "run_id span_id direction role text content_id", "BIGINT": "position bytes"},
    "scores": {"VARCHAR": "run_id span_id name label source explanation", "DOUBLE": "value"},
    "sessions": {
        "VARCHAR": "session_id user_id cost_status",
        "BIGINT": "run_count input_tokens output_tokens",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at",
        "DECIMAL(18,12)": "cost_usd",
    },
    "agents": {
        "VARCHAR": "run_id agent parent_agent",
        "BIGINT": "depth calls own_input_tokens own_output_tokens inclusive_input_tokens inclusive_output_tokens",
        "DECIMAL(18,12)": "own_cost_usd inclusive_cost_usd",
    },
    "models": {
        "DATE": "day",
        "VARCHAR": "provider model",
        "BIGINT": "calls failed_calls input_tokens output_tokens unpriced_calls",
        "DECIMAL(18,12)": "cost_usd",
        "DOUBLE": "p50_ms p95_ms",
    },
    "books": {
        "VARCHAR": "source",
        "BIGINT": "received stored duplicate conflict superseded id_reuse",
        "JSON": "rejected dropped",
    },
}
CONTRACT["llm_calls"] = CONTRACT["tool_calls"] = CONTRACT["steps"]
CONTRACT["logs"] = {"VARCHAR": "trace_id span_id event_name", "JSON": "body attributes"}


@pytest.mark.parametrize("view", sorted(CONTRACT))
def test_a_view_has_the_columns_of_the_contract(db, view):
    with StoreWriter(db):
        pass
    with duckdb.connect(db, read_only=True) as plain:
        shown = {name: kind for name, kind, *_ in plain.execute(f"describe {view}").fetchall()}
    expected = {name: kind for kind, names in CONTRACT[view].items() for name in names.split()}
    assert {name: shown.get(name) for name in expected} == expected


def test_runs_read_by_plain_duckdb_show_the_newest_version_only(db, run):
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run(agent="first"))]))
        writer.append(Batch(closed=[RunVersion(run(agent="second"), version=2)], superseded=[("a1" * 16, 1)]))
    with duckdb.connect(db, read_only=True) as plain:
        assert plain.execute("select agent from runs").fetchall() == [("second",)]
        assert plain.execute("select count(*) from steps").fetchall() == [(2,)]
        assert plain.execute("select count(*) from agents").fetchall() == [(2,)]


NOON = dt.datetime(2026, 11, 5, 12, tzinfo=dt.UTC)
NOON_NS = 1_793_880_000_000_000_000


def ask(db, sql):
    with duckdb.connect(db, read_only=True) as plain:
        plain.execute("set TimeZone = 'UTC'")
        return plain.execute(sql).fetchall()


def open_run(last_ns, **changes):
    steps = (
        Step("7a" * 16, "51" * 8, StepKind.LLM, started_ns=NOON_NS, ended_ns=NOON_NS + 1_000_000_000),
        Step("7a" * 16, "52" * 8, StepKind.LLM, started_ns=NOON_NS, status=StepStatus.RUNNING),
    )
    run = RunLog("a1" * 16, started_at=NOON, status=RunStatus.RUNNING, steps=steps)
    return RunVersion(msgspec.structs.replace(run, **changes), last_ns=last_ns)


def test_a_running_run_becomes_incomplete_once_it_was_silent(db):
    with StoreWriter(db) as writer:
        writer.append(Batch(open=[open_run(NOON_NS + 2_000_000_000)]))
    assert ask(db, "select status, complete, finished_at, duration_ms from runs") == [
        ("incomplete", False, NOON + dt.timedelta(seconds=1), 1000.0)
    ]


def test_a_running_run_runs_until_the_quiet_time_is_over(db):
    with StoreWriter(db) as writer:
        writer.append(Batch(open=[open_run(time.time_ns() - 800 * 10**9)]))
    assert ask(db, "select status, complete, finished_at from runs") == [("running", True, None)]
    with StoreWriter(db) as writer:
        writer.set_quiet_time(700)
    assert ask(db, "select status, complete from runs") == [("incomplete", False)]


def test_an_open_run_whose_root_ended_keeps_its_status(db):
    with StoreWriter(db) as writer:
        writer.append(Batch(open=[open_run(NOON_NS, status=RunStatus.COMPLETED, finished_at=NOON)]))
    assert ask(db, "select status, complete, finished_at from runs") == [("completed", True, NOON)]


def put(db, *runs):
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run) for run in runs]))


def priced(run_id, status, usd=None, **changes):
    cost = Cost(None if usd is None else Decimal(usd), CostStatus(status))
    return RunLog(run_id, session_id="s1", cost_estimate=cost, started_at=NOON, **changes)


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        (["estimated", "estimated"], "estimated"),
        (["reported", "none"], "reported"),
        (["estimated", "reported"], "mixed"),
        (["estimated", "unpriced"], "partial"),
        (["partial", "estimated"], "partial"),
        (["unpriced", "none"], "unpriced"),
        (["none"], "none"),
        (["replayed", "estimated"], "estimated"),
    ],
)
def test_the_cost_status_of_a_session_is_that_of_its_runs(db, statuses, expected):
    put(db, *(priced(f"{number:032x}", status) for number, status in enumerate(statuses)))
    assert ask(db, "select cost_status from sessions") == [(expected,)]


def test_a_session_adds_up_its_runs_and_leaves_replays_out(db):
    put(
        db,
        priced("1" * 32, "estimated", "0.1", tokens=Usage(10, 1), user_id="ada", finished_at=NOON),
        priced("2" * 32, "estimated", "0.2", tokens=Usage(None, 2)),
        priced("3" * 32, "replayed", "0", tokens=Usage(1000, 1000)),
        RunLog("4" * 32),
    )
    assert ask(db, "from sessions") == [("s1", "ada", 2, NOON, NOON, 10, 3, Decimal("0.3"), "estimated")]


def test_what_is_unknown_in_every_run_is_null_in_the_session(db):
    put(db, priced("1" * 32, "unpriced"))
    assert ask(db, "select input_tokens, output_tokens, cost_usd, finished_at from sessions") == [(None,) * 4]


def call(number, **changes):
    fields = {"counted": True, "provider": "acme", "model": "m", "started_ns": NOON_NS, "ended_ns": NOON_NS + 10**6}
    kind = changes.pop("kind", StepKind.LLM)
    return Step("7a" * 16, f"{number:016x}", kind, step_index=number, **(fields | changes))


def test_models_count_model_calls_by_the_day_in_utc(db):
    midnight = NOON_NS + 12 * 3600 * 10**9
    estimate = Cost(Decimal("0.1"), CostStatus.ESTIMATED)
    steps = (
        call(1, usage=Usage(10, 1), cost=estimate, ended_ns=NOON_NS + 10**6),
        call(2, usage=Usage(10, None), cost=Cost(status=CostStatus.UNPRICED), ended_ns=NOON_NS + 3 * 10**6),
        call(3, status=StepStatus.FAILED, kind=StepKind.EMBEDDING, ended_ns=NOON_NS + 2 * 10**6),
        call(4, started_ns=midnight - 1, ended_ns=None),
        call(5, started_ns=midnight, ended_ns=midnight),
        call(6, counted=False, usage=Usage(99, 99)),
        call(7, kind=StepKind.TOOL),
    )
    put(db, RunLog("1" * 32, steps=steps), priced("2" * 32, "replayed", steps=(call(1, usage=Usage(99, 99)),)))
    day_1, day_2 = dt.date(2026, 11, 5), dt.date(2026, 11, 6)
    assert ask(db, "select * exclude p95_ms from models order by day") == [
        (day_1, "acme", "m", 4, 1, 20, 1, Decimal("0.1"), 1, 2.0),
        (day_2, "acme", "m", 1, 0, None, None, None, 0, 0.0),
    ]


@pytest.mark.parametrize("state", ["closed", "open"])
def test_models_are_what_the_steps_of_runs_that_count_add_up_to(db, state):
    estimates = [Cost(Decimal(n) / 7, CostStatus.ESTIMATED) for n in range(9)]
    before = [RunLog(str(n) * 32, steps=tuple(call(i, model=f"m{n}") for i in range(5))) for n in range(4)]
    after = RunLog(
        "2" * 32, steps=tuple(call(n, cost=estimates[n], ended_ns=NOON_NS + n * n * 10**5) for n in range(9))
    )
    batch = Batch(closed=[RunVersion(run) for run in before])
    again = Batch(superseded=[("2" * 32, 1), ("3" * 32, 1)], **{state: [RunVersion(after, 2)]})
    with StoreWriter(db) as writer:
        writer.append(batch)
        writer.append(again)
    with StoreReader(db) as reader:
        assert_models_are_their_steps(reader)
    assert ask(db, "select model, calls from models order by all") == [("m", 9), ("m0", 5), ("m1", 5)]


def test_calls_are_the_counted_steps_of_their_kind(db):
    kinds = [StepKind.LLM, StepKind.EMBEDDING, StepKind.TOOL, StepKind.AGENT]
    counted = [call(number, kind=kind) for number, kind in enumerate(kinds)]
    put(db, RunLog("1" * 32, steps=(*counted, call(9, counted=False), call(10, kind=StepKind.TOOL, counted=False))))
    assert ask(db, "select kind from llm_calls order by 1") == [("embedding",), ("llm",)]
    assert ask(db, "select kind from tool_calls") == [("tool",)]


def spoken(text, span_id, started_ns=NOON_NS, attributes=None):
    span = Span("7a" * 16, span_id, started_ns=started_ns, ended_ns=started_ns + 1, attributes=attributes or {})
    places = pack_messages([SpanMessage("input", 0, "user", text)], span.attributes)
    return StoredSpan(span, b"d", 1, "test", places)


def test_messages_stand_with_their_run_and_text(db):
    with StoreWriter(db) as writer:
        writer.append(
            Batch(closed=[RunVersion(RunLog("1" * 32, steps=(call(1),)))], spans=[spoken("héllo", f"{1:016x}")])
        )
        writer.append(Batch(closed=[RunVersion(RunLog("1" * 32, steps=(call(1),)), 2)], superseded=[("1" * 32, 1)]))
    [row] = ask(db, "from messages")
    assert row[:6] == ("1" * 32, f"{1:016x}", "input", 0, "user", "héllo")
    assert row[6:] == ("3c48591d8d098a4538f5e013dfcf406e948eac4d3277b10bf614e295d6068179", 6)


def test_messages_of_a_store_of_an_earlier_schema_are_there_once(db):
    with StoreWriter(db) as writer:
        writer.append(Batch())
    with duckdb.connect(db) as plain:
        for _ in range(2):
            plain.execute("insert into contents values ('c1', 'hello', 5)")
        plain.execute("insert into stored_messages values ('t', 's', 1, 'input', 0, 'user', 'c1')")
    assert ask(db, "select position, text, bytes from messages") == [(0, "hello", 5)]


def test_messages_of_reused_ids_go_to_the_run_of_their_start(db):
    runs = [RunLog(f"{n}" * 32, steps=(call(1, started_ns=NOON_NS + n),)) for n in (1, 2)]
    spans = [spoken(f"text {n}", f"{1:016x}", NOON_NS + n) for n in (1, 2)]
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run) for run in runs], spans=spans))
    assert ask(db, "select run_id[1], text from messages order by 1") == [("1", "text 1"), ("2", "text 2")]


def test_spans_show_otlps_numbers_as_words_and_the_start_records_too(db):
    with StoreWriter(db) as writer:
        ended = Span("7a" * 16, "51" * 8, kind=3, status_code=2, started_ns=NOON_NS + 789, attributes={"a": {"b": [1]}})
        started = Span("7a" * 16, "52" * 8, kind=9, start_record=True)
        writer.append(
            Batch(
                spans=[StoredSpan(ended, b"", NOON_NS, "grpc")],
                start_records=[StoredSpan(started, b"", NOON_NS, "grpc")],
            )
        )
    columns = "kind, status, started_ns, started_at, received_at, attributes ->> '$.a.b[0]', events, links, notes"
    assert ask(db, f"select {columns} from spans order by span_id") == [
        ("client", "error", NOON_NS + 789, NOON, NOON, "1", "[]", "[]", []),
        ("9", "unset", None, None, NOON, None, "[]", "[]", []),
    ]


def test_logs_show_what_came(db):
    record = LogRecord(NOON_NS, None, "7a" * 16, None, "gen_ai.choice", 9, "INFO", {"text": "hi"})
    with StoreWriter(db) as writer:
        writer.append(Batch(logs=[StoredLog(record, NOON_NS)]))
    assert ask(db, "select logged_at, event_name, body ->> 'text', attributes, received_at from logs") == [
        (NOON, "gen_ai.choice", "hi", "{}", NOON)
    ]
