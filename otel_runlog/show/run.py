"""One run: what is known of it, its steps as a tree, its agents, and what is doubtful."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from otel_runlog.model import AgentUsage, CostStatus, RunLog, Step, StepStatus, Usage
from otel_runlog.show import cells, text
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell, Column, Fit
from otel_runlog.show.tree import Node, Parents, tree

_LABEL_CELLS = 10


def show_run(screen: Screen, run: RunLog, parents: Parents) -> None:
    """Show a run; `parents` are the parent links of its traces' spans."""
    screen.line(Cell(f"run {run.run_id}", "bold"), "  ", cells.status(run.status))
    for label, fact in _facts(run):
        screen.short_line(Cell(f"  {label:<{_LABEL_CELLS}}", "dim"), Cell(fact))
    screen.line()
    _show_steps(screen, run, parents)
    if len(run.agents) > 1:
        screen.line()
        _show_agents(screen, run.agents)
    if screen.width is not None:  # where the table shortened them
        _show_remarks(screen, "errors", list(_errors(run.steps)), "red")
    _show_remarks(screen, "warnings", run.warnings, "yellow")
    _show_remarks(screen, "notes", run.notes, "dim")


def _facts(run: RunLog) -> Iterator[tuple[str, str]]:
    """The head's lines: what is unknown has none."""
    lines = (
        ("agent", run.agent),
        ("message", run.status_message),
        ("started", _times(run)),
        ("session", run.session_id),
        ("user", run.user_id),
        ("service", _words(run.service, run.service_version, run.environment and f"({run.environment})")),
        ("calls", _calls(run)),
        ("tokens", _tokens(run.tokens)),
        ("cost", _cost(run)),
        ("unpriced", ", ".join(run.unpriced_models)),
        ("labels", "  ".join(f"{key}={value}" for key, value in sorted(run.labels.items()))),
        ("tags", ", ".join(run.tags)),
        ("replay of", run.replay_of),
        ("fork of", run.fork_of and _words(run.fork_of, run.fork_at is not None and f"at call {run.fork_at}")),
        ("complete", None if run.complete else "no: a part of it did not arrive or was cut"),
    )
    return ((label, text.clean(fact)) for label, fact in lines if fact)


def _words(*words: str | Literal[False] | None) -> str:
    return " ".join(word for word in words if word)


def _times(run: RunLog) -> str:
    if run.started_at is None:
        return ""
    took = f", took {text.duration(run.duration_ms)}" if run.duration_ms is not None else ""
    return f"{text.moment(run.started_at)} UTC{took}"


def _calls(run: RunLog) -> str:
    counts = (
        (run.llm_calls, "model"),
        (run.tool_calls, "tool"),
        (run.error_count, "failed"),
        (run.usage_missing_calls, "without usage"),
    )
    return ", ".join(f"{text.count(number)} {what}" for number, what in counts if number)


def _tokens(usage: Usage) -> str:
    return ", ".join(filter(None, (_input(usage), _output(usage))))


def _input(usage: Usage) -> str:
    parts = ((usage.cache_read_tokens, "read from cache"), (usage.cache_write_tokens, "written to it"))
    return _with_parts(usage.input_tokens, "in", parts)


def _output(usage: Usage) -> str:
    return _with_parts(usage.output_tokens, "out", ((usage.reasoning_tokens, "reasoning"),))


def _with_parts(number: int | None, what: str, parts: Sequence[tuple[int | None, str]]) -> str:
    if number is None:
        return ""
    inside = ", ".join(f"{text.count(part)} {name}" for part, name in parts if part)
    return f"{text.count(number)} {what}" + (f" ({inside})" if inside else "")


def _cost(run: RunLog) -> str:
    cost = run.cost_estimate
    if cost is None:
        return ""
    if cost.status is CostStatus.UNPRICED:
        return "unknown: no price table has the model, or no usage came"
    meaning = {CostStatus.PARTIAL: "at least, a part has no price or usage"}.get(cost.status, str(cost.status))
    source = None if cost.status is CostStatus.REPORTED else cost.table and f"from {cost.table} {cost.version}"
    return f"{text.usd(cost.usd)} ({_words(meaning, source)})"


class _StepColumn(NamedTuple):
    column: Column
    is_rare: bool = False  # left out where no step has it


STEP_COLUMNS = (
    _StepColumn(Column("CALL", right=True, rank=7), is_rare=True),
    _StepColumn(Column("KIND", rank=5)),
    _StepColumn(Column("STEP", fit=Fit.SHORTEN, least=20)),
    _StepColumn(Column("AGENT", fit=Fit.SHORTEN, least=6, rank=6), is_rare=True),
    _StepColumn(Column("AT", right=True, rank=4)),
    _StepColumn(Column("TIME", right=True, rank=2)),
    _StepColumn(Column("IN", right=True, rank=1), is_rare=True),
    _StepColumn(Column("OUT", right=True, rank=1), is_rare=True),
    _StepColumn(Column("COST", right=True), is_rare=True),
    _StepColumn(Column("REMARK", fit=Fit.SHORTEN, least=8, rank=3), is_rare=True),
)
_COST = next(i for i, item in enumerate(STEP_COLUMNS) if item.column.title == "COST")


