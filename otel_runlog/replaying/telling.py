"""Says how a model call differs from the recording, as a StepDivergence. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from otel_runlog.capture import CapturedLlm, CapturedTool
from otel_runlog.conversation import LlmRequest
from otel_runlog.fingerprint import Difference, first_difference
from otel_runlog.model import Content
from otel_runlog.replaying.divergence import Cause, DivergenceKind, ReplayMode, Resolution, StepDivergence
from otel_runlog.replaying.drift import Drift
from otel_runlog.replaying.recording import Recording, last_said

RESOLUTIONS: Final = {
    ReplayMode.STRICT: Resolution.REFUSED,
    ReplayMode.SOFT: Resolution.NEAREST,
    ReplayMode.LIVE: Resolution.LIVE,
}
"""What the asker of a call gets that was not recorded."""


class Telling:
    """Numbers are those of the recording's model calls.

    Args:
        recording: what was recorded.
        mode: what the asker gets.
        how_it_ran: says of a recorded tool call what became of it in the replay, as "ran for real".
        unlike: why a text may differ from a recorded one that was the same, as that its redactor is not known.
    """

    def __init__(
        self,
        recording: Recording,
        mode: ReplayMode,
        how_it_ran: Callable[[CapturedTool], str],
        unlike: str | None = None,
    ) -> None:
        self._recording, self.mode, self._how_it_ran, self._unlike = recording, mode, how_it_ran, unlike

    def changed(self, asked: LlmRequest, lane: str, number: int) -> StepDivergence:
        """This request came in the place of that call."""
        call = self._recording.calls[number]
        if call.operation != asked.operation:
            return self._about(
                call,
                DivergenceKind.KIND_CHANGED,
                path="operation",
                recorded=call.operation,
                got=asked.operation,
                nearest=call.call_index,
                lane=lane,
                resolution=RESOLUTIONS[self.mode],
            )
        found = None if call.request is None else first_difference(call.request, asked)
        return self._about(
            call,
            DivergenceKind.REQUEST_CHANGED,
            path=found.path if found else "",
            recorded=found.recorded if found else None,
            got=found.got if found else last_said(asked),
            cause=found.cause if found else None,
            nearest=call.call_index,
            shared_turns=self._recording.shared_turns(number, asked),
            lane=lane,
            resolution=RESOLUTIONS[self.mode],
            detail=self._detail(call, found),
        )

    def repeated(self, asked: LlmRequest, numbers: Sequence[int]) -> StepDivergence:
        """This request was recorded, as these calls, and all of them have come."""
        last = self._recording.calls[numbers[-1]]
        return self._about(
            last,
            DivergenceKind.REPEATED,
            got=last_said(asked),
            nearest=last.call_index,
            resolution=RESOLUTIONS[self.mode],
            detail=f"exhausted: already served {len(numbers)} of {len(numbers)}",
        )

    def one_more(self, asked: LlmRequest, lane: str, nearest: int | None) -> StepDivergence:
        """This request came and no recorded call is left in whose place it could stand."""
        call = None if nearest is None else self._recording.calls[nearest]
        is_refused = call is None and self.mode is ReplayMode.SOFT
        count = sum(1 for recorded in self._recording.calls if recorded.operation == asked.operation)
        step = _step(asked.operation)
        return StepDivergence(
            kind=DivergenceKind.EXTRA_CALL,
            got=last_said(asked),
            nearest=None if call is None else call.call_index,
            shared_turns=None if nearest is None else self._recording.shared_turns(nearest, asked),
            lane=lane,
            agent=self._recording.agent_of_lane(lane),
            step=step,
            resolution=Resolution.REFUSED if is_refused else RESOLUTIONS[self.mode],
            detail=f"exhausted: all {count} recorded {step} calls had come"
            if count
            else f"no {step} call was recorded",
        )

    def missing(self, number: int) -> StepDivergence:
        """That call never came."""
        call = self._recording.calls[number]
        return self._about(call, DivergenceKind.MISSING_CALL, recorded=last_said(call.request))

    def lacking(self, number: int) -> StepDivergence:
        """That call came, and the capture does not have its answer."""
        call = self._recording.calls[number]
        return self._about(
            call,
            DivergenceKind.ANSWER_CHANGED,
            path="answer",
            resolution=Resolution.LIVE if self.mode is ReplayMode.LIVE else Resolution.REFUSED,
            detail="the capture does not have its answer",
        )

    def drifted(self, call: CapturedLlm, drift: Drift) -> StepDivergence:
        """That call came with another model, tool schema or parameter."""
        facts = drift._asdict() | {"resolution": Resolution.SERVED}
        return self._about(call, facts.pop("kind"), **facts)

    def _about(self, call: CapturedLlm, kind: DivergenceKind, **facts: Any) -> StepDivergence:
        return StepDivergence(
            kind=kind,
            call_index=call.call_index,
            agent=self._recording.agents.get(call.step_index),
            step=_step(call.operation),
            **({"lane": call.lane} | facts),
        )

    def _detail(self, call: CapturedLlm, found: Difference | None) -> str | None:
        if call.request is None:
            return "its request was not recorded"
        if found is None:
            return "it says what JSON cannot say"
        if self._unlike is not None:
            return self._unlike
        if found.cause is Cause.TOOL_RESULT:
            return self._result_detail(call.request, found.path)
        return "it was recorded in part only" if call.completeness is Content.TRUNCATED else None

    def _result_detail(self, request: LlmRequest, path: str) -> str | None:
        tool = self._recording.tool_of_result(request, path)
        if tool is None:
            return None
        where = "" if tool.call_index is None else f" (call {tool.call_index})"
        return f"result of tool {tool.name}{where}, which {self._how_it_ran(tool)}"


def _step(operation: str) -> Any:
    return "embedding" if operation == "embedding" else "llm"
