"""Gives what was asked in a recorded run to a client and to tools again, and compares what they give. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool
from otel_runlog.conventions.turns import result_of
from otel_runlog.conversation import CallError, Json, LlmAnswer
from otel_runlog.errors import CaptureMissingError, ConfigError, NoLlmCall, ReplayExhausted, ReplayMismatch
from otel_runlog.replaying.answers import answer_difference, error_text, in_call_order
from otel_runlog.replaying.comparing import JsonDifference, first_difference
from otel_runlog.replaying.divergence import (
    DivergenceKind,
    DivergenceReport,
    ReplayMode,
    ReproVerdict,
    Resolution,
    StepDivergence,
    error_for,
    mode_of,
)
from otel_runlog.replaying.doors import LlmClient, Steps, ToolInvoker, answer_from
from otel_runlog.replaying.normalising import Normaliser, Redact, redaction_unknown, redactor_for
from otel_runlog.replaying.report import calls_named, head_of
from otel_runlog.replaying.tool_values import to_json

Call = CapturedLlm | CapturedTool


class Told(Protocol):
    """What is told while the calls are made; it may raise, which ends the replay."""

    def same(self) -> None:
        """A call gave what was recorded."""

    def differs(self, call: Call, found: JsonDifference, error: Exception | None) -> None:
        """A call gave something else, or failed by this error."""

    def unseen(self, call: Call, what: str) -> None:
        """A call cannot be compared: its `request`, `answer` or `result` was not recorded."""


def ask_again(
    capture: Capture, llm: LlmClient, tools: ToolInvoker | None, told: Told, redact: Redact | None
) -> Steps[str]:
    """Make all calls, in the order in which they were made; gives the text of the last answer.

    What comes is redacted as the recording was before it is compared.

    Raises:
        NoLlmCall: the capture has no model call.
        ConfigError: the recording's rules of redaction cannot be applied here.
    """
    normaliser = Normaliser(redactor_for(capture, redact))
    if not capture.llm_io:
        raise NoLlmCall(f"the run {capture.run_id} has no model call that could be replayed")
    text = ""
    for call in in_call_order(capture):
        if isinstance(call, CapturedTool):
            if tools is not None:
                yield from _tool_again(call, tools, told, normaliser)
            continue
        answer = yield from _llm_again(call, llm, told, normaliser)
        if answer is not None and call.operation == "chat":
            text = answer.text
    return text


class Came(NamedTuple):
    """What a call gave: a value, or the error that it failed by."""

    value: object = None
    error: Exception | None = None

    @property
    def said(self) -> Json:
        """The error as text; None where there is none."""
        return None if self.error is None else error_text(CallError(type(self.error).__name__, str(self.error)))


def _came_of(ask: Callable[[], object]) -> Steps[Came]:
    try:
        return Came((yield ask()))
    except ConfigError:
        raise
    except Exception as error:  # noqa: BLE001 - a client fails by whatever it likes
        return Came(error=error)


def _llm_again(call: CapturedLlm, llm: LlmClient, told: Told, normaliser: Normaliser) -> Steps[LlmAnswer | None]:
    request = call.request
    if request is None:
        told.unseen(call, "request")
        return None
    came: Came = yield from _came_of(lambda: llm.complete(request))
    answer = None if came.error is not None else normaliser.answer(answer_from(came.value))
    if call.error is not None and call.answer is None:
        _compare_failure(call, call.error, came, None if answer is None else answer.text, told)
    elif call.answer is None:
        told.unseen(call, "answer")
    elif answer is None:
        told.differs(call, JsonDifference("error", None, came.said), came.error)
    else:
        _tell(call, answer_difference(call.answer, answer), told)
    return answer


def _tool_again(call: CapturedTool, tools: ToolInvoker, told: Told, normaliser: Normaliser) -> Steps[None]:
    came: Came = yield from _came_of(lambda: tools.invoke(call.name, call.arguments))
    value = None if came.error is not None else normaliser.asked_value(result_of(_json(call.name, came.value)))
    if call.source is None:
        told.unseen(call, "result")
    elif call.error is not None:
        _compare_failure(call, call.error, came, value, told)
    elif came.error is not None:
        told.differs(call, JsonDifference("error", None, came.said), came.error)
    else:
        _tell(call, first_difference({"result": call.result}, {"result": value}), told)


def _json(name: str, value: object) -> Json:
    try:
        return to_json(value)
    except TypeError as error:
        raise ConfigError(f"the tool {name} gives what JSON cannot say: {error}") from error


def _compare_failure(call: Call, error: CallError, came: Came, value: Json, told: Told) -> None:
    """A call that failed has to fail; by what is not asked, as classes of errors are not recorded."""
    found = JsonDifference("error", error_text(error), value) if came.error is None else None
    _tell(call, found, told)


def _tell(call: Call, found: JsonDifference | None, told: Told) -> None:
    if found is None:
        told.same()
    else:
        told.differs(call, found, None)


class Asserting:
    """Ends the replay at the first difference."""

    def __init__(self, capture: Capture, redact: Redact | None) -> None:
        self._capture, self._unlike = capture, redaction_unknown(capture, redact)

    def same(self) -> None:
        """Nothing to say."""

    def differs(self, call: Call, found: JsonDifference, error: Exception | None) -> None:
        """Raise it; a client's own word that it has no more answers, or other ones, is passed on."""
        if isinstance(error, ReplayExhausted | ReplayMismatch):
            raise error
        divergence = _divergence(self._capture, call, found, Resolution.NONE, self._unlike)
        size = len(self._capture.llm_io) + len(self._capture.tool_io)
        raise error_for(divergence, head_of(divergence, self._capture.run_id, size)) from error

    def unseen(self, call: Call, what: str) -> None:
        """A tool whose result nobody knows is called and not compared; a model call has to be whole."""
        if isinstance(call, CapturedLlm):
            raise CaptureMissingError(
                f"model call {call.call_index} of the run {self._capture.run_id} was recorded without its {what}: "
                "replay_with_divergence leaves such calls out and says so"
            )


