"""What a client or tool gives now beside what was recorded, byte for byte. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool
from otel_runlog.conversation import CallError, CallPart, Json, LlmAnswer
from otel_runlog.replaying.comparing import JsonDifference, first_difference


def in_call_order(capture: Capture) -> list[CapturedLlm | CapturedTool]:
    """Calls as they were made: by call_index, tool calls without one after the model call that asked for them."""
    last = capture.llm_io[-1].call_index if capture.llm_io else 0
    placed: list[tuple[tuple[int, int], CapturedLlm | CapturedTool]] = []
    placed += [((call.call_index, 0), call) for call in capture.llm_io]
    for tool in capture.tool_io:
        after = last if tool.after_call is None else tool.after_call
        placed.append(((after, 1) if tool.call_index is None else (tool.call_index, 0), tool))
    return [call for _, call in sorted(placed, key=lambda item: item[0])]


def answer_difference(recorded: LlmAnswer, got: LlmAnswer) -> JsonDifference | None:
    """Where an answer is another one: text, tool calls, vectors where both have them. Thoughts play no part."""
    if recorded.text != got.text:
        return JsonDifference("text", recorded.text, got.text)
    if recorded.vectors is not None and got.vectors is not None and recorded.vectors != got.vectors:
        return first_difference({"vectors": _listed(recorded)}, {"vectors": _listed(got)})
    return _calls_difference(recorded.tool_calls, got.tool_calls)


def _listed(answer: LlmAnswer) -> Json:
    return [list(vector) for vector in answer.vectors or ()]


def _calls_difference(recorded: Sequence[CallPart], got: Sequence[CallPart]) -> JsonDifference | None:
    """Ids count where they were recorded."""
    both = [(_call(one), _call(other, with_id=one.id is not None)) for one, other in zip(recorded, got, strict=False)]
    then: list[Json] = [*(one for one, _ in both), *map(_call, recorded[len(both) :])]
    now: list[Json] = [*(other for _, other in both), *map(_call, got[len(both) :])]
    return first_difference({"calls": then}, {"calls": now})


def _call(call: CallPart, *, with_id: bool = True) -> Json:
    own: dict[str, Json] = {"name": call.name, "args": call.arguments}
    return own if call.id is None and with_id else own | ({"id": call.id} if with_id else {})


def error_text(error: CallError) -> str:
    """An error as its type and message."""
    return ": ".join(text for text in (error.type, error.message) if text) or "an error"
