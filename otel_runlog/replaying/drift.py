"""What plays no part in finding a recorded call and is compared with it: model, tool schemas, parameters. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from otel_runlog.conversation import Json, LlmRequest, ToolDefinition
from otel_runlog.replaying.comparing import first_difference
from otel_runlog.replaying.divergence import Cause, DivergenceKind

DEFAULTS: Final[Mapping[str, Json]] = {
    "temperature": 1,
    "top_p": 1,
    "choice_count": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "output_type": "text",
}
"""What OpenAI's, Anthropic's and Gemini's references say a parameter is that is left out."""


class Drift(NamedTuple):
    """One thing that is another one now, in the terms of a StepDivergence."""

    kind: DivergenceKind
    cause: Cause
    path: str
    recorded: Json
    got: Json


def drift_of(recorded: LlmRequest, got: LlmRequest, known_params: Collection[str]) -> list[Drift]:
    """How a call drifted; what was not recorded has not.

    Args:
        recorded: the call then.
        got: the call now.
        known_params: names that the recording has on some call. The telemetry records no other names, so that one
            more of those says nothing.
    """
    found = [*_model_drift(recorded, got), *_tools_drift(recorded.tools, got.tools)]
    if recorded.operation == got.operation:
        found += _params_drift(recorded, got, known_params)
    return found


def not_compared(recorded: LlmRequest, got: LlmRequest) -> list[str]:
    """What of a call, parameters aside, could not be compared, as people say it."""
    lines = []
    if recorded.tools is None and got.tools:
        lines.append("tool schemas: not recorded")
    if recorded.model is None and got.model is not None:
        lines.append("model: not recorded")
    return lines


def _model_drift(recorded: LlmRequest, got: LlmRequest) -> list[Drift]:
    if recorded.model is None or got.model is None or _names(recorded.model, got.model):
        return []
    return [Drift(DivergenceKind.MODEL, Cause.MODEL, "model", recorded.model, got.model)]


def _names(recorded: str, got: str) -> bool:
    """Whether a recorded name is the wire's: LiteLLM and LangChain put a provider before it (`openai/gpt-5`)."""
    return recorded == got or recorded.endswith(f"/{got}")


def _params_drift(recorded: LlmRequest, got: LlmRequest, known: Collection[str]) -> list[Drift]:
    names = [*recorded.params, *(name for name in got.params if name not in recorded.params and name in known)]
    found = []
    for name in names:
        then, now = recorded.params.get(name), got.params.get(name)
        difference = None if _is_default(name, then, now) else first_difference(then, now)
        if difference is not None:
            path = f"params.{name}" + (difference.path and _joined(difference.path))
            found.append(Drift(DivergenceKind.PARAMS, Cause.PARAMS, path, difference.recorded, difference.got))
    return found


def _is_default(name: str, then: Json, now: Json) -> bool:
    """Whether one side says what the other one leaves to the API: some emitters record what the answer echoes."""
    given = now if then is None else then
    return (then is None or now is None) and name in DEFAULTS and given == DEFAULTS[name]


def _tools_drift(recorded: tuple[ToolDefinition, ...] | None, got: tuple[ToolDefinition, ...] | None) -> list[Drift]:
    if recorded is None or got is None:
        return []
    then, now = ({tool.name: tool for tool in tools} for tools in (recorded, got))
    found = []
    for name in [*then, *(name for name in now if name not in then)]:
        difference = first_difference(*_comparable(then.get(name), now.get(name)))
        if difference is not None:
            path = f"tools[{name}]" + (difference.path and _joined(difference.path))
            found.append(Drift(DivergenceKind.TOOLS, Cause.TOOLS, path, difference.recorded, difference.got))
    return found


def _comparable(then: ToolDefinition | None, now: ToolDefinition | None) -> tuple[Json, Json]:
    """Both definitions with only what both say; the name alone where the other side has no such tool."""
    if then is None or now is None:
        return None if then is None else then.name, None if now is None else now.name
    pairs = (("description", then.description, now.description), ("parameters", then.parameters, now.parameters))
    both = [pair for pair in pairs if pair[1] is not None and pair[2] is not None]
    return {key: value for key, value, _ in both}, {key: value for key, _, value in both}


def _joined(path: str) -> str:
    return path if path.startswith("[") else f".{path}"
