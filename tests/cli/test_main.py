"""What holds for every command."""

import logging
import subprocess
import sys

import pytest

from otel_runlog.cli.group import warnings_said
from otel_runlog.cli.main import COMMANDS


def test_help_lists_the_commands_in_order(call):
    listed = [line.split()[0] for line in call("--help").output.split("Commands:")[1].splitlines() if line[:2] == "  "]
    assert listed[: len(COMMANDS)] == list(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_an_example(call, command):
    result = call(command, "--help")
    assert result.exit_code == 0
    assert f"Example: otel-runlog {command}" in " ".join(result.output.split())


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - {"prices"}))
def test_every_command_takes_a_store(call, command):
    assert "--db FILE" in call(command, "--help").output


@pytest.mark.parametrize("command", ["runs", "show last", "sessions", "doctor", "sql from\trow"])
def test_a_store_that_is_not_there_is_one_sentence_and_exit_2(call, tmp_path, command):
    result = call(*command.split(" "), "--db", tmp_path / "none.duckdb")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == (
        f"error: there is no store at {tmp_path}/none.duckdb: --db names another one, `ingest` and `demo` make one\n"
    )


def raise_value_error(text):
    raise ValueError(text)


def test_an_error_of_our_own_is_logged_with_where_it_was(capsys):
    with warnings_said():
        try:
            raise_value_error("no \x1b[31mcolour")
        except ValueError:
            logging.getLogger("otel_runlog").exception("GET %s failed", "/v1/runs")
    said = capsys.readouterr().err
    assert said.startswith("warning: GET /v1/runs failed\n  Traceback")
    assert said.endswith("  ValueError: no colour\n")


def test_wrong_usage_is_one_sentence_and_exit_2(call):
    result = call("runs", "--sort", "beauty")
    assert result.exit_code == 2
    assert result.stderr.startswith("error: Invalid value for '--sort': 'beauty' is not one of ")
    assert result.stderr.count("\n") == 1


def test_an_unknown_command_is_exit_2(call):
    result = call("rums")
    assert (result.exit_code, result.stderr) == (2, "error: No such command 'rums' (see otel-runlog --help)\n")


def test_the_store_is_taken_from_the_environment(call, db, monkeypatch):
    monkeypatch.setenv("OTEL_RUNLOG_DB", str(db))
    assert call("runs").exit_code == 0


def test_a_store_in_memory_is_refused(call):
    result = call("runs", "--db", ":memory:")
    assert (result.exit_code, result.stderr.split(":")[0]) == (2, "error")


def test_a_file_that_is_no_store_is_left_alone(call, tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("not a database " * 1000)
    result = call("runs", "--db", file)
    assert result.exit_code == 2
    assert "is no readable DuckDB database and was left as it is" in result.stderr
    assert file.read_text() == "not a database " * 1000


def imported_by(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_help_imports_nothing_heavy():
    modules = imported_by(
        "from click.testing import CliRunner\nfrom otel_runlog.cli.main import main\n"
        "assert CliRunner().invoke(main, ['--help']).exit_code == 0"
    )
    assert modules & {"duckdb", "genai_prices", "grpc", "google.protobuf", "opentelemetry.sdk", "rich"} == set()


def test_reading_imports_duckdb_and_no_prices(db):
    modules = imported_by(
        "from click.testing import CliRunner\nfrom otel_runlog.cli.main import main\n"
        f"assert CliRunner().invoke(main, ['runs', '--db', {str(db)!r}]).exit_code == 0"
    )
    assert "duckdb" in modules
    assert modules & {"genai_prices", "grpc", "google.protobuf", "opentelemetry.sdk", "rich.console"} == set()


def test_the_package_runs_as_a_module(db):
    command = [sys.executable, "-m", "otel_runlog", "runs", "--db", db]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
