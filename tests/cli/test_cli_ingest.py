"""`otel-runlog ingest`."""

import json

import pytest

START_NS = 1_793_880_000_000_000_000


def attributes(**values):
    return [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in values.items()
    ]


def line(trace_id="7a" * 16, span_id="51" * 8, model="gpt-4o-mini"):
    span = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": f"chat {model}",
        "kind": 3,
        "startTimeUnixNano": str(START_NS),
        "endTimeUnixNano": str(START_NS + 1_000_000_000),
        "attributes": attributes(
            **{
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": model,
                "gen_ai.usage.input_tokens": 1000,
                "gen_ai.usage.output_tokens": 100,
            }
        ),
    }
    resource = {"attributes": attributes(**{"service.name": "shop"})}
    return json.dumps({"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [span]}]}]})


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


def test_a_file_is_loaded_and_summed_up(call, tmp_path, db):
    file = tmp_path / "traces.jsonl"
    file.write_text(line() + "\n" + line(span_id="52" * 8) + "\n")
    result = call("ingest", file, "--db", db)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"2 spans stored, 2 runs in {db}\n", "")


def test_the_same_file_again_changes_nothing(call, tmp_path, db):
    file = tmp_path / "traces.jsonl"
    file.write_text(line() + "\n")
    call("ingest", file, "--db", db)
    result = call("ingest", file, "--db", db)
    assert (result.exit_code, result.stdout) == (0, f"0 spans stored, 0 runs, 1 files already loaded in {db}\n")


def test_what_cannot_be_read_is_named_and_the_rest_is_stored(call, tmp_path, db):
    file = tmp_path / "traces.jsonl"
    file.write_text(f"{line()}\n{{not json\n{line(span_id='52' * 8)}\n")
    result = call("ingest", file, tmp_path / "none.jsonl", "--db", db)
    assert result.exit_code == 1
    assert [text.split(": ")[0] for text in result.stderr.splitlines()] == [f"{file}:2", f"{tmp_path}/none.jsonl"]
    assert result.stdout == f"2 spans stored, 2 runs, 2 inputs not read in full in {db}\n"


def test_a_price_table_of_ones_own_prices_what_is_loaded(call, tmp_path, db):
    prices, file = tmp_path / "prices.toml", tmp_path / "traces.jsonl"
    prices.write_text(
        'name = "acme"\nversion = "2026-11"\n[[model]]\nmatch = "m-std"\ninput = "2.50"\noutput = "10.00"\n'
    )
    file.write_text(line(model="m-std"))
    assert call("ingest", file, "--prices", prices, "--db", db).exit_code == 0
    result = call("sql", "select cost_usd, price_table from runs", "--format", "json", "--db", db)
    assert json.loads(result.stdout) == [{"cost_usd": 0.0035, "price_table": "acme"}]


def test_a_price_table_with_a_fault_is_exit_2_and_nothing_is_loaded(call, tmp_path, db):
    prices = tmp_path / "prices.toml"
    prices.write_text('name = "acme"\nversion = "2026-11"\n[[model]]\nmatch = "m-std"\ninput = "-1"\n')
    result = call("ingest", tmp_path, "--prices", prices, "--db", db)
    assert (result.exit_code, db.exists()) == (2, False)
    assert result.stderr.startswith(f"error: {prices}: model[1].input: ")


def test_control_characters_of_a_path_reach_no_terminal(call, tmp_path, db):
    file = tmp_path / "a\x1b[31m\nb"
    file.write_text("{not json")
    assert "\x1b" not in call("ingest", file, "--db", db).stderr


def test_paths_are_needed(call, db):
    assert call("ingest", "--db", db).exit_code == 2
