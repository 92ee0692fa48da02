"""What a replayed program's model calls are answered, whichever API they speak.

An answer is sent whole, as JSON or as events, whatever form it had when it was recorded. No client sends a refused or
failed call again: `x-should-retry: false` stops OpenAI's and Anthropic's, which else try 409, 429 and 5xx three times.
"""

from __future__ import annotations

import threading
import time
from typing import Final, NamedTuple, Protocol, assert_never

import msgspec

from otel_runlog.apis import Api, Asked, encoded, error_status
from otel_runlog.capture import CapturedLlm
from otel_runlog.conversation import CallError, LlmAnswer
from otel_runlog.errors import ReplayError, RequestError
from otel_runlog.replaying.divergence import ReplayMode, Resolution, StepDivergence
from otel_runlog.replaying.environment import ProviderDoor
from otel_runlog.replaying.exchanges import Exchange, Exchanges, Unserved
from otel_runlog.replaying.matching import Matcher, Missed, Served
from otel_runlog.replaying.recording import key_or_none
from otel_runlog.server.routes import Request, Response

EVENT_STREAM: Final = "text/event-stream; charset=utf-8"
JSON_TYPE: Final = "application/json"
DIVERGENCE_TYPE: Final = "replay_divergence"
NOT_RECORDED_TYPE: Final = "replay_not_recorded"
NOT_FORWARDED_TYPE: Final = "replay_not_forwarded"
STEP_HEADER: Final = "x-runlog-step"
NO_RETRY: Final = ("x-should-retry", "false")
_OK, _BAD_REQUEST = 200, 400


class CannotGoOnError(Exception):
    """A request that a live replay cannot send on, and why. `status` is what its asker is told."""

    def __init__(self, message: str, status: int = _BAD_REQUEST) -> None:
        super().__init__(message)
        self.status = status


class Call(NamedTuple):
    """A model call on its way. `path` is what came below the door."""

    number: int
    started_ns: int
    api: Api
    asked: Asked
    door: ProviderDoor
    path: str
    request: Request


class WayOut(Protocol):
    """Where a live replay's calls go on."""

    def go_on(self, call: Call, own_ids: frozenset[str]) -> Response:
        """What the provider answers; `own_ids` are ids of answers that it does not know. Raises CannotGoOnError."""
        ...


class _Reply(NamedTuple):
    """What a call got: the response, and what it says."""

    response: Response
    resolution: Resolution
    answer: LlmAnswer | None = None
    error: CallError | None = None
    call_index: int | None = None
    response_id: str | None = None
    drift: tuple[StepDivergence, ...] = ()


