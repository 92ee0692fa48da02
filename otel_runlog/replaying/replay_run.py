"""A replay as a run of its own: what was asked of it and answered becomes steps, and a capture that replays again."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, cast

import msgspec

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool, ToolSource
from otel_runlog.counting import sum_of
from otel_runlog.fingerprint import fingerprint_of, lane_of
from otel_runlog.model import (
    AgentUsage,
    Attributes,
    Content,
    RunLog,
    RunStatus,
    Step,
    StepKind,
    StepStatus,
    Usage,
    UsageSource,
    utc,
)
from otel_runlog.replaying.divergence import DivergenceKind, Resolution, StepDivergence
from otel_runlog.replaying.exchanges import Exchange
from otel_runlog.replaying.tool_door import ToolExchange
from otel_runlog.runs import cost_of_run

CONVENTION: Final = "replay"
"""What `steps.convention` says of calls that were not read from a span."""
TOOL_RESULT_CHANGED: Final = DivergenceKind.TOOL_RESULT_CHANGED
"""The one difference that may be live without a call that was not recorded: a tool that was told to run."""


class Ending(msgspec.Struct, frozen=True, kw_only=True):
    """When a replay began and ended (Unix time in ns), and how its program failed; None: it did not."""

    started_ns: int
    ended_ns: int
    failed: str | None = None
    cancelled: bool = False


def run_of_replay(
    recorded: Capture,
    replay_run_id: str,
    asked: Sequence[Exchange],
    tools: Sequence[ToolExchange],
    ending: Ending,
    *,
    differences: Sequence[StepDivergence] = (),
) -> tuple[RunLog, Capture]:
    """The replay as a run (`replay_of` is the recorded one's id, its cost is 0), and its capture.

    Its calls are those that came to the replay: what the program did without asking it is not among them. Where a real
    model or tool answered what was not recorded, it is a fork from there on.

    Args:
        recorded: what was replayed.
        replay_run_id: the run's id.
        asked: the requests to models.
        tools: the calls of tools.
        ending: when, and how it ended.
        differences: what the replay was told to be different.
    """
    calls: list[Exchange | ToolExchange] = sorted([*asked, *tools], key=lambda c: (c.started_ns, c.number))
    about = _Recorded(recorded)
    steps = tuple(_step(call, n, replay_run_id, about) for n, call in enumerate(calls, 1))
    run = _run(recorded.run, replay_run_id, steps, ending)
    live = [d for d in differences if d.resolution is Resolution.LIVE and d.kind is not TOOL_RESULT_CHANGED]
    if live:
        run.fork_of, run.fork_at = recorded.run_id, live[0].call_index
    numbered = list(enumerate(calls, 1))
    llm = _captured_llm([(n, call) for n, call in numbered if isinstance(call, Exchange)], about)
    return run, Capture(
        run_id=replay_run_id,
        captured_at=run.finished_at or recorded.captured_at,
        completeness=Content.FULL,
        run=run,
        llm_io=llm,
        tool_io=tuple(_captured_tool(n, call) for n, call in numbered if isinstance(call, ToolExchange)),
        memory_ref=recorded.memory_ref,
        price_table=recorded.price_table,
        redaction=recorded.redaction,
    )


class _Recorded:
    """What the recording says of a call that a replay's own words do not: its agent and its provider."""

    def __init__(self, capture: Capture) -> None:
        self._calls = {call.call_index: call for call in capture.llm_io}
        self._agents = {step.call_index: step.agent for step in capture.run.steps if step.counted}
        self._run_agent = capture.run.agent

    def call(self, call: Exchange) -> CapturedLlm | None:
        return None if call.call_index is None else self._calls.get(call.call_index)

    def agent(self, call: Exchange | ToolExchange) -> str | None:
        return self._agents.get(call.call_index, self._run_agent)


def _run(recorded: RunLog, run_id: str, steps: tuple[Step, ...], ending: Ending) -> RunLog:
    kinds = Counter(step.kind for step in steps)
    calls = kinds[StepKind.LLM] + kinds[StepKind.EMBEDDING]
    tokens = sum_of(step.usage for step in steps)
    run = RunLog(
        run_id=run_id,
        agent=recorded.agent,
        started_at=utc(ending.started_ns),
        finished_at=utc(ending.ended_ns),
        status=_status(ending),
        status_message=ending.failed,
        steps=steps,
        tokens=tokens,
        cost_estimate=cost_of_run([], missing=0, replayed=True),
        session_id=recorded.session_id,
        trace_id=run_id,
        service=recorded.service,
        step_count=len(steps),
        llm_calls=calls,
        tool_calls=kinds[StepKind.TOOL],
        error_count=sum(step.status is StepStatus.FAILED for step in steps),
        models=tuple(sorted({step.model for step in steps if step.model})),
        replay_of=recorded.run_id,
    )
    run.agents = tuple(_agents(run))
    return run


def _status(ending: Ending) -> RunStatus:
    if ending.cancelled:
        return RunStatus.CANCELLED
    return RunStatus.COMPLETED if ending.failed is None else RunStatus.FAILED


def _agents(run: RunLog) -> Iterable[AgentUsage]:
    top = run.agent or "(unnamed)"
    by_name: dict[str, list[Step]] = {top: []}
    for step in run.steps:
        by_name.setdefault(step.agent or top, []).append(step)
    for name, steps in by_name.items():
        own = sum_of(step.usage for step in steps)
        parent, depth, inclusive = (None, 0, run.tokens) if name == top else (top, 1, own)
        yield AgentUsage(name, parent, depth, len(steps), own, None, inclusive, None)


def _step(call: Exchange | ToolExchange, number: int, run_id: str, about: _Recorded) -> Step:
    step = Step(
        trace_id=run_id,
        span_id=hashlib.sha256(f"{run_id}:{number}".encode()).hexdigest()[:16],
        kind=StepKind.TOOL,
        run_id=run_id,
        step_index=number,
        call_index=number,
        agent=about.agent(call),
        status=_step_status(call),
        error_type=call.error.type if call.error else None,
        error_message=call.error.message if call.error else None,
        started_ns=call.started_ns,
        ended_ns=call.ended_ns,
        counted=True,
        convention=CONVENTION,
    )
    if isinstance(call, ToolExchange):
        step.name, step.tool_name = call.name, call.name
    else:
        _describe(step, call, about.call(call))
    return step


def _step_status(call: Exchange | ToolExchange) -> StepStatus:
    if call.error is not None:
        return StepStatus.FAILED
    return StepStatus.RUNNING if call.ended_ns is None else StepStatus.COMPLETED


def _describe(step: Step, call: Exchange, recorded: CapturedLlm | None) -> None:
    """Fill what a model call has and a tool call has not."""
    answer, request = call.answer, call.request
    step.kind = StepKind.EMBEDDING if request.operation == "embedding" else StepKind.LLM
    step.provider = recorded.provider if recorded else None
    step.request_model, step.response_model = request.model, answer.model if answer else None
    step.model = step.response_model or step.request_model
    step.name = f"{request.operation} {step.request_model or step.model or ''}".rstrip()
    step.response_id, step.streaming = call.response_id, call.streamed
    step.usage = (answer.usage if answer else None) or Usage()
    step.usage_source = UsageSource.SPAN if step.usage else UsageSource.NONE
    step.finish_reason = str(answer.finish_reason) if answer and answer.finish_reason else None
    step.params = cast("Attributes", dict(request.params))
    step.content = Content.FULL
    if call.resolution is Resolution.LIVE:
        step.notes = ("live_call: the real model answered; what it cost is not counted",)


def _captured_llm(calls: Sequence[tuple[int, Exchange]], about: _Recorded) -> tuple[CapturedLlm, ...]:
    seen: Counter[str] = Counter()
    found = []
    for number, call in calls:
        fingerprint = fingerprint_of(call.request)
        seen[fingerprint] += 1
        recorded, answer = about.call(call), call.answer
        found.append(
            CapturedLlm(
                step_index=number,
                call_index=number,
                operation=call.request.operation,
                fingerprint=fingerprint,
                occurrence=seen[fingerprint],
                lane=lane_of(call.request),
                request=call.request,
                answer=answer,
                error=call.error,
                completeness=Content.FULL,
                response_id=call.response_id,
                provider=recorded.provider if recorded else None,
                model=call.request.model,
                model_version=answer.model if answer else None,
                params=call.request.params,
            )
        )
    return tuple(found)


def _captured_tool(number: int, call: ToolExchange) -> CapturedTool:
    return CapturedTool(
        name=call.name,
        step_index=number,
        call_index=number,
        arguments=call.arguments,
        result=call.result,
        error=call.error,
        source=ToolSource.SPAN if call.is_known else None,
    )
