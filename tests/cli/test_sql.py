"""`otel-runlog sql`."""

import json

import pytest
from click.testing import CliRunner

from otel_runlog.cli.main import main


def test_an_answer_is_a_table(call, db):
    query = "select agent, llm_calls * 1000 as calls, cost_usd, started_at from runs where session_id = 's1'"
    assert call("sql", query, "--db", db).stdout == (
        "agent    calls  cost_usd  started_at\n"
        "planner  2,000   $0.0124  2026-11-05 12:00:00\n"
    )  # fmt: skip


def test_json_keeps_every_type(call, db):
    query = """select 1.50::decimal(18,12) as money, timestamptz '2026-11-05 14:00+02' as at, ['a', 'b'] as list,
        '{"a": [1, null]}'::json as doc, 'nan'::double as nan, null as nothing, date '2026-11-05' as day,
        9007199254740993 as big, true as yes, {'x': 0.1::decimal(3,1)} as struct, map {'k': 1} as map"""
    result = call("sql", query, "--format", "json", "--db", db)
    assert result.stdout == (
        '[\n{"money":1.5,"at":"2026-11-05T12:00:00Z","list":["a","b"],"doc":{"a": [1, null]},"nan":null,'
        '"nothing":null,"day":"2026-11-05","big":9007199254740993,"yes":true,"struct":{"x":0.1},"map":{"k":1}}\n]\n'
    )


def test_no_rows_are_an_empty_array(call, db):
    assert call("sql", "from runs where false", "--format", "json", "--db", db).stdout == "[]\n"


def test_csv_has_a_line_of_titles(call, db):
    query = "select 'a,b' as text, 0.00000012::decimal(18,12) as usd, null as nothing, '[1]'::json as doc"
    assert call("sql", query, "--format", "csv", "--db", db).stdout == (
        'text,usd,nothing,doc\n"a,b",0.00000012,,[1]\n'
    )  # fmt: skip


def test_json_to_a_terminal_holds_no_control_characters(call, db):
    query = "select chr(27) || '[2J' || chr(155) || '31m' || chr(8238) as text"
    result = call("sql", query, "--format", "json", "--db", db)
    assert result.stdout == '[\n{"text":"\\u001b[2J\\u009b31m\\u202e"}\n]\n'
    assert json.loads(result.stdout) == [{"text": "\x1b[2J\x9b31m\u202e"}]


@pytest.mark.parametrize("form", ["table", "csv"])
def test_escapes_in_data_reach_no_terminal(call, db, form):
    query = "select chr(27) || '[31mred' || chr(27) || ']8;;http://x' || chr(7) || chr(155) || '2J' as text"
    assert call("sql", query, "--format", form, "--db", db).stdout.split() == ["text", "red2J"]


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("selct 1", 'Parser Error: syntax error at or near "selct"'),
        ("from rums", "Catalog Error: Table with name rums does not exist! "),
        ("delete from stored_spans", 'Invalid Input Error: Cannot execute statement of type "DELETE" on database '),
        ("select 1; select 2", "one SQL statement is answered at a time, not 2"),
        ("/* nothing */", "one SQL statement is answered at a time, not 0"),
    ],
)
def test_what_cannot_be_answered_is_one_sentence_and_exit_2(call, db, query, reason):
    result = call("sql", query, "--db", db)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert result.stderr.startswith(f"error: {reason}")


def test_columns_of_one_name_are_numbered(call, db):
    result = call("sql", "select 1 as a, 2 as a, 3 as b, 4 as a", "--format", "json", "--db", db)
    assert json.loads(result.stdout) == [{"a": 1, "a_1": 2, "b": 3, "a_2": 4}]


def test_a_dash_reads_the_query_from_stdin(db):
    result = CliRunner().invoke(main, ["sql", "-", "--db", str(db), "--format", "csv"], input="select 42 as answer")
    assert result.stdout == "answer\n42\n"
