"""What a replay in process asks: a model client and a tool invoker, sync or async, and what they may answer. Pure."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Awaitable, Generator, Mapping, Sequence
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

from otel_runlog import apis
from otel_runlog.conventions.turns import turn_of
from otel_runlog.conversation import Json, LlmAnswer, LlmRequest, Part, TextPart
from otel_runlog.errors import ConfigError, RequestError
from otel_runlog.replaying.tool_values import to_json

Reply: TypeAlias = "LlmAnswer | str | Mapping[str, Any] | object"
"""What a client may answer: an answer, its text, or a message as an API or framework has it, as {"content": "...",
"tool_calls": [{"id": ..., "name": ..., "arguments": ...}]}, or a data class or pydantic model of that."""
Asked: TypeAlias = LlmRequest | Mapping[str, Any] | Sequence[Any]
"""What a client may be asked: a request, a request's body as OpenAI, Anthropic or Gemini take it, or messages."""
_SAYING: Final = frozenset({"candidates", "choices", "content", "message", "output", "parts", "text", "tool_calls"})
"""What an answer holds at least one of: keys of a message, and of whole answers of the APIs around it."""
T = TypeVar("T")
Steps: TypeAlias = Generator[Any, Any, T]
"""Work that yields what may have to be awaited, and goes on with what came of it."""


@runtime_checkable
class LlmClient(Protocol):
    """Answers model calls. `complete` may be async; a call that fails raises."""

    def complete(self, request: LlmRequest, /) -> Reply | Awaitable[Reply]:
        """The answer to a request; an embedding's is an LlmAnswer with vectors."""
        ...


@runtime_checkable
class ToolInvoker(Protocol):
    """Runs tools. `invoke` may be async; a tool that fails raises."""

    def invoke(self, name: str, arguments: Json, /) -> object:
        """What the tool gives: anything that JSON can say, data classes and pydantic models included."""
        ...


def answer_from(reply: object) -> LlmAnswer:
    """A client's answer in neutral words.

    Raises:
        ConfigError: it is none.
    """
    if isinstance(reply, LlmAnswer):
        return reply
    if isinstance(reply, str):
        return LlmAnswer(parts=(TextPart(reply),))
    message = _mapping(reply)
    if not _SAYING.intersection(message):
        raise ConfigError(f"an answer says {', '.join(sorted(_SAYING))}; this has {', '.join(message) or 'nothing'}")
    if "content" not in message and isinstance(message.get("text"), str):
        message["content"] = message.pop("text")
    parts: list[Part] = [part for turn in turn_of(message, "assistant") for part in turn.parts]
    return LlmAnswer(parts=tuple(parts))


def _mapping(reply: object) -> dict[str, Json]:
    try:
        said = to_json(reply)
    except TypeError as error:
        raise ConfigError(f"this answer cannot be read: {error}") from error
    if not isinstance(said, dict):
        raise ConfigError(f"a client answers with an LlmAnswer, a text or a message, not with {type(reply).__name__}")
    return said


def request_from(asked: Asked) -> LlmRequest:
    """What a client is asked in neutral words.

    Raises:
        ConfigError: it is no request.
    """
    if isinstance(asked, LlmRequest):
        return asked
    try:
        if isinstance(asked, Mapping):
            return apis.request_of_body(asked)
        return LlmRequest(turns=turn_of([asked] if isinstance(asked, str) else list(asked)))
    except (RequestError, TypeError) as error:
        raise ConfigError(f"this is no request: {error}") from error


def run_sync(steps: Steps[T], *, instead: str) -> T:
    """Do all steps; what has to be awaited is awaited in one event loop of our own.

    Raises:
        ConfigError: something has to be awaited while this thread has a running loop; `instead` is what to call there.
    """
    with contextlib.ExitStack() as open_loops:
        loop: asyncio.Runner | None = None
        try:
            waiting = next(steps)
            while True:
                if inspect.isawaitable(waiting):
                    loop = loop or open_loops.enter_context(_own_loop(waiting, instead))
                    waiting = _go_on(steps, *loop.run(_settled(waiting)))
                else:
                    waiting = steps.send(waiting)
        except StopIteration as done:
            return cast("T", done.value)


async def run_async(steps: Steps[T]) -> T:
    """Do all steps in the running event loop."""
    try:
        waiting = next(steps)
        while True:
            waiting = _go_on(steps, *await _settled(waiting)) if inspect.isawaitable(waiting) else steps.send(waiting)
    except StopIteration as done:
        return cast("T", done.value)


def _own_loop(waiting: Awaitable[Any], instead: str) -> asyncio.Runner:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.Runner()
    if inspect.iscoroutine(waiting):
        waiting.close()
    raise ConfigError(f"an async client cannot be awaited here, where an event loop runs: call {instead}")


async def _settled(waiting: Awaitable[Any]) -> tuple[Any, Exception | None]:
    try:
        return await waiting, None
    except Exception as error:  # noqa: BLE001 - the steps decide what an error means
        return None, error


def _go_on(steps: Steps[T], value: Any, error: Exception | None) -> Any:
    return steps.send(value) if error is None else steps.throw(error)
