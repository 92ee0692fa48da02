"""Codex CLI: real spans, reduced to those that matter and some that do not."""

from __future__ import annotations

import pytest
from captured import captured, changed, said
from corpus import scenario

from otel_runlog import conventions
from otel_runlog.runs import project

RUN, THREAD = "01a22745-b8bb-7623-a035-f1e135615978", "01a22745-b8ab-7a31-9487-e29c2982f364"
READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "codex-cli/prompt_cache_reasoning",
        "session_task.turn",
        0,
        {
            "convention": "codex",
            "kind": "agent",
            "agent": "codex",
            "request_model": "gpt-5-mini",
            "usage": (3078, 294, 1536, 0, 102),
            "session_id": THREAD,
            "native_run_id": RUN,
        },
    ),
    (
        "codex-cli/prompt_cache_reasoning",
        "try_run_sampling_request",
        0,
        {"convention": "codex", "kind": "llm", "request_model": "gpt-5-mini", "native_run_id": RUN},
    ),
    (
        "codex-cli/prompt_cache_reasoning",
        "exec_command",
        0,
        {
            "convention": "codex",
            "kind": "tool",
            "session_id": THREAD,
            "native_run_id": RUN,
            "tool_name": "exec_command",
            "tool_call_id": "call_00131_0",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


@pytest.mark.parametrize("name", ["turn/start", "run_turn", "receiving_stream", "guardian_scoring_observation"])
def test_internal_spans_are_no_steps(name) -> None:
    assert conventions.read(captured("codex-cli/prompt_cache_reasoning", name)) is None


def test_the_event_with_the_tokens_is_a_part_of_its_call_whatever_its_name() -> None:
    spans = [
        s for s in scenario("codex-cli/prompt_cache_reasoning").spans() if "gen_ai.usage.input_tokens" in s.attributes
    ]
    assert said(conventions.read(changed(spans[0]))) == {
        "convention": "codex",
        "kind": "llm",
        "usage": (1013, 90, 0, 0, 33),
        "is_part": True,
    }


def test_calls_have_their_tokens_and_come_before_the_tools_they_ask_for() -> None:
    (run,) = project(scenario("codex-cli/prompt_cache_reasoning").spans())
    assert [(s.kind, s.usage.input_tokens) for s in run.steps if s.counted] == [
        ("llm", 1013),
        ("tool", None),
        ("llm", 1026),
        ("tool", None),
        ("llm", 1039),
    ]
    assert (run.agent, run.native_run_id, run.session_id) == ("codex", RUN, THREAD)
    assert (run.warnings, run.notes, run.models) == ((), (), ("gpt-5-mini",))


def test_a_call_without_the_event_that_ends_it_misses_its_usage() -> None:
    spans = scenario("codex-cli/prompt_cache_reasoning").spans()
    last = max((s for s in spans if "gen_ai.usage.input_tokens" in s.attributes), key=lambda s: s.started_ns or 0)
    (run,) = project([s for s in spans if s is not last])
    assert (run.usage_missing_calls, run.tokens.input_tokens) == (1, 2039)


def test_turns_of_one_thread_are_runs_of_one_session() -> None:
    runs = project(scenario("codex-cli/multi_turn").spans())
    assert len({r.run_id for r in runs}) == 2
    assert len({r.native_run_id for r in runs}) == 2
    assert {r.session_id for r in runs} == {"01a22745-ce88-79f1-83f9-524d820bb927"}


def test_a_tool_that_was_aborted_was_cancelled() -> None:
    reading = conventions.read(changed(captured("codex-cli/prompt_cache_reasoning", "exec_command"), aborted=True))
    assert reading is not None
    assert (reading.cancelled, reading.failed) == (True, False)
