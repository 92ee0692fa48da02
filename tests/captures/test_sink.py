"""A CaptureSink: what it takes in comes out whole, in order and run by run; it never raises, waits or grows."""

from __future__ import annotations

import datetime as dt
import enum
import json
import logging
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

import otel_runlog
from otel_runlog.capture import CapturedLlm, CapturedTool, RedactionRules, ToolSource
from otel_runlog.captures import sink as sinking
from otel_runlog.captures.document import dumps, loads
from otel_runlog.captures.sink import Call, CaptureSink
from otel_runlog.conversation import (
    CallError,
    CallPart,
    FinishReason,
    LlmAnswer,
    LlmRequest,
    MediaPart,
    ResultPart,
    Role,
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.errors import ConfigError
from otel_runlog.fingerprint import fingerprint_of
from otel_runlog.journal.folder import journal_folder
from otel_runlog.model import Content, RunStatus, Usage
from otel_runlog.pricing import PriceTable
from otel_runlog.processor import RunLogSpanProcessor
from otel_runlog.span_weight import weigh

PRICES = PriceTable()
SECRET = "s3cr3t"


def hide(_key: str, value: Any) -> Any:
    return value.replace(SECRET, "***")


def make(**arguments: Any) -> CaptureSink:
    return CaptureSink(prices=PRICES, **arguments)


def asked(text: str) -> LlmRequest:
    return LlmRequest(turns=(Turn(Role.USER, (TextPart(text),)),), model="m")


def said(text: str) -> LlmAnswer:
    return LlmAnswer(parts=(TextPart(text),))


def texts(calls: Sequence[Call]) -> list[str]:
    """The questions and the tools, in order."""
    return [c.name if isinstance(c, CapturedTool) else c.request.turns[-1].text if c.request else "" for c in calls]


# -- by hand --------------------------------------------------------------------------------------

SHORT = st.text(st.characters(exclude_categories=("Cs",)), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | SHORT,
    lambda v: st.lists(v, max_size=2) | st.dictionaries(SHORT, v, max_size=2),
    max_leaves=4,
)
PARTS = st.one_of(
    st.builds(TextPart, SHORT),
    st.builds(CallPart, SHORT, VALUES, SHORT),
    st.builds(ResultPart, VALUES, SHORT, st.none() | SHORT, st.booleans()),
    st.builds(MediaPart, st.none() | SHORT, st.none() | SHORT),
    st.builds(ThinkingPart, SHORT, st.none() | SHORT),
)
TURNS = st.lists(st.builds(Turn, st.sampled_from(Role), st.lists(PARTS, max_size=3).map(tuple)), max_size=3).map(tuple)
REQUESTS = st.builds(
    LlmRequest,
    turns=TURNS,
    model=st.none() | SHORT,
    params=st.dictionaries(st.sampled_from(["temperature", "seed", "reasoning"]), VALUES, max_size=2),
    tools=st.none() | st.lists(st.builds(ToolDefinition, SHORT, st.none() | SHORT, VALUES), max_size=2).map(tuple),
    operation=st.sampled_from(["chat", "embedding"]),
    inputs=st.lists(SHORT, max_size=2).map(tuple),
)
ANSWERS = st.builds(
    LlmAnswer,
    parts=st.lists(PARTS, max_size=2).map(tuple),
    finish_reason=st.none() | st.sampled_from(FinishReason),
    model=st.none() | SHORT,
    usage=st.none() | st.builds(Usage, st.integers(0, 9), st.integers(0, 9)),
    vectors=st.none() | st.just(((0.5, 1.0),)),
)
ERRORS = st.builds(CallError, st.none() | SHORT, st.none() | SHORT, st.none() | st.just(429))


@given(calls=st.lists(st.tuples(REQUESTS, ANSWERS) | st.tuples(REQUESTS, ERRORS), max_size=5))
@settings(max_examples=40, deadline=None)
def test_what_was_told_comes_out_as_it_was_told_in_order(calls: list[tuple[LlmRequest, LlmAnswer | CallError]]) -> None:
    sink = make(now_ns=lambda: 1)
    for request, outcome in calls:
        sink.llm(request, **({"error": outcome} if isinstance(outcome, CallError) else {"answer": outcome}))
    captures = sink.captures()
    for capture in captures:
        assert loads(dumps(capture), name="again") == capture
    found = [call for call in sink.drain() if isinstance(call, CapturedLlm)]
    assert [(c.request, c.error or c.answer) for c in found] == calls
    assert [c.call_index for c in found] == list(range(1, len(calls) + 1))
    keys = [fingerprint_of(request) for request, _ in calls]
    assert [(c.fingerprint, c.occurrence) for c in found] == [(k, keys[: i + 1].count(k)) for i, k in enumerate(keys)]
    assert (sink.dropped, sink.drain()) == ({}, [])


def test_model_and_tool_calls_stand_in_the_order_they_were_told() -> None:
    sink = make(provider="acme")
    sink.llm(asked("one"), LlmAnswer(parts=(CallPart("t", {"n": 1}, "c1"),)))
    sink.tool("t", {"n": 1}, {"found": True}, call_id="c1")
    sink.llm(asked("two"), said("done"), provider="other")
    sink.tool("u", error=TimeoutError("late"))
    sink.tool("v")
    one, t, two, u, v = sink.drain()
    assert isinstance(one, CapturedLlm) and isinstance(two, CapturedLlm)  # noqa: PT018
    assert (one.provider, two.provider, one.completeness) == ("acme", "other", Content.FULL)
    assert t == CapturedTool(
        name="t", step_index=2, call_index=2, after_call=1, call_id="c1", arguments={"n": 1},
        result={"found": True}, source=ToolSource.SPAN,
    )  # fmt: skip
    assert u == CapturedTool(
        name="u", step_index=4, call_index=4, error=CallError("TimeoutError", "late"), source=ToolSource.SPAN
    )
    assert v == CapturedTool(name="v", step_index=5, call_index=5)


def test_a_tool_that_gives_none_is_known_to_give_none() -> None:
    sink = make()
    sink.tool("t", {}, None)
    assert [(c.result, c.source) for c in sink.drain() if isinstance(c, CapturedTool)] == [(None, ToolSource.SPAN)]


def test_an_answer_that_goes_on_from_another_is_chained_to_it() -> None:
    sink = make()
    sink.llm(asked("one"), LlmAnswer(parts=(TextPart("1"),), response_id="r1"))
    sink.llm(LlmRequest(turns=asked("two").turns, previous_response_id="r1"), said("2"))
    first, second = sink.drain()
    assert isinstance(first, CapturedLlm) and isinstance(second, CapturedLlm)  # noqa: PT018
    assert second.request is not None
    assert second.request.previous == first.fingerprint
    assert second.completeness is Content.FULL


class Model:
    """As the objects of SDKs are."""

    def __init__(self, body: dict[str, Any]) -> None:
        self._body = body

    def model_dump(self, mode: str) -> dict[str, Any]:
        assert mode == "json"
        return self._body


HI = [{"role": "user", "content": "hi"}]
CHAT = {"id": "r", "choices": [{"message": {"role": "assistant", "content": "ho"}, "finish_reason": "stop"}]}
ITEM = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "ho"}]}
MESSAGE = {
    "role": "assistant",
    "type": "message",
    "content": [{"type": "text", "text": "ho"}],
    "stop_reason": "end_turn",
}
CANDIDATE = {"candidates": [{"content": {"role": "model", "parts": [{"text": "ho"}]}, "finishReason": "STOP"}]}


