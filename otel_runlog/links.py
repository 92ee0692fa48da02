"""Which other traces of the store must be projected together with those at hand (see duplicates and partition).

Three kinds of links: a run named in both, a conversation whose traces share runs (see tree.BY_CONVERSATION), and a
model call that both may see. A link too many costs time and changes nothing, as the projection decides: the store
looks for equal ids or numbers, `may_be_same_call` at times and places.
"""

from __future__ import annotations

from collections.abc import Sequence

from otel_runlog.conventions.reading import Reading
from otel_runlog.duplicates import CLOCK_TOLERANCE_NS, may_be_same_call
from otel_runlog.log_calls import logged_calls, places_of
from otel_runlog.log_content import distinct
from otel_runlog.model import LogRecord, Step
from otel_runlog.store.batch import CallSearch
from otel_runlog.store.writer import StoreWriter
from otel_runlog.tree import MODEL_KINDS, Node, conversation


def linked_traces(writer: StoreWriter, nodes: Sequence[Node], logs: Sequence[LogRecord] = ()) -> set[str]:
    """The traces in the store that share a named run, a conversation or a call with `nodes` and the records beside."""
    nodes = [*nodes, *logged_calls(nodes, distinct(logs))]
    names = {n.given_run_id for n in nodes if n.given_run_id}
    found = writer.traces_of_runs(names) if names else set()
    if places := places_of(nodes, logs):
        found |= places | writer.traces_of_places(places)
    conversations = {c for n in nodes if (c := conversation(n))}
    if conversations:
        found |= writer.traces_of_sessions(conversations)
    calls = [n for n in nodes if n.kind in MODEL_KINDS]
    if not calls:
        return found
    others = [_node(step) for step in writer.calls_between(_search(calls))]
    return found | {o.trace_id for o in others if any(may_be_same_call(n, o) for n in calls)}


def _search(calls: list[Node]) -> CallSearch:
    readings = [n.own for n in calls if n.own]
    return CallSearch(
        trace_ids=sorted({n.trace_id for n in calls}),
        scopes=sorted({n.scope for n in calls}),
        started_ns=min(n.start for n in calls) - CLOCK_TOLERANCE_NS,
        ended_ns=max(n.end for n in calls) + CLOCK_TOLERANCE_NS,
        response_ids=sorted({r.response_id for r in readings if r.response_id}),
        input_tokens=sorted({r.usage.input_tokens for r in readings if r.usage.input_tokens is not None}),
        failed=any(r.failed for r in readings),
        lone=any(n.parent_id is None for n in calls),
    )


def _node(step: Step) -> Node:
    """A stored call as far as `may_be_same_call` looks at it."""
    reading = Reading(step.convention, step.kind)
    return Node(
        step.trace_id,
        step.span_id,
        step.parent_span_id,
        started_ns=step.started_ns,
        ended_ns=step.ended_ns,
        scope=step.scope,
        own=reading,
        reading=reading,
    )
