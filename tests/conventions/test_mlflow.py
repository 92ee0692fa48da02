"""MLflow: real spans of its OpenAI autologging, and changed ones."""

from __future__ import annotations

import pytest
from captured import captured, changed, said, told

from otel_runlog import conventions

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "mlflow-openai/tool_loop",
        "planner",
        0,
        {
            "convention": "mlflow",
            "kind": "agent",
            "agent": "planner",
        },
    ),
    (
        "mlflow-openai/tool_loop",
        "Completions",
        1,
        {
            "convention": "mlflow",
            "kind": "llm",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "chatcmpl_1d40e338_0002",
            "usage": (1187, 43, 768, None, 9),
            "finish_reason": "tool_calls",
            "content": "full",
        },
    ),
    (
        "mlflow-openai/tool_loop",
        "call_tool",
        0,
        {
            "convention": "mlflow",
            "kind": "tool",
            "tool_name": "call_tool",
        },
    ),
    (
        "mlflow-openai/single_chat",
        "Completions",
        0,
        {
            "convention": "mlflow",
            "kind": "llm",
            "request_model": "gpt-5-mini",
            "response_model": "gpt-5-mini-2026-03-15",
            "response_id": "chatcmpl_1ee0d324_0001",
            "usage": (1013, 57, 512, None, 20),
            "finish_reason": "stop",
            "params": {"temperature": 0.5, "seed": 7},
            "content": "full",
        },
    ),
    (
        "mlflow-openai/error_400",
        "Completions",
        0,
        {
            "convention": "mlflow",
            "kind": "llm",
            "request_model": "gpt-5-mini",
            "failed": True,
            "refused": True,
            "error_type": "BadRequestError",
            "error_message": "Error code: 400 - refused as scripted",
            "content": "full",
        },
    ),
    (
        "mlflow-openai/recorded_by_hand",
        "claude",
        0,
        {
            "convention": "mlflow",
            "kind": "llm",
            "request_model": "claude-sonnet-4-5",
            "response_model": "claude-sonnet-4-5",
            "usage": (100, 25, 60, 10, None),
            "reported_usd": "0.300000000000",
            "params": {"temperature": 0.1},
            "content": "full",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_messages_are_those_of_the_request_and_the_answer() -> None:
    assert told(conventions.messages(captured("mlflow-openai/responses", "Responses"))) == [
        ("system", "system", "Be brief."),
        ("input", "user", "Hi"),
        ("output", "assistant", "Hello there."),
    ]
    tool = captured("mlflow-openai/tool_loop", "call_tool")
    assert told(conventions.messages(tool)) == [
        ("input", "tool", '{"n": "get_weather", "a": {"city": "Paris"}}'),
        ("output", "tool", "Sunny in Paris"),
    ]


def test_session_and_user_come_out_of_their_quotes() -> None:
    span = captured("mlflow-openai/tool_loop", "planner")
    reading = said(conventions.read(changed(span, session__id='"s-9"', mlflow__trace__user='"u1"')))
    assert (reading["session_id"], reading["user_id"]) == ("s-9", "u1")


def test_usage_without_an_answer_has_no_reasoning() -> None:
    span = changed(captured("mlflow-openai/single_chat", "Completions"), mlflow__spanOutputs=None)
    reading = said(conventions.read(span))
    assert (reading["usage"], reading["content"]) == ((1013, 57, 512, None, None), "truncated")
