"""From the nodes of a run to its steps: what each one says, whether it counts, and what it cost. Pure.

A counted step takes from its other views what it lacks, never usage (DESIGN rule 6). A roll-up counts only where no
call below it has usage. Costs: what the span reports, beside what the price table says.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import msgspec

from otel_runlog.conventions._attrs import USD_DECIMALS
from otel_runlog.conventions.reading import Reading
from otel_runlog.duplicates import Duplicates
from otel_runlog.model import Content, Cost, CostStatus, Step, StepKind, StepStatus, Usage, UsageSource
from otel_runlog.partition import Members
from otel_runlog.pricing import Priced, PriceTable
from otel_runlog.tree import AGENT_KINDS, CALL_KINDS, MODEL_KINDS, Node

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
"""Fields that a counted step takes from its duplicates where it lacks them."""
MISSING_CODES = frozenset({"usage_missing", "usage_partial", "usage_lost_to_limit"})
LAST_CALL_ONLY = frozenset({"opentelemetry.instrumentation.google_genai"})
"""Scopes whose model span around tools is a whole loop with the usage of the last call (facts/semconv, trap 6)."""


class Context(msgspec.Struct):
    """What is known around the steps of one run."""

    members: Members
    duplicates: Duplicates
    prices: PriceTable
    inside: frozenset[int]

    @classmethod
    def of(cls, members: Members, duplicates: Duplicates, prices: PriceTable) -> Context:
        """The context of one run's members."""
        return cls(members, duplicates, prices, frozenset(id(n) for n in members.nodes))


def order(node: Node) -> tuple[int, int, str]:
    """Steps are numbered by start, then depth, then span id (CONTRACT)."""
    return node.start, node.depth, node.span_id


def steps_of(context: Context) -> tuple[list[Node], list[Step]]:
    """The run's step nodes in order, and their steps with indexes, usage, cost and agents."""
    nodes = sorted(context.members.steps, key=order)
    rollups = _rollups(nodes, context)
    steps = [_step(n, context, rollups) for n in nodes]
    calls = 0
    for index, step in enumerate(steps, 1):
        step.step_index = index
        if step.counted and step.kind in CALL_KINDS:
            calls += 1
            step.call_index = calls
    return nodes, steps


def _rollups(nodes: list[Node], context: Context) -> set[int]:
    """Nodes whose usage stands for calls that nobody else counted: the topmost of each branch without counted usage."""
    found: set[int] = set()
    for node in nodes:
        r = node.reading
        if r is None or r.kind not in ROLLUP_KINDS or not r.usage:
            continue
        if any(id(a) in found for a in node.ancestors()) or _has_counted_usage(node, context):
            continue
        found.add(id(node))
    return found


def _has_counted_usage(node: Node, context: Context) -> bool:
    for below in node.below():
        if below.kind in MODEL_KINDS and id(below) in context.inside:
            keep = context.duplicates.counted(below) or below
            if keep.reading and keep.reading.usage:
                return True
    return False


def filled(node: Node, duplicates: Duplicates) -> Reading:
    """The node's reading, with what its other views know better."""
    reading = node.reading
    assert reading is not None
    others = [v.reading for v in duplicates.views(node) if v.reading]
    if not others:
        return reading
    lacks = {
        name: value
        for name in FILLED
        if getattr(reading, name) is None and (value := _first(others, lambda r, n=name: getattr(r, n))) is not None  # type: ignore[misc]
    }
    params = {k: v for r in reversed([reading, *others]) for k, v in r.params.items()}
    content = min((r.content for r in (reading, *others)), key=list(Content).index)
    return msgspec.structs.replace(reading, params=params, content=content, **lacks)


def _first(readings: list[Reading], get: Callable[[Reading], object]) -> object:
    return next((value for r in readings if (value := get(r)) is not None), None)


def _step(node: Node, context: Context, rollups: set[int]) -> Step:
    rollup = id(node) in rollups
    counted_by = context.duplicates.counted(node)
    r = filled(node, context.duplicates)
    counts = counted_by is None and (r.kind in CALL_KINDS or rollup)
    step = Step(
        trace_id=node.trace_id,
        span_id=node.span_id,
        kind=r.kind,
        name=node.name,
        run_id=context.members.run_id,
        parent_span_id=node.parent_id,
        agent=agent_of(node, context.duplicates),
        provider=r.provider,
        model=r.response_model or r.request_model,
        request_model=r.request_model,
        response_model=r.response_model,
        response_id=r.response_id,
        status=_status(node, r),
        error_type=r.error_type,
        error_message=r.error_message or (node.status_message if r.failed else None),
        started_ns=node.started_ns,
        ended_ns=node.ended_ns,
        time_to_first_token_ms=r.time_to_first_token_ms,
        streaming=r.streaming,
        usage=r.usage,
        usage_source=_usage_source(r, rollup=rollup),
        service_tier=r.service_tier,
        counted=counts,
        duplicate_of=counted_by.span_id if counted_by else None,
        tool_name=r.tool_name,
        tool_call_id=r.tool_call_id,
        finish_reason=r.finish_reason,
        params=r.params,
        convention=r.convention,
        scope=node.scope,
        content=r.content,
        warnings=r.warnings if counts else (),
        notes=(*node.notes, *r.notes),
    )
    covered = any(id(a) in rollups for a in node.ancestors())
    _say(step, node, r, rollup=rollup, covered=covered, duplicates=context.duplicates)
    _price(step, r, context, reported=_reports(node, r, context))
    return step


