"""Where a replay differs from what was recorded: the words, as data. Pure."""

from __future__ import annotations

import enum
from typing import Literal

import msgspec

from otel_runlog.conversation import Json
from otel_runlog.errors import ConfigError, ReplayError, ReplayExhausted, ReplayMismatch


class ReplayMode(enum.StrEnum):
    """What a request gets that was not recorded: strict: an error, soft: the nearest answer, live: the model's."""

    STRICT = "strict"
    SOFT = "soft"
    LIVE = "live"


def mode_of(mode: ReplayMode | str) -> ReplayMode:
    """The mode of that name; raises ConfigError where there is none."""
    try:
        return ReplayMode(mode)
    except ValueError:
        raise ConfigError(f"mode must be one of {', '.join(ReplayMode)}: {mode!r}") from None


class ReproVerdict(enum.StrEnum):
    """What a replay came to.

    identical: every call came, each with the request and result that were recorded. equivalent: the same
    conversations, with other models, tool schemas or parameters. diverged: some call was another one, came too often,
    or never. incomplete: nothing differs as far as could be seen, but not all could be compared.
    """

    IDENTICAL = "identical"
    EQUIVALENT = "equivalent"
    DIVERGED = "diverged"
    INCOMPLETE = "incomplete"


class DivergenceKind(enum.StrEnum):
    """How a call differs. The last three are drift: alone they leave a replay equivalent."""

    REQUEST_CHANGED = "request_changed"
    EXTRA_CALL = "extra_call"
    REPEATED = "repeated"
    MISSING_CALL = "missing_call"
    TOOL_ARGS_CHANGED = "tool_args_changed"
    TOOL_RESULT_CHANGED = "tool_result_changed"
    KIND_CHANGED = "kind_changed"
    ANSWER_CHANGED = "answer_changed"
    MODEL = "model"
    TOOLS = "tools"
    PARAMS = "params"


DRIFT = frozenset({DivergenceKind.MODEL, DivergenceKind.TOOLS, DivergenceKind.PARAMS})


class Cause(enum.StrEnum):
    """What changed, as a person would say it; told by the first path that differs."""

    PROMPT = "prompt"
    INPUT = "input"
    TOOL_RESULT = "tool result"
    HISTORY = "rewritten history"
    MODEL = "model"
    TOOLS = "tools"
    PARAMS = "params"


class Resolution(enum.StrEnum):
    """What the asker got: an error, the nearest recorded answer, the real model's, or what was recorded (drift)."""

    REFUSED = "refused"
    NEAREST = "nearest"
    LIVE = "live"
    SERVED = "served"
    NONE = "none"


class StepDivergence(msgspec.Struct, frozen=True, kw_only=True):
    """One difference.

    Attributes:
        call_index: the recorded call that it is about: the one expected, or the nearest; None where there is none.
        path: where in the request or result, as `turns[2].tool[0]`; empty where the call as a whole is meant.
        recorded: the value there then; `got`: the value there now.
        nearest: the call_index of the recorded call that is most like it; `shared_turns` how many turns from the
            beginning on are the same.
        lane: of the call asked; `agent` its agent's name, where the recorded run says it.
        step: what the call is; `name` the tool's.
        detail: one more thing a person should know, as "result of tool weather (call 4), which ran for real".
    """

    kind: DivergenceKind
    call_index: int | None = None
    path: str = ""
    recorded: Json = None
    got: Json = None
    nearest: int | None = None
    shared_turns: int | None = None
    lane: str | None = None
    agent: str | None = None
    step: Literal["llm", "embedding", "tool"] = "llm"
    name: str | None = None
    cause: Cause | None = None
    resolution: Resolution = Resolution.NONE
    detail: str | None = None


class DivergenceReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a replay came to, in facts. `replaying.report` says them as text and as JSON.

    Attributes:
        run_id: the run that was replayed; `replay_run_id` the replay's own, where it is kept.
        recorded: calls (model and tool) in the capture; `served` answered from it; `live` that the real model or tool
            answered; `not_reached` that nobody asked for.
        not_compared: what could not be compared and why, as "tool schemas: not recorded".
        notes: what is no difference and should be known, as that one request was recorded with several answers.
        program_failed: how the program failed, where the recorded run did not.
    """

    run_id: str
    verdict: ReproVerdict
    mode: ReplayMode = ReplayMode.STRICT
    replay_run_id: str | None = None
    divergences: tuple[StepDivergence, ...] = ()
    recorded: int = 0
    served: int = 0
    live: int = 0
    not_reached: int = 0
    not_compared: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    program_failed: str | None = None

    @property
    def same(self) -> bool:
        """Whether the replay counts as the same as the recording: identical or equivalent."""
        return self.verdict in {ReproVerdict.IDENTICAL, ReproVerdict.EQUIVALENT}

    def raise_for_divergence(self) -> None:
        """Raise what `otel-runlog replay` would exit with 1 for.

        Raises:
            ReplayExhausted: the first difference is a call that came more often than it was recorded, or one too many.
            ReplayMismatch: any other difference, or not all could be compared. The message is the report's text.
        """
        if self.same:
            return
        from otel_runlog.replaying.report import text_of

        first = self.divergences[0] if self.divergences else StepDivergence(kind=DivergenceKind.MISSING_CALL)
        raise error_for(first, text_of(self))


def error_for(divergence: StepDivergence, message: str) -> ReplayError:
    """The error that says this difference in a program."""
    if divergence.kind in {DivergenceKind.REPEATED, DivergenceKind.EXTRA_CALL}:
        return ReplayExhausted(message)
    return ReplayMismatch(
        message,
        call_index=divergence.call_index,
        path=divergence.path,
        recorded=divergence.recorded,
        got=divergence.got,
    )
