"""A call's tokens on a span below it: one call, wherever and whenever its part comes."""

from __future__ import annotations

import pytest

from otel_runlog.model import Attributes, Span
from otel_runlog.runs import project, project_nodes
from otel_runlog.testing import TraceBuilder
from otel_runlog.tree import node_of

SCOPE = "codex_exec"
TURN: Attributes = {"turn.id": "t-1", "thread.id": "th-1", "model": "gpt-5-mini"}
TOKENS: Attributes = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}


def turn() -> list[Span]:
    trace = TraceBuilder("codex")
    root = trace.span("session_task.turn", dict(TURN), duration_ms=50, scope=SCOPE)
    request: Attributes = {"turn_id": "t-1", "model": "gpt-5-mini"}
    call = trace.span("try_run_sampling_request", request, parent=root, duration_ms=30, scope=SCOPE)
    stream = trace.span("receiving_stream", {}, parent=call, duration_ms=20, scope=SCOPE)
    trace.span("completed", dict(TOKENS), parent=stream, scope=SCOPE)
    return trace.spans


@pytest.mark.parametrize("order", [1, -1])
def test_the_call_takes_the_tokens_of_its_part(order) -> None:
    (run,) = project(turn()[::order])
    (call,) = [s for s in run.steps if s.counted]
    assert (call.name, call.model, call.usage.input_tokens, call.duration_ms) == (
        "try_run_sampling_request",
        "gpt-5-mini",
        100,
        30.0,
    )
    assert len(run.steps) == 2


def test_a_part_whose_call_has_not_come_is_a_call() -> None:
    spans = [s for s in turn() if s.name != "try_run_sampling_request"]
    (run,) = project(spans)
    assert [(s.name, s.usage.input_tokens) for s in run.steps if s.counted] == [("completed", 100)]


def test_parts_of_one_call_add_up() -> None:
    trace = TraceBuilder("codex")
    trace.spans = turn()
    more: Attributes = {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 1}
    trace.span("completed", more, parent=trace.spans[1], scope=SCOPE)
    (run,) = project(trace.spans)
    assert (run.llm_calls, run.tokens.input_tokens, run.tokens.output_tokens) == (1, 107, 11)


def test_the_same_nodes_can_be_projected_again() -> None:
    nodes = [node_of(s) for s in turn()]
    first, again = (project_nodes(nodes)[0][0] for _ in range(2))
    assert first == again
    assert first.tokens.input_tokens == 100
