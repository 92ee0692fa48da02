"""Every recorded run of the corpus becomes a capture that is written, read and written again the same."""

from __future__ import annotations

from collections import Counter

import pytest
from corpus import Scenario, scenarios, variants
from msgspec.structs import replace

from otel_runlog.capture import Capture
from otel_runlog.captures.building import captures_of
from otel_runlog.captures.document import dumps, loads, problems_of
from otel_runlog.config import ContentMode
from otel_runlog.content import Filter
from otel_runlog.model import Content, Span, SpanEvent, StepKind
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.tree import MODEL_KINDS

PRICES = PriceTable()
SHAPES = ("haystack", "logfire-openai-agents", "openinference-openai", "strands-agents", "vercel-ai-v5")
MORE_TOOLS = {
    "google-adk@latest/sub_agent_as_tool": {"researcher": 1},
    "traceloop-openai-agents/sub_agent_as_tool": {"ask_researcher": 1},
    "logfire-openai-agents/handoff": {"transfer_to_writer": 1},
    "openinference-openai-agents/handoff": {"transfer_to_weather_agent": 1},
    "openinference-langchain/distributed_two_services": {"get_population": 1},
    "openinference-openai-agents/distributed_two_services": {"get_population": 1},
    "otel-genai-openai/distributed_two_services": {"get_population": 1},
    "pydantic-ai/distributed_two_services": {"get_population": 1},
    "openlit-openai/tool_loop_in_span": {"get_population": 1, "get_weather": 1},
}
"""Tool calls beyond those the corpus names: agents and handoffs that a model calls as tools, what the program of
another service or none of the recorded functions did."""


def captures(scenario: Scenario) -> list[Capture]:
    return captures_of(scenario.spans(), logs=scenario.log_records(), prices=PRICES)


def said(capture: Capture) -> tuple[str, str, list[tuple[int, int | None, str]], list[int | None]]:
    calls = [(c.step_index, c.call_index, c.operation) for c in capture.llm_io]
    tools = [t.step_index for t in capture.tool_io if t.step_index is not None]
    return capture.run_id, capture.run.run_id, calls, tools


@pytest.mark.parametrize("variant", variants())
def test_every_run_becomes_a_capture_and_comes_back(variant: str) -> None:
    operations = {StepKind.LLM: "chat", StepKind.EMBEDDING: "embedding"}
    for scenario in scenarios(variant).values():
        found = captures(scenario)
        expected = []
        for run in project(scenario.spans(), logs=scenario.log_records(), prices=PRICES):
            counted = [s for s in run.steps if s.counted]
            calls = [(s.step_index, s.call_index, operations[s.kind]) for s in counted if s.kind in MODEL_KINDS]
            tools = [s.step_index for s in counted if s.kind is StepKind.TOOL]
            expected.append((run.run_id, run.run_id, calls, tools))
        assert [said(c) for c in found] == expected
        for capture in found:
            data = dumps(capture)
            assert loads(data) == capture
            assert dumps(loads(data)) == data
            assert problems_of(capture) == []
        more = Counter(t.name for c in found for t in c.tool_io if t.source) - Counter(scenario.truth.tool_calls)
        assert more == MORE_TOOLS.get(scenario.name, {})


@pytest.mark.parametrize("mode", [ContentMode.HASH, ContentMode.OFF])
@pytest.mark.parametrize("variant", SHAPES)
def test_hashes_are_no_content_and_neither_is_what_was_left_out(variant: str, mode: ContentMode) -> None:
    written = Filter(mode, None, print)
    scenario = next(s for name, s in sorted(scenarios(variant).items()) if "tool" in name)
    spans = [
        replace(s, attributes=written.attributes(s.attributes), events=_events(s, written)) for s in scenario.spans()
    ]
    found = captures_of(spans, prices=PRICES)
    calls = [call for capture in found for call in capture.llm_io]
    assert calls
    assert {(call.request, call.answer, call.completeness) for call in calls} == {(None, None, Content.NONE)}
    tools = [tool for capture in found for tool in capture.tool_io]
    assert {(tool.arguments, tool.result) for tool in tools} <= {(None, None)}


def _events(span: Span, written: Filter) -> tuple[SpanEvent, ...]:
    return tuple(replace(event, attributes=written.attributes(event.attributes)) for event in span.events)