class Reporting:
    """Keeps all differences."""

    def __init__(self, capture: Capture, mode: ReplayMode, redact: Redact | None) -> None:
        self._capture, self._mode, self._unlike = capture, mode_of(mode), redaction_unknown(capture, redact)
        self._divergences: list[StepDivergence] = []
        self._unseen: dict[str, list[int | None]] = {}
        self._compared = 0

    def same(self) -> None:
        """Count it."""
        self._compared += 1

    def differs(self, call: Call, found: JsonDifference, error: Exception | None) -> None:  # noqa: ARG002 - as Told
        """Keep it."""
        self._compared += 1
        resolution = Resolution.LIVE if self._mode is ReplayMode.LIVE else Resolution.NONE
        self._divergences.append(_divergence(self._capture, call, found, resolution, self._unlike))

    def unseen(self, call: Call, what: str) -> None:
        """Keep it."""
        self._unseen.setdefault(f"{what}s of {'tools' if isinstance(call, CapturedTool) else 'models'}", []).append(
            call.call_index
        )

    def report(self, *, has_tools: bool) -> DivergenceReport:
        """What was found."""
        capture, is_live = self._capture, self._mode is ReplayMode.LIVE
        lines = [f"{what}, {calls_named(indexes)}: not recorded" for what, indexes in self._unseen.items()]
        if capture.tool_io and not has_tools:
            lines.append(f"tools: none were given, {len(capture.tool_io)} recorded calls were left out")
        same = ReproVerdict.INCOMPLETE if lines else ReproVerdict.IDENTICAL
        if self._unlike is not None:
            lines.append(f"redacted texts: {self._unlike}")
        return DivergenceReport(
            run_id=capture.run_id,
            verdict=ReproVerdict.DIVERGED if self._divergences else same,
            mode=self._mode,
            divergences=tuple(self._divergences),
            recorded=len(capture.llm_io) + len(capture.tool_io),
            served=0 if is_live else self._compared,
            live=self._compared if is_live else 0,
            not_compared=tuple(lines),
        )


def _divergence(
    capture: Capture, call: Call, found: JsonDifference, resolution: Resolution, detail: str | None
) -> StepDivergence:
    agents = {step.step_index: step.agent for step in capture.run.steps}
    is_tool = isinstance(call, CapturedTool)
    return StepDivergence(
        kind=DivergenceKind.TOOL_RESULT_CHANGED if is_tool else DivergenceKind.ANSWER_CHANGED,
        call_index=call.call_index,
        path=found.path,
        recorded=found.recorded,
        got=found.got,
        agent=agents.get(call.step_index or 0),
        lane=None if isinstance(call, CapturedTool) else call.lane,
        step="tool" if isinstance(call, CapturedTool) else "llm" if call.operation == "chat" else "embedding",
        name=call.name if isinstance(call, CapturedTool) else None,
        resolution=resolution,
        detail=detail,
    )
