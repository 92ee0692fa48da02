"""Own and inclusive figures of a run's agents."""

from __future__ import annotations

from otel_runlog.agents import UNNAMED
from otel_runlog.model import RunLog
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable()


def figures(run: RunLog) -> list[tuple[str, str | None, int, int, int | None, int | None]]:
    """(agent, parent, depth, calls, own input, inclusive input)."""
    return [
        (a.agent, a.parent_agent, a.depth, a.calls, a.own.input_tokens, a.inclusive.input_tokens) for a in run.agents
    ]


def only_run(t: TraceBuilder) -> RunLog:
    [run] = project(t.spans, prices=PRICES)
    return run


def test_figures_go_up_to_every_agent_above() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    b = t.agent("b", parent=t.tool("ask", parent=a))
    t.chat("m", parent=a, input_tokens=1)
    t.chat("m", parent=b, input_tokens=10)
    t.chat("m", parent=t.agent("c", parent=b), input_tokens=100)
    assert figures(only_run(t)) == [
        ("a", None, 0, 2, 1, 111),
        ("b", "a", 1, 1, 10, 110),
        ("c", "b", 2, 1, 100, 100),
    ]


def test_an_agent_met_again_below_another_keeps_its_first_place() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    b = t.agent("b", parent=a)
    t.chat("m", parent=t.agent("a", parent=b), input_tokens=5)
    assert figures(only_run(t)) == [("a", None, 0, 1, 5, 5), ("b", "a", 1, 0, None, None)]


def test_a_step_that_names_its_agent_in_a_flat_tree_makes_it_the_root_s() -> None:
    t = TraceBuilder()
    t.chat("m", {"gen_ai.agent.name": "helper"}, parent=t.agent("boss"), input_tokens=3)
    assert figures(only_run(t)) == [("boss", None, 0, 0, None, 3), ("helper", "boss", 1, 1, 3, 3)]


def test_a_child_whose_clock_is_behind_still_finds_its_parent() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    b = t.agent("b", parent=a)
    t.chat("m", {"gen_ai.agent.name": "c"}, parent=b, start_ms=-5, input_tokens=3)
    assert [(f[0], f[1]) for f in figures(only_run(t))] == [("a", None), ("b", "a"), ("c", "b")]


def test_a_roll_up_is_own_usage_and_no_call() -> None:
    t = TraceBuilder()
    t.agent("a", {"gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 1})
    assert figures(only_run(t)) == [("a", None, 0, 0, 7, 7)]


def test_steps_of_nobody_are_those_of_an_unnamed_agent() -> None:
    t = TraceBuilder()
    t.chat("m", parent="00000000000000aa", input_tokens=3)
    assert figures(only_run(t)) == [(UNNAMED, None, 0, 1, 3, 3)]
