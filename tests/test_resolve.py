"""One span a key: what is stored, a duplicate, a conflict, superseded, or a reused id (DESIGN rule 3)."""

from __future__ import annotations

import itertools

import msgspec
import pytest

from otel_runlog.model import Resource, Span
from otel_runlog.resolve import Resolver, Verdict, resolve
from otel_runlog.testing import TraceBuilder

S, D, C, P = Verdict.STORED, Verdict.DUPLICATE, Verdict.CONFLICT, Verdict.SUPERSEDED


def span() -> Span:
    return TraceBuilder().agent("a")


def but(base: Span, **changes: object) -> Span:
    return msgspec.structs.replace(base, **changes)


def verdicts(*spans: Span) -> list[Verdict]:
    resolver = Resolver()
    return [resolver.offer(s) for s in spans]


END = span()
START = but(END, ended_ns=None, start_record=True)
PENDING = but(END, ended_ns=None, attributes={**END.attributes, "more": 1})
FULLER = but(END, attributes={**END.attributes, "more": 1})
LATER = but(END, ended_ns=(END.ended_ns or 0) + 1)


@pytest.mark.parametrize(
    ("arriving", "expected"),
    [
        ([END, END], [S, D]),
        ([END, but(END, resource=Resource({"collector": "x"}), flags=1, trace_state="a=b")], [S, D]),
        ([END, LATER, END, LATER], [S, C, D, D]),
        ([START, END], [S, S]),
        ([END, START], [S, P]),
        ([START, START], [S, D]),
        ([START, PENDING, END], [S, S, S]),
        ([PENDING, START], [S, P]),
        ([PENDING, END], [S, S]),
        ([END, but(END, started_ns=1)], [S, S]),
    ],
    ids=[
        *("again", "by another way", "conflict", "start then end", "end then start", "start again"),
        *("start, pending, end", "less of an open span", "pending then end", "other start"),
    ],
)
def test_what_an_arriving_span_is(arriving: list[Span], expected: list[Verdict]) -> None:
    assert verdicts(*arriving) == expected


def test_a_start_record_whose_end_comes_is_named_as_replaced() -> None:
    resolver = Resolver()
    resolver.offer(START)
    resolver.offer(END)
    assert resolver.replaced == [(END.trace_id, END.span_id, END.started_ns)]


@pytest.mark.parametrize(("versions", "winner"), [((END, LATER), LATER), ((END, FULLER), FULLER), ((START, END), END)])
def test_the_later_end_wins_then_more_attributes(versions: tuple[Span, Span], winner: Span) -> None:
    for order in itertools.permutations(versions):
        [found] = resolve(order)
        assert (found.ended_ns, found.attributes) == (winner.ended_ns, winner.attributes)


def test_between_equals_the_digest_decides_whatever_the_order() -> None:
    a, b = but(END, name="x"), but(END, name="y")
    assert resolve([a, b]) == resolve([b, a])


def test_a_conflict_and_a_reused_id_are_noted_and_a_superseded_start_is_not() -> None:
    assert resolve([END, LATER])[0].repairs[0].startswith("conflict: 2 versions of span")
    assert resolve([START, PENDING, END])[0].repairs == ()
    first, second = resolve([END, but(END, started_ns=1)])
    assert first.repairs == second.repairs != ()
    assert first.repairs[0].startswith("id_reuse:")


def test_the_spans_given_are_left_as_they_are() -> None:
    mine = span()
    resolve([mine, LATER])
    assert mine.repairs == ()
