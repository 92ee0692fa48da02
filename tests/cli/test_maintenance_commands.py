"""`otel-runlog compact` and `otel-runlog gc`."""

import pytest
from click.testing import CliRunner

from otel_runlog.cli.main import main
from otel_runlog.store.duckdb_store import DuckDBRunLogStore


@pytest.fixture
def twice(db, tmp_path):
    """The three runs, each of them in two versions."""
    path = tmp_path / "runs.duckdb"
    with DuckDBRunLogStore(db) as source, DuckDBRunLogStore(path) as store:
        for run in source.list() * 2:
            store.put(run)
    return path


def runs_in(db):
    with DuckDBRunLogStore(db) as store:
        return len(store.list())


def test_compact_says_what_it_gained(call, twice):
    result = call("compact", "--db", twice)
    assert result.exit_code == 0
    assert result.stdout.startswith("6 steps of 3 earlier versions removed, 0 rows folded; the file is ")
    assert call("compact", "--db", twice).stdout.startswith("0 steps of 0 earlier versions removed")
    assert runs_in(twice) == 3


def test_gc_counts_first_and_removes_when_told_to(call, twice):
    dry = call("gc", "--db", twice, "--older-than", "2027-01-01", "--dry-run")
    assert dry.stdout == f"3 runs, 6 steps, 0 spans, 0 messages, 0 log records would be removed from {twice}\n"
    assert runs_in(twice) == 3
    done = call("gc", "--db", twice, "--older-than", "2027-01-01", "--keep-runs", "1", "--yes")
    assert (done.exit_code, done.stdout.split(", ")[0]) == (0, "2 runs")
    assert runs_in(twice) == 1


def test_gc_removes_nothing_where_nobody_can_be_asked(call, twice):
    result = call("gc", "--db", twice, "--older-than", "2027-01-01")
    assert (result.exit_code, runs_in(twice)) == (2, 3)
    assert "nobody can be asked here: --dry-run counts what would be removed, --yes removes it" in result.stderr


@pytest.mark.parametrize(("answer", "left", "code"), [("n", 3, 130), ("y", 0, 0)])
def test_gc_asks_on_a_terminal(twice, monkeypatch, answer, left, code):
    monkeypatch.setattr("otel_runlog.cli.maintenance._can_ask", lambda: True)
    asked = ["gc", "--db", str(twice), "--older-than", "2027-01-01"]
    result = CliRunner().invoke(main, asked, input=f"{answer}\n")
    assert "3 runs, 6 steps" in result.stdout
    assert (runs_in(twice), result.exit_code) == (left, code)
