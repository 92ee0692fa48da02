"""`otel-runlog prices`."""

import json

import pytest

from otel_runlog.runs import project
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.testing import TraceBuilder

TABLE = """
name = "acme"
version = "2026-11"
[[model]]
match = "m-std"
input = "2.50"
output = "10.00"
cache_read = "1.25"
[[model.tier]]
above_input_tokens = 200000
input = "5"
output = "15.00"
[model.service_tier]
batch = "0.5"
[[model]]
match = "m-std"
from = 2026-11-05
input = "2"
output = "8"
"""


@pytest.fixture
def table(tmp_path):
    file = tmp_path / "acme.toml"
    file.write_text(TABLE)
    return file


def rows(result):
    assert result.exit_code == 0
    return [
        (r["in_force"], r["first_day"], r["input_tokens"], r["service_tier"], r["factor"], r["input"], r["output"])
        for r in json.loads(result.stdout)
    ]


def test_every_entry_is_shown_and_the_one_in_force_stands_first(call, table):
    found = call("prices", "m-std-latest", "--on", "2026-11-06", "--prices", table, "--format", "json")
    assert rows(found) == [
        (True, "2026-11-05", None, None, None, 2, 8),
        (False, None, None, None, None, 2.5, 10),
        (False, None, "> 200000", None, None, 5, 15),
        (False, None, None, "batch", 0.5, None, None),
    ]


def test_the_day_chooses_the_entry(call, table):
    found = call("prices", "m-std", "--on", "2026-11-04", "--prices", table, "--format", "json")
    assert [row[:2] for row in rows(found)] == [(True, None), (True, None), (True, None), (False, "2026-11-05")]


def test_prices_are_a_table(call, table):
    result = call("prices", "m-std", "--on", "2026-11-04", "--prices", table)
    assert result.stdout.splitlines() == [
        "   PROVIDER  ENTRY  FROM        FOR                    INPUT  OUTPUT  CACHE READ  TABLE",
        "*  any       m-std                                       2.5      10        1.25  acme 2026-11",
        "*  any       m-std              > 200000 input tokens      5      15              acme 2026-11",
        "*  any       m-std              tier batch x 0.5                                  acme 2026-11",
        "   any       m-std  2026-11-05                             2       8              acme 2026-11",
        "US dollars per 1M tokens; * is in force on 2026-11-04, unless the telemetry names another provider",
    ]


@pytest.mark.parametrize("form", ["table", "json"])
def test_an_unknown_model_is_exit_1(call, form):
    result = call("prices", "no-such-model", "--format", form)
    assert (result.exit_code, result.stdout.strip()) == (1, "[]" if form == "json" else "")
    assert result.stderr == "error: no price table has no-such-model: name it in one of your own, --prices FILE\n"


def test_without_a_model_the_tables_in_force_are_shown(call, table):
    own, bundled = json.loads(call("prices", "--prices", table, "--format", "json").stdout)
    assert own == {"table": "acme", "version": "2026-11", "entries": 2}
    assert bundled["table"] == "genai-prices"
    assert bundled["entries"] > 1000


def test_tables_are_taken_from_the_environment(call, table, monkeypatch):
    monkeypatch.setenv("OTEL_RUNLOG_PRICES", str(table))
    assert json.loads(call("prices", "m-std", "--format", "json").stdout)[0]["table"] == "acme"


def test_a_store_tells_which_provider_a_model_is_called_at(call, tmp_path):
    """The entry in force is the one that the store's calls are priced by."""
    db = tmp_path / "runs.duckdb"
    trace = TraceBuilder()
    trace.chat("claude-sonnet-4-5", provider="google", input_tokens=10, output_tokens=1)
    with DuckDBRunLogStore(db) as store:
        for run in project(trace.spans):
            store.put(run)

    def in_force(*options):
        found = json.loads(call("prices", "claude-sonnet-4-5", "--format", "json", *options).stdout)
        return {row["provider"] for row in found if row["in_force"]}

    assert in_force() == {"anthropic"}
    assert in_force("--db", db) == {"google"}
    assert in_force("--db", db, "--provider", "anthropic") == {"anthropic"}
