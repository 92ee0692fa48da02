"""A server and the other commands on one store: what is asked is answered, and writers take turns with it."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from opentelemetry.sdk.trace.export import SpanExportResult
from serving import Served, agent_spans, serving, token_of

from otel_runlog.cli.main import main
from otel_runlog.store.reader import StoreReader

SPAN = {
    "traceId": "7a" * 16,
    "spanId": "51" * 8,
    "name": "chat m-std",
    "startTimeUnixNano": "1793880000000000000",
    "endTimeUnixNano": "1793880001000000000",
    "attributes": [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}],
}


def otel_runlog(db: Path, *arguments: str) -> str:
    """What a command prints. It runs in this process, which is another one than the server's."""
    done = CliRunner().invoke(main, [*arguments, "--db", str(db)])
    assert (done.exit_code, done.stderr) == (0, ""), arguments
    return done.stdout


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that goes on for all tests which need none of their own; each has agents of its own."""
    with serving(tmp_path_factory.mktemp("shared") / "runs.duckdb") as served:
        yield served


def test_a_new_server_has_a_store_to_ask(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb") as served:
        assert otel_runlog(served.db, "runs", "--format", "json") == "[]\n"
        assert served.post("/v1/sql", {"sql": "select count(*) as n from spans"}, token_of(served.db)) == (
            200,
            b'[\n{"n":0}\n]',
        )
        assert (served.db.stat().st_mode & 0o777, served.end()[0]) == (0o600, 0)


def test_who_waits_is_told_of_a_run_as_it_finishes(shared: Served) -> None:
    token, answers = token_of(shared.db), []
    assert shared.get("/v1/tail")[0] == 401
    after = json.loads(shared.get("/v1/tail", token)[1])["next"]
    path = f"/v1/tail?after={after}&wait_s=30"
    asking = threading.Thread(target=lambda: answers.append(shared.get(path, token)))
    asking.start()
    shared.exporter("http").export(agent_spans(1, name="waited for"))
    asking.join()
    [(status, body)] = answers
    assert (status, [run["agent"] for run in json.loads(body)["runs"]]) == (200, ["waited for"])


def test_a_long_question_is_answered_that_the_server_ends_and_does_not_hold_that_up(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb") as served:
        token, answers = token_of(served.db), []
        long = {"sql": "select count(*) from range(1000000000000)"}
        asking = threading.Thread(target=lambda: answers.append(served.post("/v1/sql", long, token)))
        asking.start()
        with pytest.raises(subprocess.TimeoutExpired):  # it is being answered
            served.process.wait(1.5)
        assert served.end()[0] == 0
        asking.join()
    [(status, body)] = answers
    assert (status, json.loads(body)["error"]) == (503, "ServerBusyError")


def test_what_was_acknowledged_is_in_the_next_answer(shared: Served) -> None:
    exporter, token = shared.exporter("grpc"), token_of(shared.db)
    for runs in range(1, 4):
        assert exporter.export(agent_spans(1, name="acknowledged")) is SpanExportResult.SUCCESS
        counting = {"sql": "select count(*) as n from runs where agent = 'acknowledged'"}
        assert shared.post("/v1/sql", counting, token) == (200, b'[\n{"n":%d}\n]' % runs)


def test_commands_that_write_take_turns_with_a_server_that_loads(tmp_path: Path) -> None:
    otlp = tmp_path / "one.jsonl"
    otlp.write_text(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}))
    with serving(tmp_path / "runs.duckdb") as served:
        over, sent = threading.Event(), []

        def send() -> None:
            exporter = served.exporter("http")
            while not over.wait(0.05):
                assert exporter.export(agent_spans(5)) is SpanExportResult.SUCCESS
                sent.append(10)

        sending = threading.Thread(target=send)
        sending.start()
        try:
            for command in (
                ("ingest", str(otlp)),
                ("reprice",),
                ("compact",),
                ("gc", "--older-than", "1000d", "--yes"),
                ("doctor",),
                ("sessions",),
            ):
                otel_runlog(served.db, *command)
        finally:
            over.set()
            sending.join()
        assert served.end()[0] == 0
    with StoreReader(served.db) as reader:
        assert reader.query("select sum(received), sum(stored) from books").rows == [(sum(sent) + 1, sum(sent) + 1)]


def hung_up_on(served: Served, sql: str, token: str) -> None:
    with pytest.raises((OSError, http.client.HTTPException)):
        served.post("/v1/sql", {"sql": sql}, token)


@pytest.mark.fault(41)
def test_a_server_that_is_killed_while_it_is_asked_leaves_nothing_that_holds_the_store(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb") as served:
        token = token_of(served.db)
        slow = "select count(*) from range(10000000) a, range(10000000) b where (a.range * b.range) % 7 = 3"
        asking = threading.Thread(target=hung_up_on, args=(served, slow, token))
        asking.start()
        served.post("/v1/sql", {"sql": "select 1"}, token)
        served.kill()
        asking.join()
        with serving(served.db) as again:
            assert again.exporter("http").export(agent_spans(1)) is SpanExportResult.SUCCESS
            runs = json.loads(otel_runlog(served.db, "runs", "--format", "json"))
    assert [run["agent"] for run in runs] == ["planner"]


def test_tail_prints_runs_as_the_server_sees_them_finish(shared: Served) -> None:
    command = [sys.executable, "-m", "otel_runlog", "tail", "--format", "json", "--db", str(shared.db)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line: list[str] = []
        reading = threading.Thread(target=lambda: line.append(process.stdout.readline()))  # type: ignore[union-attr]
        reading.start()
        while reading.is_alive():  # until the command, which takes some time to start, has seen one
            shared.exporter("http").export(agent_spans(1, name="followed"))
            reading.join(0.5)
        process.kill()
    assert json.loads(line[0])["agent"] == "followed"


def test_questions_do_not_hold_up_the_end_of_a_server(tmp_path: Path) -> None:
    answers: list[int] = []
    with serving(tmp_path / "runs.duckdb") as served:
        token = token_of(served.db)
        slow = "select count(*) from range(10000000) a, range(10000000) b where (a.range * b.range) % 7 = 3"

        def ask(path: str, body: object = None) -> None:
            with contextlib.suppress(OSError):  # it came when the server listened no longer
                answers.append((served.post(path, body, token) if body else served.get(path, token))[0])

        asked = [("/v1/sql", {"sql": slow})] * 3 + [("/v1/tail?after=0&wait_s=30", None)]
        asking = [threading.Thread(target=ask, args=arguments) for arguments in asked]
        for thread in asking:
            thread.start()
        assert served.get("/v1/tail", token)[0] == 200
        code, took_s = served.end()
        for thread in asking:
            thread.join()
    assert (code, set(answers) <= {200, 503}) == (0, True)
    assert took_s < 15.0, "5 s are promised, where nothing else takes the machine"
