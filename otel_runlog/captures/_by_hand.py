"""Calls told by hand become spans that stand for them, so that they take their places among the steps of a run."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

import msgspec
from opentelemetry import baggage, trace

from otel_runlog.captures._given import AnswerLike, ErrorLike, RequestLike, answer_of, changed, error_of, json_of
from otel_runlog.captures._given import request_of as request_given
from otel_runlog.captures._names import check_id
from otel_runlog.captures._shapes import checked_answer, checked_request
from otel_runlog.captures._told import ToldLlm, ToldTool
from otel_runlog.captures._waiting import Item
from otel_runlog.conventions.turns import arguments_of, result_of
from otel_runlog.conversation import CallError, LlmAnswer, LlmRequest
from otel_runlog.model import Attributes, AttrValue, Resource, Scope, Span, Usage
from otel_runlog.redaction import TOLD_AS
from otel_runlog.span import plain_attributes, plain_text
from otel_runlog.span_weight import SPAN_BYTES
from otel_runlog.tree import REMOTE_KNOWN, RUN_ID

SCOPE: Final = Scope("otel_runlog.captures")
USAGE: Final = (
    ("gen_ai.usage.input_tokens", "input_tokens"),
    ("gen_ai.usage.output_tokens", "output_tokens"),
    ("gen_ai.usage.cache_read.input_tokens", "cache_read_tokens"),
    ("gen_ai.usage.cache_creation.input_tokens", "cache_write_tokens"),
    ("gen_ai.usage.reasoning.output_tokens", "reasoning_tokens"),
)
"""OTel semantic conventions, GenAI 1.41."""
_CLIENT, _INTERNAL, _ERROR = 3, 1, 2
_OPERATIONS: Final = {"chat": "chat", "embedding": "embeddings"}
_NS_PER_MS: Final = 1_000_000


class Place(NamedTuple):
    """Where a call belongs: its trace, the span it was made in, and the run, where that has a name of its own."""

    trace_id: str
    parent_span_id: str | None
    run_id: str | None


class ByHand:
    """Makes items of calls as they are told.

    Args:
        change: what becomes of each text that is told.
        rules: what is said of the redaction (`runlog.redaction`); None: there was none.
        now_ns: the time, in nanoseconds since the epoch.
    """

    _lock: threading.RLock
    _run_id: str
    _spans: int
    _last_ns: int

    def __init__(self, change: Callable[[str], str], rules: str | None, now_ns: Callable[[], int]) -> None:
        self._change = change
        self._resource = Resource({TOLD_AS: rules} if rules else {})
        self._now_ns = now_ns
        self.begin()

    def begin(self) -> None:
        """Make another run for the calls that belong to none: in the child of a fork."""
        self._lock = threading.RLock()
        self._run_id = uuid.uuid4().hex
        self._spans = self._last_ns = 0

    def place(self, run_id: str | None) -> Place:
        """Where a call that is made now belongs: to the run named, the current one, the current trace, or the sink's.

        A call that another run is named for is no part of what goes on here. Raises CaptureError where no run can have
        such a name, for a capture of it could never be written.
        """
        run_id = _text(run_id) or None
        check_id("run_id", run_id)
        current = trace.get_current_span().get_span_context()
        told = baggage.get_baggage(RUN_ID)
        around = told if isinstance(told, str) and told else None
        if current.is_valid and run_id in (None, around):
            return Place(f"{current.trace_id:032x}", f"{current.span_id:016x}", around)
        name = run_id or around or self._run_id
        return Place(hashlib.sha256(name.encode("utf-8", "replace")).hexdigest()[:32], None, name)

    def llm(
        self,
        place: Place,
        request: RequestLike,
        answer: AnswerLike,
        error: ErrorLike | None,
        *,
        provider: str | None,
        model: str | None,
        duration_ms: float,
    ) -> Item:
        """A model call. Raises RequestError where a body is none of a known API, and as `checked_request` does."""
        asked, said = checked_request(request_given(request)), answer_of(answer)
        if model is not None and asked.model is None:
            asked = msgspec.structs.replace(asked, model=_text(model))
        failed = error_of(error)
        if isinstance(said, CallError):
            said, failed = None, failed or said
        said = None if said is None else checked_answer(said)
        told = changed(ToldLlm(asked, said, failed), self._change)
        attributes = _llm_attributes(told.request or LlmRequest(), told.answer or LlmAnswer())
        attributes["gen_ai.provider.name"] = None if provider is None else _text(provider)
        return self._item(place, attributes, told, duration_ms)

    def tool(
        self,
        place: Place,
        name: str,
        arguments: object,
        result: object,
        error: ErrorLike | None,
        *,
        call_id: str | None,
        duration_ms: float,
    ) -> Item:
        """A tool call; `result` UNSET: it is not known."""
        has_result = result is not msgspec.UNSET
        came = result_of(json_of(result)) if has_result else None
        went = None if arguments is None else arguments_of(json_of(arguments))
        said = ToldTool(went, came, error_of(error), has_result)
        told = changed(said, self._change)
        attributes: Attributes = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": self._change(_text(name)),
            "gen_ai.tool.call.id": None if call_id is None else _text(call_id),
        }
        return self._item(place, attributes, told, duration_ms)

    def _item(self, place: Place, attributes: Attributes, told: ToldLlm | ToldTool, duration_ms: float) -> Item:
        error = told.error
        span_id, now_ns = self._next()
        said = attributes | {RUN_ID: place.run_id, "error.type": (error.type or "error") if error else None}
        span = Span(
            trace_id=place.trace_id,
            span_id=span_id,
            parent_span_id=place.parent_span_id,
            name=str(attributes["gen_ai.operation.name"]),
            kind=_CLIENT if isinstance(told, ToldLlm) else _INTERNAL,
            started_ns=now_ns - min(max(int(duration_ms * _NS_PER_MS), 0), now_ns),
            ended_ns=now_ns,
            status_code=_ERROR if error else 0,
            status_message=(error.message or "") if error else "",
            attributes=plain_attributes({key: value for key, value in said.items() if value is not None}, []),
            scope=SCOPE,
            resource=self._resource,
            flags=REMOTE_KNOWN,
        )
        return Item(span, SPAN_BYTES + len(msgspec.json.encode(told)), told)

    def _next(self) -> tuple[str, int]:
        """The id of a span that nobody else has, and a time after the one before: calls are in the order told."""
        with self._lock:
            self._spans += 1
            self._last_ns = max(self._now_ns(), self._last_ns + 1)
            return f"{self._run_id[:8]}{self._spans:08x}", self._last_ns


def _text(name: object) -> str:
    """A name as plain text, whatever stands for it: a subclass of str, a word of an enumeration, a UUID."""
    return plain_text(name.value if isinstance(name, Enum) else name, [])


def _llm_attributes(request: LlmRequest, answer: LlmAnswer) -> dict[str, AttrValue]:
    """What a span says of a model call, beside what was said in it."""
    return {
        **{f"gen_ai.request.{name}": value for name, value in request.params.items()},  # type: ignore[misc]
        "gen_ai.operation.name": _OPERATIONS[request.operation],
        "gen_ai.request.model": request.model or answer.model,
        "gen_ai.response.model": answer.model,
        "gen_ai.response.id": answer.response_id,
        "gen_ai.response.finish_reasons": [str(answer.finish_reason)] if answer.finish_reason else None,
        "gen_ai.request.previous_response.id": request.previous_response_id,
        **_usage(answer.usage),
    }


def _usage(usage: Usage | None) -> dict[str, AttrValue]:
    return {name: getattr(usage, counter) for name, counter in USAGE} if usage else {}
