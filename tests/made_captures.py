"""A capture made by hand: two turns of a conversation with a tool, a call that failed, one without content, vectors."""

import datetime as dt

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool, PriceTableRef, ToolSource
from otel_runlog.conversation import (
    CallError,
    CallPart,
    FinishReason,
    LlmAnswer,
    LlmRequest,
    ResultPart,
    Role,
    TextPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.fingerprint import fingerprint_of, lane_of
from otel_runlog.model import Content, RunLog, Step, StepKind, Usage

NOON = dt.datetime(2026, 11, 5, 12, 0, 0, 123456, tzinfo=dt.UTC)
NOON_NS = 1_793_880_000_123_456_000
RUN = "ab" * 16
TRACE = "7a" * 16
SYSTEM = Turn(Role.SYSTEM, (TextPart("You help."),))
QUESTION = Turn(Role.USER, (TextPart("How warm is Paris?"),))
ASKS = Turn(Role.ASSISTANT, (TextPart("Let me see."), CallPart("weather", {"city": "Paris", "unit": None}, "c1")))
RESULT = Turn(Role.TOOL, (ResultPart({"celsius": 18, "wind": None}, "c1"),))
WEATHER = ToolDefinition("weather", "How warm a city is.", {"type": "object"})


def a_step(run_id, index, kind=StepKind.LLM, **more):
    return Step(
        TRACE, f"{index:016x}", kind, f"step {index}", run_id, index, index,
        started_ns=NOON_NS + index * 1_000_000, ended_ns=NOON_NS + index * 1_000_000 + 500_000, counted=True, **more,
    )  # fmt: skip


def a_run(run_id=RUN, **changes):
    kinds = (StepKind.LLM, StepKind.TOOL, StepKind.LLM, StepKind.LLM, StepKind.EMBEDDING)
    steps = tuple(a_step(run_id, index, kind) for index, kind in enumerate(kinds, 1))
    fields = {
        "agent": "planner",
        "started_at": NOON,
        "finished_at": NOON + dt.timedelta(seconds=2),
        "steps": steps,
        "trace_id": TRACE,
        "step_count": 5,
        "llm_calls": 4,
        "tool_calls": 1,
    }
    return RunLog(run_id, **(fields | changes))


def a_call(index, request=None, **more):
    if request is not None:
        more |= {"fingerprint": fingerprint_of(request), "lane": lane_of(request), "completeness": Content.FULL}
    return CapturedLlm(step_index=index, call_index=index, request=request, **more)


def a_capture(run_id=RUN, **changes):
    first = LlmRequest(turns=(SYSTEM, QUESTION), model="m-std", tools=(WEATHER,), params={"temperature": 1.0})
    second = LlmRequest(turns=(SYSTEM, QUESTION, ASKS, RESULT), model="m-std", tools=())
    vectors = LlmRequest(operation="embedding", inputs=("Paris",), model="m-vec")
    answer = LlmAnswer(
        parts=ASKS.parts, finish_reason=FinishReason.TOOL_CALL, response_id="r1", model="m-1", usage=Usage(10, 2)
    )
    fields = {
        "captured_at": NOON + dt.timedelta(hours=1),
        "completeness": Content.NONE,
        "run": a_run(run_id),
        "llm_io": (
            a_call(1, first, answer=answer, response_id="r1", provider="acme", model="m-std", model_version="m-1",
                   seed=7, params={"temperature": 1.0}),
            a_call(3, second, error=CallError("Overloaded", "come back later", 529), model_version="m-2"),
            a_call(4),
            a_call(5, vectors, answer=LlmAnswer(vectors=((0.5, 1.0),)), operation="embedding"),
        ),
        "tool_io": (
            CapturedTool(
                name="weather", step_index=2, call_index=2, after_call=1, call_id="c1",
                arguments={"city": "Paris", "unit": None}, result={"celsius": 18, "wind": None}, source=ToolSource.SPAN,
            ),
            CapturedTool(name="unheard"),
        ),
        "price_table": PriceTableRef("acme", "2026-11"),
    }  # fmt: skip
    return Capture(run_id=run_id, **(fields | changes))