def _usage_source(r: Reading, *, rollup: bool) -> UsageSource:
    if not r.usage:
        return UsageSource.NONE
    return UsageSource.ROLLUP if rollup else UsageSource.SPAN


def _status(node: Node, r: Reading) -> StepStatus:
    if r.cancelled:
        return StepStatus.CANCELLED
    if r.failed or node.failed:
        return StepStatus.FAILED
    return StepStatus.RUNNING if node.ended_ns is None else StepStatus.COMPLETED


def agent_of(node: Node, duplicates: Duplicates) -> str | None:
    """The agent a step names, else the nearest one above it, else that of another view of the same call."""
    for view in (node, *duplicates.twins(node)):
        for above in (view, *view.ancestors()):
            if above.reading and above.reading.agent:
                return above.reading.agent
    return None


def is_missing(step: Step) -> bool:
    """Whether a step is one of the run's usage_missing_calls."""
    return any(w.partition(":")[0] in MISSING_CODES for w in step.warnings)


def _is_missing(step: Step, r: Reading, *, cut: bool) -> bool:
    """Whether a counted model call lacks usage that was served (CONTRACT, usage_missing_calls)."""
    if not step.counted or step.kind not in MODEL_KINDS or r.refused or step.status is StepStatus.RUNNING:
        return False
    if step.usage.input_tokens is None or (step.usage.output_tokens is None and step.kind is StepKind.LLM):
        return True
    return cut


def _say(step: Step, node: Node, r: Reading, *, rollup: bool, covered: bool, duplicates: Duplicates) -> None:
    """Add the warnings and notes that one step gives rise to."""
    if step.duplicate_of:
        step.notes += (f"duplicate_call: the same call as span {step.duplicate_of}, which counts",)
    if rollup:
        step.warnings += (f"usage_rollup: tokens are what {step.name!r} says of the calls below it",)
    cut = r.kind is StepKind.LLM and (_was_cut(node, r, duplicates) or _is_loop(node))
    if not covered and _is_missing(step, r, cut=cut):
        step.warnings += (_missing_text(step, node, cut=cut),)
    if step.counted and r.usage_fault:
        step.warnings += (f"emitter_fault: output_tokens of {node.scope} streams are known to be too many",)
    if node.dropped:
        step.notes += (f"attributes_dropped: {node.dropped} attributes or events were cut by the SDK's span limits",)


def _was_cut(node: Node, r: Reading, duplicates: Duplicates) -> bool:
    """Whether any view of the call saw it cut; a finish reason in the view that counts says it was not."""
    views = [v.reading for v in duplicates.views(node) if v.reading]
    return r.usage_cut or (r.finish_reason is None and any(v.usage_cut for v in views))


def _is_loop(node: Node) -> bool:
    """One span for several calls: tools ran under it and its scope reports the last call only."""
    return node.scope in LAST_CALL_ONLY and any(n.kind is StepKind.TOOL for n in node.below())


def _missing_text(step: Step, node: Node, *, cut: bool) -> str:
    if cut and step.usage:
        return "usage_partial: the numbers are a part of what was served (cut, abandoned, or the last call of several)"
    code = "usage_lost_to_limit" if node.dropped else "usage_missing"
    return f"{code}: no input_tokens and output_tokens for a call that was answered"


def _reports(node: Node, r: Reading, context: Context) -> bool:
    """Whether the step's reported cost counts: a call's always, another step's where no call below it has a cost."""
    if r.reported_usd is None or context.duplicates.counted(node) is not None:
        return False
    if r.kind in CALL_KINDS:
        return True
    return not any(n.kind in MODEL_KINDS for n in node.below()) and not any(
        n.reading and n.reading.reported_usd is not None for n in node.below()
    )


def _price(step: Step, r: Reading, context: Context, *, reported: bool) -> None:
    """Set the step's cost. A step that is no call counts from here on if it reports a cost of its own."""
    step.counted = step.counted or reported
    if not step.counted:
        return
    own = r.reported_usd if reported else None
    estimate = _estimate(step, r, context) if step.kind is not StepKind.TOOL and step.usage else None
    if estimate is not None:
        step.notes += estimate.notes
    step.cost = _cost(own, estimate.cost if estimate else None, priced=bool(step.usage))


def _estimate(step: Step, r: Reading, context: Context) -> Priced:
    return context.prices.price(
        provider=step.provider,
        models=(step.response_model, step.request_model),
        usage=step.usage if step.kind in MODEL_KINDS else _without_none(step.usage),
        at_ns=step.started_ns,
        kind=step.kind,
        service_tier=r.service_tier,
        requested_tier=r.requested_tier,
    )


def _without_none(usage: Usage) -> Usage:
    return msgspec.structs.replace(usage, input_tokens=usage.input_tokens or 0, output_tokens=usage.output_tokens or 0)


def _cost(own: Decimal | None, estimate: Cost | None, *, priced: bool) -> Cost:
    if own is not None:
        rest = _rounded(estimate) if estimate else Cost()
        return Cost(own, CostStatus.REPORTED, rest.table, rest.version, own, rest.estimated_usd)
    if estimate is not None:
        return _rounded(estimate)
    return Cost(status=CostStatus.UNPRICED if priced else CostStatus.NONE)


def _rounded(cost: Cost) -> Cost:
    """To the 12 decimals that the store holds, so that sums over steps are the run's exactly."""
    if cost.usd is None:
        return cost
    usd = cost.usd.quantize(USD_DECIMALS)
    return msgspec.structs.replace(cost, usd=usd, estimated_usd=usd)
