"""Steps in the order of the run, with their numbers, agents and what is said of them."""

from __future__ import annotations

import msgspec

from otel_runlog.model import StepKind, StepStatus, UsageSource
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable()


def test_steps_are_numbered_by_start_then_depth_then_id_and_calls_beside_them() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    chain = t.span("c", {"openinference.span.kind": "CHAIN"}, parent=a, start_ms=5)
    t.chat("m", parent=chain, start_ms=5)
    t.tool("x", parent=a)
    t.span("plain", parent=a, start_ms=1)
    [run] = project(t.spans, prices=PRICES)
    assert [(s.step_index, s.call_index, str(s.kind)) for s in run.steps] == [
        (1, None, "agent"),
        (2, 1, "tool"),
        (3, None, "chain"),
        (4, 2, "llm"),
    ]


def test_second_views_have_a_step_number_and_no_call_number() -> None:
    t = TraceBuilder()
    outer = t.chat("m", input_tokens=1, output_tokens=1, duration_ms=9)
    inner = t.chat("m", parent=outer, input_tokens=1, output_tokens=1, scope="client")
    [run] = project(t.spans, prices=PRICES)
    assert [(s.step_index, s.call_index, s.counted, s.duplicate_of) for s in run.steps] == [
        (1, None, False, inner.span_id),
        (2, 1, True, None),
    ]
    assert run.notes == (f"duplicate_call: the same call as span {inner.span_id}, which counts",)


def test_a_step_belongs_to_the_agent_it_names_else_the_nearest_above_else_its_other_view_s() -> None:
    t, lone = TraceBuilder("one"), TraceBuilder("two")
    boss = t.agent("boss")
    t.chat("m", {"gen_ai.agent.name": "named"}, parent=boss)
    t.chat("m", parent=t.span("plain", parent=t.agent("helper", parent=boss)))
    t.chat("m", {"gen_ai.response.id": "r1"}, parent=boss, start_ms=50)
    lone.chat("m", {"gen_ai.response.id": "r1"}, start_ms=50, scope="client", input_tokens=1, output_tokens=1)
    [run] = project([*t.spans, *lone.spans], prices=PRICES)
    calls = [s.agent for s in run.steps if s.kind is StepKind.LLM]
    assert calls == ["named", "helper", "boss", "boss"]


def test_the_status_of_a_step() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", parent=a)
    t.chat("m", {"error.type": "ValueError"}, parent=a, failed=True)
    t.chat("m", {"error.type": "asyncio.CancelledError"}, parent=a)
    t.chat("m", parent=a).ended_ns = None
    [run] = project(t.spans, prices=PRICES)
    assert [s.status for s in run.steps[1:]] == [
        StepStatus.COMPLETED,
        StepStatus.FAILED,
        StepStatus.CANCELLED,
        StepStatus.RUNNING,
    ]
    assert [s.error_type for s in run.steps[1:]] == [None, "ValueError", "asyncio.CancelledError", None]
    assert run.steps[-1].finished_at is None


def test_the_model_of_a_step_is_the_one_that_answered() -> None:
    t = TraceBuilder()
    t.chat("asked", {"gen_ai.response.model": "answered"})
    [step] = project(t.spans, prices=PRICES)[0].steps
    assert (step.model, step.request_model, step.response_model) == ("answered", "asked", "answered")


def test_usage_says_where_it_comes_from() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", parent=a, input_tokens=1, output_tokens=1)
    t.chat("m", parent=a)
    [run] = project(t.spans, prices=PRICES)
    assert [s.usage_source for s in run.steps] == [UsageSource.NONE, UsageSource.SPAN, UsageSource.NONE]


def test_a_span_no_convention_reads_is_no_step() -> None:
    t = TraceBuilder()
    t.span("http", parent=t.agent("a"))
    assert len(project(t.spans, prices=PRICES)[0].steps) == 1


def test_two_spans_of_one_id_are_two_steps() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    first = t.chat("m", parent=a, input_tokens=1, output_tokens=1)
    t.spans.append(msgspec.structs.replace(first, started_ns=first.ended_ns))
    [run] = project(t.spans, prices=PRICES)
    assert (run.llm_calls, run.tokens.input_tokens) == (2, 2)
