"""`otel-runlog runs`, `show` and `sessions`."""

import csv
import io
import json

import pytest

PLANNER, CHAT, LOST = "a1" * 16, "b2" * 16, "c3" * 16

RUNS = """\
RUN       AGENT    STATUS      STARTED (UTC)          TIME  LLM  TOOL  TOKENS IN  OUT      COST  WARN
b2b2b2b2  chatbot  failed      2026-11-05 13:00:00  250 ms    2     0                    !$1.50     1
a1a1a1a1  planner  completed   2026-11-05 12:00:00  1m 05s    2     1     12,445  683  ~$0.0124
c3c3c3c3  planner  incomplete  2026-11-04 12:00:00            0     0
~ estimated from a price table
! not all calls have a price and usage: the cost is at least this
"""


def test_runs_are_a_plain_table_in_a_pipe(call, db):
    result = call("runs", "--db", db)
    assert (result.exit_code, result.stderr) == (0, "")
    assert [line.rstrip() for line in result.stdout.splitlines()] == RUNS.splitlines()


def ids(result):
    return [run["run_id"] for run in json.loads(result.stdout)]


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ("--agent planner", [PLANNER, LOST]),
        ("--status failed", [CHAT]),
        ("--session s1", [PLANNER]),
        ("--label task=W2-71", [PLANNER]),
        ("--label task=other", []),
        ("--since 2026-11-05", [CHAT, PLANNER]),
        ("--until 2026-11-05T12:30", [PLANNER, LOST]),
        ("--since 2026-11-05T14:00+02:00 --until 2026-11-05T13:00:00Z", [PLANNER]),
        ("--since 1h", []),
        ("--limit 1", [CHAT]),
        ("--sort tokens --limit 1", [PLANNER]),
        ("--sort cost", [CHAT, PLANNER, LOST]),
    ],
)
def test_runs_are_chosen(call, db, options, found):
    assert ids(call("runs", "--format", "json", "--db", db, *options.split())) == found


def test_a_table_says_that_there_are_more(call, db):
    assert "more than 1 runs: --limit shows more" in call("runs", "--limit", "1", "--db", db).stdout


def test_no_runs_are_said_to_be_none(call, db):
    assert call("runs", "--agent", "nobody", "--db", db).stdout == "no runs\n"


def test_runs_as_json_have_the_names_and_types_of_the_view(call, db):
    [run] = json.loads(call("runs", "--session", "s1", "--format", "json", "--db", db).stdout)
    wanted = {
        "run_id": PLANNER,
        "agent": "planner",
        "status": "completed",
        "started_at": "2026-11-05T12:00:00Z",
        "finished_at": "2026-11-05T12:01:05Z",
        "duration_ms": 65_000.0,
        "input_tokens": 12_445,
        "cache_write_tokens": None,
        "total_tokens": 13_128,
        "cost_usd": 0.0124,
        "cost_status": "estimated",
        "labels": {"task": "W2-71"},
        "warnings": [],
    }
    assert {name: run[name] for name in wanted} == wanted


def test_json_has_every_column_of_the_view(call, db):
    columns = call("sql", "from runs limit 0", "--format", "csv", "--db", db).stdout.strip().split(",")
    times = {"started_ns", "finished_ns", "last_ns"}
    not_in_a_run_log = times | {"version", "cache_write_5m_tokens", "cache_write_1h_tokens"}
    [run] = json.loads(call("runs", "--limit", "1", "--format", "json", "--db", db).stdout)
    assert set(columns) - set(run) == not_in_a_run_log


def test_runs_as_csv(call, db):
    rows = list(csv.DictReader(io.StringIO(call("runs", "--format", "csv", "--db", db).stdout)))
    assert [(row["run_id"], row["cost_usd"], row["labels"]) for row in rows] == [
        (CHAT, "1.5", "{}"),
        (PLANNER, "0.0124", '{"task":"W2-71"}'),
        (LOST, "", "{}"),
    ]


@pytest.mark.parametrize("value", ["yesterday", "7", "-2h", "2026-13-01", "9999999d", "999999w", "٣h"])
def test_what_is_no_time_is_refused(call, db, value):
    result = call("runs", f"--since={value}", "--db", db)
    assert (result.exit_code, result.stderr.split("'--since': ")[1][: len(value) + 10]) == (2, f"'{value}' is no t")


