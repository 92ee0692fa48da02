"""What each step adds to its run: whether it counts, with which usage, and at what cost. Pure.

Tokens are those of model calls, each once; where no call below an agent, workflow or chain has any, the topmost of
these counts for them and says so (a roll-up). A model call's cost is its own; another step's is what it reports, unless
something below it has a cost already (DESIGN rule 6). Runs play no part: a step counts in whichever run it is.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from functools import reduce

import msgspec

from otel_runlog.conventions._attrs import MONEY, USD_DECIMALS
from otel_runlog.conventions.reading import Reading
from otel_runlog.duplicates import Duplicates
from otel_runlog.model import Content, Cost, CostStatus, RunLog, StepKind, Usage
from otel_runlog.pricing import PriceTable
from otel_runlog.tree import AGENT_KINDS, CALL_KINDS, FROM_THE_TOP, MODEL_KINDS, Node, mark_above

ROLLUP_KINDS = AGENT_KINDS | {StepKind.CHAIN}
FILLED = (
    "provider",
    "request_model",
    "response_model",
    "response_id",
    "reported_usd",
    "service_tier",
    "requested_tier",
    "session_id",
    "user_id",
    "native_run_id",
    "time_to_first_token_ms",
    "streaming",
    "tool_call_id",
    "finish_reason",
)
"""Fields that a counted step takes from its duplicates where it lacks them: never usage (DESIGN rule 6)."""
LAST_CALL_ONLY = frozenset({"opentelemetry.instrumentation.google_genai"})
"""Scopes whose model span around tools is a whole loop with the usage of the last call (facts/semconv, trap 6)."""

REPLAYED = Cost(Decimal(0), CostStatus.REPLAYED)
"""What a replay costs."""
_NO_USAGE = Usage()
_LLM = StepKind.LLM


class Figures(msgspec.Struct, gc=False):
    """What one step adds.

    `reading` has what other views of the call know better; `counted_by` is the view that counts for it. `usage` is what
    the step shows; where it is `counted` the run adds it up. `rollup`: it stands for the calls below; `covered`: a
    roll-up above stands for it. `cut`: the usage is a part of what was served; `missing`: it is one of the run's
    usage_missing_calls. `left_out` is usage that the span carries and nobody adds up; `unseen` says that no call has it
    either. `tokens_below` are those of the counted steps below. `notes` are those of the price.
    """

    reading: Reading
    counted: bool = False
    counted_by: Node | None = None
    usage: Usage = Usage()
    rollup: bool = False
    covered: bool = False
    cut: bool = False
    missing: bool = False
    left_out: Usage = Usage()
    unseen: bool = False
    tokens_below: int = 0
    cost: Cost = Cost()
    notes: tuple[str, ...] = ()


def count(nodes: Iterable[Node], duplicates: Duplicates, prices: PriceTable) -> dict[int, Figures]:
    """The figures of every step among the linked nodes, by the node's `id`."""
    nodes = sorted(nodes, key=FROM_THE_TOP)
    steps = [n for n in nodes if n.reading]
    figures = {id(n): Figures(filled(n, duplicates), counted_by=duplicates.counted(n)) for n in steps}
    pairs = [(n, figures[id(n)]) for n in steps]
    calls = [(n, f) for n, f in pairs if f.reading.kind in MODEL_KINDS]
    known = _around_usage(calls)
    _find_rollups(nodes, figures, known)
    for node, f in pairs:
        _take_usage(node, f, duplicates, known)
    _take_costs(pairs, calls, figures, prices)
    _sum_below(nodes, figures)
    return figures


def filled(node: Node, duplicates: Duplicates) -> Reading:
    """The node's reading, with what its other views know better."""
    reading = node.reading
    assert reading is not None
    views = duplicates.views(node)
    if not views:
        return reading
    others = [v.reading for v in views if v.reading]
    values = {name: _first(name, [reading, *others]) for name in FILLED}
    params = {k: v for r in reversed([reading, *others]) for k, v in r.params.items()}
    content = min((r.content for r in (reading, *others)), key=list(Content).index)
    refused = not reading.usage.output_tokens and any(r.refused for r in (reading, *others))
    return msgspec.structs.replace(reading, params=params, content=content, refused=refused, **values)


