"""The tool calls of a run as a capture holds them. Pure.

What a tool gave stands on its own span, and again in the prompt of the model call that follows the one that asked for
it. So a result that no span carries is taken from there, and a client's loop that has no spans of its tools at all is
told whole: the answer says what was called with what, the next prompt what came of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from otel_runlog.capture import CapturedLlm, CapturedTool, ToolSource
from otel_runlog.captures._calls import error_of
from otel_runlog.captures._told import NOTHING, Told, ToldTool
from otel_runlog.conventions.turns import arguments_of, result_of, text_of
from otel_runlog.conversation import CallError, CallPart, Json, ResultPart, Turn
from otel_runlog.llm_io import StepMessages, io_of
from otel_runlog.model import LlmIo, Message, RunLog, Step, StepKind

_TOOL = frozenset({StepKind.TOOL})


class _Asked(msgspec.Struct, eq=False):
    """A tool call that an answer asks for. `result`: what the next prompt, of call `told_in`, says of it."""

    call_index: int
    part: CallPart
    told_in: int | None = None
    result: ResultPart | None = None
    taken: bool = False

    def tell(self, result: ResultPart, call_index: int) -> None:
        self.result, self.told_in = result, call_index

    def may_be(self, tool: CapturedTool) -> bool:
        """Whether a step came between the call that asks and the one that knows the result."""
        at = tool.call_index or 0
        return self.call_index < at and (self.told_in is None or at < self.told_in)


def tools_of(
    run: RunLog, messages: StepMessages, calls: Sequence[CapturedLlm], by_hand: Told = NOTHING
) -> list[CapturedTool]:
    """One entry for each counted tool step, and for each call without a step whose result is known, in order."""
    asked = _asked_in(calls)
    told = [_tool(step, io, messages, by_hand) for step, io in io_of(run, messages, _TOOL)]
    askers = _askers(told, asked)
    tools = [_with_asked(tool, askers[i]) if i in askers else tool for i, tool in enumerate(told)]
    bare = [_with_asked(_bare(a), a) for a in asked if not a.taken and a.result is not None]
    return sorted([*tools, *bare], key=_place)


def _place(tool: CapturedTool) -> tuple[int, int]:
    return (tool.after_call or 0, 1) if tool.call_index is None else (tool.call_index, 0)


def _tool(step: Step, io: LlmIo, messages: StepMessages, by_hand: Told) -> CapturedTool:
    said = by_hand.get((step.trace_id, step.span_id))
    said = said if isinstance(said, ToldTool) else _carried(step, io, messages)
    return CapturedTool(
        name=step.tool_name or step.name,
        step_index=step.step_index,
        call_index=step.call_index,
        call_id=step.tool_call_id,
        arguments=said.arguments,
        result=said.result,
        error=said.error,
        source=ToolSource.SPAN if said.has_result or said.error else None,
    )


def _carried(step: Step, io: LlmIo, messages: StepMessages) -> ToldTool:
    """What the step's span says."""
    span = messages.span_of(step)
    error = error_of(step, span.attributes if span else {})
    has_result = bool(io.output) and error is None
    return ToldTool(
        arguments=arguments_of(_said(io.input)) if io.input else None,
        result=result_of(_said(io.output)) if has_result else None,
        error=error,
        has_result=has_result,
    )


def _said(messages: Sequence[Message]) -> str:
    return "\n".join([m.text for m in messages])


def _bare(asked: _Asked) -> CapturedTool:
    return CapturedTool(name=asked.part.name)


def _with_asked(tool: CapturedTool, asked: _Asked) -> CapturedTool:
    """A tool call with what its span lacks, from the answer that asked for it and the prompt that told its result."""
    result, source = asked.result, tool.source
    recovered = tool.result
    error = tool.error
    if source is None and result is not None:
        source = ToolSource.NEXT_REQUEST
        recovered = None if result.is_error else result.value
        error = CallError(message=text_of(result.value)) if result.is_error else None
    return msgspec.structs.replace(
        tool,
        after_call=asked.call_index,
        call_id=tool.call_id or asked.part.id,
        arguments=_arguments(tool, asked.part),
        result=recovered,
        error=error,
        source=source,
    )


def _arguments(tool: CapturedTool, part: CallPart) -> Json:
    """By name, where either says so: LangChain's spans of a tool with one argument have its value alone."""
    if tool.arguments is None or (isinstance(part.arguments, dict) and not isinstance(tool.arguments, dict)):
        return part.arguments
    return tool.arguments


