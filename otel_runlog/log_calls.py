"""Calls that log records tell of and no span carries: telemetry of logs only, or spans that are yet to come. Pure.

Such a call is a step like any other, its usage_source `log`. Once a span of the call is here, or of a coding agent any
model call of the same run, the record fills what that lacks (see logs) and makes no step: nothing counts twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from otel_runlog.conventions._attrs import text
from otel_runlog.conventions.log_events import CallEvent, call_event, place_named, place_of, run_key, span_of, tie_of
from otel_runlog.log_content import encoded, mark_of
from otel_runlog.model import LogRecord, StepKind
from otel_runlog.tree import JOINING, MODEL_KINDS, Node, node_of_log

NOTE = "repaired: read from a log record, no span carries the call"
SESSION = ("session.id", "conversation.id", "gen_ai.conversation.id")
ID_DIGITS = 16
_Told: TypeAlias = tuple[bytes, LogRecord, CallEvent]
_Name: TypeAlias = tuple[str, str]
"""A convention and what it calls a run: the run's own name, its session or its trace."""


def logged_calls(nodes: Sequence[Node], logs: Iterable[LogRecord]) -> list[Node]:
    """A node for each call that only log records tell of, whatever their order; a record given twice tells once."""
    logs = list(logs)
    told = _calls(logs)
    if not told:
        return []
    carried = _Carried(nodes, logs)
    return [_node(*call) for call in told if not carried.has(*call)]


def places_of(nodes: Iterable[Node], logs: Iterable[LogRecord]) -> set[str]:
    """Where records of the same runs may be kept that name no trace."""
    names = {name for node in nodes for name in _names_of(node)} | {tie for r in logs if (tie := tie_of(r))}
    names |= {(e.convention, key) for r in logs if (e := call_event(r)) and (key := run_key(r, e))}
    return {place_named(*name) for name in names if name[0] in JOINING}


def sessions_of(nodes: Iterable[Node]) -> set[str]:
    """The sessions whose runs may hold what calls of log records belong to."""
    return {n.own.session_id for n in nodes if n.logged and n.own and n.own.convention in JOINING and n.own.session_id}


def _calls(logs: Iterable[LogRecord]) -> list[_Told]:
    """Of several records that name one span as the call's, the last counts."""
    found: dict[object, _Told] = {}
    marked = ((mark_of(encoded(r)), r) for r in logs)
    for mark, record in sorted(marked, key=lambda mr: (mr[1].time_ns or mr[1].observed_ns or 0, mr[0])):
        event = call_event(record)
        if event is not None and place_of(record):
            found[mark if event.run else (record.trace_id, record.span_id)] = (mark, record, event)
    return list(found.values())


class _Carried:
    """Which calls have spans here: by span, or, of a coding agent, by the runs whose calls are here at all."""

    def __init__(self, nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
        self._spans = {(n.trace_id, n.span_id) for n in nodes}
        self._runs = _runs_with_calls(nodes, logs)
        self._tools = {(n.own.convention, n.trace_id) for n in nodes if n.own and n.kind is StepKind.TOOL}

    def has(self, _mark: bytes, record: LogRecord, event: CallEvent) -> bool:
        """Whether some span is the call's, or shows that its spans are sent."""
        place = (event.convention, str(place_of(record)))
        if not event.run:
            return (str(record.trace_id), str(record.span_id)) in self._spans
        if place in self._runs or (event.is_tool and place in self._tools):
            return True
        return (event.convention, run_key(record, event)) in self._runs


def _runs_with_calls(nodes: Iterable[Node], logs: Iterable[LogRecord]) -> set[_Name]:
    """The runs of which a model call's span is here, by all names that spans and records of its trace tell."""
    names: dict[_Name, set[_Name]] = {}
    with_calls = set[_Name]()
    for node in nodes:
        if node.own is not None:
            trace = (node.own.convention, node.trace_id)
            names.setdefault(trace, {trace}).update(_names_of(node))
            if node.kind in MODEL_KINDS:
                with_calls.add(trace)
    for record in logs:
        if (tie := tie_of(record)) is not None:
            names.setdefault((tie[0], str(record.trace_id)), set()).add(tie)
    return {name for trace in with_calls for name in names[trace]}


def _names_of(node: Node) -> Iterable[_Name]:
    own = node.own
    if own is not None and own.convention in JOINING:
        yield from ((own.convention, name) for name in (own.native_run_id, own.session_id) if name)


def _node(mark: bytes, record: LogRecord, event: CallEvent) -> Node:
    span = span_of(record, event, mark.hex()[:ID_DIGITS])
    node = node_of_log(span, event.agent, text(record.attributes, SESSION))
    node.notes = (*node.notes, NOTE)
    return node
