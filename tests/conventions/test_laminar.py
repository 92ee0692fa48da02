"""Laminar: spans written from its SDKs' names and facts/semconv, section 1; the corpus has none."""

from __future__ import annotations

import json

import pytest
from captured import made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes

STAMP: Attributes = {
    "lmnr.span.path": ["answer", "openai.chat"],
    "lmnr.span.instrumentation_source": "python",
    "lmnr.association.properties.session_id": "s1",
    "lmnr.association.properties.user_id": "u1",
}
CALL: Attributes = {
    "lmnr.span.type": "LLM",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-5-mini",
    "gen_ai.response.model": "gpt-5-mini-2026-03-15",
    "gen_ai.response.id": "resp_1",
    "gen_ai.usage.input_tokens": 1013,
    "gen_ai.usage.output_tokens": 57,
    "gen_ai.usage.cache_read_input_tokens": 512,
    "gen_ai.usage.reasoning_tokens": 20,
    "llm.usage.total_tokens": 1070,
    "gen_ai.usage.cost": 0.00031,
    "lmnr.span.input": json.dumps([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]),
    "lmnr.span.output": json.dumps([{"role": "assistant", "content": "Hello."}]),
}


def test_a_model_call_with_its_session_and_cost() -> None:
    assert said(conventions.read(made({**STAMP, **CALL}, name="openai.chat"))) == {
        "convention": "laminar",
        "kind": "llm",
        "provider": "openai",
        "request_model": "gpt-5-mini",
        "response_model": "gpt-5-mini-2026-03-15",
        "response_id": "resp_1",
        "usage": (1013, 57, 512, None, 20),
        "reported_usd": "0.000310000000",
        "session_id": "s1",
        "user_id": "u1",
        "content": "full",
    }


def test_messages_of_a_call_stand_in_its_input_and_output() -> None:
    assert told(conventions.messages(made({**STAMP, **CALL}))) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Hi"),
        ("output", "assistant", "Hello."),
    ]


def test_gen_ai_messages_go_before_input_and_output() -> None:
    flat: Attributes = {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Hey"}
    assert ("input", "user", "Hey") in told(conventions.messages(made({**CALL, **flat})))


def test_a_call_that_only_its_processor_stamped_is_read_by_its_attributes() -> None:
    attributes = {k: v for k, v in CALL.items() if not k.startswith("lmnr.")}
    span = made({**STAMP, **attributes, "llm.request.type": "chat"}, scope="opentelemetry.instrumentation.openai.v1")
    reading = said(conventions.read(span))
    assert (reading["convention"], reading["kind"], reading["session_id"]) == ("laminar", "llm", "s1")
    assert reading["usage"] == (1013, 57, 512, None, 20)


def test_a_total_that_leaves_the_cache_out_of_the_input_says_so() -> None:
    attributes = {**CALL, "llm.usage.total_tokens": 1013 + 57 + 512}
    assert said(conventions.read(made(attributes)))["usage"] == (1525, 57, 512, None, 20)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"lmnr.span.type": "DEFAULT"}, {"kind": "chain"}),
        ({"lmnr.span.type": "TOOL"}, {"kind": "tool", "tool_name": "weather"}),
        ({"lmnr.span.type": "EVALUATOR"}, {"kind": "evaluator"}),
        ({"lmnr.span.type": "EXECUTOR"}, {"kind": "chain"}),
        ({"lmnr.span.path": ["weather"], "lmnr.span.input": "[1, 2]"}, {"kind": "chain"}),
        (
            {"lmnr.span.type": "DEFAULT", "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"},
            {"kind": "agent", "agent": "a"},
        ),
    ],
)
def test_the_type_tells_the_kind_where_no_operation_does(attributes, expected) -> None:
    assert said(conventions.read(made(attributes, name="weather"))) == {"convention": "laminar", **expected}


def test_a_call_out_of_the_cache_asked_no_model() -> None:
    span = made({**CALL, "lmnr.span.type": "CACHED", "lmnr.span.original_type": "LLM"})
    reading = said(conventions.read(span))
    assert (reading["kind"], "usage" in reading, "reported_usd" in reading) == ("other", False, False)


def test_what_the_processor_stamps_is_no_step_for_that() -> None:
    assert conventions.read(made({**STAMP, "http.request.method": "POST"}, name="POST")) is None


def test_a_tools_arguments_and_result() -> None:
    attributes: Attributes = {
        "lmnr.span.type": "TOOL",
        "lmnr.span.input": '{"city": "Paris"}',
        "lmnr.span.output": '"Sunny"',
    }
    assert told(conventions.messages(made(attributes))) == [
        ("input", "tool", '{"city": "Paris"}'),
        ("output", "tool", "Sunny"),
    ]
