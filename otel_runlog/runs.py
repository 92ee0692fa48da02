"""project(): spans to runs. Pure: the same answer for any order of arrival and any duplicates.

span -> node (tree) -> duplicates -> counting -> partition -> steps -> RunLog. The store keeps what this says; it says
nothing else.
"""

from __future__ import annotations

import datetime as dt
from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence

from otel_runlog.agents import agents_of
from otel_runlog.conventions._attrs import text, whole
from otel_runlog.counting import REPLAYED, Figures, count, sum_of, sum_of_usd
from otel_runlog.drops import drops_by_trace, warnings_of
from otel_runlog.duplicates import Duplicates, find_duplicates
from otel_runlog.llm_io import StepMessages, llm_io_of
from otel_runlog.log_calls import logged_calls
from otel_runlog.log_content import distinct
from otel_runlog.logs import fill_from_logs
from otel_runlog.model import (
    Attributes,
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
    utc,
)
from otel_runlog.partition import ROOT_KINDS, Members, partition
from otel_runlog.parts import gather_parts
from otel_runlog.pricing import PriceTable
from otel_runlog.resolve import key_of, resolve
from otel_runlog.steps import node_notes, status_of, steps_of
from otel_runlog.tree import AGENT_KINDS, CALL_KINDS, FROM_THE_TOP, MODEL_KINDS, RUN_ATTRIBUTES, Node, link, node_of

QUIET_TIME_S = 900
"""After this long without anything new a running run is incomplete (CONTRACT, run identity 5)."""
TRUSTED = frozenset({CostStatus.REPORTED, CostStatus.ESTIMATED})
_UNPRICED = CostStatus.UNPRICED
ENDING_KINDS = CALL_KINDS | AGENT_KINDS
"""Kinds of steps that can end a run whose root says nothing of it."""
CUT_NOTES = ("content_truncated", "repaired: value cut")
"""Notes that say: something of a span was cut away."""


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
    records = [*logs, *getattr(spans, "logs", ())]
    return [run for run, _ in project_nodes([node_of(s) for s in resolve(spans)], prices, now=now, logs=records)]


def project_with_llm_io(
    spans: Iterable[Span],
    *,
    logs: Iterable[LogRecord] = (),
    prices: PriceTable | None = None,
    now: dt.datetime | None = None,
) -> list[tuple[RunLog, list[LlmIo]]]:
    """As `project`, with one LlmIo for each counted llm step of the run, in order, also where content is missing."""
    runs, messages = project_with_messages(spans, logs=logs, prices=prices, now=now)
    return [(run, llm_io_of(run, messages)) for run in runs]


def project_with_messages(
    spans: Iterable[Span],
    *,
    logs: Iterable[LogRecord] = (),
    prices: PriceTable | None = None,
    now: dt.datetime | None = None,
) -> tuple[list[RunLog], StepMessages]:
    """As `project`, with what knows the messages of the runs' steps."""
    records = [*logs, *getattr(spans, "logs", ())]
    distinct = {key_of(s): s for s in resolve(spans)}
    runs = project_nodes([node_of(s) for s in distinct.values()], prices, now=now, logs=records)
    return [run for run, _ in runs], StepMessages(distinct, records)


def project_nodes(
    nodes: Sequence[Node],
    prices: PriceTable | None = None,
    *,
    now: dt.datetime | None = None,
    logs: Iterable[LogRecord] = (),
) -> list[tuple[RunLog, Members]]:
    """As `project`, from nodes of distinct spans; with each run the nodes that made it."""
    told = distinct(logs)
    nodes = [*nodes, *logged_calls(nodes, told)]
    fill_from_logs(nodes, told.values())
    tops = link(nodes)
    gather_parts(nodes)
    duplicates = find_duplicates(nodes)
    figures = count(nodes, duplicates, prices or PriceTable.default())
    runs = [(_run(m, figures, duplicates, now), m) for m in partition(tops, duplicates)]
    _warn_of_drops(runs, drops_by_trace(told.values()))
    return runs


def _warn_of_drops(runs: list[tuple[RunLog, Members]], drops: Mapping[str, Mapping[str, int]]) -> None:
    for run, members in runs if drops else ():
        if lost := warnings_of((n.trace_id for n in members.nodes), drops):
            run.warnings, run.complete = (*run.warnings, *lost), False


def _run(members: Members, figures: Mapping[int, Figures], duplicates: Duplicates, now: dt.datetime | None) -> RunLog:
    nodes, steps = steps_of(members, figures, duplicates)
    run = RunLog(run_id=members.run_id, agent=_agent(members, nodes, steps), steps=tuple(steps))
    _describe(run, members)
    if run.replay_of is not None:
        for step in steps:
            step.cost = Cost()
    _total(run, steps, missing=sum(figures[id(n)].missing for n in nodes))
    _close(run, members, nodes, now, duplicates)
    run.agents = agents_of(nodes, run, duplicates)
    _warn(run, members, nodes, figures)
    return run


