"""A capture as one JSON document: what stands in it, and that it comes back as it was."""

from __future__ import annotations

import datetime as dt
import json
import math
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog.capture import (
    Capture,
    CapturedLlm,
    CapturedTool,
    PriceTableRef,
    RedactionPattern,
    RedactionRules,
    ToolSource,
)
from otel_runlog.captures.document import dumps, loads, plain
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
from otel_runlog.errors import CaptureError
from otel_runlog.model import Content, Cost, RunLog, Step, StepKind, Usage

NOON = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)
ASKED = Turn(Role.USER, (TextPart("Weather in Paris?"),))
CALLED = Turn(Role.ASSISTANT, (TextPart("Let me see."), CallPart("weather", {"unit": "C", "city": "Paris"}, "c1")))
GOT = Turn(Role.TOOL, (ResultPart("18C", "c1", "weather"),))
TOOLS = (ToolDefinition("weather", "The weather", {"$ref": "#/weather"}),)


def call(number: int, *turns: Turn, **fields: Any) -> CapturedLlm:
    return CapturedLlm(
        step_index=number, call_index=number, request=LlmRequest(turns=turns, tools=TOOLS, model="m"), **fields
    )


def capture(*calls: CapturedLlm, run: RunLog | None = None, **fields: Any) -> Capture:
    found = {"completeness": Content.FULL, "captured_at": NOON} | fields
    return Capture(run_id="r1", run=run or RunLog("r1"), llm_io=calls, **found)


def two_calls() -> Capture:
    first = call(1, ASKED, answer=LlmAnswer(parts=CALLED.parts, finish_reason=FinishReason.TOOL_CALL))
    second = call(3, ASKED, CALLED, GOT, answer=LlmAnswer(parts=(TextPart("18C"),), usage=Usage(3, 4)))
    tool = CapturedTool(name="weather", arguments={"city": "Paris"}, result="18C", source=ToolSource.SPAN)
    return capture(
        first, second, tool_io=(tool,), redaction=RedactionRules("1", (RedactionPattern("key", "sk-[a-z]+"),))
    )


def document(of: Capture) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(dumps(of))
    return found


def test_a_capture_comes_back_as_it_was_and_is_written_the_same_again() -> None:
    data = dumps(two_calls())
    assert loads(data) == two_calls()
    assert dumps(loads(data)) == data
    assert data.endswith(b"}\n")


def test_a_message_stands_in_it_once_and_a_conversation_goes_on_from_the_call_before() -> None:
    found = document(two_calls())
    first, second = (call["request"] for call in found["llm_io"])
    assert (first["continues"], len(first["turns"])) == (None, 1)
    assert (second["continues"], len(second["turns"])) == (0, 2)
    assert found["llm_io"][0]["answer"]["message"] == second["turns"][0]
    assert first["tools"] == second["tools"]
    assert len(found["contents"]) == 5  # three turns, the last answer, one definition


def test_contents_go_by_the_sha256_of_their_bytes() -> None:
    digest = "44c6e37fd2b6fcbcfe59d6c6c49dbc0f56d21c39ebf55924fb1527fd0506c26f"
    found = document(capture(call(1, Turn(Role.USER, (TextPart("hi"),)))))
    assert found["llm_io"][0]["request"]["turns"] == [digest]
    assert found["contents"][digest] == {"role": "user", "parts": [{"type": "text", "text": "hi"}]}


def test_what_is_unknown_is_null_and_stands_there() -> None:
    found = document(capture(CapturedLlm(step_index=1, call_index=1)))
    assert found["memory_ref"] is found["price_table"] is found["redaction"] is None
    assert found["llm_io"][0]["request"] is found["llm_io"][0]["answer"] is None
    assert found["run"]["cost_estimate"] is found["run"]["finished_at"] is None


def test_money_is_text_and_times_are_in_utc_with_microseconds() -> None:
    summer = dt.timezone(dt.timedelta(hours=2))
    run = RunLog("r1", started_at=dt.datetime(2026, 7, 1, 14, tzinfo=summer), cost_estimate=Cost(Decimal("0.10")))
    found = document(capture(run=run, price_table=PriceTableRef("acme", "7")))
    assert found["captured_at"] == "2026-11-29T12:00:00.000000Z"
    assert found["run"]["started_at"] == "2026-07-01T12:00:00.000000Z"
    assert found["run"]["cost_estimate"]["usd"] == "0.10"
    assert found["price_table"] == {"name": "acme", "version": "7"}


@pytest.mark.parametrize(
    "value",
    [
        b"\xff\x00",
        "lone \ud800 surrogate",
        {"\udfff": 1},
        {"$bytes": "no bytes"},
        {"$ref": {"$ref": "#"}},
        math.inf,
        -math.inf,
        2**70,
        -(2**64),
        2**9000,
        1.0,
        -0.0,
        "NUL \x00",
        "Zürich 東京 🙂",
        [[], {}, None, True, 0],
    ],
    ids=lambda v: f"{v!r:.20}" if not isinstance(v, int) else f"{v.bit_length()} bits",
)
def test_any_value_of_an_attribute_or_of_arguments_comes_back(value: Any) -> None:
    run = RunLog("r1", attributes={"x": value}, steps=(Step("t", "s", StepKind.LLM, params={"x": value}),))
    turn = Turn(Role.ASSISTANT, (CallPart("f", value),))
    one = capture(
        call(1, turn, params={"x": value}), run=run, tool_io=(CapturedTool(name="f", arguments=value, result=value),)
    )
    back = loads(dumps(one))
    assert back == one
    assert repr(back.tool_io[0].result) == repr(value)
    assert dumps(back) == dumps(one)


