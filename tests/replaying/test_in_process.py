"""Replays without a server: recorded requests given to a client and tools, recorded answers given to an agent."""

from __future__ import annotations

import asyncio
import datetime as dt
import pickle
import re
from collections.abc import Callable
from typing import Any

import msgspec
import pytest
from recorded import SYSTEM, asks, assistant, calls, capture, llm, result, says, tool, user

import otel_runlog
from otel_runlog.capture import Capture, RedactionRules
from otel_runlog.conversation import CallError, FinishReason, Json, LlmAnswer, LlmRequest
from otel_runlog.errors import (
    CaptureMissingError,
    ConfigError,
    NoLlmCall,
    ReplayedLlmError,
    ReplayExhausted,
    ReplayMismatch,
)
from otel_runlog.model import Usage
from otel_runlog.redaction import SecretPatterns
from otel_runlog.replaying.divergence import DivergenceKind, ReplayMode, ReproVerdict
from otel_runlog.replaying.in_process import (
    ReplayLlmClient,
    replay,
    replay_async,
    replay_with_divergence,
    replay_with_divergence_async,
)
from otel_runlog.testing import FakeLlmClient, FakeToolInvoker

ASKED = asks("weather in Paris?", params={"temperature": 1})
CALLED = calls("weather", {"city": "Paris", "days": 1}, "call_1")
IN_ROME = calls("weather", {"city": "Rome", "days": 1}, "call_1")
SAID = {"name": "weather", "args": {"city": "Paris", "days": 1}, "id": "call_1"}
AGAIN = asks("weather in Paris?", assistant("", CALLED), result("18C", "call_1"), params={"temperature": 1})
ANSWER = LlmAnswer(
    parts=(CALLED,),
    finish_reason=FinishReason.TOOL_CALL,
    response_id="resp_1",
    usage=Usage(input_tokens=10, output_tokens=5),
)
WEATHER = capture(
    llm(ASKED, ANSWER),
    tool("weather", {"city": "Paris", "days": 1}, "18C", id="call_1"),
    llm(AGAIN, says("18C in Paris", id="resp_2")),
)


class Client:
    """A client that answers with what it is given, in order."""

    def __init__(self, *replies: Any) -> None:
        self.replies = list(replies)
        self.asked: list[LlmRequest] = []

    def complete(self, request: LlmRequest) -> Any:
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


class Tools:
    def __init__(self, invoke: Callable[[str, Any], object]) -> None:
        self._invoke = invoke

    def invoke(self, name: str, arguments: Json) -> object:
        return self._invoke(name, arguments)


def told_18c(name: str, arguments: Any) -> object:
    return "18C"


def test_a_run_is_asked_again_in_call_order_and_gives_its_last_text() -> None:
    wire = {"content": None, "tool_calls": [{"id": "call_1", "type": "function", "function": {}}]}
    wire["tool_calls"][0]["function"] = {"name": "weather", "arguments": '{"days": 1.0, "city": "Paris"}'}  # type: ignore[index]
    client = Client(wire, "18C in Paris")
    assert otel_runlog.replay(WEATHER, client, Tools(told_18c)) == "18C in Paris"
    assert client.asked == [ASKED, AGAIN]


def test_the_doubles_replay_what_they_were_made_of() -> None:
    client, tools = FakeLlmClient.from_runlog(WEATHER), FakeToolInvoker.from_capture(WEATHER)
    assert replay(WEATHER, client, tools) == "18C in Paris"
    assert tools.calls == [("weather", {"city": "Paris", "days": 1})]
    assert replay_with_divergence(
        WEATHER, FakeLlmClient.from_runlog(WEATHER), FakeToolInvoker.from_capture(WEATHER)
    ).verdict is ReproVerdict.IDENTICAL  # fmt: skip


