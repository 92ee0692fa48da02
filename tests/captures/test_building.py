"""The model calls of a run in its capture, and what the capture says of the whole."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import pytest

from otel_runlog.capture import Capture, CapturedLlm, PriceTableRef, RedactionRules
from otel_runlog.captures import _calls
from otel_runlog.captures.building import captures_of
from otel_runlog.captures.document import problems_of
from otel_runlog.conversation import CallError, FinishReason, LlmAnswer, Role, TextPart, Turn
from otel_runlog.fingerprint import fingerprint_of
from otel_runlog.model import Attributes, AttrValue, Content, Resource, Span, SpanEvent, Usage
from otel_runlog.pricing import PriceTable
from otel_runlog.redaction import TOLD_AS
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable()


def messages(*said: tuple[str, str | dict[str, Any]]) -> str:
    """GenAI messages: a role with a text, or with a part."""
    parts = [(role, {"type": "text", "content": p} if isinstance(p, str) else p) for role, p in said]
    return json.dumps([{"role": role, "parts": [part]} for role, part in parts])


def tool_call(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def tool_result(value: Any, call_id: str | None = None) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": value}


def io(asked: str | None = None, answered: str | None = None, **more: AttrValue) -> Attributes:
    keys = {"gen_ai.input.messages": asked, "gen_ai.output.messages": answered}
    dotted = {f"gen_ai.{k}".replace("__", "."): v for k, v in more.items()}
    return {k: v for k, v in (keys | dotted).items() if v is not None}


def captured(t: TraceBuilder) -> Capture:
    [capture] = captures_of(t.spans, prices=PRICES)
    assert problems_of(capture) == []
    return capture


def one_call(attributes: Attributes, **fields: Any) -> CapturedLlm:
    t = TraceBuilder()
    t.chat("m", attributes, parent=t.agent("a"), **fields)
    [call] = captured(t).llm_io
    return call


HI, HELLO = messages(("user", "hi")), messages(("assistant", "hello"))


def test_a_call_is_told_whole() -> None:
    call = one_call(
        io(
            HI,
            HELLO,
            system_instructions='[{"type":"text","content":"Be brief."}]',
            request__temperature=0.5,
            request__seed=7,
            response__id="r1",
            response__model="m-2026",
            response__finish_reasons=["length"],
        )
        | {"openai.response.system_fingerprint": "fp_44"},
        provider="openai",
        input_tokens=9,
        output_tokens=2,
    )
    assert call.request is not None
    assert call.request.turns == (Turn(Role.SYSTEM, (TextPart("Be brief."),)), Turn(Role.USER, (TextPart("hi"),)))
    assert call.answer == LlmAnswer(
        parts=(TextPart("hello"),),
        finish_reason=FinishReason.LENGTH,
        response_id="r1",
        model="m-2026",
        usage=Usage(9, 2),
    )
    assert (call.step_index, call.call_index, call.operation, call.occurrence) == (2, 1, "chat", 1)
    assert (call.fingerprint, call.lane) == (fingerprint_of(call.request), "213c22ed")
    assert (call.model, call.model_version, call.provider, call.provider_version) == ("m", "m-2026", "openai", "fp_44")
    assert (call.seed, call.params) == (7, {"temperature": 0.5, "seed": 7})
    assert (call.response_id, call.completeness, call.error) == ("r1", Content.FULL, None)


def test_the_same_request_again_is_its_next_occurrence_and_agents_have_lanes_of_their_own() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    for system in ("one", "two", "one"):
        instructions = json.dumps([{"type": "text", "content": system}])
        t.chat("m", io(HI, HELLO, system_instructions=instructions), parent=a)
    first, second, third = captured(t).llm_io
    assert (first.occurrence, second.occurrence, third.occurrence) == (1, 1, 2)
    assert first.lane == third.lane != second.lane


def test_calls_that_share_their_history_share_its_turns() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", io(HI, HELLO), parent=a)
    t.chat("m", io(messages(("user", "hi"), ("assistant", "hello"), ("user", "bye")), HELLO), parent=a)
    first, second = (c.request.turns for c in captured(t).llm_io if c.request)
    assert second[0] is first[0]


@pytest.mark.parametrize(
    ("error_type", "message", "more", "expected"),
    [
        ("RateLimitError", "Error code: 429 - slow down", {}, 429),
        ("429", "slow down", {}, 429),
        ("BadRequestError", "no", {"http.response.status_code": 400}, 400),
        ("APIStatusError", "status_code: 529, model_name: m, body: {}", {}, 529),
        ("ClientError", "403 PERMISSION_DENIED. {'error': {}}", {}, 403),
        ("APIError", "cut", {"http.response.status_code": 200}, None),
        ("ValueError", "it took 500 tries and 4040 ms", {}, None),
    ],
)
def test_a_failed_call_says_how_and_by_which_status(
    error_type: str, message: str, more: Attributes, expected: int | None
) -> None:
    t = TraceBuilder()
    said = io(HI, messages(("assistant", "")) if expected else None)
    span = t.chat("m", said | {"error.type": error_type} | more, parent=t.agent("a"), failed=True)
    span.status_message = message
    [call] = captured(t).llm_io
    assert call.error == CallError(error_type, message, expected)
    assert call.answer is None
    assert call.completeness is Content.FULL


def test_a_stream_that_was_cut_has_an_error_and_what_came_before() -> None:
    t = TraceBuilder()
    t.chat("m", io(HI, HELLO) | {"error.type": "APIConnectionError"}, parent=t.agent("a"), failed=True)
    [call] = captured(t).llm_io
    assert call.error == CallError("APIConnectionError", "APIConnectionError")
    assert call.answer is not None
    assert (call.answer.text, call.completeness) == ("hello", Content.TRUNCATED)


def test_a_cancelled_call_without_an_answer_is_not_to_be_relied_on() -> None:
    t = TraceBuilder()
    span = t.chat("m", io(HI), parent=t.agent("a"))
    span.events = (SpanEvent("exception", attributes={"exception.type": "asyncio.CancelledError"}),)
    [call] = captured(t).llm_io
    assert call.error == CallError("asyncio.CancelledError", "asyncio.CancelledError")
    assert call.completeness is Content.TRUNCATED


CUT = '[{"role":"user","parts":[{"type":"text","content":"hi, and th'
CUT_CALL = messages(("assistant", tool_call("f", '{"city": "Par')))
SHOT = messages(
    ("user", "look"), ("assistant", tool_call("s", {}, "c")), ("tool", tool_result([{"type": "image"}], "c"))
)
TEXT_CALL = messages(("assistant", tool_call("python", "print(1)")))


@pytest.mark.parametrize(
    ("attributes", "expected", "has_request", "has_answer"),
    [
        (io(HI, HELLO), Content.FULL, True, True),
        (io(None, HELLO), Content.ANSWER, False, True),
        (io(HI, None), Content.TRUNCATED, True, False),
        (io(CUT, HELLO), Content.TRUNCATED, True, True),
        (io(HI, CUT_CALL), Content.TRUNCATED, True, True),
        (io(HI, TEXT_CALL), Content.FULL, True, True),
        (io(), Content.NONE, False, False),
        (io("<REDACTED>", "<REDACTED>"), Content.NONE, False, False),
        (io(messages(("tool", tool_result(1, "c"))), HELLO), Content.TRUNCATED, True, True),
        (io(SHOT, HELLO), Content.TRUNCATED, True, True),
    ],
    ids=[
        *("full", "answer", "prompt", "cut", "cut arguments", "text arguments", "none", "hidden", "end of a prompt"),
        "a result's picture",
    ],
)
def test_completeness_says_how_much_of_a_call_is_here(
    attributes: Attributes, expected: Content, has_request: bool, has_answer: bool
) -> None:
    call = one_call(attributes)
    assert (call.completeness, call.request is not None, call.answer is not None) == (expected, has_request, has_answer)


def test_a_capture_is_as_complete_as_the_least_complete_of_its_calls() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    assert captures_of(t.spans, prices=PRICES)[0].completeness is Content.FULL
    for attributes, expected in (
        (io(HI, HELLO), Content.FULL),
        (io(None, HELLO), Content.ANSWER),
        (io(HI, None), Content.TRUNCATED),
        (io(), Content.NONE),
    ):
        t.chat("m", attributes, parent=a)
        assert captured(t).completeness is expected


def test_a_call_that_goes_on_from_a_remembered_answer_names_the_call_that_gave_it() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", io(HI, HELLO, response__id="resp_1"), parent=a)
    t.chat("m", io(messages(("user", "bye")), HELLO, request__previous_response__id="resp_1"), parent=a)
    t.chat("m", io(messages(("user", "bye")), HELLO, request__previous_response__id="resp_0"), parent=a)
    first, second, third = captured(t).llm_io
    assert second.request is not None
    assert (second.request.previous, second.request.previous_response_id) == (first.fingerprint, "resp_1")
    assert second.completeness is Content.FULL
    assert third.request is not None
    assert third.request.previous is None
    assert third.completeness is Content.TRUNCATED


@pytest.mark.parametrize("response_id", ["resp_1", "msg_1"])
def test_results_alone_go_on_from_the_call_that_asked_for_them(response_id: str) -> None:
    """OpenAI remembers responses, Anthropic's tool runner names the message before."""
    t = TraceBuilder()
    a = t.agent("a")
    asked = messages(("assistant", tool_call("f", {}, "c1")))
    t.chat("m", io(HI, asked, response__id=response_id), parent=a)
    t.chat("m", io(messages(("tool", tool_result("18C", "c1"))), HELLO), parent=a)
    first, second = captured(t).llm_io
    assert second.request is not None
    assert (len(second.request.turns), second.request.previous) == (1, first.fingerprint)
    assert second.completeness is Content.FULL


