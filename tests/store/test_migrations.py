"""A store of an earlier schema becomes one of this version in one transaction, or stays what it was."""

import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from models_of_steps import assert_models_are_their_steps

from otel_runlog.errors import SchemaError, StoreError
from otel_runlog.store import migrations, statements
from otel_runlog.store.batch import Batch, Position
from otel_runlog.store.connection import open_for_read, open_for_write
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

SCHEMA_1 = (Path(__file__).parent / "data" / "schema_1.sql").read_text("utf-8")


@pytest.fixture
def old(db):
    """A store as version 1 left it."""
    with duckdb.connect(db) as plain:
        plain.execute(SCHEMA_1)
    return db


def versions(db):
    with duckdb.connect(db, read_only=True) as plain:
        return dict(plain.execute("select key, value from meta").fetchall())


@pytest.mark.fault(55)
def test_an_older_store_keeps_its_rows_and_gets_tables_and_views_of_this_version(old):
    with StoreReader(old) as store:
        assert store.query("select name, started_ns from spans").rows == [("chat", 1000)]
        assert store.query("select received, stored from books").rows == [(1, 1)]
        assert store.query("select count(*) from models").rows == [(0,)]
    with StoreWriter(old) as writer:
        assert writer.positions() == {"1-2-00000003.seg": Position("1-2-00000003.seg", 200)}
        writer.append(Batch(positions=[Position("1-2-00000003.seg", 300, 7, ended=True)]))
        assert writer.positions() == {"1-2-00000003.seg": Position("1-2-00000003.seg", 300, 7, ended=True)}
    assert versions(old)["schema_version"] == str(migrations.SCHEMA_VERSION)


def test_calls_of_runs_that_an_older_version_closed_are_in_the_models(old):
    with duckdb.connect(old) as plain:
        plain.execute(
            "insert into closed_steps by name select 'run-' || i % 3 as run_id, 1 + i % 2 as version, 'llm' as kind, "
            "['acme', null][1 + i % 2] as provider, 'm' || i % 5 as model, i > 3 as counted, "
            "['failed', 'completed'][1 + i % 2] as status, i * 20000000000000 as started_ns, "
            "started_ns + (10 - i % 20) * 1000 as ended_ns, i as input_tokens, i / 1000 as cost_usd, "
            "['estimated', 'unpriced'][1 + i % 2] as cost_status from range(40) as r (i)"
        )
        plain.execute("insert into superseded values ('run-1', 1), ('run-2', 2)")
    with StoreReader(old) as store:
        assert_models_are_their_steps(store)
        assert store.query("select sum(calls) from models").rows == [(24,)]


@pytest.mark.fault(55)
def test_tables_of_a_migrated_store_are_those_of_a_new_one(old, tmp_path):
    tables = "select table_name, column_name, data_type from information_schema.columns order by all"
    with open_for_write(old) as migrated, open_for_write(tmp_path / "new.duckdb") as new:
        assert migrated.duck.execute(tables).fetchall() == new.duck.execute(tables).fetchall()


@pytest.mark.fault(55)
def test_a_migration_that_fails_leaves_the_old_store(old, monkeypatch):
    monkeypatch.setattr(statements, "VIEWS", (*statements.VIEWS, "wrong"))
    view = statements.view
    monkeypatch.setattr(statements, "view", lambda name: "selec" if name == "wrong" else view(name))
    with pytest.raises(StoreError, match=r"runs\.duckdb: Parser Error"):
        open_for_write(old)
    assert versions(old)["schema_version"] == "1"
    with duckdb.connect(old, read_only=True) as plain:
        assert plain.execute("from models").fetchall() == [("old",)]
        assert [name for (name, *_) in plain.execute("describe positions").fetchall()] == ["segment", "byte_offset"]


KILLED = """
import os, signal, sys
from otel_runlog.store import connection, statements

stage, real = sys.argv[2], {"schema": statements.schema_script, "view": statements.view, "query": statements.query}
def killed(kind, name):
    if f"{kind} {name}" == stage:
        os.kill(os.getpid(), signal.SIGKILL)
    return real[kind](name)
statements.schema_script = lambda name: killed("schema", name)
statements.view = lambda name: killed("view", name)
statements.query = lambda name: killed("query", name)
store = connection.open_for_write(sys.argv[1])
os.kill(os.getpid(), signal.SIGKILL)  # committed, not closed: it stands in the write-ahead log
"""
STAGES = [
    *(f"schema {name}" for name in statements.SCHEMA_SCRIPTS[1:]),
    *(f"view {statements.VIEWS[0]}", f"view {statements.VIEWS[-1]}", "query set_meta", "committed"),
]


@pytest.mark.fault(55)
@pytest.mark.parametrize("stage", STAGES)
def test_a_kill_in_the_middle_leaves_the_old_store_or_the_new_one(old, stage):
    killed = subprocess.run([sys.executable, "-c", KILLED, str(old), stage], check=False)
    assert killed.returncode == -signal.SIGKILL
    expected = str(migrations.SCHEMA_VERSION) if stage == "committed" else "1"
    assert versions(old)["schema_version"] == expected
    with StoreReader(old) as store:
        assert store.query("select name from spans").rows == [("chat",)]
        assert store.query("select stored from books").rows == [(1,)]


@pytest.mark.fault(55)
@pytest.mark.parametrize("open_store", [open_for_read, open_for_write])
def test_a_newer_store_is_refused_with_both_versions_and_what_to_do(old, open_store):
    with duckdb.connect(old) as plain:
        plain.execute("update meta set value = '1000' where key = 'schema_version'")
    before = old.read_bytes()
    known = migrations.SCHEMA_VERSION
    expected = rf"runs\.duckdb has schema version 1000, .* versions up to {known}: upgrade otel-runlog, or choose"
    with pytest.raises(SchemaError, match=expected):
        open_store(old)
    assert old.read_bytes() == before


@pytest.mark.parametrize("value", ["one", "-1", ""])
def test_a_version_that_is_no_number_is_refused(old, value):
    with duckdb.connect(old) as plain:
        plain.execute("update meta set value = $1 where key = 'schema_version'", [value])
    with pytest.raises(SchemaError, match=r"as its schema_version: it is no otel-runlog store"):
        open_for_write(old)