@pytest.mark.parametrize(
    ("replies", "tool_result", "where"),
    [
        ((ANSWER, "18C in  Paris"), "18C", (3, "text", "18C in Paris", "18C in  Paris")),
        ((says(IN_ROME),), "18C", (1, "calls[0].args.city", "Paris", "Rome")),
        ((says(calls("forecast", CALLED.arguments, "call_1")),), "18C", (1, "calls[0].name", "weather", "forecast")),
        ((says(calls("weather", CALLED.arguments, "call_2")),), "18C", (1, "calls[0].id", "call_1", "call_2")),
        (("",), "18C", (1, "calls", [SAID], [])),
        ((says(CALLED, CALLED),), "18C", (1, "calls[1]", None, SAID)),
        ((ANSWER,), {"c": 18}, (2, "result", "18C", {"c": 18})),
        ((ValueError("no"),), "18C", (1, "error", None, "ValueError: no")),
    ],
)
def test_the_first_difference_is_raised(
    replies: tuple[Any, ...], tool_result: Json, where: tuple[int, str, Json, Json]
) -> None:
    with pytest.raises(ReplayMismatch) as caught:
        replay(WEATHER, Client(*replies), Tools(lambda name, arguments: tool_result))
    error = caught.value
    assert (error.call_index, error.path, error.recorded, error.got) == where
    assert str(error).startswith(f"replay of 3f2a9c01: diverged at call {where[0]} of 3: ")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again), again.path, again.got) == (ReplayMismatch, str(error), error.path, error.got)


def test_all_differences_are_told_where_the_replay_goes_on() -> None:
    report = replay_with_divergence(
        WEATHER, Client(ANSWER, "19C in Paris"), Tools(lambda name, arguments: {"c": 19}), ReplayMode.LIVE
    )
    found = [(d.kind, d.call_index, d.path, d.recorded, d.got) for d in report.divergences]
    assert found == [
        (DivergenceKind.TOOL_RESULT_CHANGED, 2, "result", "18C", {"c": 19}),
        (DivergenceKind.ANSWER_CHANGED, 3, "text", "18C in Paris", "19C in Paris"),
    ]
    assert (report.verdict, report.recorded, report.served, report.live) == (ReproVerdict.DIVERGED, 3, 0, 3)
    with pytest.raises(ReplayMismatch, match="diverged at call 2 of 3"):
        report.raise_for_divergence()


def test_a_replay_without_tools_says_that_it_left_them_out() -> None:
    report = replay_with_divergence(WEATHER, Client(ANSWER, "18C in Paris"))
    assert report.verdict is ReproVerdict.INCOMPLETE
    assert report.not_compared == ("tools: none were given, 1 recorded calls were left out",)


def test_a_recorded_error_has_to_come_again() -> None:
    failed = capture(llm(ASKED, CallError("RateLimitError", "slow down", 429)), llm(AGAIN, "late"))
    assert replay(failed, Client(RuntimeError("refused"), "late")) == "late"
    with pytest.raises(ReplayMismatch, match="error") as caught:
        replay(failed, Client("fine", "late"))
    assert (caught.value.recorded, caught.value.got) == ("RateLimitError: slow down", "fine")


def test_tools_that_failed_have_to_fail_and_the_others_not() -> None:
    run = capture(llm(ASKED, "x"), tool("t", {}, error=CallError("KeyError", "gone")), tool("u", {}, 1))

    def failing(name: str, arguments: Any) -> object:
        raise KeyError(name)

    report = replay_with_divergence(run, Client("x"), Tools(failing))
    assert [(d.call_index, d.path, d.recorded, d.got) for d in report.divergences] == [
        (3, "error", None, "KeyError: 'u'")
    ]
    report = replay_with_divergence(run, Client("x"), Tools(lambda name, arguments: 1))
    assert [(d.call_index, d.path, d.recorded, d.got) for d in report.divergences] == [
        (2, "error", "KeyError: gone", 1)
    ]


def test_a_tools_result_is_compared_as_json() -> None:
    run = capture(llm(ASKED, "x"), tool("t", {}, {"at": "2026-11-29T00:00:00Z", "n": [1]}))
    at = dt.datetime(2026, 11, 29, tzinfo=dt.UTC)
    assert replay(run, Client("x"), Tools(lambda name, arguments: {"n": (1.0,), "at": at})) == "x"
    assert replay(run, Client("x"), Tools(lambda name, arguments: '{"n": [1], "at": "2026-11-29T00:00:00Z"}')) == "x"
    with pytest.raises(ConfigError, match="the tool t gives what JSON cannot say"):
        replay(run, Client("x"), Tools(lambda name, arguments: object()))


