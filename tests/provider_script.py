"""What a scripted provider is told to say, and what it then served."""

from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
Event = tuple[str | None, Json | str]
"""One server-sent event: its name (Anthropic) or None (OpenAI), and its data."""


@dataclass(frozen=True)
class ToolCall:
    """A tool the model asks for."""

    name: str
    arguments: Json
    id: str = "call_1"


@dataclass(frozen=True)
class Answer:
    """What the model says, and what that cost in tokens. `error_status` makes it a refusal that costs none."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    error_status: int | None = None

    @property
    def uncached_input_tokens(self) -> int:
        return self.input_tokens - self.cache_read_tokens - self.cache_write_tokens


@dataclass(frozen=True)
class Served:
    """One request and its answer. `usage_sent` is False for an OpenAI stream that was not asked to include usage."""

    path: str
    request: Json
    answer: Answer
    response_id: str
    usage_sent: bool

    @property
    def model(self) -> str:
        """The dated model that answers, as providers name it: never just the alias that was asked for."""
        return f"{self.request['model']}-2026-03-15"

    @property
    def streaming(self) -> bool:
        return bool(self.request.get("stream"))
