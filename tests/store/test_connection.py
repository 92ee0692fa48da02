"""Opening says who holds the file, what is wrong with it, and leaves it as it is."""

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from unittest import mock

import duckdb
import pytest

from otel_runlog.errors import SchemaError, StoreDamagedError, StoreError, StoreInterruptedError, StoreLockedError
from otel_runlog.store import connection, migrations, statements
from otel_runlog.store.batch import Batch, Position, RunVersion
from otel_runlog.store.connection import open_for_read, open_for_write
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

HOLD = """
import sys, duckdb
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "read")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_by_another_process(db, intent):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(db), intent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        yield holder
        holder.stdin.close()


@pytest.fixture
def made(db):
    StoreWriter(db).close()
    return db


@pytest.mark.fault(51)
@pytest.mark.parametrize("intent", ["read", "write"])
def test_writing_a_held_file_names_the_holder(made, intent):
    with held_by_another_process(made, intent) as holder, pytest.raises(StoreLockedError, match=rf"\b{holder.pid}\b"):
        open_for_write(made)


@pytest.mark.fault(51)
def test_reading_a_file_held_for_writing_waits_its_time_and_names_the_holder(made):
    with held_by_another_process(made, "write") as holder:
        store = DuckDBRunLogStore(made, timeout_s=0.3)
        started = time.monotonic()
        with pytest.raises(StoreLockedError, match=rf"runs\.duckdb is held by process {holder.pid} \(.+\): stop it"):
            store.list()
        assert 0.3 <= time.monotonic() - started < 5


def test_readers_share_a_file(made):
    with held_by_another_process(made, "read"), open_for_read(made) as store:
        assert store.rows("positions") == []


def test_a_file_let_go_of_in_time_is_opened(made):
    with held_by_another_process(made, "write") as holder:
        holder.stdin.close()
        open_for_write(made, timeout_s=10).close()


def test_two_stores_in_one_process_name_the_process(made):
    with open_for_write(made), pytest.raises(StoreLockedError, match=r"this one"):
        open_for_write(made)


def damaged(kind, made):
    if kind == "text":
        return b"this is a text file\n" * 1000
    return {"empty": b"", "header": made[:10], "start": made[:12288], "half": made[: len(made) // 2]}[kind]


@pytest.mark.parametrize("kind", ["text", "empty", "header", "start", "half"])
@pytest.mark.parametrize("open_store", [open_for_read, open_for_write])
def test_a_damaged_file_is_refused_and_left_as_it_is(made, run, kind, open_store):
    with StoreWriter(made) as writer:
        writer.append(Batch(closed=[RunVersion(run(f"{n:032x}")) for n in range(50)]))
    content = damaged(kind, made.read_bytes())
    made.write_bytes(content)
    with pytest.raises(StoreDamagedError, match=r"runs\.duckdb is no readable DuckDB database and was left as it is"):
        open_store(made)
    assert made.read_bytes() == content
    assert [path.name for path in made.parent.iterdir()] == ["runs.duckdb"]


def test_a_missing_store_cannot_be_read(db):
    with pytest.raises(StoreError, match=r"there is no store at .*runs\.duckdb"):
        open_for_read(db)
    assert not db.exists()


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"cannot create the store .*no/runs\.duckdb: No such file or directory"):
        open_for_write(tmp_path / "no" / "runs.duckdb")


def test_a_database_of_something_else_is_refused(db):
    with duckdb.connect(db) as plain:
        plain.execute("create table mine as select 1 as x")
    with pytest.raises(SchemaError, match=r"database of something else \(1 tables"):
        open_for_write(db)
    with duckdb.connect(db) as plain:
        assert plain.execute("show tables").fetchall() == [("mine",)]


def test_an_empty_database_becomes_a_store(db):
    duckdb.connect(db).close()
    with StoreWriter(db) as writer:
        assert writer.positions() == {}


@pytest.mark.parametrize("open_store", [open_for_read, open_for_write])
def test_a_newer_schema_is_refused_by_its_number(made, open_store):
    with duckdb.connect(made) as plain:
        plain.execute("update meta set value = '99' where key = 'schema_version'")
    with pytest.raises(
        SchemaError, match=rf"schema version 99.*up to {migrations.SCHEMA_VERSION}: upgrade otel-runlog"
    ):
        open_store(made)


def test_views_are_made_anew_when_their_version_goes_up(made, monkeypatch):
    with duckdb.connect(made) as plain:
        plain.execute("create or replace view models as select 1 as old")
        plain.execute("update meta set value = '0' where key = 'views_version'")
    with open_for_read(made) as store:
        assert "provider" in store.duck.table("models").columns


def test_newer_views_stay(made):
    with duckdb.connect(made) as plain:
        plain.execute("create or replace view models as select 1 as newer")
        plain.execute("update meta set value = '999' where key = 'views_version'")
    with open_for_write(made) as store:
        assert store.duck.table("models").columns == ["newer"]


def test_a_failing_migration_leaves_the_old_store(made, monkeypatch):
    with duckdb.connect(made) as plain:
        plain.execute("create or replace view models as select 1 as old")
        plain.execute("update meta set value = '0' where key = 'views_version'")
    monkeypatch.setattr(statements, "VIEWS", (*statements.VIEWS, "no such view"))
    with pytest.raises(FileNotFoundError):
        open_for_write(made)
    with duckdb.connect(made) as plain:
        assert plain.execute("from models").fetchall() == [(1,)]
        assert plain.execute("select value from meta where key = 'views_version'").fetchall() == [("0",)]


def test_opening_a_current_store_asks_one_question(made, monkeypatch):
    asked = []
    with open_for_write(made) as store:
        monkeypatch.setattr(store, "rows", lambda query: asked.append(query) or list(META.items()))
        migrations.migrate(store)
    assert asked == ["meta"]


META = {"schema_version": str(migrations.SCHEMA_VERSION), "views_version": str(statements.VIEWS_VERSION)}


def test_a_path_with_quotes_is_only_a_path(tmp_path):
    db = tmp_path / 'it\'s "mine"; drop table meta.duckdb'
    with StoreWriter(db) as writer:
        writer.append(Batch(positions=[Position("a.seg", 1)]))
    assert [path.name for path in tmp_path.iterdir()] == [db.name]


def test_the_file_can_be_read_by_the_1_5_line_and_keeps_its_row_groups_small(made):
    with open_for_write(made) as store:
        [(tags, options)] = store.duck.sql(
            "select tags, options from duckdb_databases() where database_name = 'store'"
        ).fetchall()
    assert tags == {"storage_version": "v1.5.0+"}
    assert options == {"row_group_size": "16384"}


KILLED_WHILE_MIGRATING = """
import os, signal, sys
from otel_runlog.store import connection, statements

