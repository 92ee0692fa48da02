"""The recorded run of `replay_agent.py`: case 28 of what replays must tell apart."""

from __future__ import annotations

import msgspec
from replays import RUN_ID, answer, call, capture, request

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool, ToolSource
from otel_runlog.model import RunLog, Step, StepKind, utc

START_NS = 1_795_910_400_000_000_000


def letters() -> Capture:
    """Two identical prompts with two answers, then two calls of a tool at once."""
    asked = msgspec.structs.replace(request("Say a letter.", system="You are brief."), params={"temperature": 1})
    calls = [call(n, asked, answer(text), occurrence=n) for n, text in ((1, "x"), (2, "y"))]
    tools = [_tool(n, {"n": n - 2}, result) for n, result in ((3, 10), (4, 20))]
    steps = tuple(_step(each) for each in (*calls, *tools))
    run = RunLog(
        RUN_ID,
        agent="speller",
        started_at=utc(START_NS),
        finished_at=utc(START_NS + 5),
        steps=steps,
        trace_id=steps[0].trace_id,
        step_count=4,
        llm_calls=2,
        tool_calls=2,
    )
    return msgspec.structs.replace(capture(*calls, tool_io=tuple(tools)), run=run)


def _tool(number: int, arguments: dict[str, int], result: int) -> CapturedTool:
    source = ToolSource.SPAN
    return CapturedTool(
        name="t", step_index=number, call_index=number, arguments=dict(arguments), result=result, source=source
    )


def _step(each: CapturedLlm | CapturedTool) -> Step:
    number = each.call_index or 0
    is_tool = isinstance(each, CapturedTool)
    return Step(
        trace_id="7" * 32,
        span_id=f"{number:016x}",
        kind=StepKind.TOOL if is_tool else StepKind.LLM,
        run_id=RUN_ID,
        name="t" if is_tool else "chat m-1",
        step_index=number,
        call_index=number,
        agent="speller",
        started_ns=START_NS + number,
        ended_ns=START_NS + number + 1,
        counted=True,
    )