EMBEDDINGS: dict[str, Attributes] = {
    "OpenInference": {
        "openinference.span.kind": "EMBEDDING",
        "embedding.model_name": "e",
        "input.value": '["a", "b"]',
        "embedding.embeddings.0.embedding.text": "a",
        "embedding.embeddings.1.embedding.text": "b",
        "embedding.embeddings.0.embedding.vector": [0.5, 1],
        "embedding.embeddings.1.embedding.vector": "[0.25, -2.0]",
    },
    "AI SDK": {
        "ai.operationId": "ai.embedMany.doEmbed",
        "ai.model.id": "e",
        "ai.values": ['"a"', '"b"'],
        "ai.embeddings": ["[0.5, 1]", "[0.25, -2.0]"],
    },
}


@pytest.mark.parametrize("attributes", EMBEDDINGS.values(), ids=EMBEDDINGS)
def test_an_embedding_is_captured_with_its_texts_and_vectors(attributes: Attributes) -> None:
    t = TraceBuilder()
    t.span("embed", attributes, scope="ai" if "ai.values" in attributes else "tests")
    [call] = captured(t).llm_io
    assert call.request is not None
    assert (call.operation, call.request.operation, call.request.inputs) == ("embedding", "embedding", ("a", "b"))
    assert call.answer is not None
    assert call.answer.vectors == ((0.5, 1.0), (0.25, -2.0))
    assert (call.completeness, call.model) == (Content.FULL, "e")


