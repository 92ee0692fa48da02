"""The replay's side of the tools' door: what a tool of the program is told to do, by its policy and the recording."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Final, TypeVar, assert_never

import msgspec

from otel_runlog.capture import Capture, CapturedTool
from otel_runlog.conversation import CallError, Json
from otel_runlog.replaying.divergence import ReplayMode
from otel_runlog.replaying.matching import Matcher
from otel_runlog.replaying.outcomes import ToolMissed, ToolServed
from otel_runlog.replaying.patching import Patch
from otel_runlog.replaying.policies import PoliciesLike, PolicyKind, PolicyLike, policies_of
from otel_runlog.replaying.tool_values import recorded_form
from otel_runlog.replaying.tool_words import (
    DOOR_PATH,
    RAN_PATH,
    TOOLS_PATH,
    ToolDefined,
    ToolOutcome,
    ToolQuestion,
    ToolRan,
    ToolReply,
)
from otel_runlog.replaying.tools import Load
from otel_runlog.server.answers import JSON_TYPE, Outcome, RefusedError
from otel_runlog.server.routes import Request, Response, Route

MAX_BODY_BYTES: Final = 64 << 20
"""Of a tool's arguments or result: as much as a model's request may have."""

REFUSED_TYPE: Final = "replay_refused"
"""The type of the error that a refused call of a tool is kept with."""

_T = TypeVar("_T")


class ToolExchange(msgspec.Struct, frozen=True, kw_only=True):
    """One call of a tool in a replay.

    Attributes:
        number: from 1, counted with the replay's requests to models in the order of asking.
        started_ns: when it was about to be called, `ended_ns` when its result was known (Unix time); None: never told.
        ran: whether it ran for real.
        call_index: the recorded call whose result it got, or whose nearest it is.
        is_known: whether result or error are known.
    """

    number: int
    name: str
    arguments: Json
    outcome: ToolOutcome
    started_ns: int
    ended_ns: int | None = None
    ran: bool = False
    call_index: int | None = None
    result: Json = None
    error: CallError | None = None
    is_known: bool = True


class ToolDoor:
    """Answers the tools of a replayed program. Any thread may ask.

    Args:
        capture: what was recorded.
        matcher: compares calls with it.
        policies: what each tool does.
        mode: what a call gets that was not recorded.
        number: counts what is asked of the replay.

    Raises:
        ConfigError: `policies` are none.
    """

    def __init__(
        self,
        capture: Capture,
        matcher: Matcher,
        *,
        policies: PoliciesLike = None,
        mode: ReplayMode = ReplayMode.STRICT,
        number: Callable[[], int] | None = None,
    ) -> None:
        self._recorded: dict[str, list[CapturedTool]] = {}
        for tool in capture.tool_io:
            self._recorded.setdefault(tool.name, []).append(tool)
        self._matcher = matcher
        self.policies = policies_of(policies)
        self._mode = mode
        self._number = number or itertools.count(1).__next__
        self._lock = threading.Lock()
        self._tickets = itertools.count(1)
        self._running: dict[int, ToolExchange] = {}
        self._compared: set[int] = set()
        self._done: list[ToolExchange] = []
        self._patches: list[Patch] = []

    @property
    def exchanges(self) -> tuple[ToolExchange, ...]:
        """All calls so far, in the order they were asked; those that still run have no end."""
        with self._lock:
            return tuple(sorted([*self._done, *self._running.values()], key=lambda exchange: exchange.number))

    def patch(
        self, target: str, *, name: str | None = None, policy: PolicyLike | None = None, load: Load | None = None
    ) -> Patch:
        """Put a door before a function of this process, until the replay ends; see `Patch`.

        Raises:
            ConfigError: there is no such function, or `policy` is none.
        """
        patch = Patch(target, name=name, load=load)
        self._patches.append(patch)
        self._matcher.tool_door(patch.name)
        if policy is not None:
            self.policies = self.policies.replaced(patch.name, policy)
        return patch

    def close(self) -> None:
        """Take all patches away, the last one first."""
        while self._patches:
            self._patches.pop().undo()

    def routes(self, prefix: str) -> tuple[Route, ...]:
        """What the door answers over HTTP below `prefix`, as `/s/{session}`."""
        types = frozenset({JSON_TYPE})
        handlers = {TOOLS_PATH: self.handle_question, RAN_PATH: self.handle_ran, DOOR_PATH: self.handle_door}
        return tuple(
            Route(method="POST", path=prefix + path, handle=handle, content_types=types, max_body_bytes=MAX_BODY_BYTES)
            for path, handle in handlers.items()
        )

    def handle_door(self, request: Request) -> Response:
        """Take a ToolDefined.

        Raises:
            RefusedError: MALFORMED.
        """
        self._matcher.tool_door(_read(request, ToolDefined).name)
        return Response(200, b"{}")

    def handle_question(self, request: Request) -> Response:
        """Answer a ToolQuestion by a ToolReply.

        Raises:
            RefusedError: MALFORMED.
        """
        return Response(200, msgspec.json.encode(self.ask(_read(request, ToolQuestion))))

    def handle_ran(self, request: Request) -> Response:
        """Take a ToolRan.

        Raises:
            RefusedError: MALFORMED.
        """
        self.ran(_read(request, ToolRan))
        return Response(200, b"{}")

    def ask(self, asked: ToolQuestion) -> ToolReply:
        """What a tool is to do that is about to be called."""
        started_ns, number = time.time_ns(), self._number()
        recorded = self._recorded.get(asked.name, [])
        arguments = recorded_form(asked, [tool.arguments for tool in recorded])
        reply, call_index = self._reply(asked.name, arguments)
        exchange = ToolExchange(
            number=number,
            name=asked.name,
            arguments=arguments,
            outcome=reply.outcome,
            started_ns=started_ns,
            call_index=call_index,
            ran=reply.outcome is ToolOutcome.REAL,
            result=reply.result,
            error=CallError(REFUSED_TYPE, reply.message) if reply.outcome is ToolOutcome.FAIL else reply.error,
        )
        with self._lock:
            if exchange.ran:
                self._running[reply.ticket] = msgspec.structs.replace(exchange, is_known=False)
            else:
                self._done.append(msgspec.structs.replace(exchange, ended_ns=time.time_ns()))
        return reply

    def ran(self, told: ToolRan) -> None:
        """Take what came of a tool that was told to run. A ticket that is told twice (after a fork) counts once."""
        with self._lock:
            exchange = self._running.pop(told.ticket, None)
            is_compared = told.ticket in self._compared
        if exchange is None:
            return
        if is_compared and told.is_known:
            self._matcher.tool_ran(exchange.name, exchange.arguments, result=told.result, error=told.error)
        elif is_compared:
            self._matcher.tool_result_unknown(exchange.name, exchange.arguments)
        done = msgspec.structs.replace(
            exchange, ended_ns=time.time_ns(), result=told.result, error=told.error, is_known=told.is_known
        )
        with self._lock:
            self._done.append(done)

    def _reply(self, name: str, arguments: Json) -> tuple[ToolReply, int | None]:
        """What to say, and the recorded call that it is about."""
        policy = self.policies.of(name)
        match policy.kind:
            case PolicyKind.RECORDED:
                return self._recorded_reply(name, arguments)
            case PolicyKind.REAL:
                return self._running_reply(is_compared=True), None
            case PolicyKind.STATIC:
                self._matcher.tool_ran(name, arguments, result=policy.value, origin="its policy gave it this result")
                return ToolReply(outcome=ToolOutcome.RECORDED, result=policy.value), None
            case PolicyKind.FAIL:
                message = f"the tool {name} was called, and its policy in this replay is fail"
                return ToolReply(outcome=ToolOutcome.FAIL, message=message), None
            case _:
                assert_never(policy.kind)

    def _recorded_reply(self, name: str, arguments: Json) -> tuple[ToolReply, int | None]:
        found = self._matcher.ask_tool(name, arguments)
        if isinstance(found, ToolServed):
            return _given(found.call), found.call.call_index
        call_index = found.divergence.call_index
        if self._mode is ReplayMode.LIVE:
            return self._running_reply(is_compared=False), call_index
        if self._mode is ReplayMode.SOFT and found.nearest is not None and found.nearest.source is not None:
            return _given(found.nearest), found.nearest.call_index
        return _refused(found), call_index

    def _running_reply(self, *, is_compared: bool) -> ToolReply:
        with self._lock:
            ticket = next(self._tickets)
            if is_compared:
                self._compared.add(ticket)
        return ToolReply(outcome=ToolOutcome.REAL, ticket=ticket)


def _given(call: CapturedTool) -> ToolReply:
    if call.error is not None:
        return ToolReply(outcome=ToolOutcome.ERROR, error=call.error)
    return ToolReply(outcome=ToolOutcome.RECORDED, result=call.result)


def _refused(missed: ToolMissed) -> ToolReply:
    found = missed.divergence
    return ToolReply(
        outcome=ToolOutcome.FAIL,
        message=missed.text,
        call_index=found.call_index,
        path=found.path,
        recorded=found.recorded,
        got=found.got,
    )


def _read(request: Request, type_: type[_T]) -> _T:
    try:
        return msgspec.json.decode(request.body, type=type_)
    except msgspec.MsgspecError as error:
        raise RefusedError(Outcome.MALFORMED, f"this is no {type_.__name__}: {error}") from None
