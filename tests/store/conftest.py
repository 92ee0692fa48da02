"""A run with every field set, and stores to keep it in."""

import datetime as dt
from decimal import Decimal

import pytest

from otel_runlog.model import (
    AgentUsage,
    Content,
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

NOON = dt.datetime(2026, 11, 5, 12, 0, 0, 123456, tzinfo=dt.UTC)
NOON_NS = 1_793_880_000_123_456_000


def make_step(run_id: str = "a1" * 16, **changes) -> Step:
    fields = {
        "trace_id": "7a" * 16,
        "span_id": "51" * 8,
        "kind": StepKind.LLM,
        "name": "chat m-std",
        "run_id": run_id,
        "step_index": 1,
        "call_index": 1,
        "parent_span_id": "50" * 8,
        "agent": "planner",
        "provider": "acme",
        "model": "m-std",
        "request_model": "m-std-latest",
        "response_model": "m-std-2026-03-15",
        "response_id": "resp-1",
        "status": StepStatus.FAILED,
        "error_type": "RateLimitError",
        "error_message": "slow down",
        "started_ns": NOON_NS + 789,
        "ended_ns": NOON_NS + 1_500_000_790,
        "time_to_first_token_ms": 12.5,
        "streaming": True,
        "usage": Usage(100, 20, 40, 10, 5, 6, 4),
        "usage_source": UsageSource.SPAN,
        "cost": Cost(Decimal("0.000000000001"), CostStatus.REPORTED, "acme", "2026-11", Decimal("0.1"), Decimal("0.2")),
        "service_tier": "flex",
        "counted": True,
        "duplicate_of": "52" * 8,
        "tool_name": "search",
        "tool_call_id": "call-1",
        "finish_reason": "stop",
        "params": {"temperature": 1.0, "max_tokens": 1, "seed": None, "stop": ["a", "b"], "raw": b"\x00\xff"},
        "convention": "genai",
        "content": Content.FULL,
        "warnings": ("usage_partial: output missing",),
        "notes": ("duplicate_call: left out", "cache_ttl_assumed: 5m"),
    }
    return Step(**(fields | changes))


def make_run(run_id: str = "a1" * 16, **changes) -> RunLog:
    fields = {
        "run_id": run_id,
        "agent": "planner",
        "started_at": NOON,
        "finished_at": NOON + dt.timedelta(seconds=2),
        "status": RunStatus.FAILED,
        "steps": (
            make_step(run_id),
            make_step(run_id, span_id="53" * 8, kind=StepKind.TOOL, step_index=2, call_index=2),
        ),
        "tokens": Usage(100, 20, 40, 10, 5, 6, 4),
        "cost_estimate": Cost(
            Decimal("1.25"), CostStatus.MIXED, "acme", "2026-11", Decimal("0.1"), Decimal("1.150000000001")
        ),
        "session_id": "s1",
        "native_run_id": "native-1",
        "trace_id": "7a" * 16,
        "root_span_id": "50" * 8,
        "user_id": "ada",
        "service": "support-bot",
        "service_version": "1.2",
        "environment": "test",
        "status_message": "slow down",
        "step_count": 2,
        "llm_calls": 1,
        "tool_calls": 1,
        "error_count": 2,
        "usage_missing_calls": 1,
        "unpriced_calls": 1,
        "unpriced_models": ("m-new",),
        "models": ("m-std", "m-new"),
        "tags": ("nightly",),
        "labels": {"task": "W2-71", "team": "blue"},
        "attributes": {"n": 1, "x": 1.0, "ok": True, "nothing": None, "deep": {"list": [1, "two", b"3"]}},
        "complete": False,
        "warnings": ("usage_missing: 1 call",),
        "notes": ("repaired: late span",),
        "agents": (
            AgentUsage("planner", None, 0, 1, Usage(100, 20), Decimal("1.25"), Usage(120, 30), Decimal("1.5")),
            AgentUsage("helper", "planner", 1, 1, Usage(20, 10), None, Usage(20, 10), None),
        ),
        "launch_id": "launch-1",
        "fork_of": "c3" * 16,
        "fork_at": 3,
    }
    return RunLog(**(fields | changes))


@pytest.fixture
def run():
    """Build a run with every field set, some of them changed."""
    return make_run


@pytest.fixture
def step():
    """Build a step with every field set, some of them changed."""
    return make_step


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"
