"""The tool calls of a run in its capture: from their spans, and from the prompts that follow."""

from __future__ import annotations

import json
from typing import Any

import pytest

from otel_runlog.capture import CapturedTool, ToolSource
from otel_runlog.captures.building import captures_of
from otel_runlog.captures.document import problems_of
from otel_runlog.conversation import CallError
from otel_runlog.model import Attributes, Span
from otel_runlog.pricing import PriceTable
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable()
Said = tuple[str, list[dict[str, Any]]]


def call(name: str, arguments: Any, call_id: str | None = None) -> dict[str, Any]:
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def result(value: Any, call_id: str | None = None, **more: Any) -> dict[str, Any]:
    return {"type": "tool_call_response", "id": call_id, "response": value} | more


def user(text: str) -> Said:
    return "user", [{"type": "text", "content": text}]


def messages(*said: Said) -> str:
    return json.dumps([{"role": role, "parts": parts} for role, parts in said])


class Agent:
    """Builds the spans of an agent that sends the whole conversation with each call."""

    def __init__(self) -> None:
        self.trace = TraceBuilder()
        self.root = self.trace.agent("a", duration_ms=1000)
        self.history: list[Said] = [user("go")]

    def ask(self, *parts: dict[str, Any]) -> Span:
        attributes: Attributes = {
            "gen_ai.input.messages": messages(*self.history),
            "gen_ai.output.messages": messages(("assistant", list(parts))),
        }
        self.history.append(("assistant", list(parts)))
        return self.trace.chat("m", attributes, parent=self.root)

    def told(self, *results: dict[str, Any]) -> None:
        self.history.append(("tool", list(results)))

    def tool(
        self, name: str, arguments: Any = None, given: Any = None, call_id: str | None = None, **more: Any
    ) -> Span:
        values = {"arguments": arguments, "result": given}
        attributes: Attributes = {f"gen_ai.tool.call.{k}": json.dumps(v) for k, v in values.items() if v is not None}
        own: Attributes = {"gen_ai.tool.call.id": call_id} if call_id else {}
        return self.trace.tool(name, attributes | own, parent=self.root, **more)

    def tools(self) -> tuple[CapturedTool, ...]:
        [capture] = captures_of(self.trace.spans, prices=PRICES)
        assert problems_of(capture) == []
        return capture.tool_io


def brief(tools: tuple[CapturedTool, ...]) -> list[tuple[str, Any, Any, str | None]]:
    return [(t.name, t.arguments, t.result, t.source) for t in tools]


DONE = {"type": "text", "content": "done"}


def test_a_tools_span_tells_it_whole() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.tool("weather", {"city": "Paris"}, {"temp": 18}, "c1")
    a.told(result({"temp": 18}, "c1"))
    a.ask(DONE)
    assert a.tools() == (
        CapturedTool(
            name="weather",
            step_index=3,
            call_index=2,
            after_call=1,
            call_id="c1",
            arguments={"city": "Paris"},
            result={"temp": 18},
            source=ToolSource.SPAN,
        ),
    )


def test_what_a_span_lacks_comes_from_the_answer_before_and_the_prompt_after() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"), call("weather", {"city": "Rome"}, "c2"))
    a.tool("weather", call_id="c2")
    a.tool("weather", call_id="c1")
    a.told(result("18C", "c1"), result("25C", "c2"))
    a.ask(DONE)
    assert brief(a.tools()) == [
        ("weather", {"city": "Rome"}, "25C", "next_request"),
        ("weather", {"city": "Paris"}, "18C", "next_request"),
    ]


def test_a_clients_loop_without_spans_of_its_tools_is_told_by_its_prompts() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"), call("people", {"city": "Paris"}, "c2"))
    a.told(result("18C", "c1"), result("2.1 million", "c2"))
    a.ask(call("weather", {"city": "Rome"}, "c3"))
    a.told(result("25C", "c3"))
    a.ask(DONE)
    tools = a.tools()
    assert brief(tools) == [
        ("weather", {"city": "Paris"}, "18C", "next_request"),
        ("people", {"city": "Paris"}, "2.1 million", "next_request"),
        ("weather", {"city": "Rome"}, "25C", "next_request"),
    ]
    assert [(t.step_index, t.call_index, t.after_call, t.call_id) for t in tools] == [
        (None, None, 1, "c1"),
        (None, None, 1, "c2"),
        (None, None, 2, "c3"),
    ]


def test_results_without_ids_go_to_the_calls_by_tool_and_order() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}), call("people", {"city": "Paris"}), call("weather", {"city": "Rome"}))
    a.told(result("2.1 million", name="people"), result("18C", name="weather"), result("25C", name="weather"))
    a.ask(DONE)
    assert [(t.name, t.result) for t in a.tools()] == [
        ("weather", "18C"),
        ("people", "2.1 million"),
        ("weather", "25C"),
    ]


def test_the_same_result_twice_without_ids_is_that_of_each_round() -> None:
    a = Agent()
    for _ in range(2):
        a.ask(call("poll", {}))
        a.told(result("busy"))
    a.ask(DONE)
    assert [(t.name, t.result, t.after_call) for t in a.tools()] == [("poll", "busy", 1), ("poll", "busy", 2)]


