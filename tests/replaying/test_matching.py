"""What a replay is asked is found in the recording by what it says, and what is not found is told."""

from __future__ import annotations

import json
import random
import threading
from typing import Any

import msgspec
import pytest
from recorded import asks, assistant, calls, capture, llm, result, says, system, tool, user

from otel_runlog.capture import CapturedLlm, RedactionRules
from otel_runlog.conversation import (
    CallError,
    Json,
    LlmAnswer,
    LlmRequest,
    MediaPart,
    Role,
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.model import Content
from otel_runlog.redaction import SecretPatterns
from otel_runlog.replaying.divergence import Cause, DivergenceKind, ReplayMode, ReproVerdict, Resolution
from otel_runlog.replaying.matching import Key, Matcher, Missed, Served, ToolMissed, ToolServed
from otel_runlog.replaying.normalising import TIMESTAMPS, UUIDS
from otel_runlog.replaying.report import as_json, text_of

SAME = asks("same prompt")
CASE_28 = capture(llm(SAME, "x"), llm(SAME, "y"), tool("t", {"n": 1}, 10), tool("t", {"n": 2}, 20))


def answer(found: Served | Missed) -> str | None:
    """The text that is served; None for a miss."""
    return found.call.answer.text if isinstance(found, Served) and found.call.answer is not None else None


def missed(found: Served | Missed) -> Missed:
    assert isinstance(found, Missed)
    return found


def kinds(matcher: Matcher) -> list[tuple[DivergenceKind, int | None]]:
    return [(divergence.kind, divergence.call_index) for divergence in matcher.report().divergences]


# -- what is found ---


def test_equal_requests_are_answered_in_the_order_they_were_recorded() -> None:
    matcher = Matcher(CASE_28)
    assert [answer(matcher.ask(SAME)) for _ in range(2)] == ["x", "y"]
    assert matcher.report().notes == (
        "ambiguous: calls 1, 2 asked the same and were answered differently; served in that order",
    )


def test_equal_answers_to_equal_requests_are_not_ambiguous() -> None:
    matcher = Matcher(capture(llm(SAME, says(calls("t", {}, "a"))), llm(SAME, says(calls("t", {}, "b")))))
    matcher.ask(SAME)
    assert matcher.report().notes == ()


def test_independent_calls_may_come_in_any_order() -> None:
    matcher = Matcher(CASE_28)
    results = [matcher.ask_tool("t", {"n": n}) for n in (2.0, 1)]
    assert [found.call.result for found in results if isinstance(found, ToolServed)] == [20, 10]
    for _ in range(2):
        matcher.ask(SAME)
    assert matcher.report().verdict is ReproVerdict.IDENTICAL


def test_eight_threads_of_forty_mixed_prompts_get_their_own_answers() -> None:
    prompts = [f"prompt {n}" for n in range(64)] * 5
    matcher = Matcher(capture(*(llm(asks(prompt), f"answer to {prompt}") for prompt in prompts)))
    random.Random(28).shuffle(prompts)
    wrong: list[str] = []
    start = threading.Barrier(8)

    def work(own: list[str]) -> None:
        start.wait()
        wrong.extend(prompt for prompt in own if answer(matcher.ask(asks(prompt))) != f"answer to {prompt}")

    threads = [threading.Thread(target=work, args=(prompts[n * 40 : n * 40 + 40],)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report = matcher.report()
    assert (wrong, report.verdict, report.served) == ([], ReproVerdict.IDENTICAL, 320)


def test_embeddings_are_found_by_their_inputs() -> None:
    vectors = LlmAnswer(vectors=((0.5, 1.0),))
    asked = LlmRequest(operation="embedding", inputs=("a",), model="small")
    matcher = Matcher(capture(llm(asked, vectors), llm(msgspec.structs.replace(asked, inputs=("b",)), LlmAnswer())))
    found = matcher.ask(asked)
    assert isinstance(found, Served)
    assert found.call.answer == vectors
    lacking = missed(matcher.ask(msgspec.structs.replace(asked, inputs=("b",))))
    assert lacking.divergence.detail == "the capture does not have its answer"
    report = matcher.report()
    assert (report.verdict, report.divergences) == (ReproVerdict.INCOMPLETE, ())
    assert report.not_compared == ("answers of call 2: not recorded",)


# -- ids ---


def test_no_two_answers_have_the_same_id() -> None:
    run = capture(llm(asks("a"), says("1", id="resp_1")), llm(asks("b"), says("2", id="resp_1")), llm(asks("c"), "3"))
    matcher = Matcher(run)
    found = [matcher.ask(asks(text)) for text in "abc"]
    assert [served.response_id for served in found] == ["resp_1", "rl_3f2a9c01_2_1", "rl_3f2a9c01_3_1"]


def test_an_answer_that_the_provider_remembers_is_known_by_the_id_that_was_served() -> None:
    first = asks("hello")
    run = capture(llm(first, says("hi", id="resp_1")))
    fingerprint = run.llm_io[0].fingerprint
    second = LlmRequest(turns=(user("and now?"),), previous=fingerprint)
    run = capture(llm(first, says("hi", id="resp_1")), llm(first, "hi again"), llm(second, "then"))
    matcher = Matcher(run)
    ids = [matcher.ask(first).response_id for _ in range(2)]
    asked = LlmRequest(turns=(user("and now?"),), previous_response_id=ids[1])
    assert answer(matcher.ask(asked)) == "then"
    unknown = missed(matcher.ask(LlmRequest(turns=(user("and now?"),), previous_response_id="resp_from_elsewhere")))
    assert unknown.divergence.kind is DivergenceKind.EXTRA_CALL


def test_where_no_call_was_recorded_with_what_it_went_on_from_it_is_not_compared() -> None:
    """Traceloop's and OpenTelemetry's spans do not say the previous response."""
    texts = ("one", "two", "three")
    matcher = Matcher(capture(*(llm(asks(text), says(text, id=f"resp_{text}")) for text in texts)))
    before = None
    for text in texts:
        served = matcher.ask(msgspec.structs.replace(asks(text), previous_response_id=before))
        assert answer(served) == text
        before = served.response_id
    report = matcher.report()
    assert (report.verdict, report.divergences) == (ReproVerdict.IDENTICAL, ())
    assert report.not_compared == ("the answers that calls 2-3 went on from: not recorded",)


def test_what_a_call_goes_on_from_is_compared_where_the_recording_has_it() -> None:
    first, other = asks("one"), asks("other")
    second = msgspec.structs.replace(asks("two"), previous_response_id="resp_1")
    run = capture(llm(first, says("1", id="resp_1")), llm(other, says("2", id="resp_2")), llm(second, "3"))
    matcher = Matcher(run)
    matcher.ask(first), matcher.ask(other)
    alone = msgspec.structs.replace(asks("other"), previous_response_id="resp_1")
    assert missed(matcher.ask(alone)).divergence.kind is DivergenceKind.REQUEST_CHANGED


# -- what is not found ---


def test_a_request_asked_once_more_is_exhausted() -> None:
    matcher = Matcher(CASE_28)
    third = [matcher.ask(SAME) for _ in range(3)][-1]
    assert "exhausted: already served 2 of 2" in missed(third).text
    assert kinds(matcher) == [(DivergenceKind.REPEATED, 2)]


def test_a_refused_request_that_is_tried_again_is_one_difference() -> None:
    matcher = Matcher(capture(llm(asks("a"), "1"), llm(asks("b"), "2")))
    for _ in range(3):
        missed(matcher.ask(asks("A")))
    assert answer(matcher.ask(asks("b"))) == "2"
    (divergence,) = matcher.report().divergences
    assert (divergence.kind, divergence.call_index, divergence.detail) == (
        DivergenceKind.REQUEST_CHANGED,
        1,
        "asked 3 times",
    )


def test_a_changed_request_comes_as_often_as_the_recorded_one() -> None:
    matcher = Matcher(CASE_28)
    for _ in range(3):
        missed(matcher.ask(asks("another prompt")))
    assert kinds(matcher) == [(DivergenceKind.REQUEST_CHANGED, 1), (DivergenceKind.REQUEST_CHANGED, 2)]
    assert matcher.report().divergences[1].detail == "asked 2 times"


def test_an_added_call_is_told_from_a_changed_one_once_the_recorded_one_comes() -> None:
    matcher = Matcher(capture(llm(asks("a"), "1"), llm(asks("b"), "2")))
    first = missed(matcher.ask(asks("something new")))
    assert (first.divergence.kind, first.divergence.nearest) == (DivergenceKind.REQUEST_CHANGED, 1)
    assert [answer(matcher.ask(asks(text))) for text in "ab"] == ["1", "2"]
    assert kinds(matcher) == [(DivergenceKind.EXTRA_CALL, None)]


def test_the_nearest_call_is_of_the_same_agent_then_of_the_same_history_then_alike() -> None:
    history = (user("plan"), assistant("ok"))
    other = LlmRequest(turns=(system("You are a critic."), *history, user("next?")))
    run = capture(
        llm(other, "critic"),
        llm(asks("unrelated"), "1"),
        llm(asks(*history, "what then?"), "2"),
        llm(asks(*history, "how much?"), "3"),
        llm(asks(*history, "how much?", assistant("4"), user("sure?")), "5"),
    )
    found = missed(Matcher(run).ask(asks(*history, "how many?")))
    assert (found.divergence.nearest, found.divergence.shared_turns) == (4, 2)
    assert (found.divergence.path, found.divergence.cause) == ("turns[2].user", Cause.INPUT)


def test_a_tools_new_result_names_the_tool_and_whether_it_ran() -> None:
    call = calls("weather", {"city": "Paris"}, "c1")
    after = asks("?", assistant("", call), result("18C", "c1"))
    run = capture(llm(asks("?"), says(call)), tool("weather", {"city": "Paris"}, "18C", id="c1"), llm(after, "fine"))
    served = Matcher(run)
    served.ask(asks("?"))
    served.ask_tool("weather", {"city": "Paris"})
    cut = missed(served.ask(asks("?", assistant("", call), result("18", "c1"))))
    assert cut.divergence.detail == "result of tool weather (call 2), which was served from the recording"
    without_spans = Matcher(msgspec.structs.replace(run, tool_io=()))
    without_spans.ask(asks("?"))
    found = missed(without_spans.ask(asks("?", assistant("", call), result("18", "c1"))))
    assert found.divergence.detail == "result of tool weather, which ran for real"


@pytest.mark.parametrize(
    ("mode", "resolution"),
    [("strict", Resolution.REFUSED), ("soft", Resolution.NEAREST), ("live", Resolution.LIVE)],
)
def test_the_mode_says_what_the_asker_gets(mode: str, resolution: Resolution) -> None:
    matcher = Matcher(capture(llm(asks("a"), "1"), llm(asks("b"), "2")), mode=ReplayMode(mode))
    found = missed(matcher.ask(asks("A")))
    assert found.divergence.resolution is resolution
    assert found.nearest is not None
    assert found.nearest.call_index == 1
    report = matcher.report()
    assert (report.served, report.not_reached) == (1 if mode == "soft" else 0, 1)


def test_soft_serves_a_repeated_request_once_more_and_says_so() -> None:
    matcher = Matcher(capture(llm(asks("a"), says("1", id="r1"))), mode=ReplayMode.SOFT)
    matcher.ask(asks("a"))
    found = missed(matcher.ask(asks("a")))
    assert (found.nearest and found.nearest.call_index, found.response_id) == (1, "rl_3f2a9c01_1_2")
    assert kinds(matcher) == [(DivergenceKind.REPEATED, 1)]


def test_a_live_answer_is_compared_with_the_recorded_one() -> None:
    matcher = Matcher(capture(llm(asks("a"), "1"), llm(asks("b"), "2")), mode=ReplayMode.LIVE)
    for asked, reply in (("A", says("1", id="real_1")), ("B", says("other"))):
        matcher.answered_live(missed(matcher.ask(asks(asked))), reply)
    extra = missed(matcher.ask(LlmRequest(turns=(user("go on"),), previous_response_id="real_1")))
    matcher.answered_live(extra, CallError("Timeout", "too late"))
    report = matcher.report()
    assert [divergence.detail for divergence in report.divergences] == [
        "the model answered the same",
        "the model answered differently",
        "exhausted: all 2 recorded llm calls had come; the model failed: too late",
    ]
    assert report.live == 3


# -- order ---


def order(*recorded: Any, key: Key = "order") -> Matcher:
    return Matcher(capture(*recorded), key=key)


def test_order_is_kept_within_an_agent() -> None:
    critic = LlmRequest(turns=(system("You are a critic."), user("?")))
    matcher = order(llm(critic, "c1"), llm(asks("p"), "p1"), llm(critic, "c2"), llm(asks("p"), "p2"))
    assert [answer(matcher.ask(asked)) for asked in (asks("p"), asks("p"), critic, critic)] == ["p1", "p2", "c1", "c2"]


def test_order_needs_the_recorded_prompts_where_there_are_any() -> None:
    matcher = order(llm(asks("a"), "1"), llm(None, "2"))
    found = missed(matcher.ask(asks("A")))
    assert (found.divergence.path, found.divergence.recorded, found.divergence.got) == ("turns[0].user", "a", "A")
    assert answer(matcher.ask(asks("whatever"))) == "2"
    assert matcher.report().not_compared == ("requests of call 2: not recorded, answered in recorded order",)


def test_a_call_without_its_prompt_is_not_found_by_fingerprint() -> None:
    matcher = order(llm(None, "1"), key="fingerprint")
    assert missed(matcher.ask(asks("a"))).divergence.detail == "its request was not recorded"


def test_soft_answers_calls_without_their_prompts_in_order_and_nothing_is_said_to_have_changed() -> None:
    matcher = Matcher(capture(llm(None, "1"), llm(asks("b"), "2"), llm(None, "3")), mode=ReplayMode.SOFT)
    assert [answer(matcher.ask(asks(text))) for text in ("b", "a", "c")] == ["2", "1", "3"]
    report = matcher.report()
    assert (report.verdict, report.divergences, report.served) == (ReproVerdict.INCOMPLETE, (), 3)
    assert report.not_compared == ("requests of calls 1, 3: not recorded, answered in recorded order",)


# -- recorded in part ---


def in_part(request: LlmRequest, said: str) -> CapturedLlm:
    return msgspec.structs.replace(llm(request, said), completeness=Content.TRUNCATED)


@pytest.mark.parametrize("mark", ["", "...", "[TRUNCATED: original length 900]"])
def test_a_prompt_that_was_cut_off_is_found_by_its_beginning(mark: str) -> None:
    long = "Tell me of the weather in Paris, in a few words. " * 9
    run = capture(in_part(asks("short"), "0"), in_part(asks(long[:100] + mark), "1"), llm(asks("b"), "2"))
    matcher = Matcher(run)
    assert answer(matcher.ask(asks(long))) == "1"
    assert isinstance(matcher.ask(asks("shorter")), Missed)
    assert isinstance(matcher.ask(asks(long)), Missed)
    report = matcher.report()
    assert report.not_compared == ("requests of call 2: recorded in part, compared as far as they go",)
    assert report.divergences[0].detail == "it was recorded in part only"


def test_what_was_compared_in_part_is_incomplete() -> None:
    matcher = Matcher(capture(in_part(asks("x" * 40), "1")))
    matcher.ask(asks("x" * 50))
    assert matcher.report().verdict is ReproVerdict.INCOMPLETE


def shown(*digests: str | None) -> LlmRequest:
    return LlmRequest(turns=(Turn(Role.USER, (TextPart("see"), *(MediaPart(sha256=digest) for digest in digests))),))


def test_a_picture_that_was_not_recorded_can_be_any_picture() -> None:
    run = capture(in_part(shown(None, "aa"), "a dog"))
    assert answer(Matcher(run).ask(shown("bb", "aa"))) == "a dog"
    assert isinstance(Matcher(run).ask(shown("bb")), Missed)
    assert isinstance(Matcher(run).ask(shown("bb", "cc")), Missed)


def test_a_picture_in_a_result_that_was_not_recorded_can_be_any_picture() -> None:
    def shot(digest: str | None) -> LlmRequest:
        return LlmRequest(turns=(user("look"), assistant("", calls("shot", {})), result(["here", {"media": digest}])))

    matcher = Matcher(capture(in_part(shot(None), "a dog")))
    assert answer(matcher.ask(shot("aa"))) == "a dog"


# -- tools ---


def test_tools_are_found_by_name_and_arguments() -> None:
    run = capture(tool("t", {"a": 1, "b": [True]}, "x"), tool("t", {"a": 1, "b": [True]}, "y"), tool("u", {}, None))
    matcher = Matcher(run)
    found = [matcher.ask_tool("t", {"b": [True], "a": 1.0}) for _ in range(3)]
    assert [hit.call.result for hit in found if isinstance(hit, ToolServed)] == ["x", "y"]
    changed = matcher.ask_tool("u", {"b": 1})
    assert isinstance(changed, ToolMissed)
    assert (changed.divergence.path, changed.divergence.got) == ("args.b", 1)
    assert isinstance(matcher.ask_tool("v", {}), ToolMissed)
    assert kinds(matcher) == [
        (DivergenceKind.REPEATED, 2),
        (DivergenceKind.TOOL_ARGS_CHANGED, 3),
        (DivergenceKind.EXTRA_CALL, None),
    ]


def test_an_added_tool_call_is_told_from_a_changed_one_once_the_recorded_one_comes() -> None:
    matcher = Matcher(capture(tool("t", {"n": 1}, 10)))
    matcher.ask_tool("t", {"n": 5})
    matcher.ask_tool("t", {"n": 1})
    assert kinds(matcher) == [(DivergenceKind.EXTRA_CALL, None)]


def test_tools_that_ran_are_compared_with_the_recording() -> None:
    failed = CallError("ValueError", "no city")
    run = capture(
        tool("t", {"n": 1}, {"c": 18}),
        tool("t", {"n": 2}, error=failed),
        tool("t", {"n": 3}, "ok"),
        tool("t", {"n": 4}, 4),
    )
    matcher = Matcher(run)
    matcher.tool_ran("t", {"n": 1}, result={"c": 19})
    matcher.tool_ran("t", {"n": 2}, result="fine")
    matcher.tool_ran("t", {"n": 3}, error=CallError("KeyError", "x"))
    matcher.tool_ran("t", {"n": 4.0}, result=4.0)
    report = matcher.report()
    assert [(d.call_index, d.path, d.recorded, d.got) for d in report.divergences] == [
        (1, "result.c", 18, 19),
        (2, "result", "ValueError: no city", "fine"),
        (3, "error", "ok", "KeyError: x"),
    ]
    assert (report.live, report.served, report.not_reached) == (4, 0, 0)


def test_a_call_that_failed_before_it_was_sent_is_not_missing() -> None:
    refused = llm(asks("two"), CallError("RateLimitError", "slow down", 429))
    matcher = Matcher(
        capture(llm(asks("one"), CallError("builtins.TypeError", "no such argument")), refused, llm(SAME, "x"))
    )
    assert answer(matcher.ask(SAME)) == "x"
    assert kinds(matcher) == [(DivergenceKind.MISSING_CALL, 2)]
    matcher.ask(asks("two"))
    report = matcher.report()
    assert (report.verdict, report.not_reached) == (ReproVerdict.IDENTICAL, 0)
    assert report.notes == ("call 1 failed before anything was sent, so nothing came",)


def test_recorded_tools_are_missing_only_where_they_have_a_door() -> None:
    matcher = Matcher(capture(tool("t", {}, 1), tool("u", {}, 1), tool("u", {"n": 1}, 1)))
    matcher.tool_door("t")
    assert kinds(matcher) == [(DivergenceKind.MISSING_CALL, 1)]
    assert matcher.report().not_compared == ("tools: no door for u (2 calls), so they ran for real, or not at all",)


def test_a_tool_without_recorded_arguments_or_result_is_not_compared() -> None:
    blind = msgspec.structs.replace(tool("t", None, 1), arguments=None)
    matcher = Matcher(capture(blind, msgspec.structs.replace(tool("u", {}), source=None)))
    assert isinstance(matcher.ask_tool("t", {"n": 1}), ToolServed)
    lacking = matcher.ask_tool("u", {})
    assert isinstance(lacking, ToolMissed)
    report = matcher.report()
    assert (report.verdict, report.divergences) == (ReproVerdict.INCOMPLETE, ())
    assert report.not_compared == ("arguments of tool t: not recorded", "results of tool u: not recorded")


# -- drift, and what is not compared ---


def test_tools_without_schemas_are_not_compared() -> None:
    run = capture(llm(msgspec.structs.replace(SAME, tools=None), "x"))
    matcher = Matcher(run)
    matcher.ask(SAME)
    report = matcher.report()
    assert (report.verdict, report.not_compared) == (ReproVerdict.IDENTICAL, ("tool schemas: not recorded",))


@pytest.mark.parametrize(
    ("now", "path"),
    [
        ((), "tools[weather]"),
        ((ToolDefinition("weather", "forecasts"),), "tools[weather].description"),
        ((ToolDefinition("weather"), ToolDefinition("news")), "tools[news]"),
    ],
)
def test_tools_that_changed_are_drift(now: tuple[ToolDefinition, ...], path: str) -> None:
    matcher = Matcher(capture(llm(SAME, "x")))
    found = matcher.ask(msgspec.structs.replace(SAME, tools=now))
    assert isinstance(found, Served)
    assert [(drift.kind, drift.path) for drift in found.drift] == [(DivergenceKind.TOOLS, path)]
    assert matcher.report().verdict is ReproVerdict.EQUIVALENT


@pytest.mark.parametrize(
    ("then", "now", "drifts"),
    [("openai/gpt-5", "gpt-5", 0), ("openrouter/openai/gpt-5", "openai/gpt-5", 0), ("openai/gpt-5", "pt-5", 1)],
)
def test_a_provider_that_litellm_puts_before_a_models_name_is_no_drift(then: str, now: str, drifts: int) -> None:
    found = Matcher(capture(llm(asks("a", model=then), "x"))).ask(asks("a", model=now))
    assert isinstance(found, Served)
    assert len(found.drift) == drifts


def test_a_default_that_is_left_out_is_no_drift() -> None:
    matcher = Matcher(capture(llm(asks("a", params={"temperature": 0.5, "top_p": 1.0, "seed": 1}), "x")))
    found = matcher.ask(asks("a", params={"temperature": 0.5}))
    assert isinstance(found, Served)
    assert [(drift.path, drift.recorded, drift.got) for drift in found.drift] == [("params.seed", 1, None)]


# -- redaction, and what is to be ignored ---


def with_key(secret: str) -> tuple[LlmRequest, Json]:
    return asks(f"mail to {secret}", assistant("", calls("send", {"to": [secret]}, "c"))), {"to": [secret]}


def test_what_is_asked_is_redacted_as_the_recording_was() -> None:
    pytest.importorskip("re2")
    request, arguments = with_key("[redacted:email]")
    run = capture(llm(request, "sent"), tool("send", arguments, "ok"), redaction=SecretPatterns().rules)
    matcher = Matcher(run)
    asked, called = with_key("ada@example.org")
    assert answer(matcher.ask(asked)) == "sent"
    assert isinstance(matcher.ask_tool("send", called), ToolServed)


def test_an_own_redactor_has_to_be_given_again() -> None:
    request, _ = with_key("***")
    run = capture(llm(request, "sent"), redaction=RedactionRules("7"))
    assert Matcher(run).report().not_compared == (
        "redacted texts: the recording's redactor (version 7) is not known here, give it as redact=",
    )
    matcher = Matcher(run, redact=lambda key, text: text.replace("ada@example.org", "***"))
    assert answer(matcher.ask(with_key("ada@example.org")[0])) == "sent"
    assert matcher.report().not_compared == ()


def test_what_is_to_be_ignored_plays_no_part_on_either_side() -> None:
    def said(moment: str, run: str) -> LlmRequest:
        return asks(f"it is {moment}", assistant("", calls("log", {"run": run}, "c")), result({"run": run}, "c"))

    first = said("2026-11-29T10:00:00Z", "123e4567-e89b-12d3-a456-426614174000")
    key = capture(llm(first, says("ok", id="r"))).llm_io[0].fingerprint
    chained = LlmRequest(turns=(user("again"),), previous=key)
    run = capture(llm(first, says("ok", id="r")), llm(chained, "done"), tool("log", {"run": "run-7"}, 1))
    matcher = Matcher(run, ignore=[UUIDS, TIMESTAMPS, r"run-\d+"])
    assert answer(matcher.ask(said("2026-11-30 09:30", "00000000-0000-4000-8000-000000000000"))) == "ok"
    assert answer(matcher.ask(LlmRequest(turns=(user("again"),), previous_response_id="r"))) == "done"
    assert isinstance(matcher.ask_tool("log", {"run": "run-8"}), ToolServed)
    assert matcher.report().verdict is ReproVerdict.IDENTICAL


def test_pictures_and_thoughts_are_left_as_they_are() -> None:
    picture = MediaPart("image/png", sha256="00" * 32)
    shown = asks(Turn(Role.USER, (picture, ThinkingPart("hm"))), "what is it on 2026-11-29?")
    matcher = Matcher(capture(llm(shown, "a cat")), ignore=[TIMESTAMPS])
    assert answer(matcher.ask(shown)) == "a cat"


def test_fingerprints_of_another_version_are_made_anew() -> None:
    run = capture(llm(SAME, "x"))
    old = msgspec.structs.replace(run.llm_io[0], fingerprint="f0:00")
    assert answer(Matcher(msgspec.structs.replace(run, llm_io=(old,))).ask(SAME)) == "x"


def test_asking_never_raises() -> None:
    matcher = Matcher(CASE_28, ignore=[UUIDS])
    deep: Json = "x"
    for _ in range(5000):
        deep = [deep]
    for arguments in (float("nan"), deep, {"a": deep}, "\ud800"):
        request = asks("a", assistant("", calls("t", arguments, "c")), result(arguments, "c"))
        assert isinstance(matcher.ask(request), Missed)
        assert isinstance(matcher.ask_tool("t", arguments), ToolMissed)
    report = matcher.report()
    assert report.verdict is ReproVerdict.DIVERGED
    assert text_of(report)
    assert json.loads(as_json(report))["divergences"]
