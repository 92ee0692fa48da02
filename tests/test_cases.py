"""Public bug reports of other tools as inputs with right answers. Prices are those of tests/pricing/data/cases.toml."""

from __future__ import annotations

import itertools
from decimal import Decimal
from pathlib import Path

import msgspec
import pytest

from otel_runlog.model import CostStatus, RunLog, RunStatus, Span, UsageSource
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

PRICES = PriceTable.load([Path(__file__).parent / "pricing" / "data" / "cases.toml"], base=None)


def only_run(spans: list[Span]) -> RunLog:
    runs = project(spans, prices=PRICES)
    assert len(runs) == 1
    return runs[0]


def cost(run: RunLog) -> Decimal | None:
    return run.cost_estimate.usd if run.cost_estimate else None


# -- cache counts inside the input (langfuse#12306, #10592, #14725) -------------------------------


@pytest.mark.parametrize(
    ("read", "write"),
    [
        ("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_creation.input_tokens"),
        ("gen_ai.usage.cache_read_tokens", "gen_ai.usage.cache_write_tokens"),
        ("gen_ai.usage.cache_read_input_tokens", "gen_ai.usage.cache_creation_input_tokens"),
        ("gen_ai.usage.details.cache_read_tokens", "gen_ai.usage.details.cache_write_tokens"),
    ],
)
def test_cache_parts_are_inside_the_input_however_they_are_spelled(read: str, write: str) -> None:
    t = TraceBuilder()
    t.chat("m-cache", {read: 128955, write: 1253}, provider="anthropic", input_tokens=130213, output_tokens=500)
    run = only_run(t.spans)
    assert run.tokens.input_tokens == 130213
    assert (run.tokens.cache_read_tokens, run.tokens.cache_write_tokens) == (128955, 1253)
    assert cost(run) == Decimal("0.05090025")


@pytest.mark.parametrize("read", ["gen_ai.usage.cached_input_tokens", "gen_ai.usage.input_cached_tokens"])
def test_cache_reads_alone_are_inside_the_input(read: str) -> None:
    t = TraceBuilder()
    t.chat("m-cache", {read: 128955}, provider="anthropic", input_tokens=130213, output_tokens=500)
    assert cost(only_run(t.spans)) == Decimal("0.0499605")


# -- cache counts outside the input (phoenix#10783, #10036, #13379) ---------------------------------


def openinference_call(prompt: int, completion: int, total: int, **details: int) -> TraceBuilder:
    t = TraceBuilder()
    attributes = {f"llm.token_count.prompt_details.{k}": v for k, v in details.items()}
    counts = {
        "llm.token_count.prompt": prompt,
        "llm.token_count.completion": completion,
        "llm.token_count.total": total,
    }
    t.span("llm", {"openinference.span.kind": "LLM", "llm.model_name": "m-cache", **counts, **attributes})
    return t


@pytest.mark.parametrize(
    ("call", "input_tokens", "output_tokens", "usd"),
    [
        (openinference_call(3, 442, 8712, cache_read=7917, cache_write=350), 8270, 442, "0.0103266"),
        (openinference_call(3, 12, 13256, cache_read=13216, cache_write=25), 13244, 12, "0.00424755"),
    ],
)
def test_a_total_that_adds_up_proves_the_cache_outside(
    call: TraceBuilder, input_tokens: int, output_tokens: int, usd: str
) -> None:
    run = only_run(call.spans)
    assert (run.tokens.input_tokens, run.tokens.output_tokens) == (input_tokens, output_tokens)
    assert cost(run) == Decimal(usd)


def test_an_unexplained_total_is_flagged_and_never_priced() -> None:
    run = only_run(openinference_call(4299, 631, 58291).spans)
    assert (run.tokens.input_tokens, run.tokens.output_tokens) == (4299, 631)
    assert cost(run) == Decimal("0.022362")
    assert run.warnings == (
        "total_mismatch: reported total 58291 is not 4930, the sum of input_tokens and output_tokens",
    )


