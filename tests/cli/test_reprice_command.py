"""`otel-runlog reprice`."""

import json

import pytest

from otel_runlog.runs import project
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.testing import TraceBuilder

ROW = {"cost_before": None, "cost_after": 0.0012, "model": "m-new", "price_table": "acme", "price_version": "1"}


@pytest.fixture
def prices(tmp_path):
    path = tmp_path / "acme.toml"
    path.write_text('name = "acme"\nversion = "1"\n[[model]]\nmatch = "m-new"\ninput = "1"\noutput = "2"\n')
    return path


@pytest.fixture
def unpriced(tmp_path):
    """A store with two calls of a model that no table had."""
    db = tmp_path / "unpriced.duckdb"
    trace = TraceBuilder()
    agent = trace.agent("planner")
    for _ in "ab":
        trace.chat("m-new", parent=agent, input_tokens=1000, output_tokens=100)
    with DuckDBRunLogStore(db) as store:
        store.put(project(trace.spans)[0])
    return db


def test_rows_say_what_a_step_cost_before_and_after_and_a_dry_run_the_same(call, unpriced, prices):
    file = unpriced.read_bytes()
    dry = call("reprice", "--db", unpriced, "--prices", prices, "--dry-run", "--format", "json")
    assert (dry.exit_code, unpriced.read_bytes()) == (0, file)
    done = call("reprice", "--db", unpriced, "--prices", prices, "--format", "json")
    assert done.stdout == dry.stdout
    rows = json.loads(done.stdout)
    assert [list(row)[:3] for row in rows] == [["span_id", "cost_before", "cost_after"]] * 2
    assert [{k: v for k, v in row.items() if k in ROW} for row in rows] == [ROW, ROW]
    assert done.stderr == "2 steps priced again, 2 changed in 1 of 1 runs\n"


def test_the_second_time_there_is_nothing_to_change(call, unpriced, prices):
    call("reprice", "--db", unpriced, "--prices", prices)
    for form, nothing in (
        ("json", "[]"),
        ("csv", "span_id,cost_before,cost_after,run_id,model,price_table,price_version"),
    ):
        again = call("reprice", "--db", unpriced, "--prices", prices, "--format", form)
        assert (again.exit_code, again.stdout.strip()) == (0, nothing)
    assert "0 changed" in call("reprice", "--db", unpriced, "--prices", prices).stdout


def test_csv_has_all_and_a_table_the_first(call, unpriced, prices, monkeypatch):
    monkeypatch.setattr("otel_runlog.cli.reprice.TABLE_LIMIT", 1)
    asked = ("reprice", "--db", unpriced, "--prices", prices, "--dry-run")
    table = call(*asked).stdout.splitlines()
    assert table[0].split("  ")[0] == "SPAN"
    assert table[1].split()[1:] == [table[1].split()[1], "m-new", "-", "$0.0012", "acme", "1"]
    assert table[2:] == [
        "and 1 more: --format json or csv has all",
        "2 steps priced again, 2 would change in 1 of 1 runs",
    ]
    header, *lines = call(*asked, "--format", "csv").stdout.splitlines()
    assert (header.split(",")[:3], len(lines)) == (["span_id", "cost_before", "cost_after"], 2)
    assert lines[0].split(",")[1:3] == ["", "0.0012"]


def test_without_tables_an_estimate_stays_and_that_is_said(call, unpriced, prices):
    call("reprice", "--db", unpriced, "--prices", prices)
    said = call("reprice", "--db", unpriced).stdout
    assert said == (
        "2 steps priced again, 0 changed in 0 of 1 runs; 2 keep an estimate that no table has a price for now\n"
    )
