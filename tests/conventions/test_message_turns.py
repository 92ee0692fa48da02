"""One reader for the messages of every dialect."""

from __future__ import annotations

import pytest

from otel_runlog.conventions.turns import turn_of
from otel_runlog.conversation import CallPart, Json, ResultPart, Role, TextPart, ThinkingPart, Turn

CALL = CallPart("weather", {"city": "Paris"}, "c1")
RESULT = ResultPart("18 C", "c1")
TEXT = TextPart("Let me look.")


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Let me look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
            ],
        },
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "text", "text": "Let me look."}, {"type": "tool_use"}],
            "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Let me look."},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"text": "Let me look."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Paris"}}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Paris"}},
            ],
        },
        [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "weather",
                "arguments": '{"city":"Paris"}',
            },
        ],
    ],
)
def test_a_text_and_a_call_are_one_value_in_every_dialect(message: Json) -> None:
    assert [part for turn in turn_of(message) for part in turn.parts] == [TEXT, CALL]
    assert {turn.role for turn in turn_of(message)} == {Role.ASSISTANT}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "18 C"}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": [{"text": "18 C"}]}]},
        {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
        {"role": "tool", "id": "c1", "content": [{"type": "text", "text": "18 C"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "18 C"}]},
        {"role": "tool", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "18 C"}]}}]},
        {"type": "function_call_output", "call_id": "c1", "output": "18 C"},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": "18 C"}}]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "18 C"}}],
        },
    ],
)
def test_a_result_is_one_value_in_every_dialect(message: Json) -> None:
    assert turn_of(message) == (Turn(Role.TOOL, (RESULT,)),)


def test_thoughts_are_the_models_and_keep_their_signature() -> None:
    message: Json = {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]}
    assert turn_of(message) == (Turn(Role.ASSISTANT, (ThinkingPart("hm", "s"),)),)
