"""What is wrong with a capture, by deriving again what can be derived."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from made_captures import a_call
from msgspec.structs import replace

from otel_runlog.capture import Capture, CapturedTool
from otel_runlog.captures.document import problems_of
from otel_runlog.conversation import CallPart, LlmAnswer, LlmRequest, ResultPart, Role, TextPart, Turn
from otel_runlog.fingerprint import fingerprint_of
from otel_runlog.model import Content, RunLog, Step, StepKind

NOON = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
ASKED = LlmRequest(turns=(Turn(Role.SYSTEM, (TextPart("Be brief."),)), Turn(Role.USER, (TextPart("hi"),))))
FIRST = fingerprint_of(ASKED)
SHORTER = replace(ASKED, turns=ASKED.turns[:1])
LATER = LlmRequest(turns=(Turn(Role.TOOL, (ResultPart("18C", "c"),)),), previous_response_id="resp_1", previous=FIRST)


def step(number: int, kind: StepKind) -> Step:
    return Step("t", f"s{number}", kind, run_id="r1", step_index=number, call_index=number, counted=True)


def capture() -> Capture:
    kinds = (StepKind.LLM, StepKind.TOOL, StepKind.LLM)
    run = RunLog("r1", steps=tuple(step(i, k) for i, k in enumerate(kinds, 1)), llm_calls=2, tool_calls=1)
    return Capture(
        run_id="r1",
        captured_at=NOON,
        completeness=Content.FULL,
        run=run,
        llm_io=(
            a_call(1, ASKED, answer=LlmAnswer(parts=(CallPart("f", {}, "c"),)), response_id="resp_1"),
            a_call(3, LATER, answer=LlmAnswer(parts=(TextPart("18C"),))),
        ),
        tool_io=(CapturedTool(name="f", step_index=2, call_index=2, after_call=1),),
    )


def with_call(number: int, **fields: Any) -> Capture:
    calls = list(capture().llm_io)
    calls[number] = replace(calls[number], **fields)
    return replace(capture(), llm_io=tuple(calls))


def with_tool(**fields: Any) -> Capture:
    return replace(capture(), tool_io=(replace(capture().tool_io[0], **fields),))


def with_run(**fields: Any) -> Capture:
    return replace(capture(), run=replace(capture().run, **fields))


def test_a_capture_as_it_was_made_has_no_problems() -> None:
    assert problems_of(capture()) == []


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        (replace(capture(), schema="x"), "The schema is 'x', not 'runlog.capture/1'."),
        (with_run(run_id="r2"), "It is of the run 'r1', and holds the run 'r2'."),
        (replace(capture(), completeness=Content.NONE), "Its completeness is none, and that of its calls full."),
        (replace(capture(), llm_io=capture().llm_io[:1]), "llm_io has 1 entries, and the run 2 model calls."),
        (with_run(llm_calls=3), "The run says that it has 3 model calls, and has 2."),
        (with_run(tool_calls=0), "The run says that it has 0 tool calls, and has 1."),
        (
            with_call(1, step_index=2),
            "llm_io[1] is the chat of step 2 and call 3, and there the run has the chat of step 3 and call 3.",
        ),
        (
            with_call(0, request=SHORTER),
            f"Call 1 has the fingerprint {FIRST}, and its request {fingerprint_of(SHORTER)}.",
        ),
        (with_call(0, occurrence=2), "Call 1 says that it is occurrence 2 of its fingerprint, and is 1."),
        (with_call(0, lane="00000000"), "Call 1 is in the lane 00000000, and its instructions say 213c22ed."),
        (with_call(0, response_id="resp_0"), f"Call 3 goes on from {FIRST}, and 'resp_1' is the answer of None."),
        (with_call(0, answer=None), "Call 1 says that it is full, and lacks its request or what came of it."),
        (with_tool(step_index=3), "tool_io[0] is of step 3 and call 2, which is no tool call of the run."),
        (with_tool(step_index=None), "tool_io has 0 entries of step 2."),
        (with_tool(after_call=2), "tool_io[0] was asked for by call 2, which is no model call of the run."),
        (with_tool(result="18C"), "tool_io[0] has a result, and does not say from where."),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(changed: Capture, problem: str) -> None:
    assert problem in problems_of(changed)


def test_a_lane_that_is_not_said_is_no_problem() -> None:
    assert problems_of(with_call(0, lane=None)) == []
