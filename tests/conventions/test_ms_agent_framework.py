"""Microsoft Agent Framework: real spans of agents and of a workflow."""

from __future__ import annotations

import pytest
from captured import captured, changed, made, said, told
from corpus import scenario

from otel_runlog import conventions
from otel_runlog.conventions import ms_agent_framework
from otel_runlog.runs import project

READINGS: list[tuple[str, str, int, dict[str, object]]] = [
    (
        "agent-framework/tool_loop",
        "invoke_agent",
        0,
        {
            "convention": "ms_agent_framework",
            "kind": "agent",
            "agent": "weather_helper",
            "provider": "microsoft.agent_framework",
            "request_model": "gpt-4o-mini",
            "usage": (3078, 192, 0, None, 0),
            "params": {"choice_count": 1},
        },
    ),
    (
        "agent-framework/tool_loop",
        "chat",
        0,
        {
            "convention": "ms_agent_framework",
            "kind": "llm",
            "provider": "openai",
            "request_model": "gpt-4o-mini",
            "response_model": "gpt-4o-mini-2024-07-18",
            "response_id": "chatcmpl-fake00040",
            "usage": (1013, 57, 0, None, 0),
            "finish_reason": "tool_calls",
            "params": {"choice_count": 1},
            "content": "full",
        },
    ),
    (
        "agent-framework/tool_error",
        "execute_tool",
        0,
        {
            "convention": "ms_agent_framework",
            "kind": "tool",
            "failed": True,
            "error_type": "ValueError",
            "error_message": "ValueError('mayor database is down')",
            "tool_name": "broken_tool",
            "tool_call_id": "call_00062_0",
        },
    ),
    (
        "agent-framework/workflow_two_agents",
        "workflow.run",
        0,
        {"convention": "ms_agent_framework", "kind": "workflow"},
    ),
    (
        "agent-framework/workflow_two_agents",
        "executor.process",
        0,
        {"convention": "ms_agent_framework", "kind": "chain"},
    ),
]


@pytest.mark.parametrize(("scenario_name", "span_name", "nth", "expected"), READINGS)
def test_reads_what_the_span_says(scenario_name, span_name, nth, expected) -> None:
    assert said(conventions.read(captured(scenario_name, span_name, nth))) == expected


@pytest.mark.parametrize("name", ["workflow.build", "edge_group.process", "message.send"])
def test_what_a_workflow_does_with_itself_is_no_step(name) -> None:
    assert conventions.read(captured("agent-framework/workflow_two_agents", name)) is None


def test_a_workflow_is_one_run_of_two_agents() -> None:
    (run,) = project(scenario("agent-framework/workflow_two_agents").spans())
    assert (run.agent, run.llm_calls, run.tool_calls) == ("workflow.run", 3, 1)
    assert [(a.agent, a.parent_agent, a.calls) for a in run.agents] == [
        ("workflow.run", None, 0),
        ("first", "workflow.run", 3),
        ("second", "workflow.run", 1),
    ]


def test_a_workflow_has_the_name_its_author_gave_it() -> None:
    span = changed(captured("agent-framework/workflow_two_agents", "workflow.run"), workflow__name="triage")
    assert said(conventions.read(span))["agent"] == "triage"


@pytest.mark.parametrize("conversation", ["resp_fake00046", "conv_1", "thread_1"])
def test_a_conversation_the_provider_keeps_is_told_in_part(conversation) -> None:
    span = changed(captured("agent-framework/tool_loop", "chat"), gen_ai__conversation__id=conversation)
    assert said(conventions.read(span))["content"] == "answer"


def test_the_response_before_is_no_session() -> None:
    (run,) = project(scenario("agent-framework/tool_loop_responses_api").spans())
    assert run.session_id is None


def test_its_mcp_client_is_mcps() -> None:
    span = made({"mcp.method.name": "tools/call"}, name="tools/call add", scope=ms_agent_framework.SCOPE)
    assert said(conventions.read(span))["convention"] == "mcp"


def test_a_tools_arguments_and_result_are_told() -> None:
    assert told(conventions.messages(captured("agent-framework/tool_loop", "execute_tool"))) == [
        ("input", "tool", '{"city": "Paris"}'),
        ("output", "tool", "Sunny, 21 C in Paris"),
    ]
