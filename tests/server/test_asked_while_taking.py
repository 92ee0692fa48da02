"""Telemetry is taken in while a question is killed, and no question changes the store's bytes (facts 40, 41)."""

import hashlib
import http.client
import itertools
import json
import threading

import pytest
from asked_store import REFUSED, make_store

from otel_runlog.journal import JournalWriter, journal_folder
from otel_runlog.server.budget import Budget
from otel_runlog.server.counters import Counters
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.intake import Intake
from otel_runlog.server.otlp_routes import otlp_routes
from otel_runlog.server.query_child import ChildLimits
from otel_runlog.server.query_pool import QueryPool
from otel_runlog.server.query_routes import query_routes
from otel_runlog.server.turns import StoreTurns

TOKEN = "s3cret"
SPAN = {"traceId": "7a" * 16, "spanId": "51" * 8, "name": "a", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}


class Server:
    """Both kinds of routes behind one door."""

    def __init__(self, db):
        self.db = db
        self.journal = JournalWriter(journal_folder(db), fsync=True)
        self.pool = QueryPool(ChildLimits(str(db), time_s=4.0, memory_bytes=512 << 20), StoreTurns())
        self.pool.start()
        routes = (*otlp_routes(Intake(self.journal, Counters())), *query_routes(self.pool))
        self.door = HttpDoor("127.0.0.1:0", routes, Guard(token=TOKEN), Budget(1 << 30))
        self.address = self.door.start()

    def post(self, path, body, **headers):
        connection = http.client.HTTPConnection(self.address, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"} | headers)
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def ask(self, sql):
        return self.post("/v1/sql", {"sql": sql}, Authorization=f"Bearer {TOKEN}")

    def close(self):
        self.door.stop(5)
        self.pool.close()
        self.journal.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = Server(make_store(tmp_path_factory.mktemp("both") / "runs.duckdb"))
    yield server
    server.close()


@pytest.mark.fault(40)
def test_every_refusal_is_400_with_the_reason_and_the_bytes_are_the_same_afterwards(server):
    before = contents(server.db.parent)
    wrong = {}
    for statement in REFUSED:
        status, body = server.ask(statement.format(db=server.db, folder=server.db.parent))
        if status != 400 or json.loads(body)["error"] != "StatementError":
            wrong[statement] = status, body
    assert (wrong, contents(server.db.parent)) == ({}, before)


def contents(folder):
    """What stands in the folder, by path."""
    return {p: hashlib.sha256(p.read_bytes()).hexdigest() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.fault(38)
def test_questions_take_the_token_on_loopback_too(server):
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {TOKEN[:-1]}"}):
        assert server.post("/v1/sql", {"sql": "select 1"}, **headers)[0] == 401
    assert server.post("/v1/sql?token=" + TOKEN, {"sql": "select 1"})[0] == 401
    assert server.ask("select 1 as a") == (200, b'[\n{"a":1}\n]')


@pytest.mark.fault(41)
@pytest.mark.parametrize(
    ("sql", "status"),
    [
        ("select count(*) from range(10000000) a, range(10000000) b where (a.range * b.range) % 7 = 3", 408),
        ("select len(range(1000000000))", 413),
        ("select repeat('x', 1000000) from range(1000)", 413),
    ],
)
def test_telemetry_is_taken_in_while_a_question_is_ended(server, sql, status):
    answers, over, taken = [], threading.Event(), []

    def ask():
        answers.append(server.ask(sql)[0])
        over.set()

    asking = threading.Thread(target=ask)
    asking.start()
    for number in itertools.count():
        span = SPAN | {"spanId": f"{number + 1:016x}"}
        body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
        taken.append(server.post("/v1/traces", body)[0])
        if over.is_set():
            break
    asking.join()
    assert (answers, set(taken)) == ([status], {200})
    assert server.ask("select 1 as a") == (200, b'[\n{"a":1}\n]')
