"""Commands ask the living server of a store, and print what they print without one."""

import datetime as dt
import json
import uuid
from decimal import Decimal

import pytest
from asked_store import make_store

from otel_runlog.cli import opened
from otel_runlog.errors import RunNotFoundError, ServerError, StatementError
from otel_runlog.journal import journal_folder
from otel_runlog.server.address import ServerAddress, claim, token_of
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.query_child import ChildLimits
from otel_runlog.server.query_pool import QueryPool
from otel_runlog.server.query_routes import query_routes
from otel_runlog.server.remote import RemoteReader
from otel_runlog.server.turns import StoreTurns
from otel_runlog.store.reader import StoreReader

TOKEN = "s3cret"
COMMANDS = {
    "runs": ("runs",),
    "runs as json": ("runs", "--format", "json"),
    "runs as csv": ("runs", "--format", "csv", "--sort", "cost", "--limit", "1"),
    "runs of nobody": ("runs", "--agent", "nobody"),
    "show": ("show", "last"),
    "show as json": ("show", "a1a1", "--format", "json"),
    "show as csv": ("show", "a1a1", "--format", "csv"),
    "sessions": ("sessions",),
    "sessions as json": ("sessions", "--limit", "1", "--format", "json"),
    "sql": ("sql", "from steps"),
    "sql as json": ("sql", "select *, 1 as a, 2 as a from runs order by run_id", "--format", "json"),
    "sql as csv": ("sql", "select started_at, cost_usd, labels, warnings from runs order by 1", "--format", "csv"),
    "sql without rows": ("sql", "from runs where false"),
    "wrong sql": ("sql", "select nothing from runs"),
    "no such run": ("show", "ffff"),
    "short prefix": ("show", "a1"),
}


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    return make_store(tmp_path_factory.mktemp("served") / "runs.duckdb")


class Served:
    """What a server is to commands: an address, and HTTP behind it."""

    def __init__(self, db, token=TOKEN, published=None):
        self.db = db
        self.loaded = []
        self.pool = QueryPool(ChildLimits(str(db), answer_bytes=100_000), StoreTurns(), self.loaded.append)
        self.door = HttpDoor("127.0.0.1:0", query_routes(self.pool), Guard(token=token), Budget(1 << 30))
        self.claim = claim(db)
        self.address = ServerAddress("", self.door.start(), str(db), 7, **(published or {"token": token}))
        self.claim.publish(self.address)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.claim.withdraw()
        assert self.door.stop(5)
        self.pool.close()


@pytest.fixture(scope="module")
def without_server(db):
    """What every command printed before there was a server."""
    from click.testing import CliRunner

    from otel_runlog.cli.main import main

    return {name: said(CliRunner().invoke(main, [*command, "--db", str(db)])) for name, command in COMMANDS.items()}


@pytest.fixture(scope="module")
def server(db, without_server):
    with Served(db) as served:
        yield served


def said(result):
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_print_the_same_through_the_server(  # noqa: PLR0917 - fixtures
    call, db, server, without_server, monkeypatch, name
):
    monkeypatch.setattr(opened, "_opened", None)  # the file is left alone
    server.loaded.clear()
    assert said(call(*COMMANDS[name], "--db", db)) == without_server[name]
    assert server.loaded


TYPES = """
select 1::tinyint, 18446744073709551615::ubigint, -170141183460469231731687303715884105727::hugeint,
1.5::decimal(18,12), 'inf'::double, true, null, 'k\u00e4se', 'x'::blob, date '2026-11-05', time '12:00:00.5',
timestamp '2026-11-05 12:00:00', timestamptz '2026-11-05 12:00:00+00', timestamp_ns '2026-11-05 12:00:00.123456789',
interval '1 day 2 seconds', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::uuid, [1.5::decimal(3,1), null],
{'a': date '2026-11-05'},
map {'k': 1}, map {1: 'v'}, '{"a": [1]}'::json, row(1, 'b'), '1'::bit, [[1], []]
"""


def test_every_type_comes_back_as_the_store_gives_it(db, server):
    with StoreReader(db) as file:
        here = file.query(TYPES)
    with RemoteReader(server.address, None) as remote:
        there = remote.query(TYPES)
    assert (there.columns, there.types) == (here.columns, here.types)
    assert there.rows == here.rows
    [row] = there.rows
    assert [type(value) for value in row] == [type(value) for value in here.rows[0]]
    assert {Decimal, dt.date, dt.datetime, dt.time, dt.timedelta, uuid.UUID, tuple, dict, list} <= set(map(type, row))


def test_errors_are_those_of_the_store(db, server):
    with RemoteReader(server.address, None) as remote:
        with pytest.raises(RunNotFoundError, match="starts with 'ffff'"):
            remote.find("ffff")
        with pytest.raises(StatementError, match="DELETE statements are not answered"):
            remote.query("delete from run_aliases")
        assert remote.runs(with_steps=True) == StoreReader(db).runs(with_steps=True)


def test_an_answer_that_is_too_large_to_be_sent_is_read_from_the_file(call, db, server):
    result = call("sql", "select repeat('x', 1000) as a from range(1000)", "--format", "json", "--db", db)
    assert (result.exit_code, len(json.loads(result.stdout))) == (0, 1000)


def test_a_server_that_wants_another_token_is_told_in_one_sentence(call, tmp_path):
    db = make_store(tmp_path / "runs.duckdb")
    with Served(db, "right", published={"token": "wrong"}):
        result = call("runs", "--db", db)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "token" in result.stderr


def test_the_token_may_stand_in_a_file(call, tmp_path):
    db = make_store(tmp_path / "runs.duckdb")
    token = token_of(tmp_path / "token")
    with Served(db, token, published={"token_file": str(tmp_path / "token")}):
        assert token not in (journal_folder(db) / "server.json").read_text()
        assert call("runs", "--db", db).exit_code == 0
        (tmp_path / "token").unlink()
        result = call("runs", "--db", db)
    assert (result.exit_code, "cannot read the token file" in result.stderr) == (2, True)


def test_a_server_that_has_gone_or_does_not_listen_is_not_asked(call, tmp_path):
    db = make_store(tmp_path / "runs.duckdb")
    served = Served(db)
    served.claim.withdraw()
    assert call("runs", "--db", db).exit_code == 0
    assert served.loaded == []
    served.door.stop(5)
    served.pool.close()
    with claim(db) as held:
        held.publish(served.address)
        assert call("runs", "--db", db).exit_code == 0


def test_a_server_that_hangs_up_is_an_error(tmp_path):
    db = make_store(tmp_path / "runs.duckdb")
    with Served(db) as served, RemoteReader(served.address, None) as remote:
        served.door.stop(5)
        with pytest.raises(ServerError, match=r"process 7, 127\.0\.0\.1:\d+\) did not answer"):
            remote.runs()


def test_other_commands_wait_longer_where_a_server_lives(db, server):
    assert opened.patience_s(db) == opened.SERVED_PATIENCE_S