@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("hi", "ho"),
        (HI, "ho"),
        ({"model": "m", "messages": HI}, CHAT),
        ({"model": "m", "messages": HI}, Model(CHAT)),
        ({"model": "m", "messages": [Model(HI[0])]}, Model(CHAT)),
        ({"model": "m", "input": "hi"}, {"output": [ITEM], "status": "completed", "error": None}),
        ({"model": "m", "max_tokens": 9, "messages": HI}, MESSAGE),
        ({"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, CANDIDATE),
    ],
)
def test_requests_and_answers_may_be_texts_wire_bodies_and_objects_of_sdks(request_: Any, answer: Any) -> None:
    sink = make()
    sink.llm(request_, answer, model="m")
    [call] = sink.drain()
    assert isinstance(call, CapturedLlm)
    assert call.request is not None
    assert call.answer is not None
    assert (call.request.turns, call.request.model) == (asked("hi").turns, "m")
    assert call.answer.parts == (TextPart("ho"),)
    assert sink.dropped == {}


class RateLimitError(Exception):
    status_code = 429


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ({"error": RateLimitError("slow down")}, CallError("RateLimitError", "slow down", 429)),
        ({"error": "gone"}, CallError(None, "gone")),
        ({"answer": {"error": {"type": "overloaded", "message": "later"}}}, CallError("overloaded", "later")),
    ],
)
def test_a_call_fails_by_an_exception_by_words_or_by_the_body_that_came(
    told: dict[str, Any], expected: CallError
) -> None:
    sink = make()
    sink.llm("hi", **told)
    [capture] = sink.drain_captures()
    assert (capture.llm_io[0].error, capture.llm_io[0].answer) == (expected, None)
    assert capture.run.status is RunStatus.FAILED


