"""What a Matcher says to a question: the recorded call, or what is different. Pure data."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from otel_runlog.capture import CapturedLlm, CapturedTool
from otel_runlog.replaying.divergence import StepDivergence


class Served(msgspec.Struct, frozen=True, kw_only=True):
    """The call was recorded: `call` has its answer or its error.

    Attributes:
        response_id: the id to answer with: the recorded one, else one of our own. No two answers of a replay have the
            same: clients that remember answers and instrumentations that tell calls apart go by it.
        drift: what is another one and played no part in finding the call.
    """

    call: CapturedLlm
    response_id: str
    drift: tuple[StepDivergence, ...] = ()


class Missed(msgspec.Struct, frozen=True, kw_only=True):
    """The call was not recorded, or not its answer.

    Attributes:
        nearest: the recorded call that is most like it; in soft mode its answer is what the asker gets.
        response_id: the id to answer with in soft mode.
        text: the divergence in a few lines, as the asker should read it.
        number: which miss of the replay it is, for `Matcher.answered_live`.
    """

    divergence: StepDivergence
    nearest: CapturedLlm | None
    response_id: str
    text: str
    number: int


class ToolServed(msgspec.Struct, frozen=True, kw_only=True):
    """The tool call was recorded: `call` has its result or its error."""

    call: CapturedTool


class ToolMissed(msgspec.Struct, frozen=True, kw_only=True):
    """The tool call was not recorded, or not what came of it; the attributes are those of Missed."""

    divergence: StepDivergence
    nearest: CapturedTool | None
    text: str


class Settled(NamedTuple):
    """What is different, as if nothing more were asked.

    Attributes:
        came: calls that came, each with its place among all differences of the replay.
        missing: recorded calls that did not.
    """

    came: tuple[tuple[int, StepDivergence], ...]
    missing: tuple[StepDivergence, ...]