def _asked_in(calls: Sequence[CapturedLlm]) -> list[_Asked]:
    """The tool calls that answers ask for, in order, with the results that later prompts tell."""
    by_id = _results_by_id(calls)
    parts = [call.answer.tool_calls if call.answer else () for call in calls]
    ids = {part.id for asked_for in parts for part in asked_for}
    found = []
    for number, call in enumerate(calls):
        asked = [_Asked(call.call_index, part) for part in parts[number]]
        for place, one in enumerate(asked):
            before = sum(1 for other in asked[:place] if other.part.id == one.part.id)
            told = [t for t in by_id.get(one.part.id or "", ()) if t[0] > call.call_index]
            told = [t for t in told if t[0] == told[0][0]][before:]
            if told:
                one.tell(told[0][1], told[0][0])
        if any(one.result is None for one in asked):
            _tell_by_order(asked, call, calls[number + 1 :], ids)
        found += asked
    return found


def _results_by_id(calls: Sequence[CapturedLlm]) -> dict[str, list[tuple[int, ResultPart]]]:
    """Results by the id of the call they answer, each where it came first; an id may be used again."""
    found: dict[str, list[tuple[int, ResultPart]]] = {}
    seen = set[int]()
    for call in calls:
        turns = call.request.turns if call.request else ()
        new = [turn for turn in turns if id(turn) not in seen]
        seen.update(map(id, new))
        for result in _results(new):
            if result.id:
                found.setdefault(result.id, []).append((call.call_index, result))
    return found


def _results(turns: Iterable[Turn]) -> list[ResultPart]:
    return [part for turn in turns for part in turn.parts if isinstance(part, ResultPart)]


def _tell_by_order(
    asked: list[_Asked], call: CapturedLlm, later: Sequence[CapturedLlm], ids: Collection[str | None]
) -> None:
    """Give calls the results of the next prompt of the conversation that name no call: by tool, else in order.

    `ids` are those of all calls that were asked for: an answer that was dropped and asked for again has no results.
    """
    for following in later:
        results = [r for r in _results(_news(call, following)) if not r.id or r.id not in ids]
        for result in results:
            waiting = [one for one in asked if one.result is None]
            named = [one for one in waiting if result.name in (None, one.part.name)]
            if waiting:
                (named or waiting)[0].tell(result, following.call_index)
        if results:
            return


def _news(call: CapturedLlm, following: CapturedLlm) -> tuple[Turn, ...]:
    """The turns of a request that the one before it did not have; none where it is of another conversation."""
    before, after = call.request, following.request
    if after is None:
        return ()
    if after.previous is not None:
        return after.turns if after.previous == call.fingerprint else ()
    if before is None:
        return ()
    count = len(before.turns)
    return after.turns[count:] if after.turns[:count] == before.turns else ()


def _askers(tools: Sequence[CapturedTool], asked: Sequence[_Asked]) -> dict[int, _Asked]:
    """Which call that was asked for each tool step is, by its place: the surest signs first, each call once.

    A step's name may be its wrapper's (`call_tool`), so that in the end what is left over goes together in order.
    """
    found: dict[int, _Asked] = {}
    for same, in_time in _SIGNS:
        for place, tool in enumerate(tools):
            if place in found:
                continue
            fits = (a for a in asked if not a.taken and same(a.part, tool) and (a.may_be(tool) or not in_time))
            if (one := next(fits, None)) is not None:
                found[place], one.taken = one, True
    return found


def _same_id(part: CallPart, tool: CapturedTool) -> bool:
    return part.id is not None and part.id == tool.call_id


def _same_call(part: CallPart, tool: CapturedTool) -> bool:
    return part.name == tool.name and part.arguments == tool.arguments


def _same_name(part: CallPart, tool: CapturedTool) -> bool:
    return part.name == tool.name


def _any_name(part: CallPart, tool: CapturedTool) -> bool:
    return part.id is None or tool.call_id is None


_SIGNS = (
    (_same_id, True),
    (_same_id, False),
    (_same_call, True),
    (_same_name, True),
    (_same_call, False),
    (_any_name, True),
)
"""By what a step and a call that was asked for go together, and whether the step must come between the two prompts:
where clocks tick in milliseconds a tool can seem to have run before it was asked for (AI SDK)."""
