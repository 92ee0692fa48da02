"""What a tool of a replayed program and the replay say to each other, as JSON over loopback. Pure.

POST <OTEL_RUNLOG_REPLAY_URL>/tools/door ToolDefined -> {}             when the program defines a tool
POST <OTEL_RUNLOG_REPLAY_URL>/tools      ToolQuestion -> ToolReply     before the tool would run
POST <OTEL_RUNLOG_REPLAY_URL>/tools/ran  ToolRan -> {}                 after it ran for real
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, Final

import msgspec

from otel_runlog.conversation import CallError

if TYPE_CHECKING:
    from otel_runlog.conversation import Json
else:
    Json = Any  # msgspec decodes no type that holds itself

TOOLS_PATH: Final = "/tools"
RAN_PATH: Final = "/tools/ran"
DOOR_PATH: Final = "/tools/door"


class ToolOutcome(enum.StrEnum):
    """What a tool is to do: give a result, raise the recorded error, run for real, or refuse."""

    RECORDED = "recorded"
    ERROR = "error"
    REAL = "real"
    FAIL = "fail"


class ToolDefined(msgspec.Struct, frozen=True, kw_only=True):
    """The program has a tool of this name, and asks before it runs."""

    name: str


class ToolQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A tool is about to be called.

    Attributes:
        arguments: those of its call that JSON can say, by name.
        defaults: the values of the parameters that were not given.
        injected: names of arguments that are no plain values: a framework may have put them in, the model did not.
    """

    name: str
    arguments: dict[str, Json] = {}
    defaults: dict[str, Json] = {}
    injected: frozenset[str] = frozenset()


class ToolReply(msgspec.Struct, frozen=True, kw_only=True):
    """What it is to do. `ticket` names the call when it tells what came of running for real.

    `message` says why it is refused. `call_index`, `path`, `recorded` and `got` say how the call differs, where it
    does.
    """

    outcome: ToolOutcome
    result: Json = None
    error: CallError | None = None
    ticket: int = 0
    message: str = ""
    call_index: int | None = None
    path: str = ""
    recorded: Json = None
    got: Json = None


class ToolRan(msgspec.Struct, frozen=True, kw_only=True):
    """What came of running for real; `is_known` False: the result is nothing that JSON can say."""

    ticket: int
    result: Json = None
    is_known: bool = True
    error: CallError | None = None