def test_a_tool_whose_result_nobody_knows_is_called_and_not_compared() -> None:
    blind = msgspec.structs.replace(tool("t", {}), source=None)
    called: list[str] = []
    assert (
        replay(capture(llm(ASKED, "x"), blind), Client("x"), Tools(lambda name, arguments: called.append(name))) == "x"
    )
    assert called == ["t"]
    report = replay_with_divergence(capture(llm(ASKED, "x"), blind), Client("x"), Tools(told_18c))
    assert (report.verdict, report.not_compared) == (
        ReproVerdict.INCOMPLETE,
        ("results of tools, call 2: not recorded",),
    )


def test_vectors_are_compared_number_by_number() -> None:
    asked = LlmRequest(operation="embedding", inputs=("a",))
    run = capture(llm(ASKED, "x"), llm(asked, LlmAnswer(vectors=((0.5, 1.0),))))
    assert replay(run, Client("x", LlmAnswer(vectors=((0.5, 1.0),)))) == "x"
    with pytest.raises(ReplayMismatch) as caught:
        replay(run, Client("x", LlmAnswer(vectors=((0.5, 2.0),))))
    assert (caught.value.path, caught.value.recorded, caught.value.got) == ("vectors[0][1]", 1.0, 2.0)


def test_a_report_without_differences_raises_nothing() -> None:
    replay_with_divergence(WEATHER, Client(ANSWER, "18C in Paris"), Tools(told_18c)).raise_for_divergence()


def test_what_was_not_recorded_is_not_asserted() -> None:
    with pytest.raises(NoLlmCall):
        replay(capture(tool("t", {}, 1)), Client())
    with pytest.raises(CaptureMissingError, match=r"call 1 of the run .* without its request"):
        replay(capture(llm(None, "x")), Client("x"))
    report = replay_with_divergence(capture(llm(None, "x"), llm(ASKED, None)), Client("y"))
    assert report.verdict is ReproVerdict.INCOMPLETE
    assert report.not_compared == (
        "requests of models, call 1: not recorded",
        "answers of models, call 2: not recorded",
    )


def test_a_client_that_has_no_more_answers_says_so_itself() -> None:
    with pytest.raises(ReplayExhausted, match="gone"):
        replay(WEATHER, Client(ReplayExhausted("gone")))


class AsyncClient(Client):
    async def complete(self, request: LlmRequest) -> Any:  # type: ignore[override]
        await asyncio.sleep(0)
        return super().complete(request)


async def told_later(name: str, arguments: Any) -> object:
    await asyncio.sleep(0)
    return "18C"


def test_async_clients_and_tools_are_awaited() -> None:
    assert replay(WEATHER, AsyncClient(ANSWER, "18C in Paris"), Tools(told_later)) == "18C in Paris"
    with pytest.raises(ReplayMismatch, match="ValueError: no"):
        replay(WEATHER, AsyncClient(ValueError("no")))


def test_in_a_running_loop_the_async_replay_is_named_and_works() -> None:
    async def inside() -> tuple[str, ReproVerdict]:
        with pytest.raises(ConfigError, match="call replay_async"):
            replay(WEATHER, AsyncClient(ANSWER))
        report = await replay_with_divergence_async(WEATHER, AsyncClient(ANSWER, "18C in Paris"), Tools(told_later))
        return await replay_async(WEATHER, AsyncClient(ANSWER, "18C in Paris"), Tools(told_later)), report.verdict

    assert asyncio.run(inside()) == ("18C in Paris", ReproVerdict.IDENTICAL)


