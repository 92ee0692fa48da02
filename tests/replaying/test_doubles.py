"""The public doubles: models and tools that answer a unit test as a recorded run was answered."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from recorded import SYSTEM, asks, assistant, calls, capture, llm, result, tool

import otel_runlog
from otel_runlog.conversation import CallError, CallPart, LlmAnswer
from otel_runlog.errors import (
    CaptureMissingError,
    ReplayedLlmError,
    ReplayedToolError,
    ReplayExhausted,
    ReplayMismatch,
)
from otel_runlog.testing import FakeLlmClient, FakeToolInvoker, TraceBuilder

CALL = calls("weather", {"city": "Paris"}, "c1")
FIRST, SECOND = asks("Paris?"), asks("Paris?", assistant("", CALL), result("18C", "c1"))
RUN = capture(llm(FIRST, "ask the tool"), tool("weather", {"city": "Paris"}, "18C", id="c1"), llm(SECOND, "18C"))


def text(role: str, said: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": said}]}


def traced() -> TraceBuilder:
    """Two model calls with contents, the second of which failed."""
    trace = TraceBuilder("doubles")
    boss = trace.agent("planner")
    asked = json.dumps([text("system", SYSTEM), text("user", "Paris?")])
    trace.chat(
        "gpt-5",
        {"gen_ai.input.messages": asked, "gen_ai.output.messages": json.dumps([text("assistant", "ask the tool")])},
        parent=boss,
    )
    trace.chat("gpt-5", {"gen_ai.input.messages": asked, "error.type": "RateLimitError"}, parent=boss, failed=True)
    return trace


def test_a_fake_model_answers_what_was_recorded_and_keeps_what_it_was_asked() -> None:
    client = FakeLlmClient.from_runlog(RUN)
    assert [client.complete(asked).text for asked in (SECOND, FIRST)] == ["18C", "ask the tool"]
    assert client.requests == [SECOND, FIRST]
    with pytest.raises(ReplayExhausted, match="already served 1 of 1"):
        client.complete(FIRST)


def test_a_fake_model_asked_something_else_answers_as_the_nearest_call() -> None:
    client = FakeLlmClient.from_runlog(RUN)
    other = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Rome?"}]
    assert client.complete(other).text == "ask the tool"
    assert client.requests[0].turns == asks("Rome?").turns
    client.complete(other)
    with pytest.raises(ReplayExhausted, match="all 2 recorded llm calls had come"):
        client.complete(other)


def test_a_fake_model_is_made_of_a_run_and_its_contents() -> None:
    ((run, llm_io),) = otel_runlog.project_with_llm_io(traced().spans)
    client = FakeLlmClient.from_runlog(run, llm_io)
    asked = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Paris?"}]
    assert asyncio.run(client.acomplete(asked)).text == "ask the tool"
    with pytest.raises(ReplayedLlmError) as caught:
        client.complete(asked)
    assert (caught.value.call_index, caught.value.type) == (2, "RateLimitError")


def test_a_run_alone_holds_no_texts() -> None:
    ((run, _),) = otel_runlog.project_with_llm_io(traced().spans)
    with pytest.raises(CaptureMissingError, match="a RunLog alone holds no texts"):
        FakeLlmClient.from_runlog(run)


def test_answers_without_prompts_come_in_their_order() -> None:
    client = FakeLlmClient.from_runlog(capture(llm(None, "one"), llm(None, "two")))
    assert [client.complete(FIRST).text, client.complete(SECOND).text] == ["one", "two"]


def test_fake_tools_give_what_was_recorded_and_keep_what_was_called() -> None:
    tools = FakeToolInvoker.from_capture(RUN)
    assert asyncio.run(tools.ainvoke("weather", {"city": "Paris"})) == "18C"
    with pytest.raises(ReplayExhausted):
        tools.invoke("weather", {"city": "Paris"})
    assert tools.calls == [("weather", {"city": "Paris"})] * 2


def test_fake_tools_refuse_other_arguments_and_raise_recorded_errors() -> None:
    tools = FakeToolInvoker.from_capture(
        capture(tool("weather", {"city": "Paris"}, error=CallError("KeyError", "no such city")), tool("news", {}, []))
    )
    with pytest.raises(ReplayedToolError, match="no such city"):
        tools.invoke("weather", {"city": "Paris"})
    with pytest.raises(ReplayMismatch) as caught:
        tools.invoke("news", {"day": 1})
    assert (caught.value.call_index, caught.value.path, caught.value.got) == (2, "args.day", 1)


def test_calls_of_a_fake_model_keep_their_ids() -> None:
    client = FakeLlmClient.from_runlog(capture(llm(FIRST, LlmAnswer(parts=(CALL,)))))
    assert client.complete(FIRST).tool_calls == (CallPart("weather", {"city": "Paris"}, "c1"),)
