"""Evaluation results become scores of what they are about, once, whatever came first; events as OTel documents them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from test_loader import load_items

from otel_runlog.model import Attributes, AttrValue, LogRecord, Span, SpanEvent
from otel_runlog.pricing import PriceTable
from otel_runlog.scores import EVALUATION, scores_of_record, scores_of_span
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import START_NS, TraceBuilder

PRICES = PriceTable()
GOOD: Attributes = {
    "gen_ai.evaluation.name": "Relevance",
    "gen_ai.evaluation.score.value": 4,
    "gen_ai.evaluation.score.label": "relevant",
    "gen_ai.evaluation.explanation": "it answers",
}


def call(seed: str = "scores") -> tuple[TraceBuilder, Span]:
    t = TraceBuilder(seed)
    answer: Attributes = {"gen_ai.response.id": "resp-1"}
    return t, t.chat("m", answer, parent=t.agent("a"), input_tokens=5, output_tokens=2)


def result(span: Span | None = None, **attributes: AttrValue) -> LogRecord:
    place = {"trace_id": span.trace_id, "span_id": span.span_id} if span else {}
    return LogRecord(time_ns=START_NS, event_name=EVALUATION, attributes=GOOD | attributes, **place)


def scores(db: Path, *parts: Sequence[Span | LogRecord]) -> list[tuple[object, ...]]:
    for number, items in enumerate(parts):
        load_items(db, number, items, PRICES)
    with StoreReader(db) as reader:
        found = reader.query(
            "select r.run_id is not null, s.span_id, s.name, s.value, s.label, s.source "
            "from scores s left join runs r on s.run_id = r.run_id order by all"
        )
        return [tuple(row) for row in found.rows]


def of(span_id: str | None, source: str = "log", *, known: bool = True) -> tuple[object, ...]:
    return known, span_id, "Relevance", 4.0, "relevant", source


def test_a_result_belongs_to_the_span_it_names_whatever_comes_first(tmp_path: Path) -> None:
    t, span = call()
    assert scores(tmp_path / "a", t.spans, [result(span)]) == [of(span.span_id)]
    assert scores(tmp_path / "b", [result(span)], t.spans) == [of(span.span_id)]


def test_a_result_on_a_span_belongs_to_it(tmp_path: Path) -> None:
    t, span = call()
    span.events = (SpanEvent(EVALUATION, START_NS, GOOD),)
    assert scores(tmp_path / "a", t.spans, t.spans) == [of(span.span_id, "span")]


def test_a_result_delivered_twice_counts_once(tmp_path: Path) -> None:
    t, span = call()
    loose = result(**{"gen_ai.response.id": "resp-1"})
    assert scores(tmp_path / "a", [*t.spans, result(span), loose], [result(span), loose]) == [of(span.span_id)] * 2


def test_a_result_without_a_span_belongs_to_the_call_whose_response_it_names(tmp_path: Path) -> None:
    t, span = call()
    assert scores(tmp_path / "a", [*t.spans, result(**{"gen_ai.response.id": "resp-1"})]) == [of(span.span_id)]


def test_a_response_that_two_runs_have_is_neithers(tmp_path: Path) -> None:
    found = scores(
        tmp_path / "a", [*call("one")[0].spans, *call("two")[0].spans, result(**{"gen_ai.response.id": "resp-1"})]
    )
    assert found == [of(None, known=False)]


def test_an_evaluator_tells_the_score_of_the_call_that_it_names(tmp_path: Path) -> None:
    t, span = call()
    judge = TraceBuilder("judge").span("judge", {"openinference.span.kind": "EVALUATOR"})
    told = result(judge, **{"gen_ai.response.id": "resp-1"})
    assert scores(tmp_path / "a", [*t.spans, judge, told]) == [of(span.span_id)]


def test_a_result_of_a_span_that_is_no_step_belongs_to_the_run_of_its_trace(tmp_path: Path) -> None:
    t, _ = call()
    plain = t.span("GET /", {}, parent=t.spans[0])
    assert scores(tmp_path / "a", [*t.spans, result(plain)]) == [of(plain.span_id)]


def test_the_result_of_an_unknown_call_waits(tmp_path: Path) -> None:
    _, span = call()
    assert scores(tmp_path / "a", [result(span)]) == [of(span.span_id, known=False)]


@pytest.mark.parametrize(
    ("changes", "value", "label"),
    [
        ({"gen_ai.evaluation.score.value": "0.5"}, 0.5, "relevant"),
        ({"gen_ai.evaluation.score.value": None}, None, "relevant"),
        ({"gen_ai.evaluation.score.value": float("nan")}, None, "relevant"),
        ({"gen_ai.evaluation.score.label": None}, 4.0, None),
        ({"gen_ai.evaluation.score.label": True}, 4.0, "true"),
    ],
)
def test_value_and_label_are_read_as_they_come(changes: Attributes, value: float | None, label: str | None) -> None:
    [score] = scores_of_record(result(**changes))
    assert (score.value, score.label, score.explanation) == (value, label, "it answers")


@pytest.mark.parametrize(
    "changes",
    [
        {"gen_ai.evaluation.name": None},
        {"gen_ai.evaluation.score.value": None, "gen_ai.evaluation.score.label": ""},
    ],
)
def test_an_evaluation_without_name_or_result_is_no_score(changes: Attributes) -> None:
    _, span = call()
    span.events = (SpanEvent(EVALUATION, START_NS, GOOD | changes), SpanEvent("other", START_NS, GOOD))
    assert scores_of_record(result(**changes)) + scores_of_span(span) == []