def test_an_agent_is_answered_whole() -> None:
    client = ReplayLlmClient(WEATHER)
    assert client.complete(ASKED) == ANSWER
    body: dict[str, Any] = {
        "model": "gpt-5",
        "temperature": 1.0,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": "weather in Paris?"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "x",
                        "type": "function",
                        "function": {"name": "weather", "arguments": '{"days":1.0,"city":"Paris"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "x", "content": "18C"},
        ],
    }
    assert client.complete(body).text == "18C in Paris"
    report = client.report()
    assert (report.verdict, report.served) == (ReproVerdict.EQUIVALENT, 2)
    assert [d.path for d in report.divergences] == ["tools[weather]"]
    assert ReplayLlmClient(WEATHER).complete(body["messages"]).text == "18C in Paris"


def test_a_text_alone_is_what_the_user_says() -> None:
    run = capture(llm(LlmRequest(turns=(user("hi"),)), "hello"))
    assert ReplayLlmClient(run).complete("hi").text == "hello"


def test_a_mode_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(ConfigError, match="mode must be one of strict, soft, live: 'hard'"):
        ReplayLlmClient(WEATHER, mode="hard")  # type: ignore[arg-type]


def test_async_agents_are_answered_too() -> None:
    assert asyncio.run(ReplayLlmClient(WEATHER).acomplete(ASKED)) == ANSWER


# Case 28: the same prompt twice ("x", then "y"), and two parallel tools.
SAME = asks("same prompt", params={"temperature": 1})
CASE_28 = capture(llm(SAME, "x"), llm(SAME, "y"), tool("t", {"n": 1}, 10), tool("t", {"n": 2}, 20))


def test_28a_the_same_code_gets_the_same_answers() -> None:
    client = ReplayLlmClient(CASE_28)
    assert [client.complete(SAME).text for _ in range(2)] == ["x", "y"]
    assert client.report().verdict is ReproVerdict.IDENTICAL


def test_28b_parallel_tools_may_come_in_another_order() -> None:
    tools = FakeToolInvoker.from_capture(CASE_28)
    assert [tools.invoke("t", {"n": 2}), tools.invoke("t", {"n": 1})] == [20, 10]


def test_28c_the_same_prompt_once_more_is_exhausted() -> None:
    client = ReplayLlmClient(CASE_28)
    for _ in range(2):
        client.complete(SAME)
    with pytest.raises(ReplayExhausted, match="exhausted: already served 2 of 2"):
        client.complete(SAME)


def test_28d_a_changed_word_is_told_with_its_path_and_the_nearest_request() -> None:
    client = ReplayLlmClient(CASE_28)
    client.complete(SAME)
    with pytest.raises(ReplayMismatch) as caught:
        client.complete(asks("same question"))
    error = caught.value
    assert (error.call_index, error.path) == (2, "turns[0].user")
    assert (error.recorded, error.got) == ("same prompt", "same question")
    (divergence,) = client.report().divergences
    assert (divergence.kind, divergence.nearest) == (DivergenceKind.REQUEST_CHANGED, 2)


def test_28e_equal_numbers_and_the_order_of_keys_play_no_part() -> None:
    client = ReplayLlmClient(WEATHER)
    client.complete(asks("weather in Paris?", params={"temperature": 1.0}))
    call = calls("weather", {"days": 1.0, "city": "Paris"}, "other id")
    client.complete(
        asks("weather in Paris?", assistant("", call), result("18C", "other id"), params={"temperature": 1.0})
    )
    assert client.report().verdict is ReproVerdict.IDENTICAL


def test_28f_a_changed_system_prompt_is_a_difference() -> None:
    client = ReplayLlmClient(CASE_28)
    with pytest.raises(ReplayMismatch) as caught:
        client.complete(
            [{"role": "system", "content": "You are a writer."}, {"role": "user", "content": "same prompt"}]
        )
    assert (caught.value.path, caught.value.recorded, caught.value.got) == ("system", SYSTEM, "You are a writer.")


def test_a_recorded_failure_is_raised_again() -> None:
    client = ReplayLlmClient(capture(llm(ASKED, CallError("RateLimitError", "slow down", 429))))
    with pytest.raises(ReplayedLlmError, match="slow down") as caught:
        client.complete(ASKED)
    assert (caught.value.call_index, caught.value.type, caught.value.http_status) == (1, "RateLimitError", 429)
    assert client.report().verdict is ReproVerdict.IDENTICAL


