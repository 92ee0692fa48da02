"""Captures as people query them: by plain DuckDB, without the package."""

import json

import duckdb
import msgspec
import pytest
from made_captures import ASKS, QUESTION, RESULT, RUN, SYSTEM, WEATHER, a_capture

from otel_runlog.captures.document import dumps, plain
from otel_runlog.captures.keeping import keep_report, persist_capture
from otel_runlog.model import Content
from otel_runlog.replaying.divergence import (
    Cause,
    DivergenceKind,
    DivergenceReport,
    ReproVerdict,
    Resolution,
    StepDivergence,
)


def asked(db, sql):
    with duckdb.connect(db, read_only=True) as plain_duckdb:
        return plain_duckdb.execute(sql).fetchall()


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A store with the captures of two runs, one of them kept twice."""
    db = tmp_path_factory.mktemp("captures") / "runs.duckdb"
    persist_capture(db, a_capture(memory_ref="an earlier one"))
    persist_capture(db, a_capture(), memory_ref="notes.md@3", pinned=True)
    persist_capture(db, a_capture("cd" * 16, llm_io=(), tool_io=(), price_table=None, completeness=Content.FULL))
    return db


def test_of_a_run_kept_twice_the_last_capture_counts(two):
    columns = (
        "run_id, captured_at = '2026-11-05 13:00:00.123456Z', schema, completeness, llm_calls, tool_calls, "
        "bytes = strlen(capture), pinned, model_version, seed, memory_ref, price_table, price_version"
    )
    assert asked(two, f"select {columns} from captures order by run_id") == [
        (RUN, True, "runlog.capture/1", "none", 4, 2, True, True, "m-1, m-2", 7, "notes.md@3", "acme", "2026-11"),
        ("cd" * 16, True, "runlog.capture/1", "full", 0, 0, True, False, None, None, None, None, None),
    ]


def test_the_document_stands_there_byte_for_byte(two):
    [(document,)] = asked(two, f"select capture from captures where run_id = '{RUN}'")
    assert document.encode() == dumps(a_capture(memory_ref="notes.md@3"))


def test_model_calls_have_their_messages_and_tools_written_out(two):
    rows = asked(two, "select call_index, request, answer from llm_io order by call_index")
    calls = {call: tuple(json.loads(text) if text else None for text in said) for call, *said in rows}
    first, _, missing, vectors = a_capture().llm_io
    assert calls[1] == (plain(first.request), plain(first.answer))
    assert calls[1][0]["turns"] == [plain(SYSTEM), plain(QUESTION)]
    assert calls[1][0]["tools"] == [plain(WEATHER)]
    assert calls[3][0]["turns"] == [plain(turn) for turn in (SYSTEM, QUESTION, ASKS, RESULT)]
    assert (calls[3][0]["tools"], calls[3][1]) == ([], None)
    assert (missing.request, calls[4]) == (None, (None, None))
    assert calls[5] == (plain(vectors.request), plain(vectors.answer))


def test_model_calls_have_the_columns_of_the_contract(two):
    first = a_capture().llm_io[0]
    columns = (
        "run_id, step_index, call_index, fingerprint, occurrence, lane, error, completeness, response_id, provider, "
        "model, model_version, seed, params, operation"
    )
    assert asked(two, f"select {columns} from llm_io order by call_index")[0] == (
        RUN, 1, 1, first.fingerprint, 1, first.lane, None, "full", "r1", "acme", "m-std", "m-1", 7,
        '{"temperature":1.0}', "chat",
    )  # fmt: skip
    errors = asked(two, "select error ->> 'type', error ->> 'http_status' from llm_io where error is not null")
    assert errors == [("Overloaded", "529")]


def test_tool_calls_have_the_columns_of_the_contract(two):
    columns = "run_id, step_index, call_index, name, arguments, result, error, source, after_call, call_id"
    assert asked(two, f"select {columns} from tool_io order by position") == [
        (RUN, 2, 2, "weather", '{"city":"Paris","unit":null}', '{"celsius":18,"wind":null}', None, "span", 1, "c1"),
        (RUN, None, None, "unheard", None, None, None, None, None, None),
    ]


def test_a_seed_that_no_column_holds_is_not_known(db):
    calls = tuple(msgspec.structs.replace(call, seed=2**80) for call in a_capture().llm_io)
    persist_capture(db, a_capture(llm_io=calls))
    assert asked(db, "select seed from captures") == [(None,)]
    assert asked(db, "select distinct seed from llm_io") == [(None,)]


def report(*divergences):
    return DivergenceReport(run_id=RUN, replay_run_id="ef" * 16, verdict=ReproVerdict.DIVERGED, divergences=divergences)


CHANGED = StepDivergence(
    kind=DivergenceKind.REQUEST_CHANGED,
    call_index=3,
    path="turns[2].tool[0]",
    recorded={"celsius": 18},
    got="19C",
    nearest=3,
    lane="0a1b2c3d",
    cause=Cause.TOOL_RESULT,
    resolution=Resolution.REFUSED,
    detail="result of tool weather (call 2), which ran for real",
)
NEVER = StepDivergence(kind=DivergenceKind.MISSING_CALL, call_index=4)


def test_differences_of_a_replay_are_rows_and_a_later_report_replaces_them(db):
    keep_report(db, report(NEVER))
    keep_report(db, report(CHANGED, NEVER))
    columns = "replay_run_id, call_index, kind, path, recorded, got, resolution, nearest, lane, cause, detail, run_id"
    detail = "result of tool weather (call 2), which ran for real"
    assert asked(db, f"select {columns} from divergences order by position") == [
        ("ef" * 16, 3, "request_changed", "turns[2].tool[0]", '{"celsius":18}', '"19C"', "refused", 3, "0a1b2c3d",
         "tool result", detail, RUN),
        ("ef" * 16, 4, "missing_call", "", None, None, "none", None, None, None, None, RUN),
    ]  # fmt: skip
    keep_report(db, report())
    assert asked(db, "from divergences") == []