class Answering:
    """Answers model calls from a capture; for any number of threads.

    Args:
        matcher: what was recorded, and what of it was asked.
        exchanges: where each call is kept.
        mode: what a call gets that was not recorded.
        way_out: live mode's.
    """

    def __init__(
        self,
        matcher: Matcher,
        exchanges: Exchanges,
        mode: ReplayMode,
        way_out: WayOut | None = None,
    ) -> None:
        self._matcher = matcher
        self._exchanges = exchanges
        self._mode = mode
        self._way_out = way_out
        self._lock = threading.Lock()
        self._given: dict[str, LlmAnswer] = {}
        self._own_ids: set[str] = set()
        self._failed_live: dict[str | None, Missed] = {}

    def answer(self, api: Api, door: ProviderDoor, path: str, request: Request) -> Response:
        """What a request for a model's answer gets."""
        number, started_ns = self._exchanges.number(), time.time_ns()
        try:
            asked = api.parse(f"/{path}", msgspec.json.decode(request.body), recall=self._given.get)
        except (msgspec.MsgspecError, RequestError, RecursionError) as error:
            why = f"it could not be read: {error}"
            self._exchanges.add_unserved(Unserved(method=request.method, path=path, why=why, failed=True))
            return failure(api, _BAD_REQUEST, None, f"the replay cannot read this request: {error}")
        call = Call(number, started_ns, api, asked, door, path, request)
        reply = self._reply(call)
        self._exchanges.add(self._exchange(call, reply))
        return reply.response

    def _reply(self, call: Call) -> _Reply:
        found = self._tried_before(call) or self._matcher.ask(call.asked.request)
        if isinstance(found, Served):
            return self._recorded(call, found.call, found.response_id, Resolution.SERVED, found.drift)
        match self._mode:
            case ReplayMode.STRICT:
                return _refused(call, found.text, found.divergence.call_index)
            case ReplayMode.SOFT if found.nearest is not None:
                return self._recorded(call, found.nearest, found.response_id, Resolution.NEAREST)
            case ReplayMode.SOFT:
                return _refused(call, found.text, found.divergence.call_index)
            case ReplayMode.LIVE:
                return self._live(call, found)
            case _:
                assert_never(self._mode)

    def _recorded(
        self,
        call: Call,
        recorded: CapturedLlm,
        response_id: str,
        resolution: Resolution,
        drift: tuple[StepDivergence, ...] = (),
    ) -> _Reply:
        """The recorded answer in the form that was asked for, or the recorded error."""
        step = (STEP_HEADER, str(recorded.call_index))
        if recorded.answer is None:
            error = recorded.error or CallError(NOT_RECORDED_TYPE, _not_recorded(recorded), _BAD_REQUEST)
            response = failure(call.api, error_status(error), error.type, error.message or "", step)
            return _Reply(response, resolution, error=error, call_index=recorded.call_index, drift=drift)
        try:
            response = _rendered(call, recorded.answer, response_id, step)
        except ReplayError as cannot:
            error = CallError(NOT_RECORDED_TYPE, f"{_not_recorded(recorded)}: {cannot}", _BAD_REQUEST)
            response = failure(call.api, _BAD_REQUEST, error.type, error.message or "", step)
            return _Reply(response, resolution, error=error, call_index=recorded.call_index, drift=drift)
        self._remember(response_id, recorded)
        return _Reply(response, resolution, recorded.answer, None, recorded.call_index, response_id, drift)

    def _live(self, call: Call, missed: Missed) -> _Reply:
        assert self._way_out is not None
        try:
            response = self._way_out.go_on(call, frozenset(self._own_ids))
        except CannotGoOnError as cannot:
            self._matcher.not_answered(missed, str(cannot))
            return _refused(call, str(cannot), missed.divergence.call_index, NOT_FORWARDED_TYPE, cannot.status)
        read = call.api.read(response.status, response.content_type, response.body)
        self._matcher.answered_live(missed, read)
        if isinstance(read, CallError):
            key = key_or_none(call.asked.request)
            with self._lock:
                self._failed_live[key] = missed
            return _Reply(response, Resolution.LIVE, error=read)
        return _Reply(response, Resolution.LIVE, read, response_id=read.response_id)

    def _tried_before(self, call: Call) -> Missed | None:
        """What an earlier try of a call missed that the provider then failed: it is the same call once more."""
        if not self._failed_live:
            return None
        key = key_or_none(call.asked.request)
        with self._lock:
            return self._failed_live.pop(key, None)

    def _remember(self, response_id: str, recorded: CapturedLlm) -> None:
        assert recorded.answer is not None
        with self._lock:
            self._given[response_id] = recorded.answer
            if response_id != recorded.response_id:
                self._own_ids.add(response_id)

    def _exchange(self, call: Call, reply: _Reply) -> Exchange:
        return Exchange(
            number=call.number,
            api=call.api.NAME,
            request=call.asked.request,
            streamed=call.asked.stream,
            started_ns=call.started_ns,
            ended_ns=time.time_ns(),
            resolution=reply.resolution,
            http_status=reply.response.status,
            answer=reply.answer,
            error=reply.error,
            call_index=reply.call_index,
            response_id=reply.response_id,
            drift=reply.drift,
        )


def failure(api: Api, status: int, type_: str | None, message: str, *headers: tuple[str, str]) -> Response:
    """An error in the provider's own form, which no client tries again."""
    return Response(status, encoded(api.error(status, type_, message)), JSON_TYPE, (NO_RETRY, *headers))


def _refused(
    call: Call, text: str, call_index: int | None, type_: str = DIVERGENCE_TYPE, status: int = _BAD_REQUEST
) -> _Reply:
    step = () if call_index is None else ((STEP_HEADER, str(call_index)),)
    response = failure(call.api, status, type_, text, *step)
    return _Reply(response, Resolution.REFUSED, error=CallError(type_, text, status))


def _rendered(call: Call, answer: LlmAnswer, response_id: str, step: tuple[str, str]) -> Response:
    api, asked = call.api, call.asked
    if asked.stream:
        return Response(_OK, b"".join(api.stream(answer, asked, response_id)), EVENT_STREAM, (step,))
    return Response(_OK, encoded(api.render(answer, asked, response_id)), JSON_TYPE, (step,))


def _not_recorded(recorded: CapturedLlm) -> str:
    return f"call {recorded.call_index} was recorded without what it was answered"