# -- roll-ups (pydantic-ai#3995, strands#1267, mlflow#25007) -------------------------------------


def rolled_up() -> TraceBuilder:
    t = TraceBuilder()
    a = t.agent("a", {"gen_ai.usage.input_tokens": 113, "gen_ai.usage.output_tokens": 11})
    t.chat("m-std", parent=a, input_tokens=56, output_tokens=5)
    t.chat("m-std", parent=a, input_tokens=57, output_tokens=6)
    return t


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_parent_that_repeats_its_children_counts_once_in_any_order(order: tuple[int, ...]) -> None:
    spans = rolled_up().spans
    run = only_run([spans[i] for i in order])
    assert (run.tokens.input_tokens, run.tokens.output_tokens, run.llm_calls) == (113, 11, 2)
    assert cost(run) == Decimal("0.0003925")
    assert run.warnings == ()


def test_a_parent_alone_counts_as_roll_up_without_a_price() -> None:
    run = only_run(rolled_up().spans[:1])
    assert (run.tokens.input_tokens, run.tokens.output_tokens) == (113, 11)
    assert run.steps[0].usage_source is UsageSource.ROLLUP
    assert cost(run) is None
    assert run.unpriced_calls == 1
    assert run.cost_estimate is not None
    assert run.cost_estimate.status is CostStatus.UNPRICED


def test_a_wrapper_without_a_model_leaves_tokens_and_cost_to_its_call() -> None:
    t = TraceBuilder()
    kind = {"openinference.span.kind": "CHAIN", "llm.token_count.prompt": 113, "llm.token_count.completion": 11}
    wrapper = t.span("wrapper", kind, duration_ms=10)
    t.chat("m-std", parent=wrapper, input_tokens=113, output_tokens=11)
    run = only_run(t.spans)
    assert (run.tokens.input_tokens, run.tokens.output_tokens) == (113, 11)
    assert cost(run) == Decimal("0.0003925")


# -- two instrumentations of one call (dd-trace-js#8936, phoenix#5590) -----------------------------


def test_of_two_layers_the_one_that_knows_the_cache_counts() -> None:
    t = TraceBuilder()
    counts = {"llm.token_count.prompt": 500, "llm.token_count.completion": 50}
    outer = t.span(
        "ChatX.invoke", {"openinference.span.kind": "LLM", "llm.model_name": "m-std", **counts}, duration_ms=9
    )
    read = {"gen_ai.usage.cache_read.input_tokens": 400}
    inner = t.chat("m-std", read, parent=outer, input_tokens=500, output_tokens=50, scope="client")
    run = only_run(t.spans)
    assert (run.llm_calls, run.tokens.input_tokens, run.tokens.output_tokens) == (1, 500, 50)
    assert cost(run) == Decimal("0.00125")
    assert [s.duplicate_of for s in run.steps] == [inner.span_id, None]


def test_a_wrapper_around_two_calls_counts_the_two() -> None:
    t = TraceBuilder()
    outer = t.chat("m-std", input_tokens=500, output_tokens=50, duration_ms=9)
    t.chat("m-std", parent=outer, input_tokens=300, output_tokens=20, scope="client")
    t.chat("m-std", parent=outer, input_tokens=200, output_tokens=30, scope="client")
    run = only_run(t.spans)
    assert (run.llm_calls, run.tokens.input_tokens, run.tokens.output_tokens) == (2, 500, 50)


def test_a_sub_agent_under_a_model_span_is_a_call_of_its_own() -> None:
    t = TraceBuilder()
    outer = t.chat("m-std", input_tokens=500, output_tokens=50, duration_ms=20)
    tool = t.tool("ask", parent=outer, duration_ms=9)
    t.chat("m-std", parent=tool, input_tokens=70, output_tokens=7)
    run = only_run(t.spans)
    assert (run.llm_calls, run.tokens.input_tokens, run.tokens.output_tokens) == (2, 570, 57)


# -- sub-agents (opensquilla#266, copilot-cli#4858) -------------------------------------------------


