"""openai-agents under each bridge: its trace is no agent; the run's agent is the one below it (CONTRACT, rule 2)."""

from __future__ import annotations

import pytest
from captured import made
from corpus import scenario

from otel_runlog import conventions
from otel_runlog.runs import project


@pytest.mark.parametrize(
    ("name", "agent", "agents"),
    [
        ("openinference-openai-agents/reasoning", "Helper", [("Helper", None)]),
        ("traceloop-openai-agents/reasoning", "Helper", [("Helper", None)]),
        ("logfire-openai-agents/tool_loop", "planner", [("planner", None)]),
        ("openinference-openai-agents/error_429", "Helper", [("Helper", None)]),
        ("openinference-openai-agents/workflow_two_runs", "Helper", [("Helper", None)]),
        (
            "openinference-openai-agents/handoff",
            "Agent workflow",
            [("Agent workflow", None), ("Triage", "Agent workflow"), ("Weather Agent", "Agent workflow")],
        ),
        (
            "traceloop-openai-agents@nocontent/handoff",
            "Agent Workflow",
            [("Agent Workflow", None), ("Triage", "Agent Workflow"), ("Weather Agent", "Agent Workflow")],
        ),
        (  # Traceloop hangs a tool's agent beside the agent that called it: neither is the one below the trace
            "traceloop-openai-agents/sub_agent_as_tool",
            "Agent Workflow",
            [("Agent Workflow", None), ("Manager", "Agent Workflow"), ("Researcher", "Agent Workflow")],
        ),
    ],
)
def test_the_runs_agent_is_the_one_below_the_trace(name, agent, agents) -> None:
    found = scenario(name)
    [run] = project(found.spans(), logs=found.log_records())
    assert (run.agent, [(a.agent, a.parent_agent) for a in run.agents]) == (agent, agents)


@pytest.mark.parametrize(
    ("scope", "expected"),
    [("openinference.instrumentation.openai_agents", None), ("openinference.instrumentation.crewai", "sums")],
)
def test_only_of_openai_agents_is_an_agent_span_without_a_node_the_trace(scope, expected) -> None:
    reading = conventions.read(made({"openinference.span.kind": "AGENT"}, name="sums", scope=scope))
    assert reading is not None
    assert reading.agent == expected


@pytest.mark.parametrize(
    ("scope", "expected"), [("opentelemetry.instrumentation.openai_agents", None), ("traceloop.tracer", "sums")]
)
def test_only_of_openai_agents_is_a_workflow_span_the_trace(scope, expected) -> None:
    attributes = {"traceloop.span.kind": "workflow", "traceloop.workflow.name": "sums"}
    reading = conventions.read(made(attributes, name="sums", scope=scope))
    assert reading is not None
    assert reading.agent == expected
