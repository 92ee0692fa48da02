"""From the nodes of a run to its steps: what each one says, in the order of the run. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from otel_runlog.counting import Figures
from otel_runlog.duplicates import Duplicates
from otel_runlog.model import Step, StepStatus, UsageSource
from otel_runlog.partition import Members
from otel_runlog.tree import CALL_KINDS, IN_ORDER, Node

_COMPLETED, _SPAN, _NONE = StepStatus.COMPLETED, UsageSource.SPAN, UsageSource.NONE


def steps_of(members: Members, figures: Mapping[int, Figures], duplicates: Duplicates) -> tuple[list[Node], list[Step]]:
    """The run's step nodes in order, and their steps with both numbers."""
    nodes = sorted(members.steps, key=IN_ORDER)
    steps = [_step(members.run_id, index, n, figures[id(n)], duplicates) for index, n in enumerate(nodes, 1)]
    calls = [step for step in steps if step.counted and step.kind in CALL_KINDS]
    for number, step in enumerate(calls, 1):
        step.call_index = number
    return nodes, steps


def agent_of(node: Node, duplicates: Duplicates) -> str | None:
    """The agent a step names, else the nearest one above it, else that of another view of the same call."""
    return node.agent or duplicates.agent(node)


def status_of(node: Node) -> StepStatus:
    """How a step ended; a span without end that says nothing else is still running."""
    if node.cancelled:
        return StepStatus.CANCELLED
    if node.failed:
        return StepStatus.FAILED
    return StepStatus.RUNNING if node.ended_ns is None else _COMPLETED


def _step(run_id: str, step_index: int, node: Node, f: Figures, duplicates: Duplicates) -> Step:
    r = f.reading
    return Step(
        trace_id=node.trace_id,
        span_id=node.span_id,
        kind=r.kind,
        name=node.name,
        run_id=run_id,
        step_index=step_index,
        parent_span_id=node.parent_id,
        agent=agent_of(node, duplicates),
        provider=r.provider,
        model=r.response_model or r.request_model,
        request_model=r.request_model,
        response_model=r.response_model,
        response_id=r.response_id,
        status=status_of(node),
        error_type=r.error_type,
        error_message=r.error_message or (node.error_message if node.failed or node.cancelled else None),
        started_ns=node.started_ns,
        ended_ns=node.ended_ns,
        time_to_first_token_ms=r.time_to_first_token_ms,
        streaming=r.streaming,
        usage=f.usage,
        usage_source=_usage_source(f),
        cost=f.cost,
        service_tier=r.service_tier,
        counted=f.counted,
        duplicate_of=f.counted_by.span_id if f.counted_by else None,
        tool_name=r.tool_name,
        tool_call_id=r.tool_call_id,
        finish_reason=r.finish_reason,
        params=r.params,
        convention=r.convention,
        scope=node.scope,
        content=r.content,
        warnings=(r.warnings if f.counted else ()) + _warnings(node, f),
        notes=node_notes(node) + r.notes + _notes(f),
    )


def _usage_source(f: Figures) -> UsageSource:
    if not f.usage:
        return _NONE
    if f.rollup:
        return UsageSource.ROLLUP
    return UsageSource.LOG if f.reading.usage_logged else _SPAN


def _warnings(node: Node, f: Figures) -> tuple[str, ...]:
    """What makes a number of the run doubtful."""
    if not (f.rollup or f.missing or f.unseen):
        return ()
    found = []
    if f.rollup:
        found.append(f"usage_rollup: input_tokens and output_tokens are what {node.name!r} says of the calls below it")
    if f.left_out and f.unseen:
        tokens = f.left_out.total_tokens
        found.append(f"usage_missing: input_tokens and output_tokens of {node.name!r}, {tokens} in all, are of no call")
    if f.missing and not f.covered:
        found.append(_missing(node, f))
    return tuple(found)


def _missing(node: Node, f: Figures) -> str:
    if f.usage:
        return (
            "usage_partial: input_tokens and output_tokens are a part of what was served (cut, or the last of several)"
        )
    code = "usage_lost_to_limit" if node.dropped else "usage_missing"
    answered = "is still going on" if status_of(node) is StepStatus.RUNNING else "was answered"
    return f"{code}: no input_tokens and output_tokens for a call that {answered}"


def _notes(f: Figures) -> tuple[str, ...]:
    if not (f.counted_by or f.missing or f.left_out):
        return f.notes
    found = list(f.notes)
    if f.counted_by:
        found.append(f"duplicate_call: the same call as span {f.counted_by.span_id}, which counts")
    if f.missing and f.covered:
        found.append("usage_missing: no tokens of its own; the roll-up above stands for it")
    if f.left_out and not f.unseen:
        found.append(f"usage_rollup: its {f.left_out.total_tokens} tokens are those of calls that count")
    return tuple(found)


def node_notes(node: Node) -> tuple[str, ...]:
    """What there is to say of a span, whether it is a step or not."""
    if not (node.looped or node.dropped):
        return node.notes
    found = list(node.notes)
    if node.looped:
        found.append(f"repaired: parent {node.parent_id} of span {node.span_id} is below it; read as a root")
    if node.dropped:
        found.append(
            f"attributes_dropped: {node.dropped} attributes, events or links were cut by the SDK's span limits"
        )
    return tuple(found)
