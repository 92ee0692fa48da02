"""A store that another process holds, and a journal that nobody has loaded yet."""

import json
import subprocess
import sys
import time
from unittest import mock

import pytest

from otel_runlog.errors import StoreInterruptedError
from otel_runlog.journal import JournalWriter, journal_folder
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.store.writer import StoreWriter

HOLD = """
import sys
from otel_runlog.store.writer import StoreWriter
with StoreWriter(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""
SPAN = {
    "traceId": "7a" * 16,
    "spanId": "51" * 8,
    "name": "chat m-std",
    "startTimeUnixNano": "1793880000000000000",
    "endTimeUnixNano": "1793880001000000000",
    "attributes": [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.request.model", "value": {"stringValue": "m-std"}},
        {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "1000"}},
        {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "0"}},
    ],
}


@pytest.fixture
def journaled(tmp_path):
    """A store that is not there yet, with one span in its journal."""
    db = tmp_path / "runs.duckdb"
    journal = JournalWriter(journal_folder(db))
    body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}).encode()
    journal.append(Signal.TRACES, Encoding.JSON, 1, body)
    journal.close()
    return db


def test_what_is_pending_is_loaded_first(call, journaled):
    result = call("runs", "--format", "json", "--db", journaled)
    assert [run["input_tokens"] for run in json.loads(result.stdout)] == [1000]


def test_what_is_pending_is_priced_by_the_tables_of_the_environment(call, journaled, tmp_path, monkeypatch):
    prices = tmp_path / "acme.toml"
    prices.write_text('name = "acme"\nversion = "1"\n[[model]]\nmatch = "m-std"\ninput = "2"\noutput = "0"\n')
    monkeypatch.setenv("OTEL_RUNLOG_PRICES", str(prices))
    result = call("runs", "--format", "json", "--db", journaled)
    assert [run["cost_usd"] for run in json.loads(result.stdout)] == [0.002]


@pytest.fixture
def holder(journaled):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, journaled], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.stdin.close()


@pytest.mark.parametrize("command", ["runs", "ingest"])
def test_a_store_held_by_another_process_is_one_sentence_with_its_pid(call, journaled, holder, tmp_path, command):
    started = time.monotonic()
    result = call(command, *([tmp_path] if command == "ingest" else []), "--db", journaled)
    assert 1.5 < time.monotonic() - started < 6
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"error: {journaled} is held by process {holder.pid} ")


def test_a_damaged_segment_is_a_warning_and_the_rest_is_shown(call, journaled):
    segment = journal_folder(journaled) / "1-2-00000003.seg"
    segment.write_bytes(b"no segment at all")
    result = call("runs", "--format", "json", "--db", journaled)
    assert (result.exit_code, len(json.loads(result.stdout))) == (0, 1)
    assert result.stderr.startswith("warning: the journal segment 1-2-00000003.seg is damaged")


def test_a_statement_that_ctrl_c_ends_is_told_as_an_interrupt(call, journaled, monkeypatch):
    monkeypatch.setattr(
        StoreWriter, "positions", mock.Mock(side_effect=StoreInterruptedError("the work was interrupted"))
    )
    result = call("runs", "--db", journaled)
    assert (result.exit_code, result.stdout, result.stderr) == (130, "", "error: the work was interrupted\n")
