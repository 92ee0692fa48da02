"""`run(...)`: says that what happens inside is one run, as a context manager or a decorator, sync or async.

It opens a span of its own, so it works with any provider and any exporter, and puts the run's id into baggage, so that
spans in other processes and services belong to the run too. Only the id goes into baggage: it is sent to whomever the
application calls. Session, user, tags and labels stay on the run's span.
"""

from __future__ import annotations

import functools
import inspect
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping
from contextvars import Token
from functools import partial
from types import TracebackType
from typing import Any, Final, ParamSpec, TypeVar, cast

import msgspec
from opentelemetry import baggage, context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode, Tracer
from opentelemetry.util.types import AttributeValue

from otel_runlog.config import check_labels
from otel_runlog.containment import cancellation, contain
from otel_runlog.errors import ConfigError

RUN_ID: Final = "runlog.run.id"
LABEL_PREFIX: Final = "runlog.label."

_P = ParamSpec("_P")
_R = TypeVar("_R")


class _Settings(msgspec.Struct, frozen=True):
    name: str | None
    run_id: str | None
    session_id: str | None
    user_id: str | None
    tags: tuple[str, ...]
    origin: dict[str, str]
    labels: dict[str, str]

    def named(self, name: str) -> _Settings:
        """The same with `name`, where none was given."""
        return self if self.name else msgspec.structs.replace(self, name=name)

    def span_name(self) -> str:
        return f"invoke_agent {self.name}" if self.name else "invoke_agent"

    def attributes(self, run_id: str) -> dict[str, AttributeValue]:
        found: dict[str, AttributeValue | None] = {
            RUN_ID: run_id,
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.agent.name": self.name,
            "session.id": self.session_id,
            "gen_ai.conversation.id": self.session_id,
            "user.id": self.user_id,
            "runlog.tags": self.tags or None,
            **{"runlog." + key: value for key, value in self.origin.items()},
            **{LABEL_PREFIX + key: value for key, value in (self.origin | self.labels).items()},
        }
        return {key: value for key, value in found.items() if value is not None}


class ActiveRun:
    """The run that is going on: what `with run(...) as r` gives.

    Attributes:
        run_id: the run's id, in the store and everywhere else.
        span: the run's own span.
    """

    def __init__(self, run_id: str, span: Span) -> None:
        self.run_id = run_id
        self.span = span

    def set_label(self, key: str, value: str) -> None:
        """Put a label on the run, or change it, while it goes on."""
        self.span.set_attribute(LABEL_PREFIX + key, str(value))


class RunScope:
    """A run to be opened: `with`, `async with`, or `@` before a function or coroutine function.

    Every call of a decorated function is a run of its own, unless a `run_id` was given.
    """

    def __init__(self, settings: _Settings, tracer: Tracer | None) -> None:
        self._settings = settings
        self._tracer = tracer
        self._open: list[tuple[ActiveRun, Token[Context]]] = []

    def __enter__(self) -> ActiveRun:
        run_id = self._settings.run_id or uuid.uuid4().hex
        tracer = self._tracer or trace.get_tracer("otel_runlog")
        inside = baggage.set_baggage(RUN_ID, run_id)
        attributes = self._settings.attributes(run_id)
        start = partial(tracer.start_span, self._settings.span_name(), inside, attributes=attributes)
        none: Span = trace.INVALID_SPAN
        span = contain(start, none)  # other span processors may raise
        active = ActiveRun(run_id, span)
        self._open.append((active, context.attach(trace.set_span_in_context(span, inside))))
        return active

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        active, token = self._open.pop()
        try:
            if error is not None:
                contain(partial(_record, active.span, error), None)
            contain(active.span.end, None)
        finally:
            context.detach(token)

    async def __aenter__(self) -> ActiveRun:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, traceback)

    def __call__(self, function: Callable[_P, _R]) -> Callable[_P, _R]:
        """Make every call of `function` a run.

        Raises:
            ConfigError: it is a generator function, whose steps run in the contexts of their callers.
        """
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise ConfigError(f"{function.__qualname__} is a generator: write `with run(...)` around what consumes it")
        settings = self._settings.named(getattr(function, "__name__", "run"))
        if inspect.iscoroutinefunction(function):
            return cast("Callable[_P, _R]", _async_wrapper(function, settings, self._tracer))

        @functools.wraps(function)
        def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            with RunScope(settings, self._tracer):
                return function(*args, **kwargs)

        return wrapper


def _async_wrapper(
    function: Callable[_P, Coroutine[Any, Any, _R]], settings: _Settings, tracer: Tracer | None
) -> Callable[_P, Coroutine[Any, Any, _R]]:
    @functools.wraps(function)
    async def wrapper(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        with RunScope(settings, tracer):
            return await function(*args, **kwargs)

    return wrapper


def run(
    name: str | None = None,
    *,
    run_id: str | None = None,
    session_id: str | None = None,
    user_id: str | None = None,
    tags: Iterable[str] | None = None,
    labels: Mapping[str, str] | None = None,
    repo: str | None = None,
    worktree: str | None = None,
    wave: str | None = None,
    project: str | None = None,
    task: str | None = None,
    flow: str | None = None,
    skill: str | None = None,
    tracer: Tracer | None = None,
) -> RunScope:
    """What happens inside is one run.

        with otel_runlog.run("nightly", session_id="s1", labels={"task": "W2-71"}) as r: ...

        @otel_runlog.run("nightly")
        async def nightly(): ...

    An exception fails the run and goes on; CancelledError, KeyboardInterrupt, GeneratorExit and SystemExit cancel it.
    A run inside a run is a run of its own.

    Args:
        name: the agent's name; a decorated function's own name where None.
        run_id: the run's id; a new one where None. The same id in several traces is one run.
        session_id: the conversation the run belongs to.
        user_id: whom it was done for.
        tags: free words.
        labels: keys and values to find it by.
        repo: a label of that name, as are the following.
        worktree: see repo.
        wave: see repo.
        project: see repo.
        task: see repo.
        flow: see repo.
        skill: see repo.
        tracer: makes the run's span; the global provider's where None.

    Raises:
        ConfigError: an argument has the wrong type.
    """
    origin = {"repo": repo, "worktree": worktree, "wave": wave, "project": project}
    origin |= {"task": task, "flow": flow, "skill": skill}
    for argument, value in {
        "name": name,
        "run_id": run_id,
        "session_id": session_id,
        "user_id": user_id,
        **origin,
    }.items():
        _require_text(argument, value)
    known = {key: value for key, value in origin.items() if value is not None}
    settings = _Settings(name, run_id, session_id, user_id, _tags(tags), known, check_labels(labels))
    return RunScope(settings, tracer)


def _record(span: Span, error: BaseException) -> None:
    """Put on the span how the run ended; the SDK alone would leave a cancelled run without a word."""
    cancelled = cancellation(error)
    span.set_attribute("error.type", cancelled or type(error).__qualname__)
    if cancelled is None:
        text = contain(partial(str, error), "it has no text")
        span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {text}"))
        span.record_exception(error)


def _require_text(argument: str, value: object) -> None:
    if callable(value):
        raise ConfigError(f"{argument} must be str or None: write @run() with parentheses to decorate a function")
    if value is not None and not (isinstance(value, str) and value):
        raise ConfigError(f"{argument} must be a non-empty str or None, not {value!r}")


def _tags(tags: Iterable[str] | None) -> tuple[str, ...]:
    found = () if tags is None else (tags,) if isinstance(tags, str) else tuple(tags)
    for tag in found:
        _require_text("each of tags", tag)
    return found
