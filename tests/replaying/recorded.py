"""Captures made by hand, as a recorded run would give them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import msgspec

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool, ToolSource
from otel_runlog.conversation import (
    CallError,
    CallPart,
    Json,
    LlmAnswer,
    LlmRequest,
    Part,
    ResultPart,
    Role,
    TextPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.fingerprint import fingerprint_of, lane_of
from otel_runlog.model import Content, RunLog, Step, StepKind

RUN_ID = "3f2a9c0157d84e6f9a0b1c2d3e4f5061"
SYSTEM = "You are a planner."
AT = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)
WEATHER = ToolDefinition("weather", "the weather", {"type": "object", "properties": {"city": {"type": "string"}}})


def system(text: str = SYSTEM) -> Turn:
    return Turn(Role.SYSTEM, (TextPart(text),))


def user(text: str) -> Turn:
    return Turn(Role.USER, (TextPart(text),))


def assistant(text: str = "", *calls: CallPart) -> Turn:
    return Turn(Role.ASSISTANT, (*([TextPart(text)] if text else []), *calls))


def calls(name: str, arguments: Json, id: str | None = None) -> CallPart:  # noqa: A002
    return CallPart(name, arguments, id)


def result(value: Json, id: str | None = None) -> Turn:  # noqa: A002
    return Turn(Role.TOOL, (ResultPart(value, id),))


def asks(*turns: Turn | str, model: str = "gpt-5", params: dict[str, Json] | None = None, **more: object) -> LlmRequest:
    """A request of the planner: its instructions and these turns (a text is the user's)."""
    said = tuple(user(turn) if isinstance(turn, str) else turn for turn in turns)
    return LlmRequest(turns=(system(), *said), model=model, params=params or {}, tools=(WEATHER,), **more)


def says(*parts: Part | str, id: str | None = None) -> LlmAnswer:  # noqa: A002
    return LlmAnswer(parts=tuple(TextPart(p) if isinstance(p, str) else p for p in parts), response_id=id)


def llm(request: LlmRequest | None, answer: LlmAnswer | CallError | str | None) -> CapturedLlm:
    """A model call; `capture` gives it its numbers."""
    given = says(answer) if isinstance(answer, str) else answer
    is_known = request is not None
    return CapturedLlm(
        step_index=0,
        call_index=0,
        operation="chat" if request is None else request.operation,
        fingerprint=fingerprint_of(request) if request is not None else None,
        lane=lane_of(request) if request is not None else None,
        request=request,
        answer=given if isinstance(given, LlmAnswer) else None,
        error=given if isinstance(given, CallError) else None,
        response_id=given.response_id if isinstance(given, LlmAnswer) else None,
        completeness=Content.FULL if is_known else Content.ANSWER,
    )


def tool(
    name: str,
    arguments: Json,
    value: Json = None,
    *,
    id: str | None = None,  # noqa: A002
    error: CallError | None = None,
) -> CapturedTool:
    return CapturedTool(name=name, arguments=arguments, result=value, error=error, call_id=id, source=ToolSource.SPAN)


def capture(*recorded: CapturedLlm | CapturedTool, agent: str | None = "planner", **more: object) -> Capture:
    """The calls in the order given; call_index counts them from 1, and the agent's own step is the first one."""
    steps = [Step(trace_id="", span_id="", kind=StepKind.AGENT, step_index=1, agent=agent)]
    numbered: list[CapturedLlm | CapturedTool] = []
    for index, call in enumerate(recorded, 1):
        kind = StepKind.TOOL if isinstance(call, CapturedTool) else StepKind.LLM
        steps.append(Step(trace_id="", span_id="", kind=kind, step_index=index + 1, call_index=index, agent=agent))
        numbered.append(msgspec.structs.replace(call, step_index=index + 1, call_index=index))
    llm_io = [call for call in numbered if isinstance(call, CapturedLlm)]
    return Capture(
        run_id=RUN_ID,
        captured_at=AT,
        completeness=Content.FULL,
        run=RunLog(run_id=RUN_ID, agent=agent, steps=tuple(steps)),
        llm_io=_with_occurrences(llm_io),
        tool_io=tuple(call for call in numbered if isinstance(call, CapturedTool)),
        **more,
    )


def _with_occurrences(given: Sequence[CapturedLlm]) -> tuple[CapturedLlm, ...]:
    prints = [call.fingerprint for call in given]
    return tuple(
        msgspec.structs.replace(call, occurrence=1 if own is None else prints[: i + 1].count(own))
        for i, (call, own) in enumerate(zip(given, prints, strict=True))
    )
