"""project(): spans to runs. Pure: the same answer for any order of arrival and any duplicates.

span -> node (tree) -> duplicates -> partition -> steps -> RunLog. The store keeps what this says; it says nothing else.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from decimal import Decimal

from otel_runlog.agents import agents_of
from otel_runlog.conventions._attrs import text, whole
from otel_runlog.duplicates import Duplicates, find_duplicates
from otel_runlog.llm_io import llm_io_of
from otel_runlog.logs import fill_from_logs
from otel_runlog.model import (
    Cost,
    CostStatus,
    LlmIo,
    LogRecord,
    RunLog,
    RunStatus,
    Span,
    Step,
    StepKind,
    StepStatus,
    Usage,
    utc,
)
from otel_runlog.partition import ROOT_KINDS, Members, partition
from otel_runlog.pricing import PriceTable
from otel_runlog.resolve import key_of, resolve
from otel_runlog.steps import Context, is_missing, steps_of
from otel_runlog.tree import AGENT_KINDS, CALL_KINDS, MODEL_KINDS, Node, link, node_of

QUIET_TIME_S = 900
"""After this long without anything new a running run is incomplete (CONTRACT, run identity 5)."""
TRUSTED = frozenset({CostStatus.REPORTED, CostStatus.ESTIMATED})


def project(
    spans: Iterable[Span],
    *,
    logs: Iterable[LogRecord] = (),
    prices: PriceTable | None = None,
    now: dt.datetime | None = None,
) -> list[RunLog]:
    """The runs in `spans`, oldest first.

    Args:
        spans: in any order, repeated or not; what `read_otlp` gives brings its log records along.
        logs: log records that fill what spans lack.
        prices: the price table; default is genai-prices' data.
        now: with it, runs that were quiet for 15 minutes are `incomplete`; without it they stay `running`.
    """
    return [run for run, _ in _projected(spans, logs, prices, now)]


def project_with_llm_io(
    spans: Iterable[Span],
    *,
    logs: Iterable[LogRecord] = (),
    prices: PriceTable | None = None,
    now: dt.datetime | None = None,
) -> list[tuple[RunLog, list[LlmIo]]]:
    """As `project`, with one LlmIo for each llm step of the run, in order, also where content is missing."""
    logs = [*logs, *getattr(spans, "logs", ())]
    spans = list(spans)
    by_key = {key_of(s): s for s in resolve(spans)}
    return [(run, llm_io_of(run, by_key)) for run, _ in _projected(spans, logs, prices, now)]


def _projected(
    spans: Iterable[Span], logs: Iterable[LogRecord], prices: PriceTable | None, now: dt.datetime | None
) -> list[tuple[RunLog, Members]]:
    records = [*logs, *getattr(spans, "logs", ())]
    nodes = [node_of(s) for s in resolve(spans)]
    return project_nodes(nodes, prices or PriceTable.default(), now=now, logs=records)


def project_nodes(
    nodes: Sequence[Node], prices: PriceTable, *, now: dt.datetime | None = None, logs: Sequence[LogRecord] = ()
) -> list[tuple[RunLog, Members]]:
    """As `project`, from nodes of distinct spans; with each run the nodes that made it."""
    fill_from_logs(nodes, logs)
    tops = link(nodes)
    duplicates = find_duplicates(nodes)
    return [(_run(m, duplicates, prices, now), m) for m in partition(tops, duplicates)]


def _run(members: Members, duplicates: Duplicates, prices: PriceTable, now: dt.datetime | None) -> RunLog:
    nodes, steps = steps_of(Context.of(members, duplicates, prices))
    agent = _agent(members, nodes)
    run = RunLog(run_id=members.run_id, agent=agent, steps=tuple(steps))
    _describe(run, members, nodes)
    _total(run, steps)
    _close(run, members, nodes, now)
    run.agents = agents_of(nodes, steps, agent, duplicates)
    _warn(run, members, steps)
    return run


def _agent(members: Members, nodes: list[Node]) -> str | None:
    """CONTRACT 2: the root's agent name, else that of the one agent below it without another above, else its name."""
    root = members.root
    if root is not None and root.reading and root.reading.agent and root.kind in ROOT_KINDS:
        return root.reading.agent
    first = [n for n in nodes if n.kind in AGENT_KINDS and not any(a.kind in AGENT_KINDS for a in n.ancestors())]
    names = {n.reading.agent for n in first if n.reading and n.reading.agent}
    if len(names) == 1:
        return names.pop()
    if root is not None:
        return (root.reading.agent if root.reading else None) or root.name
    return None