def _agent(members: Members, nodes: list[Node], steps: list[Step]) -> str | None:
    """CONTRACT 2: the root's agent name, else that of the one agent below it without another above, else its name.

    While the root is missing, the one agent that all steps belong to will do.
    """
    root = members.root
    if root is not None and root.reading and root.reading.agent:
        return root.reading.agent
    names = _topmost_agents(nodes) or ({s.agent for s in steps} if root is None else set())
    if len(names) == 1:
        return names.pop()
    return root.name if root is not None else None


def _topmost_agents(nodes: list[Node]) -> set[str | None]:
    """The names of the run's agents that have no other named agent of the run above them."""
    names, below = set[str | None](), set[int]()
    for node in sorted(nodes, key=FROM_THE_TOP):
        if node.kind in AGENT_KINDS and node.reading and node.reading.agent and id(node) not in below:
            names.add(node.agent)
            below.update(id(n) for n in node.walk())
    return names


def _describe(run: RunLog, members: Members) -> None:
    """Fill what the run's spans say of themselves: ids, session, service, labels. The root says it first."""
    root = members.root
    everything = sorted(members.nodes, key=FROM_THE_TOP)
    if root is not None and everything[0] is not root:
        everything.remove(root)
        everything.insert(0, root)
    run.trace_id = everything[0].trace_id
    run.root_span_id = root.span_id if root else None
    told = [n.reading for n in everything if n.reading]
    run.session_id = _first([n.session_id for n in everything]) or _first([r.session_id for r in told])
    run.user_id = _first([n.user_id for n in everything]) or _first([r.user_id for r in told])
    run.service = _first(n.service for n in everything)
    run.service_version = _first(n.service_version for n in everything)
    run.environment = _first(n.environment for n in everything)
    run.native_run_id = _first([r.native_run_id for r in told])
    marked = [n for n in everything if n.labels or n.tags or n.run_attributes]
    started_for = [said for n in members.roots or everything[:1] if (said := _told_by_process(n))]
    if marked or started_for:
        _mark(run, marked, started_for)


def _told_by_process(node: Node) -> Attributes:
    """What the process of a root was started for. That of a process further down is not said of the whole run."""
    said = node.resource.attributes
    return {key: said[key] for key in RUN_ATTRIBUTES if key in said}


def _mark(run: RunLog, marked: list[Node], started_for: list[Attributes]) -> None:
    """Fill what `otel_runlog.run` and its like wrote on some spans, and after those what the processes say."""
    run.labels = dict(ChainMap(*(n.labels for n in marked if n.labels)))
    run.attributes = dict(ChainMap(*(n.run_attributes for n in marked if n.run_attributes), *started_for))
    run.tags = tuple(dict.fromkeys(t for n in marked for t in n.tags))
    run.launch_id = text(run.attributes, ("runlog.launch.id",))
    run.replay_of = text(run.attributes, ("runlog.replay_of",))
    run.fork_of = text(run.attributes, ("runlog.fork_of",))
    run.fork_at = whole(run.attributes.get("runlog.fork_at"))


def _first(values: Iterable[str | None]) -> str | None:
    return next(filter(None, values), None)


def _total(run: RunLog, steps: list[Step], *, missing: int) -> None:
    """Sums over the counted steps; `missing` of them are model calls whose usage is not known."""
    counted = [s for s in steps if s.counted]
    run.step_count = len(counted)
    kinds = [s.kind for s in counted]
    run.llm_calls = sum(map(kinds.count, MODEL_KINDS))
    run.tool_calls = kinds.count(StepKind.TOOL)
    run.error_count = [s.status for s in counted].count(StepStatus.FAILED)
    run.usage_missing_calls = missing
    run.tokens = sum_of(s.usage for s in counted)
    unpriced = [s for s in counted if s.cost.status is _UNPRICED]
    run.unpriced_calls = len(unpriced)
    run.unpriced_models = _models(unpriced)
    run.models = _models(counted)
    run.cost_estimate = cost_of_run([s.cost for s in counted], missing=missing, replayed=run.replay_of is not None)


def _models(steps: list[Step]) -> tuple[str, ...]:
    return tuple(sorted({s.model for s in steps if s.model}))


def cost_of_run(costs: Sequence[Cost], *, missing: int, replayed: bool) -> Cost:
    """The cost of a run from those of its counted steps, of which `missing` calls have no usage.

    CONTRACT, cost_status of a run: `unpriced` where nothing has a price, also where there was nothing to price.
    """
    if replayed:
        return REPLAYED
    priced = [c for c in costs if c.status in TRUSTED]
    lacking = missing + [c.status for c in costs].count(_UNPRICED)
    if not priced:
        return Cost(status=CostStatus.UNPRICED)
    statuses = {c.status for c in priced}
    status = next(iter(statuses)) if len(statuses) == 1 else CostStatus.MIXED
    tables = {(c.table, c.version) for c in priced if c.table}
    table, version = tables.pop() if len(tables) == 1 else (None, None)
    return Cost(
        sum_of_usd([c.usd for c in priced]),
        CostStatus.PARTIAL if lacking else status,
        table,
        version,
        sum_of_usd([c.reported_usd for c in priced]),
        sum_of_usd([c.estimated_usd for c in priced]),
    )


