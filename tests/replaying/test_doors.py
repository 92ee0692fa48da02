"""What clients may answer and be asked, in whatever form they have it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import otel_runlog
from otel_runlog.conversation import CallPart, LlmAnswer, LlmRequest, Role, TextPart, Turn
from otel_runlog.errors import ConfigError
from otel_runlog.replaying.doors import answer_from, request_from
from otel_runlog.replaying.in_process import ReplayLlmClient
from otel_runlog.testing import FakeLlmClient, FakeToolInvoker

CALL = CallPart("t", {"a": 1}, "c")
WIRE_CALL = {"id": "c", "type": "function", "function": {"name": "t", "arguments": '{"a": 1}'}}


@dataclasses.dataclass
class Message:
    text: str
    tool_calls: list[dict[str, Any]]


class PydanticLike:
    def model_dump(self, **how: object) -> dict[str, Any]:
        return {"choices": [{"message": {"role": "assistant", "content": "x", "tool_calls": [WIRE_CALL]}}]}


@pytest.mark.parametrize(
    "reply",
    [
        LlmAnswer(parts=(TextPart("x"), CALL)),
        {"text": "x", "tool_calls": [{"id": "c", "name": "t", "arguments": {"a": 1}}]},
        {"content": "x", "tool_calls": [{"id": "c", "name": "t", "arguments": '{"a": 1}'}]},
        {"role": "assistant", "content": "x", "tool_calls": [WIRE_CALL]},
        {"content": [{"type": "text", "text": "x"}, {"type": "tool_use", "id": "c", "name": "t", "input": {"a": 1}}]},
        Message("x", [{"id": "c", "name": "t", "arguments": {"a": 1}}]),
        PydanticLike(),
    ],
    ids=["answer", "text", "content", "chat", "anthropic", "data class", "pydantic"],
)
def test_an_answer_may_come_in_any_form(reply: object) -> None:
    assert answer_from(reply).parts == (TextPart("x"), CALL)


def test_texts_are_taken_word_for_word() -> None:
    assert [answer_from(reply).text for reply in ("[1]", {"text": '{"a": 1}'}, {"content": None})] == [
        "[1]",
        '{"a": 1}',
        "",
    ]


@pytest.mark.parametrize("reply", [None, 7, ["x"], {}, {"foo": 1}, object()])
def test_what_says_nothing_is_no_answer(reply: object) -> None:
    with pytest.raises(ConfigError, match="answer"):
        answer_from(reply)


def test_a_request_may_be_neutral_a_body_or_messages() -> None:
    messages = [{"role": "user", "content": "hi"}]
    turns = (Turn(Role.USER, (TextPart("hi"),)),)
    assert request_from(messages) == LlmRequest(turns=turns)
    assert request_from({"model": "m", "messages": messages}).turns == turns
    assert otel_runlog.request_fingerprint(messages) == otel_runlog.request_fingerprint(LlmRequest(turns=turns))
    with pytest.raises(ConfigError, match="no request"):
        request_from({"foo": 1})


def test_the_doubles_are_what_the_protocols_ask_for() -> None:
    assert issubclass(FakeLlmClient, otel_runlog.LlmClient)
    assert issubclass(ReplayLlmClient, otel_runlog.LlmClient)
    assert issubclass(FakeToolInvoker, otel_runlog.ToolInvoker)
