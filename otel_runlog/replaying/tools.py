"""The door of a program's own tools: in a replay they give what they gave when the run was recorded.

    @replay_tool
    def weather(city: str) -> str: ...

Outside a replay a decorated function is called as it is, after one look at the environment. Inside `replay_session`
and under `otel-runlog replay` it asks the replay what to do (OTEL_RUNLOG_REPLAY_URL says where), by its name and its
arguments. Threads and child processes see the same environment, so they ask the same replay.

A tool that is defined inside a replay says so, so that the replay knows which of the recorded calls it will be asked
for. Tools without a door run for real; the model call that they lead to is then compared all the same.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, ParamSpec, TypeVar, cast, overload

from otel_runlog.config import replay_url
from otel_runlog.conversation import CallError, Json
from otel_runlog.errors import ConfigError, ReplayedToolError, ReplayError, ReplayMismatch
from otel_runlog.replaying.tool_client import ask, tell, tell_door
from otel_runlog.replaying.tool_values import loader_of, question, to_json
from otel_runlog.replaying.tool_words import ToolOutcome, ToolRan, ToolReply

_P = ParamSpec("_P")
_R = TypeVar("_R")
Load = Callable[[Json], Any]


@overload
def replay_tool(function: Callable[_P, _R], /) -> Callable[_P, _R]: ...


@overload
def replay_tool(
    *, name: str | None = None, load: Load | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]: ...


def replay_tool(
    function: Callable[_P, _R] | None = None, /, *, name: str | None = None, load: Load | None = None
) -> Callable[_P, _R] | Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Make a function a tool that a replay can answer for. Nothing changes outside a replay.

    In a replay the policy of its name decides: it gives its recorded result, raises its recorded error, or runs. Its
    arguments are compared by name, as JSON; `self` and what JSON cannot say, as a context or a client, play no part.
    The function may be sync or async, a method, a static or class method, or a `functools.partial`. Put it below a
    framework's own decorator, so that it wraps the function and not what the framework made of it.

    Args:
        function: the tool.
        name: what the model calls it; the function's own name unless given.
        load: makes of the recorded JSON what the function returns. Unless given: text where it says it returns `str`,
            its data class or pydantic model where it says so, else the JSON as it is.

    Raises:
        ConfigError: it is no function, or a generator, whose result is no value that can be given again.

    A call in a replay raises:
        ReplayedToolError: the tool raised an error when it was recorded.
        ReplayMismatch: it was not called so then, and the replay is strict.
        ReplayError: its policy is `fail`, or the replay does not answer.
    """
    if function is None:
        return lambda given: _door(given, name, load)
    return _door(function, name, load)


def _door(function: Callable[_P, _R], name: str | None, load: Load | None) -> Callable[_P, _R]:
    if isinstance(function, staticmethod | classmethod):
        return cast("Callable[_P, _R]", type(function)(_door(function.__func__, name, load)))
    called = name or _name_of(function)
    check_function(function, called)
    make = load or loader_of(function)
    if url := replay_url():
        tell_door(url, called)
    if inspect.iscoroutinefunction(function):
        return cast("Callable[_P, _R]", _async_door(function, called, make))

    @functools.wraps(function)
    def tool(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        url = replay_url()
        if not url:
            return function(*args, **kwargs)
        reply = ask(url, question(called, function, args, kwargs))
        if reply.outcome is not ToolOutcome.REAL:
            return cast("_R", _given(reply, called, make))
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            tell(url, _raised(reply, error))
            raise
        if inspect.isawaitable(result):  # a sync function in front of an async one
            return cast("_R", _awaited(url, reply, result))
        tell(url, _returned(reply, result))
        return result

    return tool


def _async_door(function: Callable[..., Any], called: str, make: Load) -> Callable[..., Any]:
    # The replay is asked in the event loop's own thread: it answers within milliseconds, and this works under every
    # event loop there is.
    @functools.wraps(function)
    async def tool(*args: Any, **kwargs: Any) -> Any:
        url = replay_url()
        if not url:
            return await function(*args, **kwargs)
        reply = ask(url, question(called, function, args, kwargs))
        if reply.outcome is not ToolOutcome.REAL:
            return _given(reply, called, make)
        return await _awaited(url, reply, function(*args, **kwargs))

    return tool


async def _awaited(url: str, reply: ToolReply, running: Awaitable[Any]) -> Any:
    try:
        result = await running
    except Exception as error:
        tell(url, _raised(reply, error))
        raise
    tell(url, _returned(reply, result))
    return result


def _given(reply: ToolReply, called: str, make: Load) -> Any:
    if reply.outcome is ToolOutcome.RECORDED:
        return make(reply.result)
    if reply.outcome is ToolOutcome.ERROR:
        raise ReplayedToolError(called, reply.error or CallError())
    if reply.path or reply.call_index is not None:
        raise ReplayMismatch(
            reply.message, call_index=reply.call_index, path=reply.path, recorded=reply.recorded, got=reply.got
        )
    raise ReplayError(reply.message)


def _returned(reply: ToolReply, result: object) -> ToolRan:
    try:
        return ToolRan(ticket=reply.ticket, result=to_json(result))
    except TypeError:
        return ToolRan(ticket=reply.ticket, is_known=False)


def _raised(reply: ToolReply, error: Exception) -> ToolRan:
    return ToolRan(ticket=reply.ticket, error=CallError(type(error).__qualname__, str(error)))


def _name_of(function: object) -> str:
    inside = function.func if isinstance(function, functools.partial) else function
    return str(getattr(inside, "__name__", type(inside).__name__))


def check_function(function: object, called: str) -> None:
    """Refuse what no door can stand before.

    Raises:
        ConfigError: it is no function, or a generator.
    """
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise ConfigError(f"the tool {called} is a generator: a replay can give a value again, and no generator")
    is_function = inspect.isroutine(function) or isinstance(function, functools.partial)
    if isinstance(function, type) or not (is_function or callable(getattr(function, "__wrapped__", None))):
        raise ConfigError(
            f"the tool {called} is no function but a {type(function).__name__}: put @replay_tool below the decorator "
            "that makes it one"
        )