def _describe(run: RunLog, members: Members, nodes: list[Node]) -> None:
    """Fill what the run's spans say of themselves: ids, session, service, labels."""
    by_time = sorted(members.nodes, key=lambda n: (n.depth, n.start, n.span_id))
    root = members.root or (by_time[0] if by_time else None)
    run.trace_id = root.trace_id if root else None
    run.root_span_id = members.root.span_id if members.root else None
    run.session_id = _first(n.session_id for n in by_time)
    run.user_id = _first(n.user_id for n in by_time)
    run.service = _first(n.service for n in by_time)
    run.service_version = _first(n.service_version for n in by_time)
    run.environment = _first(n.environment for n in by_time)
    run.native_run_id = _first(n.reading.native_run_id for n in nodes if n.reading)
    for node in reversed(by_time):
        run.labels = {**run.labels, **node.labels}
        run.attributes = {**run.attributes, **node.run_attributes}
    run.tags = tuple(dict.fromkeys(t for n in by_time for t in n.tags))
    run.launch_id = text(run.attributes, ("runlog.launch.id",))
    run.replay_of = text(run.attributes, ("runlog.replay_of",))
    run.fork_of = text(run.attributes, ("runlog.fork_of",))
    run.fork_at = whole(run.attributes.get("runlog.fork_at"))


def _first(values: Iterable[str | None]) -> str | None:
    return next((v for v in values if v), None)


def _total(run: RunLog, steps: list[Step]) -> None:
    """Sums over the counted steps."""
    counted = [s for s in steps if s.counted]
    run.step_count = len(counted)
    run.llm_calls = sum(s.kind in MODEL_KINDS for s in counted)
    run.tool_calls = sum(s.kind is StepKind.TOOL for s in counted)
    run.error_count = sum(s.status is StepStatus.FAILED for s in counted)
    run.usage_missing_calls = sum(is_missing(s) for s in counted)
    for step in counted:
        run.tokens += step.usage
    unpriced = [s for s in counted if s.cost.status is CostStatus.UNPRICED]
    run.unpriced_calls = len(unpriced)
    run.unpriced_models = tuple(sorted({s.model for s in unpriced if s.model}))
    run.models = tuple(sorted({s.model for s in counted if s.model and s.kind in MODEL_KINDS}))
    run.cost_estimate = _cost(counted, missing=run.usage_missing_calls, replayed=run.replay_of is not None)


def _cost(counted: list[Step], *, missing: int, replayed: bool) -> Cost | None:
    """CONTRACT, cost_status of a run."""
    if replayed:
        return Cost(Decimal(0), CostStatus.REPLAYED)
    priced = [s.cost for s in counted if s.cost.status in TRUSTED]
    unpriced = sum(s.cost.status is CostStatus.UNPRICED for s in counted)
    if not priced:
        return Cost(status=CostStatus.UNPRICED) if unpriced or missing else None
    statuses = {c.status for c in priced}
    status = next(iter(statuses)) if len(statuses) == 1 else CostStatus.MIXED
    tables = {(c.table, c.version) for c in priced if c.table}
    table, version = tables.pop() if len(tables) == 1 else (None, None)
    return Cost(
        _sum(c.usd for c in priced),
        CostStatus.PARTIAL if unpriced or missing else status,
        table,
        version,
        _sum(c.reported_usd for c in priced),
        _sum(c.estimated_usd for c in priced),
    )


def _sum(amounts: Iterable[Decimal | None]) -> Decimal | None:
    known = [a for a in amounts if a is not None]
    return sum(known, Decimal(0)) if known else None