def _first(name: str, readings: list[Reading]) -> object:
    return next((value for r in readings if (value := getattr(r, name)) is not None), None)


def _around_usage(calls: list[tuple[Node, Figures]]) -> set[int]:
    """What has a model call with usage below it."""
    found: set[int] = set()
    for node, f in calls:
        reading = f.counted_by.reading if f.counted_by else f.reading
        if reading and reading.usage:
            mark_above(node, found)
    return found


def _find_rollups(nodes: list[Node], figures: dict[int, Figures], known: set[int]) -> None:
    """The topmost of each branch that has usage while no call below it has; parents come before children."""
    covered: set[int] = set()
    for node in nodes:
        f, above = figures.get(id(node)), node.parent
        if above is not None and id(above) in covered:
            covered.add(id(node))
            if f:
                f.covered = True
        elif f and f.reading.kind in ROLLUP_KINDS and f.reading.usage and id(node) not in known:
            f.rollup = True
            covered.add(id(node))


def _take_usage(node: Node, f: Figures, duplicates: Duplicates, known: set[int]) -> None:
    r = f.reading
    f.counted = f.counted_by is None and (r.kind in CALL_KINDS or f.rollup)
    f.usage = r.usage
    if r.kind in MODEL_KINDS:
        f.cut = r.kind is _LLM and (_was_cut(r, duplicates.views(node)) or _is_loop(node))
        f.missing = f.counted and not r.refused and (f.cut or not _is_complete(r))
    elif r.usage and not f.rollup and r.kind not in ROLLUP_KINDS:
        f.usage, f.left_out = Usage(), r.usage
        f.unseen = id(node) not in known and not f.covered


def _is_complete(r: Reading) -> bool:
    if r.usage.input_tokens is None:
        return False
    return r.usage.output_tokens is not None or r.kind is StepKind.EMBEDDING


def _was_cut(r: Reading, views: list[Node]) -> bool:
    """Whether any view of the call saw it cut; a finish reason in the view that counts says it was not."""
    return r.usage_cut or (r.finish_reason is None and any(v.reading and v.reading.usage_cut for v in views))


def _is_loop(node: Node) -> bool:
    """One span for several calls: tools ran under it and its scope reports the last call only."""
    return node.scope in LAST_CALL_ONLY and any(n.kind is StepKind.TOOL for n in node.walk())


def _take_costs(
    steps: list[tuple[Node, Figures]],
    calls: list[tuple[Node, Figures]],
    figures: dict[int, Figures],
    prices: PriceTable,
) -> None:
    """Price model calls first, then what lies above them, from the inside out."""
    paid: set[int] = set()
    for node, f in calls:
        if f.counted:
            _price(f, node, prices)
    for node, f in calls:
        counted = figures[id(f.counted_by)] if f.counted_by else f
        if counted.cost.usd is not None:
            mark_above(node, paid)
    for node, f in reversed(steps):
        if not (f.rollup or f.reading.reported_usd is not None):
            continue
        if f.reading.kind not in MODEL_KINDS and f.counted_by is None and id(node) not in paid:
            f.counted = True
            _price(f, node, prices)
            if f.cost.usd is not None:
                mark_above(node, paid)


