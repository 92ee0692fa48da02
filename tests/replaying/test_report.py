"""What a replay came to, as people and programs read it: one screen, every kind of difference, nothing obeyed."""

from __future__ import annotations

import json
from collections.abc import Callable

import msgspec
import pytest
from recorded import asks, assistant, calls, capture, llm, result, says, system, tool, user

from otel_runlog.conversation import LlmRequest, ToolDefinition
from otel_runlog.model import RunStatus
from otel_runlog.replaying.divergence import DivergenceKind, DivergenceReport, ReplayMode, ReproVerdict, StepDivergence
from otel_runlog.replaying.matching import Matcher
from otel_runlog.replaying.report import COLUMNS, FOOTER, as_json, calls_named, text_of

PARIS = calls("weather", {"city": "Paris"}, "c1")
FIRST = asks("weather in Paris?")
SECOND = asks("weather in Paris?", assistant("", PARIS), result("18C in Paris", "c1"))
THIRD = asks(
    "weather in Paris?", assistant("", PARIS), result("18C in Paris", "c1"), assistant("It is mild."), user("and then?")
)
RUN = capture(
    llm(FIRST, says(PARIS)),
    tool("weather", {"city": "Paris"}, "18C in Paris", id="c1"),
    llm(SECOND, "It is mild."),
    llm(THIRD, "Go out."),
)
COLDER = asks("weather in Paris?", assistant("", PARIS), result("19C in Paris", "c1"))
REWRITTEN = asks(
    "weather in Paris?", assistant("", PARIS), result("18C in Paris", "c1"), assistant("It is MILD."), user("and then?")
)
OTHER_SCHEMA = ToolDefinition(
    "weather", "the weather", {"type": "object", "properties": {"city": {"type": "integer"}}}
)  # fmt: skip


