"""Runs as they finish."""

import contextlib
import datetime as dt
import itertools
import json
import subprocess
import sys
import threading

import msgspec
import pytest
from asked_store import NOON, make_store, planner

from otel_runlog.cli import tail
from otel_runlog.cli.tail import finishing
from otel_runlog.errors import ServerBusyError, ServerError
from otel_runlog.model import RunLog, RunStatus
from otel_runlog.store.duckdb_store import DuckDBRunLogStore


def run(run_id, status, minute=0):
    return RunLog(run_id, status=status, started_at=NOON, finished_at=NOON + dt.timedelta(minutes=minute))


def told(*looks):
    """What is told of successive looks at the store."""
    looked = iter(looks)
    runs = finishing(lambda: next(looked), lambda: None)
    found = []
    with pytest.raises(RuntimeError, match="StopIteration"):  # after the last look
        found.extend(_kept(runs, found))
    return [(each.run_id, each.status) for each in found]


def _kept(runs, found):
    for each in runs:
        found.append(each)
    return ()


def test_what_finished_before_is_not_told():
    assert told([run("a", RunStatus.COMPLETED)], [run("a", RunStatus.COMPLETED)]) == []


def test_what_finished_before_the_first_look_that_succeeds_is_not_told():
    done, new = run("a", RunStatus.COMPLETED), run("b", RunStatus.COMPLETED)
    assert told(None, None, [done], None, [done, new]) == [("b", "completed")]


def test_a_run_is_told_once_when_it_finishes():
    running, failed = run("a", RunStatus.RUNNING), run("a", RunStatus.FAILED)
    assert told([], [running], [running], [failed], [failed]) == [("a", "failed")]


def test_the_earliest_end_comes_first():
    assert told([], [run("b", RunStatus.COMPLETED, 2), run("a", RunStatus.COMPLETED, 1)]) == [
        ("a", "completed"),
        ("b", "completed"),
    ]


def test_a_run_whose_end_turns_out_to_be_another_is_told_again():
    assert told([], [run("a", RunStatus.INCOMPLETE)], [run("a", RunStatus.COMPLETED)]) == [
        ("a", "incomplete"),
        ("a", "completed"),
    ]


@pytest.mark.parametrize("form", ["table", "json"])
def test_the_command_prints_a_line_as_a_run_finishes(tmp_path, form):
    db = make_store(tmp_path / "runs.duckdb")
    with subprocess.Popen(
        [sys.executable, "-m", "otel_runlog", "tail", "--agent", "new", "--format", form, "--db", db],
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        line = first_line_of(process, DuckDBRunLogStore(db))
        process.kill()
    if form == "json":
        assert json.loads(line)["agent"] == "new"
    else:
        assert [*line.split()[2:4], line.split()[7]] == ["failed", "1m", "new"]


def first_line_of(process, store):
    """Runs finish until the command, which takes some time to start, has told of one."""
    lines = []
    reader = threading.Thread(target=lambda: lines.append(process.stdout.readline()))
    reader.start()
    for number in itertools.count():
        store.put(msgspec.structs.replace(planner(), run_id=f"{number:032x}", agent="new"))
        reader.join(0.5)
        if not reader.is_alive():
            return lines[0]
    raise AssertionError


def test_a_server_is_waited_for_from_where_it_was(monkeypatch):
    asked = []

    class Server(contextlib.nullcontext):
        def finished(self, after, wait_s):
            asked.append((after, wait_s))
            return 41 + len(asked)

    monkeypatch.setattr(tail, "asked", lambda _db: Server())
    wait = tail.Waiting(None)
    wait()
    wait()
    assert asked == [(None, 20), (42, 20)]


@pytest.mark.parametrize("error", [ServerError, ServerBusyError, None])
def test_without_an_answer_of_a_server_it_looks_every_second(monkeypatch, error):
    slept = []

    def ask(_db):
        if error:
            raise error("no answer")

    monkeypatch.setattr(tail, "asked", ask)
    monkeypatch.setattr(tail.time, "sleep", slept.append)
    tail.Waiting(None)()
    assert slept == [1.0]
