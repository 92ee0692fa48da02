"""Captures made while a program runs, of what its processor hands over and of what it tells by hand.

    sink = CaptureSink(redact=SecretPatterns())
    provider.add_span_processor(RunLogSpanProcessor("runs.duckdb", capture=sink))
    ...
    for capture in sink.drain_captures(): ...

Taking a span in costs a reference to it. Runs are told apart, and requests and answers read, when they are asked for.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import Final, TypeAlias

import msgspec
from opentelemetry.sdk.trace import ReadableSpan

from otel_runlog.capture import Capture, CapturedLlm, CapturedTool
from otel_runlog.captures._by_hand import ByHand, Place
from otel_runlog.captures._given import AnswerLike, ErrorLike, RequestLike
from otel_runlog.captures._told import SpanKey, ToldLlm, ToldTool
from otel_runlog.captures._waiting import INTERNAL_ERROR, UNREADABLE, Item, Taken, Waiting
from otel_runlog.captures.building import captures_of
from otel_runlog.config import ContentMode, Redactor
from otel_runlog.containment import is_applications
from otel_runlog.content import Filter
from otel_runlog.drops import warnings_of
from otel_runlog.errors import ConfigError, OtlpError
from otel_runlog.model import Span, utc
from otel_runlog.pricing import PriceTable
from otel_runlog.redaction import told as rules_told
from otel_runlog.span import clean_text, from_sdk
from otel_runlog.span_weight import weigh

__all__ = ["AnswerLike", "Call", "CaptureSink", "ErrorLike", "RequestLike"]

MOST_BYTES: Final = 64 << 20
KEY: Final = "gen_ai.input.messages"
"""The attribute that a redactor is told a text given by hand comes from."""
Call: TypeAlias = CapturedLlm | CapturedTool


class CaptureSink:
    """Gathers the calls of runs, for captures without a store.

    Give it to a processor (`RunLogSpanProcessor(..., capture=sink)`), tell it calls by hand (`llm`, `tool`), or both.
    Any thread may use it. Taking in neither raises nor waits: what does not fit, or cannot be read, is counted in
    `dropped`, logged once, and the captures of its run say so. A child made by fork starts empty.

    What an instrumentation writes into log records alone does not come here: take captures from the store then.

    Args:
        redact: as of RunLogSpanProcessor, whose own has been applied before; asked before anything is kept.
        provider: the model provider's name, for calls that do not say theirs.
        max_bytes: how much may wait to be drained, about (Python takes up to 4 times as much where texts hold emoji).
        prices: prices the runs; default is genai-prices' data.
        now_ns: the time, in nanoseconds since the epoch.

    Raises:
        ConfigError: an argument has the wrong type or value.
    """

    def __init__(
        self,
        redact: Redactor | None = None,
        provider: str | None = None,
        *,
        max_bytes: int = MOST_BYTES,
        prices: PriceTable | None = None,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        _check(redact, provider, max_bytes)
        self._waiting = Waiting(max_bytes)
        self._filter = None if redact is None else Filter(ContentMode.FULL, redact, self._waiting.count_value)
        self._by_hand = ByHand(self._changed, None if redact is None else rules_told(redact), now_ns)
        self._provider = provider
        self._prices = prices
        self._now_ns = now_ns
        self._asking = threading.RLock()
        os.register_at_fork(after_in_child=partial(_begin, weakref.ref(self)))

    @property
    def dropped(self) -> dict[str, int]:
        """Spans and calls that were not kept, by reason: `full`, `unreadable`, `internal_error`.

        `redaction_failed` counts values that were left out of what was kept.
        """
        return self._waiting.dropped

    def on_end(self, span: ReadableSpan, /) -> None:
        """Take in a span that has ended: the processor calls this."""
        try:
            kept = span if self._filter is None else self._filter.span(span)
            self._waiting.keep(Item(kept, weigh(kept)))
        except BaseException as error:
            if is_applications(error):
                raise
            self._waiting.drop(INTERNAL_ERROR, None, error)

    def llm(
        self,
        request: RequestLike,
        answer: AnswerLike = None,
        *,
        error: ErrorLike | None = None,
        run_id: str | None = None,
        provider: str | None = None,
        model: str | None = None,
        duration_ms: float = 0,
    ) -> None:
        """Tell of a model call that is over.

        Args:
            request: an LlmRequest, the body that an API was sent, a list of messages, or what a user said.
            answer: an LlmAnswer, the body that came back (an SDK's object will do), or what was said.
            error: how it failed: a CallError, the exception, or in words.
            run_id: the run; None: that of `otel_runlog.run`, else of the current span's trace, else the sink's own.
            provider: the model provider's name; None: the sink's.
            model: the model asked for, where `request` does not say it.
            duration_ms: how long it took.
        """
        named = provider or self._provider
        self._tell(
            run_id,
            lambda place: self._by_hand.llm(
                place, request, answer, error, provider=named, model=model, duration_ms=duration_ms
            ),
        )

    def tool(
        self,
        name: str,
        arguments: object = None,
        result: object = msgspec.UNSET,
        *,
        error: ErrorLike | None = None,
        run_id: str | None = None,
        call_id: str | None = None,
        duration_ms: float = 0,
    ) -> None:
        """Tell of a tool call that is over.

        Args:
            name: the tool.
            arguments: what it was called with, by parameter.
            result: what it gave; left away: it is not known.
            error: how it failed, as of `llm`.
            run_id: as of `llm`.
            call_id: the id that the model gave the call.
            duration_ms: how long it took.
        """
        self._tell(
            run_id,
            lambda place: self._by_hand.tool(
                place, name, arguments, result, error, call_id=call_id, duration_ms=duration_ms
            ),
        )

    def captures(self) -> list[Capture]:
        """A capture of every run of which something waits, oldest first; it goes on waiting."""
        with self._asking:
            return self._captures(self._waiting.look())

    def drain_captures(self, run_id: str | None = None) -> list[Capture]:
        """As `captures`, and takes out what they were made of; with `run_id` only those of that run, or trace."""
        with self._asking:
            taken = self._waiting.take()
            try:
                found = self._captures(taken)
            except BaseException:
                self._waiting.give_back(taken)
                raise
            if run_id is None:
                return found
            wanted = [capture for capture in found if run_id in {capture.run_id, *_traces([capture])}]
            self._waiting.give_back(_without(taken, wanted, [c for c in found if all(c is not w for w in wanted)]))
            return wanted

    def drain(self, run_id: str | None = None) -> list[Call]:
        """The calls in the order they were made, run by run, and takes them out; `run_id` as of `drain_captures`."""
        return [call for capture in self.drain_captures(run_id) for call in _in_order(capture)]

    def _tell(self, run_id: str | None, make: Callable[[Place], Item]) -> None:
        trace_id = None
        try:
            place = self._by_hand.place(run_id)
            trace_id = place.trace_id
            self._waiting.keep(make(place))
        except BaseException as error:
            if is_applications(error):
                raise
            self._waiting.drop(UNREADABLE, trace_id, error)

    def _changed(self, text: str) -> str:
        clean = clean_text(text, [])
        return clean if self._filter is None else self._filter.text(KEY, clean)

    def _captures(self, taken: Taken) -> list[Capture]:
        spans: list[Span] = []
        told: dict[SpanKey, ToldLlm | ToldTool] = {}
        for item in taken.items:
            try:
                span = item.span if isinstance(item.span, Span) else from_sdk(item.span)
            except OtlpError as error:
                self._waiting.drop(UNREADABLE, None, error)
                continue
            spans.append(span)
            if item.told is not None:
                told[span.trace_id, span.span_id] = item.told
        found = captures_of(spans, prices=self._prices, captured_at=utc(self._now_ns()), told=told)
        return [self._finished(capture, taken) for capture in found]

    def _finished(self, capture: Capture, taken: Taken) -> Capture:
        """A capture with the provider where nobody said it, and with what was lost of its traces."""
        provider, run = self._provider, capture.run
        if lost := warnings_of(_traces([capture]), taken.lost):
            run = msgspec.structs.replace(run, warnings=(*run.warnings, *lost), complete=False)
        calls = tuple(msgspec.structs.replace(call, provider=call.provider or provider) for call in capture.llm_io)
        return msgspec.structs.replace(capture, run=run, llm_io=calls)


def _begin(reference: weakref.ref[CaptureSink]) -> None:
    """In the child of a fork, for a sink that may be gone by then."""
    if (sink := reference()) is not None:
        sink._waiting.begin()  # noqa: SLF001
        sink._by_hand.begin()  # noqa: SLF001
        sink._asking = threading.RLock()  # noqa: SLF001


def _check(redact: object, provider: object, max_bytes: object) -> None:
    if redact is not None and not callable(redact):
        raise ConfigError(f"redact must be callable as redact(key, value) or None, not {type(redact).__name__}")
    if provider is not None and not (isinstance(provider, str) and provider):
        raise ConfigError(f"provider must be a non-empty str or None, not {provider!r}")
    if not isinstance(max_bytes, int) or isinstance(max_bytes, bool) or max_bytes <= 0:
        raise ConfigError(f"max_bytes must be a positive int, not {max_bytes!r}")


def _traces(captures: Iterable[Capture]) -> set[str]:
    steps = {step.trace_id for capture in captures for step in capture.run.steps}
    return steps | {capture.run.trace_id for capture in captures if capture.run.trace_id}


def _without(taken: Taken, wanted: list[Capture], others: list[Capture]) -> Taken:
    """What is left where some captures are taken: their steps go, and of traces that are theirs alone all goes."""
    steps = {(step.trace_id, step.span_id) for capture in wanted for step in capture.run.steps}
    traces = _traces(wanted) - _traces(others)
    kept = [item for item in taken.items if item.trace_id not in traces and item.key not in steps]
    return Taken(kept, {trace_id: lost for trace_id, lost in taken.lost.items() if trace_id not in traces})


def _in_order(capture: Capture) -> list[Call]:
    return sorted([*capture.llm_io, *capture.tool_io], key=_place)


def _place(call: Call) -> tuple[int, int]:
    """A tool call without a step of its own comes after the model call that asked for it."""
    if call.call_index is not None:
        return call.call_index, 0
    return (call.after_call or 0) if isinstance(call, CapturedTool) else 0, 1