def _show_steps(screen: Screen, run: RunLog, parents: Parents) -> None:
    if not run.steps:
        screen.note("no steps")
        return
    rows = [_step_row(node, run, draws=screen.draws) for node in tree(run.steps, parents)]
    kept = [i for i, item in enumerate(STEP_COLUMNS) if not item.is_rare or any(row[i].text for row in rows)]
    screen.table([STEP_COLUMNS[i].column for i in kept], [[row[i] for i in kept] for row in rows])
    for meaning in cells.marks_in(row[_COST] for row in rows):
        screen.note(meaning)


def _step_row(node: Node, run: RunLog, *, draws: bool) -> list[Cell]:
    step = node.step
    row = [
        cells.count(step.call_index),
        Cell(str(step.kind)),
        Cell(node.branch(draws=draws) + text.clean(_name(step)), _style(step)),
        cells.plain(step.agent),
        Cell(_offset(step, run.started_at)),
        Cell(text.duration(step.duration_ms)),
        cells.count(step.usage.input_tokens),
        cells.count(step.usage.output_tokens),
        cells.cost(step.cost),
        Cell(text.clean(_remark(step)), _style(step)),
    ]
    return row if step.duplicate_of is None else [Cell(cell.text, "dim") for cell in row]


def _style(step: Step) -> str:
    return cells.STATUS_STYLES.get(step.status, "")


def _name(step: Step) -> str:
    """The span's name, and the tool's or model's where that does not say it."""
    names = [name for name in (step.tool_name, step.request_model, step.model) if name]
    return step.name if not names or any(name in step.name for name in names) else f"{step.name} {names[0]}"


def _offset(step: Step, started_at: dt.datetime | None) -> str:
    """When the step began, from the start of the run."""
    if step.started_at is None or started_at is None:
        return ""
    ms = (step.started_at - started_at) / dt.timedelta(milliseconds=1)
    return f"{'+' if ms >= 0 else ''}{text.duration(ms)}"


def _remark(step: Step) -> str:
    """What is not as it should be, then what the counts are made of."""
    if step.duplicate_of is not None:
        return f"duplicate of {step.duplicate_of}"
    ended = None if step.status is StepStatus.COMPLETED else str(step.status)
    failure = ": ".join(filter(None, (ended, _error(step))))
    return ", ".join(filter(None, (failure, *_parts(step.usage))))


def _errors(steps: Sequence[Step]) -> Iterator[str]:
    for step in steps:
        if step.duplicate_of is None and step.error_message:
            yield f"{_name(step)}: {_error(step)}"


def _error(step: Step) -> str:
    return ": ".join(filter(None, (step.error_type, step.error_message)))


def _parts(usage: Usage) -> Iterator[str]:
    parts = (
        (usage.cache_read_tokens, "cached"),
        (usage.cache_write_tokens, "written to cache"),
        (usage.reasoning_tokens, "reasoning"),
    )
    return (f"{text.count(number)} {what}" for number, what in parts if number)


AGENT_COLUMNS = (
    Column("AGENT", fit=Fit.SHORTEN, least=12),
    Column("CALLS", right=True),
    Column("IN", right=True),
    Column("OUT", right=True),
    Column("COST", right=True),
    Column("IN WITH SUB-AGENTS", right=True, rank=2),
    Column("OUT WITH SUB-AGENTS", right=True, rank=2),
    Column("COST WITH SUB-AGENTS", right=True, rank=1),
)


def _show_agents(screen: Screen, agents: Sequence[AgentUsage]) -> None:
    screen.table(AGENT_COLUMNS, [_agent_row(agent) for agent in agents])


def _agent_row(agent: AgentUsage) -> list[Cell]:
    return [
        Cell("  " * agent.depth + text.clean(agent.agent)),
        cells.count(agent.calls),
        cells.count(agent.own.input_tokens),
        cells.count(agent.own.output_tokens),
        Cell(text.usd(agent.own_cost_usd)),
        cells.count(agent.inclusive.input_tokens),
        cells.count(agent.inclusive.output_tokens),
        Cell(text.usd(agent.inclusive_cost_usd)),
    ]


def _show_remarks(screen: Screen, title: str, remarks: Sequence[str], style: str) -> None:
    if remarks:
        screen.line()
        screen.line(Cell(title, style))
        for remark in remarks:
            screen.line(f"  {text.clean(remark)}")
