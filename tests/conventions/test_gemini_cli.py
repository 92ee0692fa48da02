"""Gemini CLI's spans, real ones."""

from __future__ import annotations

import pytest
from captured import captured, changed, said, told

from otel_runlog import conventions

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "gemini-cli/cache_reasoning",
        "llm_call",
        0,
        {
            "convention": "gemini_cli",
            "kind": "llm",
            "agent": "gemini-cli",
            "request_model": "gemini-2.5-flash",
            "usage": (1013, 57, None, None, None),
            "session_id": "688bddb3-da74-4fa2-96db-338ee8658aa0",
            "native_run_id": "688bddb3-da74-4fa2-96db-338ee8658aa0",
            "usage_fault": True,
            "warnings": ("emitter_fault: output_tokens of Gemini CLI leave the thoughts out",),
        },
    ),
    (
        "gemini-cli/cache_reasoning",
        "tool_call",
        0,
        {
            "convention": "gemini_cli",
            "kind": "tool",
            "agent": "gemini-cli",
            "session_id": "688bddb3-da74-4fa2-96db-338ee8658aa0",
            "tool_name": "run_shell_command",
            "tool_call_id": "run_shell_command__fc001580",
        },
    ),
    (
        "gemini-cli/cache_reasoning",
        "schedule_tool_calls",
        0,
        {
            "convention": "gemini_cli",
            "kind": "chain",
            "agent": "gemini-cli",
            "session_id": "688bddb3-da74-4fa2-96db-338ee8658aa0",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def test_an_answer_that_came_in_pieces_is_one_message() -> None:
    pieces = (
        '[{"role":"model","parts":[{"text":"hm","thought":true}]},{"role":"model","parts":[{"text":"It is"}]},null,'
        '{"role":"model","parts":[{"text":" sunny."},{"functionCall":{"name":"f","args":{}}}]}]'
    )
    span = changed(captured("gemini-cli/cache_reasoning", "llm_call"), gen_ai__output__messages=pieces)
    assert told(conventions.messages(span))[-1] == ("output", "assistant", 'hm\nIt is sunny.\n{"name":"f","args":{}}')


def test_a_model_that_does_not_think_leaves_no_thoughts_out() -> None:
    span = changed(captured("gemini-cli/cache_reasoning", "llm_call"), gen_ai__request__model="gemini-2.0-flash")
    assert "warnings" not in said(conventions.read(span))
