"""A replay as a run of its own: its steps, its numbers, and a capture that replays again."""

from __future__ import annotations

from decimal import Decimal

from recorded import RUN_ID, asks, capture, llm, says, tool

from otel_runlog.captures.document import dumps, loads
from otel_runlog.conversation import CallError, LlmAnswer, LlmRequest
from otel_runlog.model import CostStatus, RunStatus, StepKind, StepStatus, Usage
from otel_runlog.replaying.divergence import DivergenceKind, ReproVerdict, Resolution, StepDivergence
from otel_runlog.replaying.exchanges import Exchange
from otel_runlog.replaying.matching import Matcher, Served, ToolServed
from otel_runlog.replaying.replay_run import Ending, run_of_replay
from otel_runlog.replaying.tool_door import ToolExchange
from otel_runlog.replaying.tool_words import ToolOutcome

REPLAY_ID = "9" * 32
SECOND = 10**9
START_NS = 1_795_910_400 * SECOND
RECORDED = capture(
    llm(asks("first"), says("one")),
    tool("weather", {"city": "Paris"}, "18C"),
    llm(asks("second"), says("two")),
)


def exchange(
    number: int,
    asked: LlmRequest,
    answer: LlmAnswer | CallError,
    call_index: int | None,
    resolution: Resolution = Resolution.SERVED,
) -> Exchange:
    is_answer = isinstance(answer, LlmAnswer)
    return Exchange(
        number=number,
        api="openai_chat",
        request=asked,
        streamed=False,
        started_ns=START_NS + number * SECOND,
        ended_ns=START_NS + number * SECOND + 1,
        resolution=resolution,
        http_status=200 if is_answer else 400,
        answer=answer if is_answer else None,
        error=None if is_answer else answer,
        call_index=call_index,
        response_id=f"r{number}",
    )


def weather(number: int, *, ended: bool = True, error: CallError | None = None) -> ToolExchange:
    return ToolExchange(
        number=number,
        name="weather",
        arguments={"city": "Paris"},
        outcome=ToolOutcome.RECORDED,
        started_ns=START_NS + number * SECOND,
        ended_ns=START_NS + number * SECOND + 5 if ended else None,
        call_index=2,
        result=None if error else "18C",
        error=error,
    )


def used(text: str) -> LlmAnswer:
    return LlmAnswer(parts=says(text).parts, model="gpt-5-2026", usage=Usage(10, 2))


ENDING = Ending(started_ns=START_NS, ended_ns=START_NS + 9 * SECOND)


def test_a_replay_is_a_run_of_what_was_asked_in_its_order_and_costs_nothing() -> None:
    asked = [exchange(3, asks("second"), used("two"), 3), exchange(1, asks("first"), used("one"), 1)]
    run, _ = run_of_replay(RECORDED, REPLAY_ID, asked, [weather(2)], ENDING)
    assert (run.run_id, run.replay_of, run.agent, run.status) == (REPLAY_ID, RUN_ID, "planner", RunStatus.COMPLETED)
    assert [(s.kind, s.name, s.call_index, s.step_index, s.agent, s.status) for s in run.steps] == [
        (StepKind.LLM, "chat gpt-5", 1, 1, "planner", StepStatus.COMPLETED),
        (StepKind.TOOL, "weather", 2, 2, "planner", StepStatus.COMPLETED),
        (StepKind.LLM, "chat gpt-5", 3, 3, "planner", StepStatus.COMPLETED),
    ]
    assert (run.step_count, run.llm_calls, run.tool_calls, run.error_count) == (3, 2, 1, 0)
    assert (run.tokens, run.models) == (Usage(20, 4), ("gpt-5-2026",))
    assert run.cost_estimate is not None
    assert (run.cost_estimate.usd, run.cost_estimate.status) == (Decimal(0), CostStatus.REPLAYED)
    assert [s.cost.usd for s in run.steps] == [None, None, None]
    assert run.duration_ms == 9000
    assert len({(s.trace_id, s.span_id) for s in run.steps}) == 3
    assert [(a.agent, a.calls, a.own) for a in run.agents] == [("planner", 3, Usage(20, 4))]


def test_its_capture_is_a_document_and_replays_again() -> None:
    asked = [exchange(1, asks("first"), used("one"), 1), exchange(3, asks("changed"), used("live"), None)]
    _, made = run_of_replay(RECORDED, REPLAY_ID, asked, [weather(2)], ENDING)
    again = loads(dumps(made), name="replay")
    assert dumps(again) == dumps(made)
    matcher = Matcher(again)
    served = [matcher.ask(asks("first")), matcher.ask(asks("changed"))]
    assert [s.call.answer.text for s in served if isinstance(s, Served) and s.call.answer] == ["one", "live"]
    given = matcher.ask_tool("weather", {"city": "Paris"})
    assert isinstance(given, ToolServed)
    assert given.call.result == "18C"
    assert matcher.report().verdict is ReproVerdict.IDENTICAL


def test_identical_requests_are_numbered_by_occurrence() -> None:
    asked = [exchange(n, asks("same"), used(str(n)), n) for n in (1, 2)]
    _, made = run_of_replay(RECORDED, REPLAY_ID, asked, [], ENDING)
    assert [call.occurrence for call in made.llm_io] == [1, 2]


def test_what_was_refused_is_a_failed_call_and_what_went_live_says_so() -> None:
    refused = exchange(1, asks("x"), CallError("replay_divergence", "no", 400), 1, Resolution.REFUSED)
    live = exchange(2, asks("y"), used("real"), None, Resolution.LIVE)
    run, _ = run_of_replay(RECORDED, REPLAY_ID, [refused, live], [weather(3, error=CallError("KeyError"))], ENDING)
    assert [(s.status, s.error_type) for s in run.steps] == [
        (StepStatus.FAILED, "replay_divergence"),
        (StepStatus.COMPLETED, None),
        (StepStatus.FAILED, "KeyError"),
    ]
    assert run.steps[1].notes == ("live_call: the real model answered; what it cost is not counted",)
    assert run.error_count == 2


def test_a_replay_that_went_on_with_the_real_model_is_a_fork_from_there() -> None:
    changed = DivergenceKind.REQUEST_CHANGED
    live = StepDivergence(kind=changed, call_index=3, resolution=Resolution.LIVE)
    tool_ran = StepDivergence(kind=DivergenceKind.TOOL_RESULT_CHANGED, call_index=2, resolution=Resolution.LIVE)
    run, made = run_of_replay(RECORDED, REPLAY_ID, [], [], ENDING, differences=[tool_ran, live])
    assert (run.replay_of, run.fork_of, run.fork_at) == (RUN_ID, RUN_ID, 3)
    assert made.run.fork_at == 3
    refused = StepDivergence(kind=changed, call_index=1, resolution=Resolution.REFUSED)
    assert run_of_replay(RECORDED, REPLAY_ID, [], [], ENDING, differences=[tool_ran, refused])[0].fork_of is None


def test_a_program_that_failed_or_was_interrupted_is_a_run_that_was() -> None:
    failed = Ending(started_ns=START_NS, ended_ns=START_NS, failed="exit status 3")
    run, _ = run_of_replay(RECORDED, REPLAY_ID, [], [weather(1, ended=False)], failed)
    assert (run.status, run.status_message, run.steps[0].status) == (
        RunStatus.FAILED,
        "exit status 3",
        StepStatus.RUNNING,
    )
    cancelled = Ending(started_ns=START_NS, ended_ns=START_NS, failed="ended by SIGINT", cancelled=True)
    assert run_of_replay(RECORDED, REPLAY_ID, [], [], cancelled)[0].status is RunStatus.CANCELLED