def test_agents_have_own_and_inclusive_figures_also_where_the_tree_is_flat() -> None:
    t = TraceBuilder()
    boss = t.agent("boss")
    t.chat("m-std", parent=boss, input_tokens=1000, output_tokens=100)
    task = t.tool("task", parent=boss, duration_ms=20)
    helper = t.agent("helper-1", parent=task, duration_ms=10)
    t.chat("m-std", parent=helper, input_tokens=400, output_tokens=40)
    t.chat("m-std", parent=helper, input_tokens=200, output_tokens=20)
    t.chat("m-std", {"gen_ai.agent.name": "helper-2"}, parent=boss, input_tokens=300, output_tokens=30)
    run = only_run(t.spans)
    assert (run.agent, run.tokens.input_tokens, run.tokens.output_tokens) == ("boss", 1900, 190)
    assert cost(run) == Decimal("0.00665")
    figures = {a.agent: (a.parent_agent, a.own.input_tokens, a.inclusive.input_tokens) for a in run.agents}
    assert figures == {
        "boss": (None, 1000, 1900),
        "helper-1": ("boss", 600, 600),
        "helper-2": ("boss", 300, 300),
    }


# -- usage absent is not zero (gemini-cli#28683, trulens#2694) ------------------------------------


def test_absent_usage_is_null_and_explicit_zero_is_zero() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m-std", parent=a, input_tokens=100, output_tokens=10)
    t.chat("m-std", parent=a)
    t.chat("m-std", parent=a, input_tokens=0, output_tokens=0)
    run = only_run(t.spans)
    calls = [s for s in run.steps if s.counted]
    assert [(s.usage.input_tokens, s.cost.usd) for s in calls] == [(100, Decimal("0.00035")), (None, None), (0, 0)]
    assert (run.tokens.input_tokens, run.tokens.output_tokens, run.usage_missing_calls) == (100, 10, 1)
    assert cost(run) == Decimal("0.00035")
    assert run.cost_estimate is not None
    assert run.cost_estimate.status is CostStatus.PARTIAL


# -- unknown models and suffixes (phoenix#15240, langwatch#2914) ----------------------------------


def test_an_unknown_model_stays_visible_and_dated_names_resolve() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("acme-7b-internal", parent=a, input_tokens=1000, output_tokens=100)
    for name in ("m-std", "m-std-2026-03-15", "m-std-latest", "vendor/m-std", "us.vendor.m-std-v1:0"):
        t.chat(name, parent=a, input_tokens=100, output_tokens=10)
    run = only_run(t.spans)
    assert [s.cost.usd for s in run.steps if s.counted] == [None, *[Decimal("0.00035")] * 5]
    assert cost(run) == Decimal("0.00175")
    assert (run.unpriced_calls, run.unpriced_models) == (1, ("acme-7b-internal",))


# -- cost reported by the gateway (phoenix#15240, #13655) -----------------------------------------


def test_reported_cost_counts_and_the_estimate_stands_beside_it() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m-std", {"llm.cost.total": 0.0123}, parent=a, input_tokens=1000, output_tokens=100)
    t.chat("m-std", {"gen_ai.usage.cost": 0.0123}, parent=a, input_tokens=1000, output_tokens=100)
    t.tool("ocr", {"gen_ai.usage.cost": 0.05}, parent=a)
    t.chat("acme-7b", {"gen_ai.usage.cost": 0.002}, parent=a, input_tokens=1000, output_tokens=100)
    run = only_run(t.spans)
    assert cost(run) == Decimal("0.0766")
    assert run.cost_estimate is not None
    assert run.cost_estimate.estimated_usd == Decimal("0.007")
    assert run.cost_estimate.status is CostStatus.REPORTED
    assert run.unpriced_calls == 0
    assert [s.cost.estimated_usd for s in run.steps if s.counted][:2] == [Decimal("0.0035")] * 2


# -- the same span twice, and a fuller copy (collector#11056, ccusage#901) --------------------------