# -- runs apart -----------------------------------------------------------------------------------


@pytest.fixture
def tracer() -> Iterator[trace.Tracer]:
    provider = TracerProvider(shutdown_on_exit=False)
    yield provider.get_tracer("t")
    provider.shutdown()


def test_calls_belong_to_the_run_named_the_one_around_them_the_trace_or_the_sinks_own(tracer: trace.Tracer) -> None:
    sink = make()
    sink.llm("nowhere", "1")
    with otel_runlog.run("nightly", run_id="n1", tracer=tracer):
        sink.llm("around", "2")
        sink.llm("named", "3", run_id="n2")
    token = context.attach(baggage.set_baggage("runlog.run.id", "n3"))
    sink.tool("baggage")
    context.detach(token)
    with tracer.start_as_current_span("job") as span:
        sink.llm("in a trace", "4")
        trace_id = f"{span.get_span_context().trace_id:032x}"
    found = {texts([*c.llm_io, *c.tool_io])[0]: c.run_id for c in sink.captures()}
    assert (found["around"], found["named"], found["baggage"]) == ("n1", "n2", "n3")
    assert len(set(found.values())) == 5
    assert texts(sink.drain(trace_id)) == ["in a trace"]
    assert texts(sink.drain("n2")) == ["named"]
    assert sink.drain("n2") == sink.drain("never") == []
    assert texts(sink.drain()) == ["nowhere", "around", "baggage"]


def test_a_run_is_taken_out_of_a_trace_that_others_share(tracer: trace.Tracer) -> None:
    sink = make()
    with tracer.start_as_current_span("request"):
        for name in ("a", "b"):
            with otel_runlog.run(name, run_id=name, tracer=tracer):
                sink.llm(f"asked by {name}", "1")
    assert texts(sink.drain("a")) == ["asked by a"]
    assert texts(sink.drain()) == ["asked by b"]


def test_what_comes_while_a_run_is_taken_out_comes_after_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = make()
    for number in range(3):
        sink.llm(f"{number}", "", run_id=f"r{number % 2}")
    build = sinking.captures_of

    def meanwhile(*arguments: Any, **named: Any) -> Any:
        sink.llm("late", "", run_id="r0")
        return build(*arguments, **named)

    monkeypatch.setattr(sinking, "captures_of", meanwhile)
    assert texts(sink.drain("r1")) == ["1"]
    monkeypatch.undo()
    assert texts(sink.drain()) == ["0", "2", "late"]


def test_what_cannot_be_built_waits_on(monkeypatch: pytest.MonkeyPatch) -> None:
    sink = make()
    sink.llm("hi", "ho")

    def fail(*_: Any, **__: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(sinking, "captures_of", fail)
    with pytest.raises(ZeroDivisionError):
        sink.drain()
    monkeypatch.undo()
    assert texts(sink.drain()) == ["hi"]


# -- by a processor -------------------------------------------------------------------------------

Ending = Callable[..., None]


@pytest.fixture
def traced(tmp_path: Path) -> Iterator[Callable[..., tuple[trace.Tracer, TracerProvider]]]:
    made: list[TracerProvider] = []

    def build(sink: Any, **arguments: Any) -> tuple[trace.Tracer, TracerProvider]:
        provider = TracerProvider(shutdown_on_exit=False, sampler=arguments.pop("sampler", None))
        processor = RunLogSpanProcessor(tmp_path / "runs.duckdb", loader="off", capture=sink, **arguments)
        provider.add_span_processor(processor)
        made.append(provider)
        return provider.get_tracer("acme"), provider

    yield build
    for provider in made:
        provider.shutdown()


def chat(tracer: trace.Tracer, question: str, answer: str) -> None:
    def message(role: str, text: str) -> str:
        return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}]}])

    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.input.messages": message("user", question),
        "gen_ai.output.messages": message("assistant", answer),
    }
    tracer.start_span("chat m", attributes=attributes).end()