def _close(run: RunLog, members: Members, nodes: list[Node], now: dt.datetime | None, duplicates: Duplicates) -> None:
    """Set times and status. A run ends with its last step; quiet time counts from the last sign of any span."""
    root, everything = members.root, members.nodes
    own_start = root.started_ns if root else None
    starts = [n.started_ns for n in everything if n.started_ns is not None]
    ends = [n.ended_ns for n in everything if n.ended_ns is not None]
    run.started_at = utc(own_start if own_start is not None else min(starts, default=None))
    run.status, run.status_message = _status(members, nodes, duplicates)
    if run.status is RunStatus.RUNNING:
        last = utc(max([*starts, *ends], default=None))
        if now is None or (last is not None and now - last < dt.timedelta(seconds=QUIET_TIME_S)):
            return
        run.status, ends = RunStatus.INCOMPLETE, []
    step_ends = [n.ended_ns for n in nodes if n.ended_ns is not None]
    run.finished_at = utc(max(step_ends or ends, default=None))


def _status(members: Members, nodes: list[Node], duplicates: Duplicates) -> tuple[RunStatus, str | None]:
    """CONTRACT, run identity 5. Of the several roots of a named run the last to end speaks."""
    if not members.roots or any(r.ended_ns is None for r in members.roots):
        return RunStatus.RUNNING, None
    root = max(members.roots, key=lambda n: (n.end, n.order))
    status = _failure(root) or _failure_of_the_last(nodes, duplicates)
    return status or (RunStatus.COMPLETED, None)


def _failure(node: Node) -> tuple[RunStatus, str | None] | None:
    if node.cancelled:
        return RunStatus.CANCELLED, node.error_message
    return (RunStatus.FAILED, node.error_message) if node.failed else None


def _failure_of_the_last(nodes: list[Node], duplicates: Duplicates) -> tuple[RunStatus, str | None] | None:
    """How the last step ended the run: an agent or model call that failed, or any that was cancelled.

    What succeeded after it says that the run survived; what is above it, or sees the same call, says nothing.
    """
    bad = [n for n in nodes if (n.cancelled or n.failed) and n.kind in ENDING_KINDS]
    bad = [n for n in bad if n.cancelled or n.kind is not StepKind.TOOL]
    if not bad:
        return None
    steps = [n for n in nodes if n.kind in ENDING_KINDS]
    last = max(bad, key=lambda n: (n.end, n.order))
    aside = {id(n) for n in (*last.ancestors(), *duplicates.twins(last))}
    good = (n for n in steps if status_of(n) is StepStatus.COMPLETED and n.end > last.end)
    return None if any(id(n) not in aside for n in good) else _failure(last)


def _warn(run: RunLog, members: Members, nodes: list[Node], figures: Mapping[int, Figures]) -> None:
    """Gather warnings and notes, and say whether the run is complete."""
    warnings = [w for s in run.steps for w in s.warnings]
    notes = [n for s in run.steps for n in s.notes]
    notes += [note for node in members.nodes if not node.reading for note in node_notes(node)]
    if not members.roots:
        notes.append("root_missing: the root span has not come")
    if members.adopted:
        notes.append(f"repaired: {members.adopted} of its spans, whose parents have not come, were put here")
    for doubtful, text_ in _parent_totals(nodes, run.steps, figures):
        (warnings if doubtful else notes).append(text_)
    run.warnings = tuple(dict.fromkeys(warnings))
    run.notes = tuple(dict.fromkeys(notes))
    cut = any(n.dropped for n in members.nodes) or any(n.startswith(CUT_NOTES) for n in run.notes)
    run.complete = bool(members.roots) and not cut and run.status is not RunStatus.INCOMPLETE


def _parent_totals(
    nodes: list[Node], steps: Sequence[Step], figures: Mapping[int, Figures]
) -> Iterable[tuple[bool, str]]:
    """Roll-ups that are not the sum of the calls below them, and whether that makes the run's tokens doubtful.

    Totals come from the calls. A parent that knows of more tokens may know of calls whose spans were lost, unless its
    numbers are known to be no sum; one that knows of fewer leaves out sub-agents.
    """
    for node, step in zip(nodes, steps, strict=True):
        r, f = node.reading, figures[id(node)]
        if r is None or r.kind not in ROOT_KINDS or not r.usage or f.rollup:
            continue
        said = r.usage.total_tokens or 0
        if said != f.tokens_below:
            doubtful = said > f.tokens_below and not r.total_is_no_sum and not f.covered
            yield doubtful, _differs(step.name, said, f.tokens_below)


def _differs(name: str, said: int, summed: int) -> str:
    return (
        f"parent_total_differs: {name!r} says {said} tokens, input_tokens and output_tokens of its calls are {summed}"
    )
