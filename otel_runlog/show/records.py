"""Runs and steps as flat records under the names of the views `runs`, `steps` and `agents`."""

from __future__ import annotations

from otel_runlog.model import AgentUsage, Cost, RunLog, Step, StepKind, Usage
from otel_runlog.show.data import Json, Record, Value
from otel_runlog.store import plain_json
from otel_runlog.store.details import Preview

_USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
_JSON = frozenset({"labels", "attributes", "params"})
_NO_COST = Cost()


def run_record(run: RunLog, preview: Preview | None = None) -> Record:
    """A run under the names of the view `runs`; `preview` is what a RunLog does not carry."""
    values: dict[str, Value] = {}
    for name in run.__struct_fields__:
        if name == "tokens":
            values |= _usage(run.tokens) | {"total_tokens": run.total_tokens}
        elif name == "cost_estimate":
            values |= _cost(run.cost_estimate)
        elif name == "finished_at":
            values |= {"finished_at": run.finished_at, "duration_ms": run.duration_ms}
        elif name not in ("steps", "agents"):
            values[name] = _value(name, getattr(run, name))
    shown = preview or Preview()
    return values | {"input": shown.input, "output": shown.output}


def step_record(step: Step) -> Record:
    """A step under the names of the view `steps`."""
    values: dict[str, Value] = {}
    for name in step.__struct_fields__:
        if name == "usage":
            values |= _usage(step.usage)
        elif name == "cost":
            values |= _cost(step.cost)
        elif name == "started_ns":
            values |= {"started_at": step.started_at, "finished_at": step.finished_at, "duration_ms": step.duration_ms}
            values["started_ns"] = step.started_ns
        else:
            values[name] = _value(name, getattr(step, name))
    return values


def agent_record(agent: AgentUsage) -> Record:
    """An agent of a run under the names of the view `agents`."""
    return {
        "agent": agent.agent,
        "parent_agent": agent.parent_agent,
        "depth": agent.depth,
        "calls": agent.calls,
        **{f"own_{name}": value for name, value in _usage(agent.own).items()},
        "own_cost_usd": agent.own_cost_usd,
        **{f"inclusive_{name}": value for name, value in _usage(agent.inclusive).items()},
        "inclusive_cost_usd": agent.inclusive_cost_usd,
    }


def run_with_steps(run: RunLog, preview: Preview | None = None) -> Record:
    """A run, its steps and its agents as one object."""
    return {
        **run_record(run, preview),
        "agents": [agent_record(agent) for agent in run.agents],
        "steps": [step_record(step) for step in run.steps],
    }


def _usage(usage: Usage) -> dict[str, Value]:
    return {name: getattr(usage, name) for name in _USAGE}


def _cost(cost: Cost | None) -> dict[str, Value]:
    known = cost or _NO_COST
    return {
        "cost_usd": known.usd,
        "reported_cost_usd": known.reported_usd,
        "estimated_cost_usd": known.estimated_usd,
        "cost_status": None if cost is None else cost.status,
        "price_table": known.table,
        "price_version": known.version,
    }


def _value(name: str, value: Value) -> Value:
    return Json(plain_json.dumps(value)) if name in _JSON else value  # type: ignore[arg-type]  # Attributes and labels


RUN_FIELDS = tuple(run_record(RunLog("")))
"""The names in a run's record, in order."""

STEP_FIELDS = tuple(step_record(Step("", "", StepKind.OTHER)))
"""The names in a step's record, in order."""
