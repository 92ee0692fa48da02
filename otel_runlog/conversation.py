"""A model call in neutral words: what was asked and answered, whichever API or instrumentation wrote it. Pure data.

Every convention's messages and the wire of every API become these; a fingerprint, a capture and a replay know nothing
else. Unknown is None. Structs of parts are told apart by `type` in JSON.
"""

from __future__ import annotations

import enum
from typing import Literal, TypeAlias

import msgspec

from otel_runlog.model import Usage

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
"""A value that JSON can say."""
Params: TypeAlias = dict[str, Json]
"""A call's parameters by OTel's names without `gen_ai.request.`: temperature, max_tokens, seed ..."""


class Role(enum.StrEnum):
    """Who speaks. Developer is system, model is assistant, function is tool."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class TextPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="text"):
    """Something said."""

    text: str


class CallPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="call"):
    """A tool that the model wants called. `arguments` is the value that their JSON text says, where it parses."""

    name: str
    arguments: Json = None
    id: str | None = None


class ResultPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="result"):
    """What came of a tool call: a list of text blocks is its text, and a text that is JSON the value it says."""

    value: Json = None
    id: str | None = None
    name: str | None = None
    is_error: bool = False


class MediaPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="media"):
    """A picture, sound or file: `sha256` of its bytes (hex) where they were there, else where it is to be found."""

    mime_type: str | None = None
    sha256: str | None = None
    uri: str | None = None


class ThinkingPart(msgspec.Struct, frozen=True, gc=False, tag_field="type", tag="thinking"):
    """What a model thought aloud. `signature` is the provider's, without which it takes no thought back."""

    text: str
    signature: str | None = None


Part: TypeAlias = TextPart | CallPart | ResultPart | MediaPart | ThinkingPart


class Turn(msgspec.Struct, frozen=True, gc=False):
    """One message as it was sent: who spoke, and what, in order."""

    role: Role
    parts: tuple[Part, ...] = ()

    @property
    def text(self) -> str:
        """The texts of the turn, a line break between them."""
        return "\n".join(p.text for p in self.parts if isinstance(p, TextPart))


class ToolDefinition(msgspec.Struct, frozen=True, gc=False):
    """A tool that the model may call; `parameters` is the JSON schema of its arguments."""

    name: str
    description: str | None = None
    parameters: Json = None


class LlmRequest(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a model was asked.

    Attributes:
        turns: the whole conversation, instructions included, as roles `system`, wherever they stood.
        model: the model asked for.
        params: temperature and the like; only those that were sent.
        tools: None where nobody recorded them; empty where there were none.
        operation: `embedding` asks for the vectors of `inputs` and has no turns.
        inputs: the texts of an embedding call.
        previous_response_id: the answer that this goes on from (OpenAI Responses), which the provider remembers.
        previous: the fingerprint of the call that gave that answer, once it is known.
    """

    turns: tuple[Turn, ...] = ()
    model: str | None = None
    params: Params = {}
    tools: tuple[ToolDefinition, ...] | None = None
    operation: Literal["chat", "embedding"] = "chat"
    inputs: tuple[str, ...] = ()
    previous_response_id: str | None = None
    previous: str | None = None

    @property
    def system(self) -> str:
        """All instructions, a line break between them."""
        return "\n".join(turn.text for turn in self.turns if turn.role is Role.SYSTEM)


class FinishReason(enum.StrEnum):
    """Why an answer ended, in OTel's words."""

    STOP = "stop"
    LENGTH = "length"
    TOOL_CALL = "tool_call"
    CONTENT_FILTER = "content_filter"
    ERROR = "error"


class LlmAnswer(msgspec.Struct, frozen=True, gc=False, kw_only=True):
    """What a model answered.

    Attributes:
        parts: texts, tool calls and thoughts in order.
        finish_reason: why it ended, where that is known.
        response_id: the provider's id of the answer.
        model: the model that answered.
        usage: its tokens in the normal form (cache inside input, reasoning inside output).
        vectors: an embedding's, one for each input; None where they were not recorded.
    """

    parts: tuple[Part, ...] = ()
    finish_reason: FinishReason | None = None
    response_id: str | None = None
    model: str | None = None
    usage: Usage | None = None
    vectors: tuple[tuple[float, ...], ...] | None = None

    @property
    def text(self) -> str:
        """What was said, tool calls and thoughts left out."""
        return "".join(p.text for p in self.parts if isinstance(p, TextPart))

    @property
    def tool_calls(self) -> tuple[CallPart, ...]:
        """The tools that the model wants called, in order."""
        return tuple(p for p in self.parts if isinstance(p, CallPart))


class CallError(msgspec.Struct, frozen=True, gc=False):
    """How a call failed. `http_status` is the provider's where it refused one; `type` the error's class or code."""

    type: str | None = None
    message: str | None = None
    http_status: int | None = None
