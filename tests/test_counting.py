"""Which steps count, with which usage and at what cost (DESIGN rules 5 and 6)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from otel_runlog.model import Attributes, CostStatus, RunLog, Span, Step, StepKind, UsageSource
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable.load([Path(__file__).parent / "pricing" / "data" / "cases.toml"], base=None)
ROLLED: Attributes = {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 10}
COST = "gen_ai.usage.cost"
CALL_USD = Decimal("0.00035")
"""100 tokens in and 10 out of m-std."""


def only_run(t: TraceBuilder) -> RunLog:
    [run] = project(t.spans, prices=PRICES)
    return run


def call(t: TraceBuilder, parent: Span | None, attributes: Attributes | None = None, *, model: str = "m-std") -> Span:
    return t.chat(model, attributes, parent=parent, input_tokens=100, output_tokens=10)


def step(run: RunLog, span: Span) -> Step:
    return next(s for s in run.steps if s.span_id == span.span_id)


def cost(run: RunLog) -> tuple[Decimal | None, CostStatus | None]:
    return (run.cost_estimate.usd, run.cost_estimate.status) if run.cost_estimate else (None, None)


# -- tokens ----------------------------------------------------------------------------------------


def test_of_nested_roll_ups_without_calls_the_topmost_counts() -> None:
    t = TraceBuilder()
    boss = t.agent("boss", ROLLED)
    helper = t.agent("helper", ROLLED, parent=boss)
    run = only_run(t)
    assert (run.tokens.input_tokens, run.step_count) == (100, 1)
    assert (step(run, boss).usage_source, step(run, helper).counted) == (UsageSource.ROLLUP, False)
    assert run.warnings == (
        "usage_rollup: input_tokens and output_tokens are what 'invoke_agent boss' says of the calls below it",
    )


def test_a_branch_without_calls_is_rolled_up_beside_one_with_calls() -> None:
    t = TraceBuilder()
    boss = t.agent("boss", ROLLED)
    call(t, t.agent("seen", ROLLED, parent=boss))
    t.agent("unseen", ROLLED, parent=boss)
    run = only_run(t)
    assert (run.tokens.input_tokens, run.llm_calls) == (200, 1)


def test_a_roll_up_above_another_run_s_calls_repeats_them() -> None:
    t = TraceBuilder()
    outer = t.agent("outer", ROLLED)
    call(t, t.agent("inner", {"runlog.run.id": "r2"}, parent=outer))
    assert [(r.agent, r.tokens.input_tokens) for r in project(t.spans, prices=PRICES)] == [
        ("outer", None),
        ("inner", 100),
    ]


def test_calls_without_usage_below_a_roll_up_are_missing_and_make_nothing_doubtful() -> None:
    t = TraceBuilder()
    t.chat("m-std", parent=t.agent("a", ROLLED))
    run = only_run(t)
    assert (run.tokens.input_tokens, run.usage_missing_calls) == (100, 1)
    assert [w.partition(":")[0] for w in run.warnings] == ["usage_rollup"]
    assert [n.partition(":")[0] for n in run.notes] == ["usage_missing"]


def test_tokens_of_a_tool_are_never_added_and_say_so_where_no_call_has_them() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    repeated = t.tool("ask", ROLLED, parent=a, duration_ms=9)
    call(t, repeated)
    unseen = t.tool("ocr", ROLLED, parent=a)
    run = only_run(t)
    assert (run.tokens.input_tokens, run.tool_calls) == (100, 2)
    assert [step(run, s).usage.input_tokens for s in (repeated, unseen)] == [None, None]
    assert run.warnings == (
        "usage_missing: input_tokens and output_tokens of 'execute_tool ocr', 110 in all, are of no call",
    )
    assert run.notes == ("usage_rollup: its 110 tokens are those of calls that count",)


def test_the_sum_over_counted_steps_is_the_run() -> None:
    t = TraceBuilder()
    a = t.agent("a", ROLLED | {COST: 0.5})
    call(t, a)
    t.tool("ocr", ROLLED | {COST: 0.25}, parent=a)
    run = only_run(t)
    counted = [s for s in run.steps if s.counted]
    assert sum(s.usage.input_tokens or 0 for s in counted) == run.tokens.input_tokens == 100
    assert sum(s.cost.usd or 0 for s in counted) == cost(run)[0] == Decimal("0.25") + CALL_USD


# -- usage that is missing --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attributes", "failed", "missing"),
    [
        ({}, False, 1),
        ({"gen_ai.usage.input_tokens": 5}, False, 1),
        ({"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 0}, False, 0),
        ({"error.type": "RateLimitError", "http.response.status_code": 429}, True, 0),
        ({"error.type": "BadRequestError"}, True, 0),
        ({"error.type": "TypeError"}, True, 0),
        ({"error.type": "APIConnectionError"}, True, 1),
        ({"error.type": "CancelledError"}, False, 1),
    ],
    ids=["none", "no output", "zero output", "429", "refused by name", "never sent", "cut", "cancelled"],
)
def test_usage_is_missing_where_the_provider_answered(attributes: Attributes, failed: bool, missing: int) -> None:
    t = TraceBuilder()
    t.chat("m-std", attributes, failed=failed)
    assert only_run(t).usage_missing_calls == missing


def test_an_embedding_needs_input_tokens_only() -> None:
    t = TraceBuilder()
    job = t.span("job")
    embed: Attributes = {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "m-std"}
    t.span("e", embed, parent=job)
    t.span("e", embed | {"gen_ai.usage.input_tokens": 3}, parent=job)
    run = only_run(t)
    assert (run.llm_calls, run.usage_missing_calls) == (2, 1)


def test_a_stream_that_was_cut_is_missing_even_with_a_number() -> None:
    t = TraceBuilder()
    cut: Attributes = {"gen_ai.request.stream": True, "error.type": "APIConnectionError"}
    t.chat("m-std", cut, input_tokens=100, output_tokens=1, failed=True)
    run = only_run(t)
    assert (run.usage_missing_calls, run.tokens.output_tokens) == (1, 1)
    assert run.warnings[0].startswith("usage_partial:")
    assert cost(run)[1] is CostStatus.PARTIAL


def test_a_call_that_never_ended_is_missing() -> None:
    t = TraceBuilder()
    t.chat("m-std", parent=t.agent("a")).ended_ns = None
    run = only_run(t)
    assert run.usage_missing_calls == 1
    assert run.warnings == ("usage_missing: no input_tokens and output_tokens for a call that is still going on",)


def test_usage_that_a_limit_cut_away_is_told_apart() -> None:
    t = TraceBuilder()
    t.chat("m-std").dropped_attributes_count = 3
    assert only_run(t).warnings[0].startswith("usage_lost_to_limit:")


# -- cost ---------------------------------------------------------------------------------------------


def test_a_root_that_repeats_its_calls_cost_does_not_count() -> None:
    t = TraceBuilder()
    a = t.agent("a", {COST: 0.5})
    call(t, a)
    run = only_run(t)
    assert (cost(run), step(run, a).counted) == ((CALL_USD, CostStatus.ESTIMATED), False)


def test_a_root_s_cost_counts_where_nothing_below_has_one() -> None:
    t = TraceBuilder()
    a = t.agent("a", {COST: 0.5} | ROLLED)
    call(t, a, model="unknown-model")
    run = only_run(t)
    assert cost(run) == (Decimal("0.5"), CostStatus.PARTIAL)
    assert (run.tokens.input_tokens, run.step_count, run.unpriced_calls) == (100, 2, 1)
    t2 = TraceBuilder()
    t2.agent("alone", {COST: 0.5})
    assert cost(only_run(t2)) == (Decimal("0.5"), CostStatus.REPORTED)


def test_a_tool_that_repeats_the_cost_of_calls_below_it_adds_nothing() -> None:
    t = TraceBuilder()
    tool = t.tool("ask", {COST: 0.5}, parent=t.agent("a"), duration_ms=9)
    call(t, tool, {COST: 0.4})
    assert cost(only_run(t)) == (Decimal("0.4"), CostStatus.REPORTED)


def test_of_nested_agents_that_report_a_cost_the_inner_ones_count() -> None:
    t = TraceBuilder()
    boss = t.agent("boss", {COST: 0.9})
    t.agent("x", {COST: 0.2}, parent=boss)
    t.agent("y", {COST: 0.3}, parent=boss)
    assert cost(only_run(t)) == (Decimal("0.5"), CostStatus.REPORTED)


def test_a_call_takes_reported_cost_and_finish_reason_but_no_usage_from_its_other_view() -> None:
    t = TraceBuilder()
    outer = t.chat(
        "m-std",
        {COST: 0.4, "gen_ai.response.finish_reasons": ["stop"]},
        input_tokens=999,
        output_tokens=9,
        duration_ms=9,
    )
    inner = t.chat("m-std", parent=outer, input_tokens=100, output_tokens=10, scope="client")
    run = only_run(t)
    found = step(run, inner)
    assert (found.cost.usd, found.finish_reason, found.usage.input_tokens) == (Decimal("0.4"), "stop", 100)
    assert (found.cost.estimated_usd, step(run, outer).counted) == (CALL_USD, False)


@pytest.mark.parametrize(
    ("models", "reported", "status", "step_statuses"),
    [
        (["m-std", "m-std"], None, CostStatus.ESTIMATED, ["estimated", "estimated"]),
        (["m-std"], 0.1, CostStatus.REPORTED, ["reported"]),
        (["m-std", None], 0.1, CostStatus.PARTIAL, ["reported", "unpriced"]),
        (["unknown-model"], None, CostStatus.UNPRICED, ["unpriced"]),
        (["m-std", "unknown-model"], None, CostStatus.PARTIAL, ["estimated", "unpriced"]),
        ([], None, CostStatus.UNPRICED, []),
    ],
)
def test_the_cost_status_of_a_run(
    models: list[str | None], reported: float | None, status: CostStatus | None, step_statuses: list[str]
) -> None:
    t = TraceBuilder()
    a = t.agent("a")
    for i, model in enumerate(models):
        call(t, a, {COST: reported} if reported is not None and i == 0 else {}, model=model or "unknown-model")
    run = only_run(t)
    assert cost(run)[1] == status
    assert [str(s.cost.status) for s in run.steps if s.kind is StepKind.LLM] == step_statuses


def test_reported_and_estimated_costs_are_mixed() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    call(t, a, {COST: 0.1})
    call(t, a)
    assert cost(only_run(t)) == (Decimal("0.1") + CALL_USD, CostStatus.MIXED)


def test_a_replay_costs_nothing_and_neither_do_its_steps() -> None:
    t = TraceBuilder()
    call(t, t.agent("a", {"runlog.replay_of": "r0"}))
    run = only_run(t)
    assert cost(run) == (Decimal(0), CostStatus.REPLAYED)
    assert [s.cost.usd for s in run.steps] == [None, None]
    assert run.tokens.input_tokens == 100


# -- parents that say something else -------------------------------------------------------------------


def test_a_parent_that_knows_of_more_tokens_makes_the_run_doubtful() -> None:
    t = TraceBuilder()
    call(t, t.agent("a", {"gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 10}))
    run = only_run(t)
    assert run.warnings == (
        "parent_total_differs: 'invoke_agent a' says 310 tokens, input_tokens and output_tokens of its calls are 110",
    )


def test_a_parent_that_leaves_out_its_sub_agents_or_adds_up_its_life_is_noted_only() -> None:
    t = TraceBuilder()
    boss = t.agent("boss", ROLLED)
    call(t, boss)
    call(t, t.agent("helper", ROLLED, parent=boss))
    strands = TraceBuilder("strands")
    agent: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.usage.input_tokens": 900}
    call(strands, strands.span("invoke_agent s", agent, scope="strands.telemetry.tracer", duration_ms=9))
    for trace in (t, strands):
        run = only_run(trace)
        assert run.warnings == ()
        assert [n.partition(":")[0] for n in run.notes] == ["parent_total_differs"]