def _close(run: RunLog, members: Members, nodes: list[Node], now: dt.datetime | None) -> None:
    """Set times and status. Quiet time counts from the latest start or end of the run's spans, never from arrival."""
    everything = members.nodes
    starts = [n.started_ns for n in everything if n.started_ns is not None]
    ends = [n.ended_ns for n in everything if n.ended_ns is not None]
    own_start = members.root.started_ns if members.root else None
    run.started_at = utc(own_start if own_start is not None else min(starts, default=None))
    run.status, run.status_message = _status(run, members, nodes)
    if run.status is RunStatus.RUNNING:
        last = utc(max([*starts, *ends], default=None))
        quiet = dt.timedelta(seconds=QUIET_TIME_S)
        if now is None or last is None or now - last < quiet:
            return
        run.status = RunStatus.INCOMPLETE
    run.finished_at = utc(max(ends, default=None))


def _status(run: RunLog, members: Members, nodes: list[Node]) -> tuple[RunStatus, str | None]:
    """CONTRACT, run identity 5."""
    root = members.root
    if root is None or any(t.ended_ns is None for t in members.tops if not t.orphan):
        return RunStatus.RUNNING, None
    if root.reading and root.reading.cancelled:
        return RunStatus.CANCELLED, root.reading.error_message or root.reading.error_type
    if root.failed or (root.reading and root.reading.failed):
        return RunStatus.FAILED, root.status_message or (root.reading.error_message if root.reading else None)
    return _status_of_the_last(run, nodes)


def _status_of_the_last(run: RunLog, nodes: list[Node]) -> tuple[RunStatus, str | None]:
    """A root that does not say so failed where the last agent or model call failed and nothing succeeded after it."""
    pairs = [(n, s) for n, s in zip(nodes, run.steps, strict=True) if n.kind in CALL_KINDS | AGENT_KINDS]
    if not pairs:
        return RunStatus.COMPLETED, None
    bad = [
        (n, s)
        for n, s in pairs
        if s.status is StepStatus.CANCELLED or (s.status is StepStatus.FAILED and n.kind is not StepKind.TOOL)
    ]
    if not bad:
        return RunStatus.COMPLETED, None
    node, step = max(bad, key=lambda p: (p[0].end, p[0].start))
    above = {id(a) for a in node.ancestors()}
    if any(s.status is StepStatus.COMPLETED and n.end > node.end and id(n) not in above for n, s in pairs):
        return RunStatus.COMPLETED, None
    cancelled = step.status is StepStatus.CANCELLED
    return RunStatus.CANCELLED if cancelled else RunStatus.FAILED, step.error_message or step.error_type


def _warn(run: RunLog, members: Members, steps: list[Step]) -> None:
    """Gather warnings and notes, and say whether the run is complete."""
    warnings = [w for s in steps if s.counted for w in s.warnings]
    notes = [n for s in steps for n in s.notes]
    notes += [n for node in members.nodes if not node.reading for n in node.notes]
    if members.root is None:
        notes.append("root_missing: the root span has not come")
    run.warnings = tuple(dict.fromkeys(warnings))
    run.notes = tuple(dict.fromkeys([*notes, *_parent_totals(members, steps)]))
    cut = any(n.dropped for n in members.nodes)
    run.complete = not (members.root is None or cut or run.status is RunStatus.INCOMPLETE)


def _parent_totals(members: Members, steps: list[Step]) -> Iterable[str]:
    """Note roll-ups that are not the sum of the calls below them; totals come from the calls."""
    by_node = {(s.trace_id, s.span_id, s.started_ns): s for s in steps}
    for node in members.steps:
        r = node.reading
        if r is None or r.kind not in ROOT_KINDS or not r.usage:
            continue
        step = by_node[node.trace_id, node.span_id, node.started_ns]
        below = [by_node.get((n.trace_id, n.span_id, n.started_ns)) for n in node.below()]
        total = sum((s.usage for s in below if s is not None and s.counted), Usage())
        said, summed = r.usage.total_tokens, total.total_tokens
        if not step.counted and said != summed:
            yield f"parent_total_differs: {step.name!r} says {said} tokens, its calls {summed}"


def nodes_of(spans: Iterable[Span]) -> list[Node]:
    """The nodes of distinct spans."""
    return [node_of(s) for s in resolve(spans)]