def test_without_prompts_answers_come_in_their_order() -> None:
    blind = capture(llm(None, "one"), llm(None, "two"))
    with pytest.raises(CaptureMissingError, match="key='order'"):
        ReplayLlmClient(blind)
    client = ReplayLlmClient(blind, key="order")
    assert [client.complete(ASKED).text, client.complete(AGAIN).text] == ["one", "two"]
    report = client.report()
    assert report.verdict is ReproVerdict.INCOMPLETE
    assert report.not_compared == ("requests of calls 1-2: not recorded, answered in recorded order",)
    with pytest.raises(ReplayExhausted, match="all 2 recorded llm calls had come"):
        client.complete(ASKED)


def test_soft_gives_the_nearest_answer_and_live_the_models() -> None:
    soft = ReplayLlmClient(WEATHER, mode=ReplayMode.SOFT)
    assert soft.complete(asks("weather in Rome?")).parts == ANSWER.parts
    live = ReplayLlmClient(WEATHER, mode=ReplayMode.LIVE, live=Client("from the model", ValueError("down")))
    assert live.complete(asks("weather in Rome?")).text == "from the model"
    with pytest.raises(ValueError, match="down"):
        live.complete(asks("weather in Oslo?"))
    assert [d.detail for d in live.report().divergences] == [
        "the model answered differently",
        "the model failed: down",
    ]
    assert live.report().live == 2


def test_arguments_that_cannot_be_used_are_refused() -> None:
    with pytest.raises(NoLlmCall):
        ReplayLlmClient(capture())
    with pytest.raises(CaptureMissingError, match="0 recorded with"):
        ReplayLlmClient(capture(llm(ASKED, None)))
    with pytest.raises(ConfigError, match="live"):
        ReplayLlmClient(WEATHER, mode=ReplayMode.LIVE)
    with pytest.raises(ConfigError, match="key must be one of fingerprint, order: 'time'"):
        ReplayLlmClient(WEATHER, "time")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="compare must be of model, params, tools: 'seed'"):
        ReplayLlmClient(WEATHER, compare=["seed"])
    with pytest.raises(ConfigError, match="no regular expression"):
        ReplayLlmClient(WEATHER, ignore=["("])
    with pytest.raises(ConfigError, match="this is no request"):
        ReplayLlmClient(WEATHER).complete({"prompt": "x"})
    with pytest.raises(ConfigError, match="not with int"):
        replay(WEATHER, Client(7))


def mailed(rules: RedactionRules) -> Capture:
    sent = tool("send", {"to": "[redacted:email]"}, "sent to [redacted:email]", id="call_1")
    return capture(llm(asks("write to Ada"), says("wrote to [redacted:email]")), sent, redaction=rules)


class Mail:
    def complete(self, _request: LlmRequest) -> LlmAnswer:
        return says("wrote to ada@example.org")

    def invoke(self, _name: str, _arguments: Json) -> Json:
        return "sent to ada@example.org"


def test_what_comes_is_redacted_as_the_recording_was() -> None:
    run = mailed(SecretPatterns().rules)
    assert replay(run, Mail(), Mail()) == "wrote to [redacted:email]"
    assert replay_with_divergence(run, Mail(), Mail()).verdict is ReproVerdict.IDENTICAL


def test_where_the_recordings_redactor_is_not_known_a_difference_says_so() -> None:
    run, hint = mailed(RedactionRules("7")), "redactor (version 7) is not known here, give it as redact="
    with pytest.raises(ReplayMismatch, match=re.escape(hint)):
        replay(run, Mail(), Mail())
    with pytest.raises(ReplayMismatch, match=re.escape(hint)):
        ReplayLlmClient(run).complete(asks("write to ada@example.org"))
    report = replay_with_divergence(run, Mail(), Mail())
    assert report.not_compared == (f"redacted texts: the recording's {hint}",)
    assert [found.detail for found in report.divergences] == [f"the recording's {hint}"] * 2
    assert replay(run, Mail(), Mail(), redact=SecretPatterns()) == "wrote to [redacted:email]"