make_view = statements.view
statements.view = lambda name: os.kill(os.getpid(), signal.SIGKILL) if name == "books" else make_view(name)
connection.open_for_write(sys.argv[1])
"""


def kill_while_migrating(db):
    killed = subprocess.run([sys.executable, "-c", KILLED_WHILE_MIGRATING, str(db)], check=False)
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.fault(55)
def test_a_kill_while_views_are_made_anew_leaves_the_old_ones(made):
    with duckdb.connect(made) as plain:
        plain.execute("create or replace view models as select 1 as old")
        plain.execute("update meta set value = '0' where key = 'views_version'")
    kill_while_migrating(made)
    with duckdb.connect(made, read_only=True) as plain:
        assert plain.execute("from models").fetchall() == [(1,)]
    with open_for_write(made) as store:
        assert "provider" in store.duck.table("models").columns


@pytest.mark.fault(8, 55)
def test_a_kill_while_a_store_is_made_leaves_none(db):
    kill_while_migrating(db)
    assert not db.exists()
    with StoreWriter(db) as writer:
        assert writer.positions() == {}


def test_of_two_that_make_the_store_at_once_the_slower_takes_the_others(made):
    with StoreWriter(made) as writer:
        writer.append(Batch(positions=[Position("a.seg", 1)]))
    connection._create(made)
    with StoreWriter(made) as writer:
        assert writer.positions() == {"a.seg": Position("a.seg", 1)}
    assert [path.name for path in made.parent.iterdir()] == ["runs.duckdb"]


def test_a_file_system_without_hard_links_is_fine(db, monkeypatch):
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError("no links here")))
    StoreWriter(db).close()
    assert [(path.name, oct(path.stat().st_mode & 0o777)) for path in db.parent.iterdir()] == [("runs.duckdb", "0o600")]


def test_what_duckdb_refuses_in_a_statement_is_a_store_error(made):
    with (
        open_for_read(made) as store,
        pytest.raises(StoreError, match=r"runs\.duckdb: Invalid Input Error: Cannot execute"),
    ):
        store.rows("set_meta", {"key": "quiet_time_s", "value": "1"})


@pytest.mark.fault(50)
def test_a_file_that_breaks_while_it_is_open_is_called_damaged(made, run):
    with StoreWriter(made) as writer:
        writer.append(Batch(closed=[RunVersion(run(f"{n:032x}")) for n in range(50)]))
    content = bytearray(made.read_bytes())
    for block in range(12288, len(content) - 65536, 65536):
        content[block + 100 : block + 200] = b"\xff" * 100
    made.write_bytes(content)
    with pytest.raises(StoreDamagedError, match=r"runs\.duckdb"), open_for_read(made) as store:
        store.rows("steps_of_runs", {"run_ids": [f"{1:032x}"]})


class RaisedError(Exception):
    """What a signal handler of the host raises."""


@contextmanager
def a_signal_that_raises(after_s):
    def handle(_number, _frame):
        raise RaisedError

    before = signal.signal(signal.SIGUSR1, handle)
    timer = threading.Timer(after_s, os.kill, (os.getpid(), signal.SIGUSR1))
    timer.start()
    try:
        yield
    finally:
        timer.join()
        signal.signal(signal.SIGUSR1, before)


def endless(statement):
    return lambda _query: f"{statement} SELECT count(*) FROM range(1000000000000)"


def test_a_signal_that_raises_during_a_statement_interrupts_it(db, monkeypatch):
    """Ctrl-C does, and a test's time limit."""
    with open_for_write(db) as store:
        with monkeypatch.context() as changed, a_signal_that_raises(0.1):
            changed.setattr(statements, "query", endless(""))
            with pytest.raises(StoreInterruptedError, match="what was not committed is not kept"):
                store.rows("meta")
        assert dict(store.rows("meta"))["schema_version"] == str(migrations.SCHEMA_VERSION)