def test_what_is_no_label_is_refused(call, db):
    assert call("runs", "--label", "task", "--db", db).exit_code == 2


SHOWN = """\
run a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1a1  completed
  agent     planner
  started   2026-11-05 12:00:00 UTC, took 1m 05s
  session   s1
  service   shop
  calls     2 model, 1 tool, 1 failed
  tokens    12,445 in (8,000 read from cache), 683 out (32 reasoning)
  cost      $0.0124 (estimated from acme 2026-11)
  labels    task=W2-71

CALL  KIND   STEP                      AGENT         AT     TIME      IN  OUT      COST  REMARK
      agent  invoke_agent planner      planner    +0 ms   1m 05s
   1  llm      chat m-std                        +10 ms    1.5 s  12,345  678  ~$0.0123  8,000 cached, 32 reasoning
   2  tool     execute_tool look_up              +1.6 s    40 ms  failed: TimeoutError: no answer in 10 s
      agent    invoke_agent helper     helper    +2.0 s    1.0 s
   3  llm        chat m-std                      +2.1 s   800 ms     100    5  ~$0.00010
      llm        ChatCompletion                  +2.1 s   780 ms                         duplicate of 5454545454545454
~ estimated from a price table

AGENT     CALLS      IN  OUT      COST  IN WITH SUB-AGENTS  OUT WITH SUB-AGENTS  COST WITH SUB-AGENTS
planner       2  12,345  678   $0.0123              12,445                  683               $0.0124
  helper      1     100    5  $0.00010                 100                    5              $0.00010

notes
  duplicate_call: the same call as span 5454545454545454, which counts
"""


def squeezed(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_a_run_is_shown_with_its_steps_agents_and_notes(call, db):
    result = call("show", "a1a1", "--db", db)
    assert (result.exit_code, result.stderr) == (0, "")
    assert squeezed(result.stdout) == squeezed(SHOWN)


def test_a_run_as_json_is_one_object_with_steps_and_agents(call, db):
    run = json.loads(call("show", PLANNER, "--format", "json", "--db", db).stdout)
    assert [(s["step_index"], s["kind"], s["cost_usd"]) for s in run["steps"]] == [
        (1, "agent", None),
        (2, "llm", 0.0123),
        (3, "tool", None),
        (4, "agent", None),
        (5, "llm", 0.0001),
        (6, "llm", None),
    ]
    assert run["steps"][2]["error_message"] == "no answer\x1b[31m in 10 s"
    assert [a["inclusive_cost_usd"] for a in run["agents"]] == [0.0124, 0.0001]


def test_last_is_the_newest_run(call, db):
    assert json.loads(call("show", "last", "--format", "json", "--db", db).stdout)["run_id"] == CHAT


@pytest.mark.parametrize("name", ["a1a", "dddd", ""])
def test_a_run_that_is_not_there_is_exit_1(call, db, name):
    result = call("show", name, "--db", db)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith("error: no run has ")


def test_warnings_are_shown(call, db):
    assert call("show", "last", "--db", db).stdout.endswith(
        "\nwarnings\n  usage_missing: the call carries no token counts\n"
    )


SESSIONS = """\
SESSION  USER  RUNS  STARTED (UTC)        LAST END (UTC)       TOKENS IN  OUT      COST
s2                1  2026-11-05 13:00:00  2026-11-05 13:00:00                    !$1.50
s1                1  2026-11-05 12:00:00  2026-11-05 12:01:05     12,445  683  ~$0.0124
~ estimated from a price table
! not all calls have a price and usage: the cost is at least this
"""


def test_sessions_are_a_table(call, db):
    assert call("sessions", "--db", db).stdout == SESSIONS


def test_sessions_as_json(call, db):
    [session] = json.loads(call("sessions", "--limit", "1", "--format", "json", "--db", db).stdout)
    assert (session["session_id"], session["run_count"], session["cost_usd"]) == ("s2", 1, 1.5)


def test_a_run_as_csv_is_its_steps(call, db):
    rows = list(csv.DictReader(io.StringIO(call("show", "a1a1", "--format", "csv", "--db", db).stdout)))
    assert [(row["step_index"], row["kind"], row["cost_usd"], row["started_at"]) for row in rows[:2]] == [
        ("1", "agent", "", "2026-11-05T12:00:00Z"),
        ("2", "llm", "0.0123", "2026-11-05T12:00:00.010000Z"),
    ]