def same_run(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    matcher.ask_tool("weather", {"city": "Paris"})
    matcher.ask(SECOND)
    matcher.ask(THIRD)


def colder_tool(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    matcher.tool_ran("weather", {"city": "Paris"}, result="19C in Paris")
    matcher.ask(COLDER)


def colder_without_a_door(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    matcher.ask(COLDER)


def other_city(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    matcher.ask_tool("weather", {"city": "Rome"})


def asked_twice(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    same_run(matcher)


def asked_more(matcher: Matcher) -> None:
    same_run(matcher)
    matcher.ask(asks("more?"))


def stopped_early(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    matcher.ask_tool("weather", {"city": "Paris"})


def rewritten(matcher: Matcher) -> None:
    matcher.ask(FIRST)
    matcher.ask_tool("weather", {"city": "Paris"})
    matcher.ask(SECOND)
    matcher.ask(REWRITTEN)


def embedding(matcher: Matcher) -> None:
    matcher.ask(LlmRequest(operation="embedding", inputs=("a", "b")))


def drifted(matcher: Matcher) -> None:
    matcher.ask_tool("weather", {"city": "Paris"})
    for request in (FIRST, SECOND, THIRD):
        matcher.ask(msgspec.structs.replace(request, model="gpt-5-mini", tools=(OTHER_SCHEMA,)))


def text(program: Callable[[Matcher], None], mode: str = "strict", failed: str | None = None) -> str:
    matcher = Matcher(RUN, mode=ReplayMode(mode))
    program(matcher)
    whole = text_of(matcher.report(program_failed=failed))
    assert whole.endswith(f"\n  {FOOTER}")
    assert max(map(len, whole.splitlines())) <= COLUMNS
    return whole.removesuffix(f"\n  {FOOTER}")


GOLDEN = {
    (same_run, "strict", None): """\
replay of 3f2a9c01: identical
  served 4 of 4 · live 0 · not reached 0""",
    (colder_tool, "strict", None): """\
replay of 3f2a9c01: diverged at call 2 of 4: tool result changed (tool weather, agent planner)
  path      result
  recorded  "18C in Paris"
  got       "19C in Paris"
  cause     tool result: the tool ran for real
  answered  by the tool itself
  also      call 3: request changed (llm, agent planner) at turns[2].tool[0]
  missing   call 4 (llm)
  served 1 of 4 · live 1 · not reached 1""",
    (colder_without_a_door, "strict", "exit status 1"): """\
replay of 3f2a9c01: diverged at call 3 of 4: request changed (llm, agent planner)
  program   failed (exit status 1); the recorded run did not
  path      turns[2].tool[0]
  recorded  "18C in Paris"
  got       "19C in Paris"
  cause     tool result: result of tool weather (call 2), which ran for real
  nearest   call 3, 2 turns in common
  answered  with an error
  missing   call 4 (llm)
  served 1 of 4 · live 0 · not reached 1
  not compared: tools: no door for weather (1 call), so they ran for real, or not at all""",
    (other_city, "strict", None): """\
replay of 3f2a9c01: diverged at call 2 of 4: tool arguments changed (tool weather, agent planner)
  path      args.city
  recorded  "Paris"
  got       "Rome"
  nearest   call 2
  answered  with an error
  missing   call 3 (llm), call 4 (llm)
  served 1 of 4 · live 0 · not reached 2""",
    (asked_twice, "strict", None): """\
replay of 3f2a9c01: diverged at call 1 of 4: repeated call (llm, agent planner)
  got       "weather in Paris?"
  note      exhausted: already served 1 of 1
  nearest   call 1
  answered  with an error
  served 4 of 4 · live 0 · not reached 0""",
    (asked_more, "strict", None): """\
replay of 3f2a9c01: diverged: extra call (llm, agent planner)
  got       "more?"
  note      exhausted: all 3 recorded llm calls had come
  nearest   call 1, 0 turns in common
  answered  with an error
  served 4 of 4 · live 0 · not reached 0""",
    (stopped_early, "strict", None): """\
replay of 3f2a9c01: diverged at call 3 of 4: missing call (llm, agent planner)
  recorded  "18C in Paris"
  missing   call 4 (llm)
  served 2 of 4 · live 0 · not reached 2""",
    (rewritten, "soft", None): """\
replay of 3f2a9c01: diverged at call 4 of 4: request changed (llm, agent planner)
  path      turns[3].assistant
  recorded  "It is mild."
  got       "It is MILD."
  cause     rewritten history
  nearest   call 4, 3 turns in common
  answered  with what was recorded for call 4 (soft)
  served 4 of 4 · live 0 · not reached 0""",
    (embedding, "strict", None): """\
replay of 3f2a9c01: diverged at call 1 of 4: another kind of call (llm, agent planner)
  path      operation
  recorded  "chat"
  got       "embedding"
  nearest   call 1
  answered  with an error
  missing   call 3 (llm), call 4 (llm)
  served 0 of 4 · live 0 · not reached 2
  not compared: tools: no door for weather (1 call), so they ran for real, or not at all""",
    (drifted, "strict", None): """\
replay of 3f2a9c01: equivalent: the same conversations, and the differences below
  drift     model of calls 1, 3-4: "gpt-5" -> "gpt-5-mini"
  drift     tools[weather].parameters.properties.city.type of calls 1, 3-4: "string" -> "integer"
  served 4 of 4 · live 0 · not reached 0""",
}


@pytest.mark.parametrize(("program", "mode", "failed"), GOLDEN, ids=lambda value: getattr(value, "__name__", value))
def test_each_difference_reads_like_this(program: Callable[[Matcher], None], mode: str, failed: str | None) -> None:
    assert text(program, mode, failed) == GOLDEN[program, mode, failed]


def test_a_program_that_asks_nothing_gets_a_hint() -> None:
    assert (
        text(lambda matcher: None)
        == """\
replay of 3f2a9c01: diverged at call 1 of 4: missing call (llm, agent planner)
  recorded  "weather in Paris?"
  missing   call 3 (llm), call 4 (llm)
  note      no model call came to this replay: the program's client may have another address for its
            provider
  served 0 of 4 · live 0 · not reached 3
  not compared: tools: no door for weather (1 call), so they ran for real, or not at all"""
    )


def test_every_kind_of_difference_is_among_them() -> None:
    kinds = set()
    for program, mode, _ in GOLDEN:
        matcher = Matcher(RUN, mode=ReplayMode(mode))
        program(matcher)
        kinds |= {divergence.kind for divergence in matcher.report().divergences}
    drift_and_answers = {DivergenceKind.PARAMS, DivergenceKind.ANSWER_CHANGED}  # below, and in test_in_process
    assert kinds | drift_and_answers == set(DivergenceKind)


def test_parameters_drift_where_the_recording_has_them() -> None:
    run = capture(llm(asks("a", params={"temperature": 0.5}), "x"), llm(asks("b"), "y"))
    matcher = Matcher(run)
    matcher.ask(asks("a", params={"temperature": 0.9, "seed": 7}))
    matcher.ask(asks("b", params={"temperature": 0}))
    assert text_of(matcher.report()).splitlines()[:-1] == [
        "replay of 3f2a9c01: equivalent: the same conversations, and the differences below",
        "  drift     params.temperature of call 1: 0.5 -> 0.9",
        "  drift     params.temperature of call 2: (nothing) -> 0",
        "  served 2 of 2 · live 0 · not reached 0",
        "  not compared: parameters seed: not recorded",
    ]


def test_drift_that_counts_makes_a_replay_diverged() -> None:
    matcher = Matcher(RUN, compare=["model"])
    drifted(matcher)
    report = matcher.report()
    assert report.verdict is ReproVerdict.DIVERGED
    assert text_of(report).startswith(
        "replay of 3f2a9c01: diverged at call 1 of 4: another model (llm, agent planner)\n"
    )


def test_what_the_program_failed_by_is_no_news_where_the_recorded_run_failed_too() -> None:
    failed = msgspec.structs.replace(RUN, run=msgspec.structs.replace(RUN.run, status=RunStatus.FAILED))
    matcher = Matcher(failed)
    same_run(matcher)
    assert matcher.report(program_failed="exit status 1").verdict is ReproVerdict.IDENTICAL
    matcher = Matcher(RUN)
    same_run(matcher)
    report = matcher.report(program_failed="exit status 1")
    assert text_of(report).splitlines()[:2] == [
        "replay of 3f2a9c01: diverged",
        "  program   failed (exit status 1); the recorded run did not",
    ]


def test_json_has_the_facts_of_the_contract_on_one_line() -> None:
    matcher = Matcher(RUN)
    other_city(matcher)
    data = as_json(matcher.report(replay_run_id="r2"))
    assert b"\n" not in data
    facts = json.loads(data)
    assert list(facts)[:3] == ["verdict", "divergences", "not_compared"]
    first = facts["divergences"][0]
    assert {key: first[key] for key in ("call_index", "kind", "path", "recorded", "got", "nearest")} == {
        "call_index": 2,
        "kind": "tool_args_changed",
        "path": "args.city",
        "recorded": "Paris",
        "got": "Rome",
        "nearest": 2,
    }
    assert (facts["verdict"], facts["run_id"], facts["replay_run_id"], facts["mode"]) == (
        "diverged",
        RUN.run_id,
        "r2",
        "strict",
    )
    assert [facts[key] for key in ("recorded", "served", "live", "not_reached")] == [4, 1, 0, 2]


LONG = "Be brief. " * 60


@pytest.mark.parametrize(
    ("recorded", "got", "lines"),
    [
        (
            f"{LONG}Answer in English.{LONG}",
            f"{LONG}Answer in French.{LONG}",
            (
                "  recorded  …Be brief. Be brief. Answer in English.Be brief. Be brief. Be brief. Be brief. Be brief…",
                "  got       …Be brief. Be brief. Answer in French.Be brief. Be brief. Be brief. Be brief. Be brief.…",
            ),
        ),
        (
            "日本語" * 40,
            "日本語" * 39 + "日本人",
            (
                '  recorded  …語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本語"',
                '  got       …語日本語日本語日本語日本語日本語日本語日本語日本語日本語日本人"',
            ),
        ),
        ("caf\u00e9", "cafe\u0301", ('  recorded  "caf\\u00e9"', '  got       "cafe\\u0301"')),
        (
            "plain",
            "\x1b]0;owned\x07\x9b31m\u202ex\nB\ud800",
            (
                '  recorded  "plain"',
                '  got       "\\u001b]0;owned\\u0007\\u009b31m\\u202ex\\nB\\ud800"',
            ),
        ),
        (None, 1.5, ("  recorded  (nothing)", "  got       1.5")),
    ],
    ids=["long", "wide", "looks the same", "controls", "nothing"],
)
def test_values_are_shown_around_their_difference_and_obeyed_by_no_terminal(
    recorded: str, got: str, lines: tuple[str, str]
) -> None:
    divergence = StepDivergence(
        kind=DivergenceKind.REQUEST_CHANGED, call_index=1, path="system", recorded=recorded, got=got
    )
    report = DivergenceReport(run_id="r", verdict=ReproVerdict.DIVERGED, divergences=(divergence,), recorded=1)
    assert tuple(text_of(report).splitlines()[2:4]) == lines
    assert json.loads(as_json(report))["divergences"][0]["got"] == got


def test_names_and_paths_are_not_obeyed_either() -> None:
    divergence = StepDivergence(
        kind=DivergenceKind.TOOL_ARGS_CHANGED,
        call_index=1,
        path="args.\x1b[2J" + "k" * 200,
        agent="\u202eevil\n",
        step="tool",
        name="t\x00",
        recorded="a",
        got="b",
        detail="d\x1b[31m",
    )
    report = DivergenceReport(
        run_id="\x1b[2Jr", verdict=ReproVerdict.DIVERGED, divergences=(divergence,), notes=("n\x07",), recorded=1
    )
    shown = text_of(report)
    assert all(character.isprintable() or character == "\n" for character in shown)
    assert max(map(len, shown.splitlines())) <= COLUMNS


def test_many_differences_fit_on_one_screen() -> None:
    many = tuple(
        StepDivergence(
            kind=DivergenceKind.TOOL_ARGS_CHANGED, call_index=n, path="args.n", recorded=n, got=-n, step="tool"
        )
        for n in range(1, 50)
    )
    missing = tuple(
        StepDivergence(kind=DivergenceKind.MISSING_CALL, call_index=n, step="tool", name="t") for n in range(50, 90)
    )
    report = DivergenceReport(
        run_id="r", verdict=ReproVerdict.DIVERGED, divergences=many + missing, recorded=89, not_reached=40
    )
    lines = text_of(report).splitlines()
    assert lines[4:9] == [
        "  also      call 2: tool arguments changed (tool) at args.n: 2 -> -2",
        "  also      call 3: tool arguments changed (tool) at args.n: 3 -> -3",
        "  also      call 4: tool arguments changed (tool) at args.n: 4 -> -4",
        "            and 45 more like this",
        "  missing   call 50 (tool t), call 51 (tool t), call 52 (tool t), call 53 (tool t), call 54 (tool",
    ]
    assert len(lines) < 15


def test_what_changed_in_the_same_way_is_said_once() -> None:
    both = [LlmRequest(turns=(system("Answer in one sentence, with sources."), user(text))) for text in "abcd"]
    run = capture(*(llm(request, "x") for request in both))
    matcher = Matcher(run, mode=ReplayMode.SOFT)
    for text in "abcd":
        instructions = f"Answer in {'three' if text == 'd' else 'two'} sentences, with sources."
        matcher.ask(LlmRequest(turns=(system(instructions), user(text))))
    assert text_of(matcher.report()).splitlines()[2:9] == [
        '  recorded  "Answer in one sentence, with sources."',
        '  got       "Answer in two sentences, with sources."',
        "  cause     prompt",
        "  nearest   call 1, 1 turn in common",
        "  answered  with what was recorded for call 1 (soft)",
        "  also      the same at calls 2-3",
        "  also      call 4: request changed (llm, agent planner) at system: …wer in one s… -> …wer in three…",
    ]


def test_calls_are_named_by_their_numbers() -> None:
    assert calls_named([3]) == "call 3"
    assert calls_named([7, 1, 2, 3, None, 4]) == "calls 1-4, 7"


def test_instructions_that_changed_are_the_prompts_doing() -> None:
    matcher = Matcher(capture(llm(LlmRequest(turns=(system("Be kind."), user("hi"))), "x")))
    matcher.ask(LlmRequest(turns=(system("Be blunt."), user("hi"))))
    (divergence,) = matcher.report().divergences
    assert (divergence.path, divergence.cause, divergence.shared_turns) == ("system", "prompt", 1)
