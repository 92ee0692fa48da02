"""A store with three runs of two sessions, and the command line as a function."""

import datetime as dt
from decimal import Decimal

import pytest
from click.testing import CliRunner

from otel_runlog.cli.main import main
from otel_runlog.model import (
    AgentUsage,
    Cost,
    CostStatus,
    RunLog,
    RunStatus,
    Step,
    StepKind,
    StepStatus,
    Usage,
    UsageSource,
)
from otel_runlog.store.duckdb_store import DuckDBRunLogStore

NOON = dt.datetime(2026, 11, 5, 12, 0, 0, tzinfo=dt.UTC)
NOON_NS = 1_793_880_000_000_000_000
PLANNER, CHAT, LOST = "a1" * 16, "b2" * 16, "c3" * 16


def estimated(usd):
    return Cost(Decimal(usd), CostStatus.ESTIMATED, "acme", "2026-11", estimated_usd=Decimal(usd))


def step(span, index, kind, name, parent=None, start_ms=0, end_ms=1000, **more):  # noqa: PLR0917
    return Step(
        "7a" * 16,
        span * 8,
        kind,
        name,
        step_index=index,
        parent_span_id=parent and parent * 8,
        started_ns=NOON_NS + start_ms * 1_000_000,
        ended_ns=NOON_NS + end_ms * 1_000_000,
        counted=kind in (StepKind.LLM, StepKind.TOOL),
        **more,
    )


def planner():
    usage = Usage(12_345, 678, cache_read_tokens=8_000, reasoning_tokens=32)
    calls = {"usage_source": UsageSource.SPAN, "model": "m-std"}
    steps = (
        step("50", 1, StepKind.AGENT, "invoke_agent planner", end_ms=65_000, agent="planner"),
        step("51", 2, StepKind.LLM, "chat", "50", 10, 1_510, call_index=1, usage=usage,
             cost=estimated("0.0123"), **calls),
        step("52", 3, StepKind.TOOL, "execute_tool look_up", "50", 1_600, 1_640, call_index=2, tool_name="look_up",
             status=StepStatus.FAILED, error_type="TimeoutError", error_message="no answer\x1b[31m in 10 s"),
        step("53", 4, StepKind.AGENT, "invoke_agent helper", "50", 2_000, 3_000, agent="helper"),
        step("54", 5, StepKind.LLM, "chat", "53", 2_100, 2_900, call_index=3, usage=Usage(100, 5),
             cost=estimated("0.0001"), **calls),
        step("55", 6, StepKind.LLM, "ChatCompletion", "53", 2_110, 2_890, duplicate_of="54" * 8),
    )  # fmt: skip
    return RunLog(
        PLANNER,
        agent="planner",
        started_at=NOON,
        finished_at=NOON + dt.timedelta(seconds=65),
        status=RunStatus.COMPLETED,
        steps=steps,
        tokens=Usage(12_445, 683, cache_read_tokens=8_000, reasoning_tokens=32),
        cost_estimate=estimated("0.0124"),
        session_id="s1",
        service="shop",
        trace_id="7a" * 16,
        step_count=3,
        llm_calls=2,
        tool_calls=1,
        error_count=1,
        labels={"task": "W2-71"},
        agents=(
            AgentUsage(
                "planner", None, 0, 2, Usage(12_345, 678), Decimal("0.0123"), Usage(12_445, 683), Decimal("0.0124")
            ),
            AgentUsage("helper", "planner", 1, 1, Usage(100, 5), Decimal("0.0001"), Usage(100, 5), Decimal("0.0001")),
        ),
        notes=("duplicate_call: the same call as span 5454545454545454, which counts",),
    )


def chat():
    return RunLog(
        CHAT,
        agent="chat\x1b]0;owned\x07bot\x1b[2J",
        started_at=NOON + dt.timedelta(hours=1),
        finished_at=NOON + dt.timedelta(hours=1, milliseconds=250),
        status=RunStatus.FAILED,
        status_message="rate limited",
        cost_estimate=Cost(Decimal("1.5"), CostStatus.PARTIAL),
        session_id="s2",
        llm_calls=2,
        usage_missing_calls=1,
        warnings=("usage_missing: the call carries no token counts",),
    )


def lost():
    return RunLog(LOST, agent="planner", started_at=NOON - dt.timedelta(days=1), status=RunStatus.INCOMPLETE)


@pytest.fixture(scope="session")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "runs.duckdb"
    store = DuckDBRunLogStore(path)
    for run in (planner(), chat(), lost()):
        store.put(run)
    return path


@pytest.fixture
def call():
    """Run the command line; gives back a click Result."""
    return lambda *args: CliRunner().invoke(main, [str(arg) for arg in args])
