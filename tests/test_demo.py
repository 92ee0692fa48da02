"""The demo is a real run: its spans are read like anybody's."""

from decimal import Decimal

import pytest
from click.testing import CliRunner
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from otel_runlog.cli.main import main
from otel_runlog.demo import converse, fresh_file
from otel_runlog.model import Content, StepKind
from otel_runlog.runs import project
from otel_runlog.span import from_sdk


def no_sleep(seconds):
    assert seconds < 1


@pytest.fixture(scope="module")
def runs():
    exporter = InMemorySpanExporter()
    converse(SimpleSpanProcessor(exporter), sleep=no_sleep)
    return project([from_sdk(span) for span in exporter.get_finished_spans()])


def test_two_turns_of_one_session_are_two_runs(runs):
    assert [(run.agent, run.session_id, run.status, run.complete) for run in runs] == [
        ("planner", "demo-session", "completed", True),
        ("planner", "demo-session", "completed", True),
    ]


def test_the_first_run_survives_a_tool_error(runs):
    failed = [(step.tool_name, step.error_type) for step in runs[0].steps if step.status == "failed"]
    assert failed == [("read_page", "TimeoutError")]


def test_the_researcher_is_a_sub_agent(runs):
    assert [(agent.agent, agent.parent_agent, agent.calls) for agent in runs[0].agents] == [
        ("planner", None, 5),
        ("researcher", "planner", 7),
    ]


def test_every_model_call_has_messages_usage_and_a_price(runs):
    calls = [step for run in runs for step in run.steps if step.kind is StepKind.LLM]
    assert len(calls) == 9
    for call in calls:
        assert call.content is Content.FULL
        assert call.usage.total_tokens > 0
        assert call.cost.usd > Decimal(0)


def test_nothing_about_it_is_doubtful(runs):
    assert [(run.warnings, run.notes) for run in runs] == [((), ()), ((), ())]


def test_a_file_that_is_there_is_never_taken(tmp_path):
    assert fresh_file(tmp_path) == tmp_path / "runlog-demo.duckdb"
    (tmp_path / "runlog-demo.duckdb").touch()
    (tmp_path / "runlog-demo-2.duckdb.journal").mkdir()
    assert fresh_file(tmp_path) == tmp_path / "runlog-demo-3.duckdb"


def demo(*options):
    result = CliRunner().invoke(main, ["demo", *options])
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def test_the_command_shows_the_run_an_answer_and_what_to_try_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    output = demo()
    assert "which makes 26.8" in output
    assert "failed: TimeoutError: https://example.org/everest did not answer within 10 s" in output
    assert "GROUP BY agent" in output
    assert "otel-runlog show last --db runlog-demo.duckdb" in output
    assert output.splitlines()[-4].split()[:2] == ["otel-runlog", "runs"]


def test_keep_adds_to_the_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    demo()
    demo("--keep")
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".duckdb"] == ["runlog-demo.duckdb"]
    result = CliRunner().invoke(main, ["sql", "select count(*) as n from runs", "--db", "runlog-demo.duckdb"])
    assert result.stdout.split() == ["n", "4"]


@pytest.mark.parametrize("variable", ["OTEL_RUNLOG_DISABLED", "OTEL_SDK_DISABLED"])
def test_recording_that_is_switched_off_is_said_to_be(tmp_path, monkeypatch, variable):
    monkeypatch.setenv(variable, "true")
    result = CliRunner().invoke(main, ["demo", "--db", str(tmp_path / "runs.duckdb")])
    assert (result.exit_code, list(tmp_path.iterdir())) == (2, [])
    assert result.stderr.startswith(
        "error: nothing is recorded while OTEL_RUNLOG_DISABLED or OTEL_SDK_DISABLED is true"
    )