def test_a_processor_hands_its_spans_over_beside_what_is_told_by_hand(traced: Callable[..., Any]) -> None:
    sink = make(provider="acme")
    tracer, _ = traced(sink)
    with otel_runlog.run("nightly", run_id="n1", tracer=tracer):
        chat(tracer, "one", "1")
        sink.tool("between", {}, 1)
        chat(tracer, "two", "2")
    [capture] = sink.captures()
    assert (capture.run_id, capture.run.agent, capture.run.status) == ("n1", "nightly", RunStatus.COMPLETED)
    assert [c.provider for c in capture.llm_io] == ["acme", "acme"]
    assert loads(dumps(capture), name="again") == capture
    assert texts(sink.drain()) == ["one", "between", "two"]


@pytest.mark.parametrize("durability", ["process", "queue"])
def test_a_sink_sees_what_is_written_and_each_text_is_redacted_once(
    traced: Callable[..., Any], tmp_path: Path, durability: str
) -> None:
    seen: list[str] = []

    def redact(_key: str, value: Any) -> Any:
        seen.append(value)
        return hide(_key, value)

    sink = make()
    tracer, provider = traced(sink, redact=redact, durability=durability)
    chat(tracer, f"my {SECRET}", "ok")
    assert provider.force_flush()
    [capture] = sink.captures()
    assert texts(capture.llm_io) == ["my ***"]
    assert capture.redaction == RedactionRules("own")
    assert seen.count("chat m") == 2  # its start record, its end
    journal = b"".join(path.read_bytes() for path in journal_folder(tmp_path / "runs.duckdb").glob("*.seg"))
    assert b"my ***" in journal
    assert SECRET.encode() not in journal


@pytest.mark.parametrize("content", ["hash", "off"])
def test_content_that_is_not_written_is_not_captured(traced: Callable[..., Any], content: str) -> None:
    sink = make()
    tracer, _ = traced(sink, content=content)
    chat(tracer, SECRET, SECRET)
    [capture] = sink.captures()
    assert SECRET.encode() not in dumps(capture)
    assert len(capture.llm_io) == 1


def test_spans_that_are_not_sampled_do_not_come(traced: Callable[..., Any]) -> None:
    sink = make()
    tracer, _ = traced(sink, sampler=ALWAYS_OFF)
    chat(tracer, "one", "1")
    assert sink.drain() == []


def test_a_processor_added_twice_hands_a_span_over_once(traced: Callable[..., Any]) -> None:
    sink = make()
    tracer, provider = traced(sink)
    provider.add_span_processor(provider._active_span_processor._span_processors[0])
    chat(tracer, "one", "1")
    [capture] = sink.captures()
    assert len(capture.llm_io) == 1
    assert len(sink._waiting.look().items) == 1


def test_nothing_is_projected_while_spans_end(traced: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sinking, "captures_of", None)
    monkeypatch.setattr(sinking, "from_sdk", None)
    sink = make()
    tracer, _ = traced(sink)
    chat(tracer, "one", "1")
    assert sink.dropped == {}


@pytest.mark.fault(56)
@pytest.mark.parametrize("by_hand", [True, False])
def test_a_sink_redacts_before_it_keeps_anything(traced: Callable[..., Any], by_hand: bool) -> None:
    sink = make(redact=hide)
    if by_hand:
        parts = (
            TextPart(SECRET),
            ThinkingPart(SECRET, SECRET),
            CallPart("t", {"deep": [SECRET]}, "c"),
            ResultPart(SECRET),
        )
        request = LlmRequest(
            turns=(Turn(Role.USER, parts),), params={"stop": [SECRET]}, tools=(ToolDefinition("t", SECRET),)
        )
        sink.llm(request, LlmAnswer(parts=parts))
        sink.tool("t", {"a": SECRET}, [SECRET])
        sink.tool("t", error=ValueError(SECRET))
    else:
        chat(traced(sink)[0], SECRET, SECRET)
    waiting = sink._waiting.look().items
    assert len(waiting) == (3 if by_hand else 1)
    spans = [item.span if by_hand else (item.span.attributes, item.span.events) for item in waiting]
    assert SECRET not in repr((spans, [item.told for item in waiting]))
    [capture] = sink.captures()
    assert b"***" in dumps(capture)
    assert capture.redaction == RedactionRules("own")


# -- bounds and faults ----------------------------------------------------------------------------