def test_an_id_that_is_used_again_means_the_call_of_its_round() -> None:
    a = Agent()
    for city, given in (("Paris", "18C"), ("Rome", "25C")):
        a.ask(call("weather", {"city": city}, "call_0"))
        a.told(result(given, "call_0"))
    a.ask(DONE)
    assert [(t.arguments, t.result) for t in a.tools()] == [({"city": "Paris"}, "18C"), ({"city": "Rome"}, "25C")]


def test_a_result_that_names_another_id_than_the_call_is_taken_in_order() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "fc_1"))
    a.told(result("18C", "call_1"))
    a.ask(DONE)
    assert [(t.call_id, t.result) for t in a.tools()] == [("fc_1", "18C")]


def test_an_id_that_two_calls_of_one_answer_have_means_one_after_the_other() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"), call("weather", {"city": "Rome"}, "c1"))
    a.told(result("18C", "c1"), result("25C", "c1"))
    a.ask(DONE)
    assert [(t.arguments, t.result) for t in a.tools()] == [({"city": "Paris"}, "18C"), ({"city": "Rome"}, "25C")]


def test_an_answer_that_was_dropped_and_asked_for_again_called_no_tool() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.history.pop()
    a.ask(call("weather", {"city": "Paris"}, "c2"))
    a.told(result("18C", "c2"))
    a.ask(DONE)
    assert [(t.after_call, t.call_id, t.result) for t in a.tools()] == [(2, "c2", "18C")]


def test_a_span_without_an_id_is_never_told_twice() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"), call("weather", {"city": "Rome"}, "c2"))
    a.tool("weather", {"city": "Rome"}, "25C")
    a.tool("weather", {"city": "Paris"}, "18C")
    a.told(result("18C", "c1"), result("25C", "c2"))
    a.ask(DONE)
    assert [(t.call_id, t.arguments, t.result) for t in a.tools()] == [
        ("c2", {"city": "Rome"}, "25C"),
        ("c1", {"city": "Paris"}, "18C"),
    ]


def test_a_span_of_a_wrapper_stands_for_the_call_it_wraps() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.tool("call_tool", {"name": "weather"}, "18C")
    a.told(result("18C", "c1"))
    a.ask(DONE)
    assert brief(a.tools()) == [("call_tool", {"name": "weather"}, "18C", "span")]


def test_a_span_that_seems_to_have_run_before_it_was_asked_for_is_not_told_twice() -> None:
    a = Agent()
    a.tool("weather", {"city": "Paris"}, "18C", "c1")
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.told(result("18C", "c1"))
    a.ask(DONE)
    [tool] = a.tools()
    assert (tool.call_index, tool.after_call, tool.source) == (1, 2, "span")


def test_a_tool_that_failed_says_how() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    span = a.tool("weather", {"city": "Paris"}, call_id="c1", failed=True)
    span.attributes = span.attributes | {"error.type": "ValueError"}
    span.status_message = "no such city"
    a.told(result("Error: no such city", "c1"))
    a.ask(DONE)
    [tool] = a.tools()
    assert (tool.error, tool.result, tool.source) == (CallError("ValueError", "no such city"), None, "span")


def test_a_prompt_that_says_that_a_tool_failed_makes_it_an_error() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.told({"type": "tool_result", "tool_use_id": "c1", "content": "no such city", "is_error": True})
    a.ask(DONE)
    [tool] = a.tools()
    assert (tool.error, tool.result) == (CallError(message="no such city"), None)
    assert tool.source is ToolSource.NEXT_REQUEST


def test_a_call_that_nobody_ever_heard_of_again_is_not_told() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.tool("people", {"city": "Paris"}, "2.1 million", "c9")
    assert brief(a.tools()) == [("people", {"city": "Paris"}, "2.1 million", "span")]


def test_a_tool_without_content_says_that_nothing_is_known() -> None:
    a = Agent()
    a.tool("weather")
    [tool] = a.tools()
    assert (tool.arguments, tool.result, tool.error, tool.source) == (None, None, None, None)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"b": 1, "a": [1.0, null]}', {"b": 1, "a": [1.0, None]}),
        ("plain words", "plain words"),
        ('"in quotes"', "in quotes"),
        ('[{"type": "text", "text": "18C"}]', "18C"),
        ("{cut", "{cut"),
    ],
)
def test_a_result_is_the_value_that_its_text_says(written: str, value: Any) -> None:
    a = Agent()
    a.trace.tool("f", {"gen_ai.tool.call.result": written}, parent=a.root)
    [tool] = a.tools()
    assert tool.result == value


def test_a_client_whose_instructions_change_with_each_call_is_told_by_ids() -> None:
    a = Agent()
    for i in range(2):
        a.history.insert(0, ("system", [{"type": "text", "content": f"It is {i} o'clock."}]))
        a.ask(call("weather", {"day": i}, f"c{i}"))
        a.history.pop(0)
        a.told(result(f"{i}C", f"c{i}"))
    a.ask(DONE)
    assert [(t.arguments, t.result) for t in a.tools()] == [({"day": 0}, "0C"), ({"day": 1}, "1C")]


def test_an_argument_without_its_name_gets_that_of_the_call() -> None:
    a = Agent()
    a.ask(call("weather", {"city": "Paris"}, "c1"))
    a.tool("weather", "Paris", "18C", "c1")
    assert brief(a.tools()) == [("weather", {"city": "Paris"}, "18C", "span")]
