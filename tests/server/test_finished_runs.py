"""Runs as they finish, over HTTP."""

import json
import threading

import pytest

from otel_runlog.errors import ServerBusyError
from otel_runlog.model import RunLog
from otel_runlog.server.routes import Request
from otel_runlog.server.tail import MOST_WAITING, FinishedRuns, tail_routes


def ids(finished, number, timeout_s=0.0):
    runs, count, missed = finished.after(number, timeout_s)
    return [run.run_id for run in runs], count, missed


def runs(*names):
    return [RunLog(name, agent=f"agent {name}") for name in names]


def test_what_finished_since_is_told_in_order():
    finished = FinishedRuns()
    finished.add(runs("a", "b"))
    finished.add(runs("c"))
    assert ids(finished, 0) == (["a", "b", "c"], 3, False)
    assert ids(finished, 2) == (["c"], 3, False)
    assert ids(finished, 3) == ([], 3, False)


def test_what_is_kept_no_longer_is_said_to_be_missed():
    finished = FinishedRuns(kept=2)
    finished.add(runs("a", "b", "c"))
    assert ids(finished, 0) == (["b", "c"], 3, True)
    assert ids(finished, 1) == (["b", "c"], 3, False)


def test_a_number_of_an_earlier_server_is_told_all_and_that_some_were_missed():
    finished = FinishedRuns()
    finished.add(runs("a"))
    assert ids(finished, 41) == (["a"], 1, True)


def waiting(finished, found):
    thread = threading.Thread(target=lambda: found.append(ids(finished, 0, 60.0)))
    thread.start()
    while not finished._changed._waiters:
        pass
    return thread


def test_who_waits_is_told_at_once():
    finished, found = FinishedRuns(), []
    thread = waiting(finished, found)
    finished.add(runs("a"))
    thread.join(5)
    assert found == [(["a"], 1, False)]


def test_nobody_waits_for_a_server_that_ends():
    finished, found = FinishedRuns(), []
    thread = waiting(finished, found)
    finished.close()
    thread.join(5)
    assert found == [([], 0, False)]


def test_few_wait_at_a_time():
    finished = FinishedRuns()
    for _ in range(MOST_WAITING):
        finished._seats.acquire()
    with pytest.raises(ServerBusyError, match="wait for runs already"):
        finished.after(0, 0.0)


def ask(finished, **query):
    [route] = tail_routes(finished)
    assert route.needs_token
    response = route.handle(Request(method="GET", path="/v1/tail", query=query))
    return response.status, json.loads(response.body)


def test_the_first_request_learns_where_to_go_on():
    finished = FinishedRuns()
    finished.add(runs("a"))
    assert ask(finished) == (200, {"next": 1, "missed": False, "runs": []})
    finished.add(runs("b", "c"))
    status, answer = ask(finished, after="1", wait_s="5", agent="agent c")
    assert (status, answer["next"], [run["run_id"] for run in answer["runs"]]) == (200, 3, ["c"])


@pytest.mark.parametrize("query", [{"after": "x"}, {"after": "0", "wait_s": "31"}, {"since": "1"}])
def test_a_parameter_that_means_nothing_is_refused(query):
    assert ask(FinishedRuns(), **query)[0] == 400
