"""Calls that log records tell of and no span carries: telemetry of logs only, or spans that are yet to come. Pure.

Such a call is a step like any other, its usage_source `log`. Once a span of the call is here, or of a coding agent any
model call of the same run, the record fills what that lacks (see logs) and makes no step: nothing counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from otel_runlog.conventions._attrs import text
from otel_runlog.conventions.log_events import CallEvent, call_event, place_named, place_of, run_key, span_of, tie_of
from otel_runlog.model import LogRecord, StepKind
from otel_runlog.tree import CALL_KINDS, JOINING, MODEL_KINDS, Node, node_of_log

NOTE = "repaired: read from a log record, no span carries the call"
SESSION = ("session.id", "conversation.id", "gen_ai.conversation.id")
RESPONSE = ("gen_ai.response.id",)
ID_DIGITS = 16
_Told: TypeAlias = tuple[bytes, LogRecord, CallEvent]
_Name: TypeAlias = tuple[str, str]
"""A convention and what it calls a run: the run's own name, its session or its trace."""


def logged_calls(nodes: Sequence[Node], logs: Mapping[bytes, LogRecord]) -> list[Node]:
    """A node for each call that only log records tell of; `logs` are distinct, by mark, in order of time."""
    told = _calls(logs)
    return list(_nodes(told, _Carried(nodes, logs.values()))) if told else []


def places_of(nodes: Iterable[Node], logs: Iterable[LogRecord]) -> set[str]:
    """Where records of the same runs may be kept that name no trace."""
    joining = [n for n in nodes if n.own is not None and n.own.convention in JOINING]
    names = {name for node in joining for name in _names_of(node)} | {tie for r in logs if (tie := tie_of(r))}
    names |= {(e.convention, key) for r in logs if (e := call_event(r)) and (key := run_key(r, e))}
    return {place_named(*name) for name in names if name[0] in JOINING}


def _calls(logs: Mapping[bytes, LogRecord]) -> list[_Told]:
    """Of several records that name one span and one response, the last counts."""
    found: dict[object, _Told] = {}
    for mark, record in logs.items():
        event = call_event(record)
        if event is not None and place_of(record):
            response = text(record.attributes, RESPONSE)
            found[mark if event.run else (record.trace_id, record.span_id, response)] = (mark, record, event)
    return list(found.values())


class _Carried:
    """Which calls have spans here: by span or response; of a coding agent, by the runs whose calls are here at all."""

    def __init__(self, nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
        calls = [n for n in nodes if n.kind in MODEL_KINDS]
        self._calls = {(n.trace_id, n.span_id) for n in calls}
        self._responses = {n.own.response_id for n in calls if n.own and n.own.response_id}
        self._traces = {n.trace_id for n in calls}
        self._spans = {(n.trace_id, n.span_id) for n in nodes}
        self._runs = _runs_with_calls(nodes, logs)
        self._tools = {(n.own.convention, n.trace_id) for n in nodes if n.own and n.kind is StepKind.TOOL}

    def has(self, record: LogRecord, event: CallEvent) -> bool:
        """Whether some span is the call's, or shows that its spans are sent."""
        place = (event.convention, str(place_of(record)))
        if not event.run:
            return self._has_details(record)
        if place in self._runs or (event.is_tool and place in self._tools):
            return True
        return (event.convention, run_key(record, event)) in self._runs

    def is_above(self, record: LogRecord) -> bool:
        """Whether the span that the record names is here, and so is not the call's own."""
        return (str(record.trace_id), str(record.span_id)) in self._spans

    def _has_details(self, record: LogRecord) -> bool:
        """Details may stand on a span that is no call; then the response tells, else whether calls are sent at all."""
        if (str(record.trace_id), str(record.span_id)) in self._calls:
            return True
        response = text(record.attributes, RESPONSE)
        if response is not None:
            return response in self._responses
        return self.is_above(record) and record.trace_id in self._traces


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


def _nodes(told: list[_Told], carried: _Carried) -> Iterator[Node]:
    """A record's own span is the call's where nobody else names it; else the call is one of several below it."""
    named = Counter((r.trace_id, r.span_id) for _, r, e in told if not e.run)
    for mark, record, event in told:
        if carried.has(record, event):
            continue
        own = not event.run and named[record.trace_id, record.span_id] == 1 and not carried.is_above(record)
        ids = (str(record.span_id), None) if own else (mark.hex()[:ID_DIGITS], record.span_id)
        node = node_of_log(span_of(record, event, *ids), event.agent, text(record.attributes, SESSION))
        if node.own is not None and node.kind in CALL_KINDS:
            node.notes = (*node.notes, NOTE)
            yield node