def append_and_ask(store):
    with store.transaction():
        store.append("superseded", ("run_id", "version"), [("a", 1)])
        store.rows("meta")


def test_a_signal_that_raises_in_a_transaction_takes_all_of_it_back(db, monkeypatch):
    with StoreWriter(db) as writer:
        with monkeypatch.context() as changed, a_signal_that_raises(0.1):
            changed.setattr(statements, "query", endless("CREATE TABLE half AS"))
            with pytest.raises(StoreInterruptedError):
                append_and_ask(writer._store)
        assert writer._store.duck.execute("FROM superseded").fetchall() == []
        writer.append(Batch(superseded=[("b", 1)]))
        assert writer._store.duck.execute("FROM superseded").fetchall() == [("b", 1)]


def test_a_signal_that_raises_during_somebodys_sql_interrupts_it(made, monkeypatch):
    with StoreReader(made) as reader, monkeypatch.context() as changed:
        changed.setattr(reader._store, "duck", mock.Mock(**{"execute.side_effect": RuntimeError("Query interrupted")}))
        with pytest.raises(StoreInterruptedError):
            reader.query("FROM runs")


@pytest.mark.parametrize(
    ("method", "call"),
    [
        ("appender", lambda store: store.append("superseded", ("run_id", "version"), [("a", 1)])),
        ("begin", lambda store: store.transaction().__enter__()),
        ("table", lambda store: store.append_columns("superseded", ("run_id", "version"), [["a"] * 600, [1] * 600])),
        ("execute", lambda store: store.rows("meta")),
    ],
)
@pytest.mark.parametrize(("said", "kind"), [("Query interrupted", StoreInterruptedError), ("other", RuntimeError)])
def test_wherever_duckdb_is_called_its_word_for_a_signal_is_understood_and_no_other(db, method, call, said, kind):
    with open_for_write(db) as store:
        duck, store.duck = store.duck, mock.Mock()
        if method == "appender":
            store.duck.appender.return_value.append_rows.side_effect = RuntimeError(said)
        else:
            getattr(store.duck, method).side_effect = RuntimeError(said)
        try:
            with pytest.raises(kind) as raised:
                call(store)
        finally:
            store.duck = duck
    assert type(raised.value) is kind
