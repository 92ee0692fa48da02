"""Structs to rows and rows to structs, column by column as `columns` says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from otel_runlog.model import AgentUsage, Cost, LogRecord, Resource, RunLog, Scope, Span, Step, Usage
from otel_runlog.store import columns
from otel_runlog.store.batch import BookEntry, LoggedMessageRow, RunVersion, StoredLog, StoredSpan
from otel_runlog.store.columns import Column

_SMALLEST_INT, _LARGEST_INT = -(2**63), 2**63 - 1

Row: TypeAlias = Sequence[object]
Record: TypeAlias = Mapping[str, object]
"""A row by column names."""


class _RunRow(msgspec.Struct):
    run: RunLog
    version: int
    input: str | None
    output: str | None
    last_ns: int | None
    cost: Cost


class _StepRow(msgspec.Struct):
    run_id: str
    version: int
    step: Step


class _AgentRow(msgspec.Struct):
    run_id: str
    version: int
    position: int
    agent: AgentUsage


class _NoCost(msgspec.Struct):
    """Stands for a run without a cost estimate: every column of the cost is NULL."""

    usd: None = None
    reported_usd: None = None
    estimated_usd: None = None
    status: None = None
    table: None = None
    version: None = None


def packer(table: Sequence[Column]) -> Callable[[object], Row]:
    """A function that makes a struct the row of a table."""
    values_of = attrgetter(*(column.path for column in table))
    packs = [(index, column.pack) for index, column in enumerate(table) if column.pack is not None]

    def pack(item: object) -> Row:
        row = list(values_of(item))
        for index, pack_value in packs:
            row[index] = pack_value(row[index])
        return row

    return pack


pack_span = packer(columns.SPANS)
pack_log = packer(columns.LOGS)
pack_score = packer(columns.SCORES)
_pack_run = packer(columns.RUNS)
_pack_step = packer(columns.STEPS)
_pack_agent = packer(columns.AGENTS)


def pack_run(item: RunVersion) -> Row:
    """The row of a run."""
    cost = item.run.cost_estimate
    row = _RunRow(item.run, item.version, item.input, item.output, item.last_ns, cost or _NoCost())  # type: ignore[arg-type]
    return _pack_run(row)


def pack_steps(item: RunVersion) -> Iterator[Row]:
    """The rows of a run's steps."""
    for step in item.run.steps:
        yield _pack_step(_StepRow(item.run.run_id, item.version, step))


def pack_agents(item: RunVersion) -> Iterator[Row]:
    """The rows of a run's agents."""
    for position, agent in enumerate(item.run.agents):
        yield _pack_agent(_AgentRow(item.run.run_id, item.version, position, agent))


def content_id(text: str) -> str:
    """The name of a text: sha256 of its UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def pack_content(name: str, text: str) -> Row:
    """The row of a text that is called `name`, with its size in bytes of UTF-8."""
    return name, text, len(text.encode("utf-8", "replace"))


def storable(row: Row) -> Row:
    """A row whose integers fit 64 bits and whose texts fit UTF-8."""
    return [_storable(value) for value in row]


def _storable(value: object) -> object:
    if isinstance(value, int):
        return max(_SMALLEST_INT, min(value, _LARGEST_INT))
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, (tuple, list)):
        return [_storable(item) for item in value]
    return value


def pack_logged_message(message: LoggedMessageRow, name: str) -> Row:
    """The row of a log record's message whose text is called `name`."""
    return (
        message.trace_id,
        message.span_id,
        message.direction,
        message.origin,
        message.place,
        message.position,
        message.role,
        name,
    )


def pack_book(entry: BookEntry) -> Iterator[Row]:
    """The rows of a book entry: one for each counter, or reason, that is not 0."""
    for counter in ("received", "stored", "duplicate", "conflict", "superseded", "id_reuse"):
        if spans := getattr(entry, counter):
            yield entry.source, counter, None, spans
    for counter, reasons in (("rejected", entry.rejected), ("dropped", entry.dropped)):
        for reason, spans in reasons.items():
            yield entry.source, counter, reason, spans


_Plan: TypeAlias = dict[str, list[tuple[str, str, Callable[[Any], object] | None]]]
"""For each struct that owns columns: (field, column, unpack) of each of them."""


def _plan(table: Sequence[Column]) -> _Plan:
    plan: _Plan = {}
    for column in table:
        if not column.derived:
            owner, _, field = column.path.rpartition(".")
            plan.setdefault(owner, []).append((field, column.name, column.unpack))
    return plan


_SPAN_PLAN = _plan(columns.SPANS)
_LOG_PLAN = _plan(columns.LOGS)
_RUN_PLAN = _plan(columns.RUNS)
_STEP_PLAN = _plan(columns.STEPS)
_AGENT_PLAN = _plan(columns.AGENTS)


def _fields(plan: _Plan, record: Record) -> dict[str, dict[str, Any]]:
    """The values of a record by the struct they belong to: `span.scope` -> name, version."""
    return {
        owner: {field: unpack(record[name]) if unpack else record[name] for field, name, unpack in owned}
        for owner, owned in plan.items()
    }


def unpack_span(record: Record) -> StoredSpan:
    """The span of a row of `stored_spans` or `open_spans`."""
    fields = _fields(_SPAN_PLAN, record)
    span = Span(**fields["span"], scope=Scope(**fields["span.scope"]), resource=Resource(**fields["span.resource"]))
    return StoredSpan(span, **fields[""])


def unpack_log(record: Record) -> StoredLog:
    """The log record of a row of `stored_logs`."""
    fields = _fields(_LOG_PLAN, record)
    scope, resource = Scope(**fields["record.scope"]), Resource(**fields["record.resource"])
    return StoredLog(LogRecord(**fields["record"], scope=scope, resource=resource), **fields[""])


def unpack_step(record: Record) -> Step:
    """The step of a row of the view `steps`."""
    fields = _fields(_STEP_PLAN, record)
    usage, cost = Usage(**fields["step.usage"]), Cost(**fields["step.cost"])
    return Step(**fields["step"], run_id=str(record["run_id"]), usage=usage, cost=cost)


def unpack_agent(record: Record) -> AgentUsage:
    """The agent of a row of the view `agents`."""
    fields = _fields(_AGENT_PLAN, record)
    return AgentUsage(**fields["agent"], own=Usage(**fields["agent.own"]), inclusive=Usage(**fields["agent.inclusive"]))


def unpack_run(record: Record, steps: Sequence[Step], agents: Sequence[AgentUsage]) -> RunLog:
    """The run of a row of the view `runs`."""
    fields = _fields(_RUN_PLAN, record)
    cost = Cost(**fields["cost"]) if record["cost_status"] is not None else None
    usage = Usage(**fields["run.tokens"])
    return RunLog(**fields["run"], tokens=usage, cost_estimate=cost, steps=tuple(steps), agents=tuple(agents))