def _sum_below(nodes: list[Node], figures: dict[int, Figures]) -> None:
    """Add up the tokens below each node. A call that another trace's view counts for is where its first view is."""
    totals: dict[int, int] = {}
    seen: set[tuple[int, str]] = set()
    for node in reversed(nodes):
        below, f = totals.get(id(node), 0), figures.get(id(node))
        if f:
            f.tokens_below = below
            if f.counted_by is None:
                below += (f.counted and f.usage.total_tokens) or 0
            elif f.counted_by.trace_id != node.trace_id and (id(f.counted_by), node.trace_id) not in seen:
                seen.add((id(f.counted_by), node.trace_id))
                counted = figures[id(f.counted_by)]
                below += (counted.counted and counted.usage.total_tokens) or 0
        if below and node.parent is not None:
            totals[id(node.parent)] = totals.get(id(node.parent), 0) + below


def _price(f: Figures, node: Node, prices: PriceTable) -> None:
    """Set the cost of a step that counts: what it reports, beside the estimate where its usage counts."""
    if not f.rollup and f.reading.kind not in MODEL_KINDS:
        if f.reading.kind in ROLLUP_KINDS:
            f.usage, f.left_out = Usage(), f.usage
        f.cost = cost_of_step(f.reading.reported_usd, None, has_usage=False)
        return
    estimate, has_usage = None, bool(f.usage)
    if has_usage:
        priced = prices.price(
            provider=f.reading.provider,
            models=(f.reading.response_model, f.reading.request_model),
            usage=usage_of_rollup(f.usage) if f.rollup else f.usage,
            at_ns=node.started_ns,
            kind=f.reading.kind,
            service_tier=f.reading.service_tier,
            requested_tier=f.reading.requested_tier,
        )
        estimate, f.notes = priced.cost, priced.notes
    f.cost = cost_of_step(f.reading.reported_usd, estimate, has_usage=has_usage)


def sum_of(usages: Iterable[Usage]) -> Usage:
    """All of them added up counter by counter, as `+` does two: in a third of the time where there are many."""
    told = [msgspec.structs.astuple(usage) for usage in usages if usage != _NO_USAGE]
    return Usage(*(_sum(counts) for counts in zip(*told, strict=True)))


def sum_of_usd(amounts: Iterable[Decimal | None]) -> Decimal | None:
    """Those that are known added up, whatever the application's decimal context; None where none is."""
    known = [amount for amount in amounts if amount is not None]
    return reduce(MONEY.add, known) if known else None


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [n for n in counts if n is not None]
    return sum(known) if known else None


def free_of_cost(run: RunLog) -> RunLog:
    """A replay as it is kept: nothing of it costs anything, whoever made it (CONTRACT, cost_status). Else the run."""
    if run.replay_of is None:
        return run
    return msgspec.structs.replace(
        run,
        steps=tuple(msgspec.structs.replace(step, cost=Cost()) for step in run.steps),
        agents=tuple(
            msgspec.structs.replace(agent, own_cost_usd=None, inclusive_cost_usd=None) for agent in run.agents
        ),
        cost_estimate=REPLAYED,
        unpriced_calls=0,
        unpriced_models=(),
    )


def usage_of_rollup(usage: Usage) -> Usage:
    """What a roll-up is priced by: it stands for whole calls, so what it does not tell is nothing."""
    return msgspec.structs.replace(usage, input_tokens=usage.input_tokens or 0, output_tokens=usage.output_tokens or 0)


def cost_of_step(reported: Decimal | None, estimate: Cost | None, *, has_usage: bool) -> Cost:
    """The cost of a step that counts: what was reported for it, beside the estimate, else the estimate."""
    if reported is not None:
        rest = _rounded(estimate) if estimate else Cost()
        return Cost(reported, CostStatus.REPORTED, rest.table, rest.version, reported, rest.estimated_usd)
    if estimate is not None:
        return _rounded(estimate)
    return Cost(status=CostStatus.UNPRICED if has_usage else CostStatus.NONE)


def _rounded(cost: Cost) -> Cost:
    """To the 12 decimals that the store holds, so that sums over steps are the run's exactly."""
    if cost.usd is None:
        return cost
    usd = cost.usd.quantize(USD_DECIMALS, context=MONEY)
    return Cost(usd, cost.status, cost.table, cost.version, cost.reported_usd, usd)