def test_not_a_number_comes_back_as_one() -> None:
    back = loads(dumps(capture(tool_io=(CapturedTool(name="f", result=math.nan),))))
    assert isinstance(back.tool_io[0].result, float)
    assert math.isnan(back.tool_io[0].result)


def test_names_of_arguments_keep_their_order_and_those_of_params_are_sorted() -> None:
    turn = Turn(Role.ASSISTANT, (CallPart("f", {"b": 1, "a": 2}),))
    one = call(1, turn, params={"top_p": 1.0, "seed": 7})
    other = call(1, turn, params={"seed": 7, "top_p": 1.0})
    assert dumps(capture(one)) == dumps(capture(other))
    request = loads(dumps(capture(one))).llm_io[0].request
    assert request is not None
    [part] = request.turns[0].parts
    assert isinstance(part, CallPart)
    assert list(part.arguments or ()) == ["b", "a"]


def test_a_document_of_a_later_or_an_earlier_hand_still_loads() -> None:
    found = document(two_calls())
    del found["redaction"], found["tool_io"], found["run"]["agents"], found["llm_io"][0]["lane"]
    found["weather"] = found["llm_io"][0]["mood"] = found["run"]["phase"] = "new"
    back = loads(json.dumps(found).encode())
    assert (back.redaction, back.tool_io, back.run.agents, back.llm_io[0].lane) == (None, (), (), None)
    assert back.llm_io[1] == two_calls().llm_io[1]


def test_a_document_that_somebody_made_pretty_still_loads() -> None:
    assert loads(json.dumps(document(two_calls()), indent=2).encode()) == two_calls()


def test_a_struct_is_plain_json_with_its_messages_written_out() -> None:
    assert plain(LlmRequest(turns=(ASKED,), model="m")) == {
        "turns": [{"role": "user", "parts": [{"type": "text", "text": "Weather in Paris?"}]}],
        "model": "m",
        "params": {},
        "tools": None,
        "operation": "chat",
        "inputs": [],
        "previous_response_id": None,
        "previous": None,
    }


def test_what_is_nested_too_deeply_is_not_written() -> None:
    deep: Any = "core"
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(CaptureError, match="nested more than 200 deep"):
        dumps(capture(tool_io=(CapturedTool(name="f", result=deep),)))
    with pytest.raises(CaptureError, match="nested more than 200 deep"):
        plain(CapturedTool(name="f", result=deep))


TEXTS = st.text(st.characters(), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS | st.sampled_from(["$", "$text"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS | st.just("$ref"), inner, max_size=3),
    max_leaves=6,
)
OPTIONAL = st.none() | TEXTS
PARTS = st.one_of(
    st.builds(TextPart, TEXTS),
    st.builds(CallPart, TEXTS, JSON, OPTIONAL),
    st.builds(ResultPart, JSON, OPTIONAL, OPTIONAL, st.booleans()),
    st.builds(MediaPart, OPTIONAL, OPTIONAL, OPTIONAL),
    st.builds(ThinkingPart, TEXTS, OPTIONAL),
)
TURNS = st.builds(Turn, st.sampled_from(Role), st.lists(PARTS, max_size=3).map(tuple))
REQUESTS = st.builds(
    LlmRequest,
    turns=st.lists(TURNS, max_size=4).map(tuple),
    model=OPTIONAL,
    params=st.dictionaries(TEXTS, JSON, max_size=2),
    tools=st.none() | st.lists(st.builds(ToolDefinition, TEXTS, OPTIONAL, JSON), max_size=2).map(tuple),
    inputs=st.lists(TEXTS, max_size=2).map(tuple),
)
ANSWERS = st.builds(LlmAnswer, parts=st.lists(PARTS, max_size=3).map(tuple), usage=st.none() | st.just(Usage(1, 2)))
CALLS = st.builds(
    CapturedLlm,
    step_index=st.integers(0, 9),
    call_index=st.integers(0, 9),
    request=st.none() | REQUESTS,
    answer=st.none() | ANSWERS,
    error=st.none() | st.builds(CallError, OPTIONAL, OPTIONAL, st.none() | st.integers(400, 599)),
)
TOOL_CALLS = st.builds(CapturedTool, name=TEXTS, arguments=JSON, result=JSON)


@settings(max_examples=40)
@given(st.lists(CALLS, max_size=4), st.lists(TOOL_CALLS, max_size=2), OPTIONAL)
def test_every_capture_comes_back(calls: list[CapturedLlm], tools: list[CapturedTool], memory: str | None) -> None:
    one = capture(*calls, tool_io=tuple(tools), memory_ref=memory)
    data = dumps(one)
    assert msgspec.json.decode(data)["schema"] == "runlog.capture/1"
    assert loads(data) == one
    assert dumps(loads(data)) == data