def test_what_does_not_fit_is_counted_said_by_the_capture_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    sink = make(max_bytes=4_000)
    for number in range(9):
        sink.llm(f"{number}", "x" * 500, run_id="r1")
    sink.llm("other", "x" * 5_000, run_id="r2")
    [capture] = sink.captures()
    kept = len(capture.llm_io)
    assert 0 < kept < 4
    assert sink.dropped == {"full": 10 - kept}
    assert not capture.run.complete
    lost = f"spans_dropped: step_count and tokens may lack {9 - kept} spans that the process lost (full)"
    assert lost in capture.run.warnings
    assert [r.message for r in caplog.records] == ["captures will lack calls (full): 4000 bytes wait to be drained"]
    assert texts(sink.drain()) == [f"{number}" for number in range(kept)]
    sink.llm("again", "")
    [again] = sink.drain_captures()
    assert again.run.complete


def test_spans_are_bounded_by_what_they_weigh(traced: Callable[..., Any], tracer: trace.Tracer) -> None:
    span: Any = tracer.start_span("chat")
    span.end()
    sink = make(max_bytes=10 * weigh(span))
    for _ in range(15):
        sink.on_end(span)
    assert sink.dropped == {"full": 5}
    assert len(sink._waiting.look().items) == 10


class Broken:
    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


@pytest.mark.parametrize(
    "arguments",
    [
        ({"what": "is this"}, "ho"),
        ("hi", {"what": "is this"}),
        (5, None),
        ("hi", None, {"error": Broken()}),
        ("hi", None, {"duration_ms": "long"}),
        ("hi", None, {"run_id": 5}),
    ],
)
def test_what_cannot_be_read_is_counted_and_does_not_raise(arguments: tuple[Any, ...]) -> None:
    request, answer, *more = arguments
    sink = make()
    sink.llm(request, answer, **(more[0] if more else {}))
    sink.llm("fine", "fine")
    found = sink.drain()
    assert texts(found)[-1] == "fine"
    assert len(found) + sum(sink.dropped.values()) == 2


def test_requests_and_answers_of_wrong_types_are_put_right_or_counted() -> None:
    sink = make()
    listed = LlmRequest(turns=[Turn(Role.USER, [TextPart("hi")])], tools=[ToolDefinition("f")])  # type: ignore[arg-type]
    sink.llm(listed, LlmAnswer(parts=[TextPart("ho")], finish_reason="stop"), run_id="r1")  # type: ignore[arg-type]
    sink.llm(LlmRequest(turns=({"role": "user"},)), "ho", run_id="r2")  # type: ignore[arg-type]
    sink.llm(LlmRequest(turns=("hi",)), "ho", run_id="r3")  # type: ignore[arg-type]
    sink.llm(LlmRequest(model=5), "ho", run_id="r4")  # type: ignore[arg-type]
    sink.llm("hi", LlmAnswer(parts="ho"), run_id="r5")  # type: ignore[arg-type]
    found = sink.drain_captures()
    assert [capture.run_id for capture in found] == ["r1", "r2"]
    assert [capture.llm_io[0].request.turns for capture in found if capture.llm_io[0].request] == [
        (Turn(Role.USER, (TextPart("hi"),)),),
        (Turn(Role.USER),),
    ]
    assert found[0].llm_io[0].answer == LlmAnswer(parts=(TextPart("ho"),), finish_reason=FinishReason.STOP)
    assert sink.dropped == {"unreadable": 3}


class Name(str):
    __slots__ = ()


class Word(enum.StrEnum):
    MODEL = "m-1"


@pytest.mark.parametrize("name", [Name("m-1"), Word.MODEL, 7, 2**70, "\ud800", {1: 2}, object()])
def test_names_of_any_kind_are_texts_and_never_in_the_way_of_other_calls(name: Any) -> None:
    sink = make()
    sink.llm("hi", "ho", provider=name, model=name, run_id="r1")
    sink.llm({"messages": [{"role": "user", "content": "hi"}], "seed": 2**70}, "ho", run_id="r1")
    sink.tool(name, call_id=name, run_id=name, duration_ms=1e30)
    found = sink.drain_captures()
    assert [len(c.llm_io) + len(c.tool_io) for c in found] in ([2, 1], [1, 2])
    assert all(loads(dumps(capture)) == capture for capture in found)
    assert sink.dropped == {}


@pytest.mark.parametrize("run_id", ["a\0b", "../x", "x" * 1000])
def test_a_call_of_a_run_that_no_capture_can_be_of_is_counted(run_id: str) -> None:
    sink = make()
    sink.llm("hi", "ho", run_id=run_id)
    assert (sink.drain_captures(), sink.dropped) == ([], {"unreadable": 1})


