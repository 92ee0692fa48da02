"""What spans say of a call is what went over the wire: for every recorded call of the corpus, request and answer."""

from __future__ import annotations

import functools
import itertools

import pytest
from corpus import scenarios, variants
from readme_block import written
from replayable import table
from served import KEPT, Call, calls_of

from otel_runlog.fingerprint import canonical, lane_of
from otel_runlog.model import Content

CALLS_COMPARED = 908
LOOP_IN_ONE_SPAN = "google-genai calls tools by itself: one span for the loop, the first request and the last usage"
CUT_STREAM = "the stream was cut or abandoned: the span has what came of it"
CALLS_DROPPED = "OpenLIT leaves an assistant's tool calls out of the prompt, results have none to belong to"

REQUESTS_DIFFER = {
    "openinference-google-genai/auto_function_calling": LOOP_IN_ONE_SPAN,
    "openinference-google-genai/auto_function_calling_streaming": LOOP_IN_ONE_SPAN,
    "openinference-google-genai/concurrent_async": LOOP_IN_ONE_SPAN,
    "otel-google-genai/auto_function_calling_streaming": LOOP_IN_ONE_SPAN,
    "otel-google-genai/concurrent_async": LOOP_IN_ONE_SPAN,
}
ANSWERS_DIFFER = {
    "openinference-anthropic/streaming_cut": CUT_STREAM,
    "openinference-google-genai/auto_function_calling_streaming": LOOP_IN_ONE_SPAN,
    "openinference-openai/streaming_abandoned": CUT_STREAM,
    "openinference-openai/streaming_cut": CUT_STREAM,
    "otel-genai-anthropic/streaming_abandoned": CUT_STREAM,
    "otel-genai-openai/streaming_abandoned": CUT_STREAM,
    "otel-genai-openai/streaming_cut": CUT_STREAM,
    "otel-google-genai/auto_function_calling_streaming": LOOP_IN_ONE_SPAN,
    "otel-openai-v2/streaming_abandoned": CUT_STREAM,
    "otel-openai-v2/streaming_cut": CUT_STREAM,
    "traceloop-openai/streaming_abandoned": CUT_STREAM,
    "traceloop-openai/streaming_cut": CUT_STREAM,
}
HISTORY_LOST = {"openlit-openai/tool_loop_in_span": CALLS_DROPPED}


@functools.cache
def calls(variant: str) -> list[Call]:
    return list(calls_of(variant, scenarios(variant)))


def of(variant: str, names: dict[str, str]) -> set[str]:
    return {name for name in names if name.partition("/")[0] == variant}


@pytest.mark.parametrize("variant", KEPT)
def test_a_request_read_from_spans_has_the_fingerprint_of_the_one_that_was_sent(variant: str) -> None:
    differ = {c.scenario: c.request_differs for c in calls(variant) if c.request_differs}
    assert differ.keys() == of(variant, REQUESTS_DIFFER), differ


@pytest.mark.parametrize("variant", KEPT)
def test_an_answer_read_from_spans_is_the_one_that_was_given(variant: str) -> None:
    differ = {c.scenario: c.answer_differs for c in calls(variant) if c.answer_differs}
    assert differ.keys() == of(variant, ANSWERS_DIFFER), differ


@pytest.mark.parametrize("variant", KEPT)
def test_every_call_with_content_is_compared(variant: str) -> None:
    compared = [c for c in calls(variant) if c.served is not None and c.told.request is not None]
    assert compared
    kept = {c.scenario for c in compared}
    assert [c.scenario for c in calls(variant) if c.told.request and not c.served and c.scenario in kept] == []
    assert [c.scenario for c in calls(variant) if c.told.completeness is Content.FULL and c.told.request is None] == []


def test_most_of_the_corpus_is_compared() -> None:
    assert sum(c.served is not None and c.told.request is not None for v in KEPT for c in calls(v)) == CALLS_COMPARED


@pytest.mark.parametrize("variant", sorted(set(variants()) - set(KEPT)))
def test_a_request_goes_on_from_the_one_before_it_and_its_answer(variant: str) -> None:
    """Where nobody kept what was sent: the history in a prompt is what the spans before said."""
    lost = set()
    told = [
        c for c in calls(variant) if c.told.request is not None and c.told.answer is not None and c.told.request.turns
    ]
    for before, after in itertools.pairwise(told):
        if (before.run_id, _opening(before)) == (after.run_id, _opening(after)):
            grown = len(_turns(after)) > len(_turns(before))
            if grown and _turns(after)[: len(_with_answer(before))] != _with_answer(before):
                lost.add(after.scenario)
    assert lost == of(variant, HISTORY_LOST)


def _opening(call: Call) -> object:
    assert call.told.request is not None
    return lane_of(call.told.request), next((turn for turn in _turns(call) if "user" in turn), None)


def _turns(call: Call) -> list[dict[str, object]]:
    assert call.told.request is not None
    found = canonical(call.told.request)
    assert isinstance(found, dict)
    turns = found["turns"]
    assert isinstance(turns, list)
    return [turn for turn in turns if isinstance(turn, dict)]


def _with_answer(call: Call) -> list[dict[str, object]]:
    """The turns of a request and its answer; calls are numbered on from those of the request."""
    assert call.told.answer is not None
    turns = _turns(call)
    number = sum(len(turn.get("calls", ())) for turn in turns if isinstance(turn, dict))
    said: dict[str, object] = {"assistant": call.told.answer.text}
    if asked := call.told.answer.tool_calls:
        said["calls"] = [[number + i, c.name, c.arguments] for i, c in enumerate(asked)]
    return [*turns, said]


def test_the_table_counts_calls_by_what_is_there_and_by_what_is_equal() -> None:
    names = ("agent-framework", "anthropic-sdk-native@content", "haystack", "openinference-google-genai")
    assert [line for line in table({name: calls(name) for name in names}).splitlines() if line.startswith("| `")] == [
        "| `agent-framework` | 32 | 32 | 0 | 0 | 0 | 32 of 32 |",
        "| `anthropic-sdk-native@content` | 3 | 2 | 0 | 1 | 0 | 3 of 3 |",
        "| `haystack` | 11 | 11 | 0 | 0 | 0 | – |",  # noqa: RUF001
        "| `openinference-google-genai` | 18 | 18 | 0 | 0 | 0 | 13 of 17 |",
    ]


def test_the_readme_has_the_table() -> None:
    found = table({variant: calls(variant) for variant in variants()})
    assert written("replayable") == found, "python -m tests.replayable --write brings it up to date"
