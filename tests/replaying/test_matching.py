"""What a replay is asked is found in the recording by what it says, and what is not found is told."""

from __future__ import annotations

from recorded import asks, capture, llm, tool

from otel_runlog.replaying.divergence import DivergenceKind, ReproVerdict
from otel_runlog.replaying.matching import Matcher, Missed, Served, ToolServed

CASE_28 = capture(
    llm(asks("same prompt"), "x"),
    llm(asks("same prompt"), "y"),
    tool("t", {"n": 1}, 10),
    tool("t", {"n": 2}, 20),
)


def answer(found: Served | Missed) -> str | None:
    return found.call.answer.text if isinstance(found, Served) and found.call.answer is not None else None


def test_equal_requests_are_answered_in_the_order_they_were_recorded() -> None:
    matcher = Matcher(CASE_28)
    assert [answer(matcher.ask(asks("same prompt"))) for _ in range(2)] == ["x", "y"]
    assert matcher.report().notes == (
        "ambiguous: calls 1, 2 asked the same and were answered differently; served in that order",
    )


def test_independent_calls_may_come_in_any_order() -> None:
    matcher = Matcher(CASE_28)
    results = [matcher.ask_tool("t", {"n": n}) for n in (2, 1)]
    assert [found.call.result for found in results if isinstance(found, ToolServed)] == [20, 10]
    for _ in range(2):
        matcher.ask(asks("same prompt"))
    assert matcher.report().verdict is ReproVerdict.IDENTICAL


def test_a_request_asked_once_more_is_exhausted() -> None:
    matcher = Matcher(CASE_28)
    found = [matcher.ask(asks("same prompt")) for _ in range(3)]
    missed = found[-1]
    assert isinstance(missed, Missed)
    assert (missed.divergence.kind, missed.divergence.call_index) == (DivergenceKind.REPEATED, 2)
    assert "exhausted: already served 2 of 2" in missed.text
    assert matcher.report().verdict is ReproVerdict.DIVERGED