def test_values_of_any_kind_are_kept_as_json_or_text() -> None:
    sink = make()
    loop: list[Any] = []
    loop.append(loop)
    sink.tool("t", {"at": dt.date(2026, 11, 29), "x": Broken(), "set": (1, 2), "nan": float("nan")}, loop)
    sink.tool("\ud800", {"s": "\ud800", 5: "five"}, b"bytes")
    first, second = sink.drain_captures()[0].tool_io
    assert first.arguments == {"at": "2026-11-29", "x": "<Broken that has no text>", "set": [1, 2], "nan": None}
    assert "nested deeper" in str(first.result)
    assert (second.name, second.arguments, second.result) == ("\ufffd", {"s": "\ufffd", "5": "five"}, "Ynl0ZXM=")
    assert sink.dropped == {}


def test_a_redactor_that_fails_leaves_the_text_out_and_is_counted() -> None:
    def broken(_key: str, value: Any) -> Any:
        raise ZeroDivisionError(value)

    sink = make(redact=broken)
    sink.llm(SECRET, SECRET)
    [call] = sink.drain()
    assert SECRET not in repr(call)
    assert set(sink.dropped) == {"redaction_failed"}


def test_a_span_that_is_none_costs_nothing_but_itself(caplog: pytest.LogCaptureFixture) -> None:
    sink = make(redact=hide)
    with caplog.at_level(logging.CRITICAL):
        sink.on_end(None)  # type: ignore[arg-type]
        sink.on_end(object())  # type: ignore[arg-type]
    assert sink.dropped == {"internal_error": 2}
    assert sink.drain() == []


def test_a_sink_that_raises_costs_neither_the_span_nor_the_application(
    traced: Callable[..., Any], caplog: pytest.LogCaptureFixture
) -> None:
    class Raising:
        def on_end(self, span: Any) -> None:
            raise ZeroDivisionError

    tracer, provider = traced(Raising())
    with caplog.at_level(logging.CRITICAL):
        chat(tracer, "one", "1")
    assert provider.force_flush()
    assert provider._active_span_processor._span_processors[0].dropped == {}


def test_the_child_of_a_fork_starts_empty_and_the_parent_keeps_its_own() -> None:
    sink = make()
    sink.llm("parent", "1")
    sink.llm("hi", {"what": "is this"})
    with sink._waiting._lock, sink._asking:  # as another thread might, at that moment
        read, write = os.pipe()
        child = os.fork()
        if child == 0:  # pragma: no cover
            try:
                sink.llm("child", "2")
                os.write(write, json.dumps([texts(sink.drain()), sink.dropped]).encode())
            finally:
                os._exit(0)
    os.close(write)
    assert json.loads(os.read(read, 1_000)) == [["child"], {}]
    os.waitpid(child, 0)
    os.close(read)
    assert texts(sink.drain()) == ["parent"]


def test_eight_threads_lose_nothing_while_another_drains() -> None:
    sink = make()
    done = threading.Event()
    found: list[Call] = []

    def tell(thread: int) -> None:
        for number in range(40):
            sink.llm(f"{thread}:{number}", "", run_id=f"r{thread}")

    def drain() -> None:
        while not done.is_set():
            found.extend(sink.drain("r3"))
            found.extend(sink.drain())

    draining = threading.Thread(target=drain)
    threads = [threading.Thread(target=tell, args=(thread,)) for thread in range(8)]
    for one in (draining, *threads):
        one.start()
    for one in threads:
        one.join()
    done.set()
    draining.join()
    found += sink.drain()
    for thread in range(8):
        own = [text for text in texts(found) if text.startswith(f"{thread}:")]
        assert own == [f"{thread}:{number}" for number in range(40)]
    assert (sink.dropped, sink._waiting._bytes) == ({}, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"redact": "x"}, "redact must be callable"),
        ({"provider": ""}, "provider must be a non-empty str"),
        ({"provider": 5}, "provider must be a non-empty str"),
        ({"max_bytes": 0}, "max_bytes must be a positive int"),
        ({"max_bytes": True}, "max_bytes must be a positive int"),
    ],
)
def test_a_wrong_argument_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        CaptureSink(**arguments)


def test_the_name_is_public() -> None:
    assert otel_runlog.CaptureSink is CaptureSink
