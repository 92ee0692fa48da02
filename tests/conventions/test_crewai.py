"""CrewAI through Traceloop: no capture of it is here; spans as its 0.62 source writes them (facts/semconv, row 17)."""

from __future__ import annotations

import pytest
from captured import made, said, told

from otel_runlog import conventions
from otel_runlog.conventions import crewai
from otel_runlog.model import Attributes
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

INVOKE: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.provider.name": "crewai"}
TOTALS = "total_tokens=3270 prompt_tokens=3078 cached_prompt_tokens=1536 completion_tokens=192 successful_requests=3"
CREW: Attributes = {**INVOKE, "crewai.crew.name": "crew", "crewai.crew.result": "Sunny."}
TASK: Attributes = {**INVOKE, "traceloop.span.kind": "task", "traceloop.entity.output": "Sunny."}
AGENT: Attributes = {**INVOKE, "traceloop.span.kind": "agent", "crewai.agent.role": "Helper"}
CALL: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "openai/gpt-4o-mini"}
TOKENS: Attributes = {"gen_ai.usage.input_tokens": 1013, "gen_ai.usage.output_tokens": 57}


def crew(call: Attributes, *, agent: Attributes = AGENT, root: Attributes = CREW) -> TraceBuilder:
    trace = TraceBuilder("crew")
    kickoff = trace.span("crewai.workflow", dict(root), duration_ms=90, scope=crewai.SCOPE)
    task = trace.span("Weather.task", dict(TASK), parent=kickoff, duration_ms=80, scope=crewai.SCOPE)
    helper = trace.span("Helper.agent", dict(agent), parent=task, duration_ms=70, scope=crewai.SCOPE)
    trace.span("openai/gpt-4o-mini.llm", dict(call), parent=helper, scope=crewai.SCOPE)
    return trace


@pytest.mark.parametrize(
    ("name", "attributes", "expected"),
    [
        ("crewai.workflow", CREW, {"kind": "workflow"}),
        ("crewai.workflow", CREW | {"crewai.crew.name": "weather"}, {"kind": "workflow", "agent": "weather"}),
        ("Weather.task", TASK, {"kind": "chain"}),
        ("Helper.agent", AGENT, {"kind": "agent", "agent": "Helper"}),
    ],
)
def test_names_and_declared_kinds_tell_what_the_operation_does_not(name, attributes, expected) -> None:
    reading = said(conventions.read(made(attributes, name=name, scope=crewai.SCOPE)))
    assert reading == {"convention": "crewai", "provider": "crewai", **expected}


def test_a_call_of_any_version_is_a_call() -> None:
    now = conventions.read(made(CALL | TOKENS, name="openai/gpt-4o-mini.llm", scope=crewai.SCOPE))
    old = conventions.read(made({}, name="gpt-4o-mini.llm", scope=crewai.SCOPE))
    assert said(now)["usage"] == (1013, 57, None, None, None)
    assert said(old) == {"convention": "crewai", "kind": "llm", "request_model": "gpt-4o-mini"}


def test_calls_count_and_agents_that_count_on_do_not() -> None:
    trace = crew(CALL | TOKENS, agent=AGENT | {"gen_ai.usage.input_tokens": 9000, "gen_ai.usage.output_tokens": 900})
    (run,) = project(trace.spans)
    assert (run.agent, run.tokens.input_tokens, run.llm_calls, run.warnings) == ("Helper", 1013, 1, ())


def test_the_crews_total_counts_where_no_call_has_any_and_is_doubtful() -> None:
    trace = crew(CALL, root=CREW | {"crewai.crew.token_usage": TOTALS})
    (run,) = project(trace.spans)
    tokens = run.tokens
    assert (tokens.input_tokens, tokens.output_tokens, tokens.cache_read_tokens) == (3078, 192, 1536)
    assert [w.partition(":")[0] for w in run.warnings] == ["emitter_fault", "usage_rollup"]


def test_a_crew_tells_its_result() -> None:
    assert told(conventions.messages(made(CREW, name="crewai.workflow", scope=crewai.SCOPE))) == [
        ("output", "assistant", "Sunny.")
    ]
