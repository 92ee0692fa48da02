"""Claude Code's spans, real ones."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, said, told

from otel_runlog import conventions
from otel_runlog.model import AttrValue, SpanEvent

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "claude-code/prompt_cache",
        "claude_code.llm_request",
        1,
        {
            "convention": "claude_code",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "usage": (1922, 64, 768, 128, None),
            "session_id": "6fb80ee0-84bd-4cb2-ab51-665715c9f10f",
            "user_id": "01c6085ec0958ef490c8b972ce5e2ca906fa971f5ba8ace8f897a72c4b63d619",
            "time_to_first_token_ms": 20.0,
            "streaming": True,
            "finish_reason": "tool_use",
        },
    ),
    (
        "claude-code/prompt_cache",
        "claude_code.tool",
        0,
        {
            "convention": "claude_code",
            "kind": "tool",
            "session_id": "6fb80ee0-84bd-4cb2-ab51-665715c9f10f",
            "user_id": "01c6085ec0958ef490c8b972ce5e2ca906fa971f5ba8ace8f897a72c4b63d619",
            "tool_name": "Bash",
            "tool_call_id": "toolu_00102_0",
        },
    ),
    (
        "claude-code/prompt_cache",
        "claude_code.tool.execution",
        0,
        {
            "convention": "claude_code",
            "kind": "other",
            "session_id": "6fb80ee0-84bd-4cb2-ab51-665715c9f10f",
            "user_id": "01c6085ec0958ef490c8b972ce5e2ca906fa971f5ba8ace8f897a72c4b63d619",
            "tool_call_id": "toolu_00102_0",
        },
    ),
    (
        "claude-code/prompt_cache",
        "claude_code.interaction",
        0,
        {
            "convention": "claude_code",
            "kind": "agent",
            "agent": "claude-code",
            "session_id": "6fb80ee0-84bd-4cb2-ab51-665715c9f10f",
            "user_id": "01c6085ec0958ef490c8b972ce5e2ca906fa971f5ba8ace8f897a72c4b63d619",
        },
    ),
    (
        "claude-code/error_429",
        "claude_code.llm_request",
        0,
        {
            "convention": "claude_code",
            "kind": "llm",
            "provider": "anthropic",
            "request_model": "claude-sonnet-4-5",
            "session_id": "308fa679-4f3f-42a8-b873-777c38206be1",
            "user_id": "01c6085ec0958ef490c8b972ce5e2ca906fa971f5ba8ace8f897a72c4b63d619",
            "failed": True,
            "refused": True,
            "error_message": "This request would exceed your rate limit.",
        },
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


def request(**attributes: AttrValue) -> dict[str, object]:
    return said(
        conventions.read(changed(captured("claude-code/prompt_cache", "claude_code.llm_request"), **attributes))
    )


def test_gen_ai_counts_of_later_versions_include_the_cache() -> None:
    span = captured("claude-code/prompt_cache", "claude_code.llm_request", 1)
    later = changed(span, **{"gen_ai.usage.input_tokens": 1922, "gen_ai.usage.output_tokens": 64})
    assert said(conventions.read(later)) == said(conventions.read(span))
    bare = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens")
    counts = {"gen_ai.usage.cache_read.input_tokens": 768, "gen_ai.usage.cache_write.input_tokens": 128}
    without = changed(later, **dict.fromkeys(bare), **counts)
    assert said(conventions.read(without))["usage"] == (1922, 64, 768, 128, None)


def test_counts_as_strings() -> None:
    assert request(input_tokens="1013", output_tokens="57")["usage"] == (1653, 57, 0, 640, None)


def test_content_is_an_answer_at_best() -> None:
    assert "content" not in request()
    assert request(new_context="[USER]\nhi", response__model_output="hello")["content"] == "answer"
    assert request(response__model_output="hel", response__model_output_truncated=True)["content"] == "truncated"
    assert request(new_context="[USER]\nhi")["content"] == "truncated"
    assert "content" not in request(new_context="<REDACTED>", response__model_output="<REDACTED>")


def test_a_call_that_broke_off_was_not_refused() -> None:
    wrong: dict[str, AttrValue] = {"success": False, "output_tokens": None, "stop_reason": None}
    refused = request(**wrong, status_code="529", error="Overloaded")
    assert (refused["failed"], refused["refused"], "usage_cut" in refused) == (True, True, False)
    broken = request(**wrong, error="Request was aborted.")
    assert (broken["failed"], "refused" in broken, broken["usage_cut"]) == (True, False, True)


def test_a_sub_agents_call_says_whose_it_is() -> None:
    assert request(agent_id="a17")["agent"] == "a17"
    assert request(agent_id="a17", agent_type="Explore")["agent"] == "Explore"


def test_prompts_and_tools_where_they_were_recorded() -> None:
    interaction = captured("claude-code/prompt_cache", "claude_code.interaction")
    assert told(conventions.messages(interaction)) == []
    assert told(conventions.messages(changed(interaction, user_prompt="list files"))) == [
        ("input", "user", "list files")
    ]
    tool = changed(captured("claude-code/prompt_cache", "claude_code.tool"), tool_input='{"command":"ls"}')
    done = msgspec.structs.replace(tool, events=(SpanEvent("tool.output", attributes={"output": "a.txt"}),))
    assert told(conventions.messages(done)) == [("input", "tool", '{"command":"ls"}'), ("output", "tool", "a.txt")]