def test_an_embedding_without_its_vectors_cannot_be_served() -> None:
    t = TraceBuilder()
    t.span("embed", {**EMBEDDINGS["OpenInference"], "embedding.embeddings.1.embedding.vector": "none"})
    [call] = captured(t).llm_io
    assert call.answer is None
    assert call.completeness is Content.TRUNCATED


def test_a_capture_says_when_its_run_ended_where_nobody_says_when_it_came() -> None:
    t = TraceBuilder()
    t.chat("m", parent=t.agent("a", duration_ms=1500))
    assert captured(t).captured_at == dt.datetime(2026, 11, 29, 0, 0, 1, 500_000, tzinfo=dt.UTC)
    noon = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
    assert captures_of(t.spans, prices=PRICES, captured_at=noon)[0].captured_at == noon


def test_a_capture_names_the_price_table_of_its_costs_and_the_agents_memory() -> None:
    t = TraceBuilder()
    a = t.agent("a", {"runlog.memory_ref": "mem-7"})
    t.chat("gpt-4o-mini", parent=a, provider="openai", input_tokens=10, output_tokens=1)
    [capture] = captures_of(t.spans)
    assert capture.memory_ref == "mem-7"
    assert isinstance(capture.price_table, PriceTableRef)
    assert capture.price_table.name == "genai-prices"
    assert captured(t).price_table is None


def test_a_capture_says_by_which_rules_its_telemetry_was_redacted() -> None:
    t = TraceBuilder()
    t.resource = Resource({TOLD_AS: '{"version": "own-3"}'})
    t.chat("m", parent=t.agent("a"))
    assert captured(t).redaction == RedactionRules("own-3")


def test_spans_of_any_order_and_number_make_the_same_captures() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", io(HI, HELLO), parent=a)
    t.tool("f", parent=a)
    spans: list[Span] = [*reversed(t.spans), *t.spans]
    assert captures_of(spans, prices=PRICES) == captures_of(t.spans, prices=PRICES)


def test_each_message_of_a_long_history_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    turns_of = _calls.turns_of
    monkeypatch.setattr(_calls, "turns_of", lambda found: turns_of([read.append(m.raw) or m for m in found]))
    t = TraceBuilder()
    a = t.agent("a")
    for end in range(1, 40, 2):
        said = [("assistant" if i % 2 else "user", f"message {i}") for i in range(end)]
        t.chat("m", io(messages(*said), HELLO), parent=a)
    assert len(captured(t).llm_io) == 20
    assert len(read) == len(set(read)) == 39