@pytest.mark.fault(20)
@pytest.mark.parametrize("reverse", [False, True])
def test_of_two_versions_of_a_span_the_later_end_counts(reverse: bool) -> None:
    t = TraceBuilder()
    first = t.chat("m-std", input_tokens=100, output_tokens=9)
    full = {"gen_ai.usage.output_tokens": 159, "gen_ai.response.finish_reasons": ["tool_use"]}
    assert first.ended_ns is not None
    second = msgspec.structs.replace(first, ended_ns=first.ended_ns + 1, attributes=first.attributes | full)
    run = only_run([second, first, first] if reverse else [first, first, second])
    assert (run.tokens.output_tokens, run.llm_calls) == (159, 1)
    assert run.steps[0].finish_reason == "tool_use"
    assert any(n.startswith("conflict: 2 versions") for n in run.notes)


# -- the root never came, remote parents (langwatch#6250, phoenix#2069) --------------------------


@pytest.mark.fault(21)
def test_calls_of_a_missing_root_are_one_open_run() -> None:
    t = TraceBuilder()
    for _ in range(3):
        t.chat("m-std", {"session.id": "s1"}, parent="00000000000000aa", input_tokens=100, output_tokens=10)
    run = only_run(t.spans)
    assert (run.status, run.complete, run.session_id) == (RunStatus.RUNNING, False, "s1")
    assert (run.tokens.input_tokens, run.tokens.output_tokens, run.root_span_id) == (300, 30, None)
    assert run.notes == ("root_missing: the root span has not come",)


def test_a_quiet_run_without_root_is_incomplete_and_ends_with_its_last_span() -> None:
    t = TraceBuilder()
    t.chat("m-std", parent="00000000000000aa", input_tokens=100, output_tokens=10)
    last = t.spans[-1]
    step_end = only_run(t.spans).steps[0].finished_at
    assert step_end is not None
    early, late = (
        project(t.spans, prices=PRICES, now=step_end.replace(hour=h, minute=m))[0] for h, m in ((0, 14), (0, 16))
    )
    assert (early.status, early.finished_at) == (RunStatus.RUNNING, None)
    assert (late.status, late.finished_at) == (RunStatus.INCOMPLETE, step_end)
    assert last.ended_ns is not None


def test_a_root_that_comes_late_completes_the_run() -> None:
    t = TraceBuilder()
    root = t.agent("a")
    for _ in range(3):
        t.chat("m-std", parent=root, input_tokens=100, output_tokens=10)
    before, after = only_run(t.spans[1:]), only_run([*t.spans[1:], root])
    assert before.run_id != after.run_id
    assert (after.status, after.tokens.input_tokens, after.complete) == (RunStatus.COMPLETED, 300, True)


@pytest.mark.fault(21)
def test_a_remote_parent_makes_a_local_root_at_once() -> None:
    t = TraceBuilder()
    t.span(
        "invoke_agent b",
        {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "b"},
        parent="00000000000000aa",
        flags=0x301,
    )
    run = only_run(t.spans)
    assert (run.status, run.agent, run.root_span_id) == (RunStatus.COMPLETED, "b", t.spans[0].span_id)


@pytest.mark.fault(3, 21)
def test_a_span_without_end_leaves_its_run_open() -> None:
    t = TraceBuilder()
    root = t.agent("a")
    root.ended_ns = None
    t.chat("m-std", parent=root, input_tokens=100, output_tokens=10)
    run = only_run(t.spans)
    assert (run.status, run.finished_at) == (RunStatus.RUNNING, None)
    assert run.steps[0].finished_at is None


def test_views_of_one_response_may_end_apart() -> None:
    """An abandoned stream's spans end when each instrumentation lets go of it; the response id tells."""
    a, b = TraceBuilder("one"), TraceBuilder("two")
    same = {"gen_ai.response.id": "msg_1"}
    a.chat("m-std", same, input_tokens=100, output_tokens=1, duration_ms=20, scope="framework")
    b.chat("m-std", same, input_tokens=100, duration_ms=900, start_ms=15, scope="client")
    assert only_run([*a.spans, *b.spans]).llm_calls == 1
