"""Questions over HTTP as functions from Request to Response."""

import datetime as dt
import json

import pytest
from asked_store import CHAT, PLANNER, make_store

from otel_runlog.errors import (
    ConfigError,
    RunNotFoundError,
    ServerBusyError,
    ServerError,
    SizeLimitError,
    StatementError,
    StoreLockedError,
    TimeLimitError,
)
from otel_runlog.model import RunLogQuery
from otel_runlog.server import query_routes
from otel_runlog.server.query_child import ChildLimits
from otel_runlog.server.query_pool import QueryPool
from otel_runlog.server.query_routes import ARROW_TYPE, JSON_TYPE, accepted, query_of
from otel_runlog.server.questions import ASK_PATH, QUESTION_TYPE, Form, Run, Runs, Sessions, Sql
from otel_runlog.server.routes import Request, Routes
from otel_runlog.server.turns import StoreTurns

NOON = dt.datetime(2026, 11, 5, 12, tzinfo=dt.UTC)


class Asked:
    """Keeps the question; answers, or raises."""

    def __init__(self, answer=b"[]"):
        self.answer, self.question = answer, None

    def ask(self, question):
        self.question = question
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def ask(pool, method, path, body=b"", query=(), **headers):
    route, values = Routes(query_routes.query_routes(pool)).find(method, path)
    assert route.needs_token
    request = Request(method=method, path=path, path_values=values, query=dict(query), headers=headers, body=body)
    return route.handle(request)


def ask_sql(pool, sql="select 1", **headers):
    return ask(pool, "POST", "/v1/sql", json.dumps({"sql": sql}).encode(), **headers)


@pytest.mark.parametrize(
    ("accept", "kind"),
    [
        ("", JSON_TYPE),
        ("*/*", JSON_TYPE),
        ("application/*", JSON_TYPE),
        ("application/json", JSON_TYPE),
        ("application/json; charset=utf-8", JSON_TYPE),
        ("Application/JSON", JSON_TYPE),
        (ARROW_TYPE, ARROW_TYPE),
        (f"application/json;q=0.5, {ARROW_TYPE}", ARROW_TYPE),
        (f"{ARROW_TYPE};q=0.1, */*;q=0.9", JSON_TYPE),
        ("text/html, */*;q=0.1", JSON_TYPE),
        ("text/html", None),
        ("application/json;q=0", None),
        ("application/json;q=x", None),
    ],
)
def test_the_type_of_an_answer_is_the_one_preferred(accept, kind):
    assert accepted(accept) == kind


def test_sql_is_asked_in_the_form_that_is_accepted():
    pool = Asked(b"rows")
    response = ask_sql(pool, "from runs")
    assert (pool.question, response.status, response.content_type) == (Sql("from runs", Form.JSON), 200, JSON_TYPE)
    pytest.importorskip("pyarrow")
    response = ask_sql(pool, "from runs", accept=ARROW_TYPE)
    assert (pool.question.form, response.body, response.content_type) == (Form.ARROW, b"rows", ARROW_TYPE)


def test_arrow_without_pyarrow_and_other_types_are_not_acceptable(monkeypatch):
    pool = Asked()
    monkeypatch.setattr(query_routes.importlib.util, "find_spec", lambda _name: None)
    response = ask_sql(pool, accept=ARROW_TYPE)
    assert (response.status, "pip install 'otel-runlog[fast]'" in json.loads(response.body)["message"]) == (406, True)
    assert ask_sql(pool, accept="text/csv").status == 406
    assert pool.question is None


@pytest.mark.parametrize("body", [b"", b"select 1", b"[]", b"{}", b'{"sql": 1}', b'{"sql": null}', b"\xff"])
def test_a_body_that_is_no_question_is_refused(body):
    response = ask(Asked(), "POST", "/v1/sql", body)
    assert (response.status, json.loads(response.body)["error"]) == (400, "ConfigError")
    assert ask(Asked(), "POST", ASK_PATH, body).status == 400


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (StatementError("Parser Error"), 400),
        (ConfigError("x"), 400),
        (RunNotFoundError("x"), 404),
        (TimeLimitError("x"), 408),
        (SizeLimitError("x"), 413),
        (ServerBusyError("x"), 503),
        (StoreLockedError("x"), 503),
        (ServerError("x"), 500),
    ],
)
def test_errors_have_a_status_and_say_what_happened(error, status):
    response = ask_sql(Asked(error))
    assert (response.status, response.content_type) == (status, JSON_TYPE)
    assert json.loads(response.body) == {"error": type(error).__name__, "message": str(error)}


def test_the_parameters_of_runs_are_the_options_of_the_command():
    parameters = {
        "agent": "planner",
        "status": "failed",
        "session": "s1",
        "label": "task=W2=71",
        "label.team": "a",
        "since": "2h",
        "until": "2026-11-05",
        "limit": "3",
        "sort": "cost",
    }
    query, order = query_of(parameters, NOON)
    assert query == RunLogQuery(
        agent="planner",
        status="failed",
        session_id="s1",
        labels={"task": "W2=71", "team": "a"},
        since=NOON - dt.timedelta(hours=2),
        until=dt.datetime(2026, 11, 5, tzinfo=dt.UTC),
        limit=3,
    )
    assert order == "cost"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("status", "done"),
        ("limit", "-1"),
        ("limit", "x"),
        ("limit", "9" * 30),
        ("sort", "name; drop table runs"),
        ("since", "yesterday"),
        ("label", "task"),
        ("agents", "planner"),
    ],
)
def test_a_parameter_that_means_nothing_is_refused(name, value):
    response = ask(Asked(), "GET", "/v1/runs", query={name: value})
    assert (response.status, json.loads(response.body)["error"]) == (400, "ConfigError")


def test_runs_one_run_and_sessions_are_asked_for():
    pool = Asked()
    ask(pool, "GET", "/v1/runs")
    assert pool.question == Runs(form=Form.JSON)
    ask(pool, "GET", "/v1/runs/last")
    assert pool.question == Run("last", Form.JSON)
    ask(pool, "GET", "/v1/sessions", query={"limit": "2"})
    assert pool.question == Sessions(2, Form.JSON)


def test_questions_of_commands_are_handed_on():
    from otel_runlog.server import wire

    pool = Asked(b"answer")
    response = ask(pool, "POST", ASK_PATH, wire.encode(Runs(RunLogQuery(agent="a"))))
    assert (pool.question, response.content_type) == (Runs(RunLogQuery(agent="a")), QUESTION_TYPE)


def test_answers_come_from_the_store(tmp_path):
    pool = QueryPool(ChildLimits(str(make_store(tmp_path / "runs.duckdb"))), StoreTurns())
    try:
        runs = json.loads(ask(pool, "GET", "/v1/runs", query={"sort": "tokens"}).body)
        assert [run["run_id"] for run in runs] == [PLANNER, CHAT]
        assert ask(pool, "GET", "/v1/runs/zzzz").status == 404
        assert json.loads(ask_sql(pool, "select 0.1::decimal(18,12) as usd, 1 as a, 2 as a").body) == [
            {"usd": 0.1, "a": 1, "a_1": 2}
        ]
        assert b"syntax error" in ask_sql(pool, "selec").body
    finally:
        pool.close()
