"""Evaluation results in telemetry: the event `gen_ai.evaluation.result` of OTel GenAI, on a span or as a record. Pure.

It belongs to the span it stands on or names, else to the call whose `gen_ai.response.id` it names; the view `scores`
finds that, so it does not matter what comes first.
"""

from __future__ import annotations

import hashlib
from typing import TypeAlias

import msgspec

from otel_runlog.conventions._attrs import dump, mapping, number, text
from otel_runlog.log_content import encoded, event_name, mark_of
from otel_runlog.model import Attributes, AttrValue, LogRecord, Span, SpanEvent

EVALUATION = "gen_ai.evaluation.result"
NAME = "gen_ai.evaluation.name"
VALUE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
RESPONSE_ID = "gen_ai.response.id"
_Place: TypeAlias = tuple[str | None, str | None]


class Score(msgspec.Struct, frozen=True):
    """One result of one evaluation.

    `mark` is the same in every delivery. `source` says what told it: `span` or `log`.
    """

    mark: str
    name: str
    source: str
    trace_id: str | None = None
    span_id: str | None = None
    response_id: str | None = None
    value: float | None = None
    label: str | None = None
    explanation: str | None = None
    time_ns: int | None = None


def scores_of_span(span: Span) -> list[Score]:
    """The results that stand on a span as events."""
    found = (
        _score(e.attributes, "span", _mark(span, e), (span.trace_id, span.span_id), e.time_ns)
        for e in span.events
        if e.name == EVALUATION
    )
    return [score for score in found if score is not None]


def scores_of_record(record: LogRecord) -> list[Score]:
    """The result that a log record tells, if it tells one."""
    if event_name(record) != EVALUATION:
        return []
    attributes = {**mapping(record.body), **record.attributes}
    mark, time_ns = mark_of(encoded(record)).hex(), record.time_ns or record.observed_ns
    score = _score(attributes, "log", mark, (record.trace_id, record.span_id), time_ns)
    return [score] if score is not None else []


def _mark(span: Span, event: SpanEvent) -> str:
    said = repr((span.trace_id, span.span_id, event.time_ns, sorted(event.attributes.items(), key=_key)))
    return hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()


def _key(item: tuple[str, AttrValue]) -> str:
    return item[0]


def _score(a: Attributes, source: str, mark: str, place: _Place, time_ns: int | None) -> Score | None:
    """None where an evaluation has no name, or came to no result."""
    name, value, label = text(a, (NAME,)), number(a.get(VALUE)), a.get(LABEL)
    if name is None or (value is None and label in (None, "")):
        return None
    return Score(
        mark,
        name,
        source,
        *place,
        response_id=text(a, (RESPONSE_ID,)),
        value=value,
        label=dump(label) if label not in (None, "") else None,
        explanation=text(a, (EXPLANATION,)),
        time_ns=time_ns,
    )
