"""A run as a whole: status, times, totals, what is said of it; and that order and repetition change nothing."""

from __future__ import annotations

import datetime as dt
import itertools
import random
import sys
import time
from collections.abc import Callable
from decimal import Decimal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_runlog.model import Attributes, Resource, RunLog, RunStatus, Scope, Span, SpanEvent, StepStatus, Usage
from otel_runlog.pricing import PriceTable
from otel_runlog.resolve import resolve
from otel_runlog.runs import project, project_with_llm_io
from otel_runlog.testing import MS, START_NS, TraceBuilder
from otel_runlog.tree import MODEL_KINDS

PRICES = PriceTable.default()
NOWHERE = "00000000000000aa"
FAILED: Attributes = {"error.type": "RateLimitError"}
CANCELLED: Attributes = {"error.type": "CancelledError"}


def only_run(spans: list[Span], now: dt.datetime | None = None) -> RunLog:
    [run] = project(spans, prices=PRICES, now=now)
    return run


def at(ms: float) -> dt.datetime:
    return dt.datetime.fromtimestamp(START_NS / 1e9, dt.UTC) + dt.timedelta(milliseconds=ms)


# -- rule 5: status --------------------------------------------------------------------------------


def status(build: Callable[[TraceBuilder], object]) -> tuple[RunStatus, str | None]:
    t = TraceBuilder()
    build(t)
    run = only_run(t.spans)
    return run.status, run.status_message


def retried(t: TraceBuilder) -> None:
    a = t.agent("a")
    t.chat("m", FAILED, parent=a, failed=True)
    t.chat("m", parent=a, input_tokens=1, output_tokens=1)


def gave_up(t: TraceBuilder) -> None:
    a = t.agent("a")
    t.chat("m", parent=a, input_tokens=1, output_tokens=1)
    t.chat("m", FAILED, parent=a, failed=True).status_message = "429"


def sub_agent_failed_and_was_survived(t: TraceBuilder) -> None:
    a = t.agent("a")
    t.chat("m", FAILED, parent=t.agent("b", parent=t.tool("ask", parent=a, duration_ms=9), duration_ms=8), failed=True)
    t.chat("m", parent=a, start_ms=50)


def failed_below_everything(t: TraceBuilder) -> None:
    t.chat("m", FAILED, parent=t.agent("b", parent=t.tool("ask", parent=t.agent("a"), duration_ms=9)), failed=True)


def cancelled_job(t: TraceBuilder) -> None:
    """A root that no convention reads."""
    job = t.span("job", duration_ms=9)
    job.events = (SpanEvent("exception", attributes={"exception.type": "asyncio.exceptions.CancelledError"}),)
    t.chat("m", parent=job)


def two_views_of_a_failure(t: TraceBuilder) -> None:
    a = t.agent("a")
    same = {"gen_ai.response.id": "r1"}
    t.chat("m", same | FAILED, parent=a, start_ms=1, duration_ms=5, scope="s1", failed=True)
    t.chat("m", same, parent=a, start_ms=1, duration_ms=6, scope="s2")


@pytest.mark.parametrize(
    ("build", "expected"),
    [
        (lambda t: t.chat("m", parent=t.agent("a")), (RunStatus.COMPLETED, None)),
        (lambda t: t.agent("a", {"error.type": "ValueError"}, failed=True), (RunStatus.FAILED, "ValueError")),
        (retried, (RunStatus.COMPLETED, None)),
        (gave_up, (RunStatus.FAILED, "429")),
        (lambda t: t.tool("x", FAILED, parent=t.agent("a"), failed=True), (RunStatus.COMPLETED, None)),
        (sub_agent_failed_and_was_survived, (RunStatus.COMPLETED, None)),
        (failed_below_everything, (RunStatus.FAILED, "RateLimitError")),
        (two_views_of_a_failure, (RunStatus.FAILED, "RateLimitError")),
        (lambda t: t.chat("m", FAILED, failed=True), (RunStatus.FAILED, "RateLimitError")),
        (lambda t: t.agent("a", CANCELLED), (RunStatus.CANCELLED, "CancelledError")),
        (lambda t: t.agent("a", {"error.type": "KeyboardInterrupt"}), (RunStatus.CANCELLED, "KeyboardInterrupt")),
        (lambda t: t.agent("a", {"error.type": "SystemExit"}, failed=True), (RunStatus.CANCELLED, "SystemExit")),
        (lambda t: t.tool("x", CANCELLED, parent=t.agent("a")), (RunStatus.CANCELLED, "CancelledError")),
        (
            lambda t: t.chat("m", {"error.type": "GeneratorExit"}, parent=t.agent("a")),
            (RunStatus.CANCELLED, "GeneratorExit"),
        ),
        (cancelled_job, (RunStatus.CANCELLED, "asyncio.exceptions.CancelledError")),
        (lambda t: t.chat("m", parent=NOWHERE), (RunStatus.RUNNING, None)),
        (lambda t: setattr(t.agent("a"), "ended_ns", None), (RunStatus.RUNNING, None)),
    ],
    ids=[
        *("fine", "root failed", "retried", "gave up", "tool error survived", "sub-agent survived", "failed below"),
        *("one view knows", "lone call failed", "cancelled", "interrupted", "exited", "cancelled tool", "abandoned"),
        *("cancelled job", "root missing", "root open"),
    ],
)
def test_how_a_run_ended(build: Callable[[TraceBuilder], object], expected: tuple[RunStatus, str | None]) -> None:
    assert status(build) == expected


def test_a_start_record_of_the_root_keeps_the_run_open_until_quiet_closes_it() -> None:
    t = TraceBuilder()
    root = t.agent("a")
    t.chat("m", parent=root, start_ms=5, duration_ms=10, input_tokens=1, output_tokens=1)
    t.spans[0] = msgspec.structs.replace(root, ended_ns=None, start_record=True)
    early, late = only_run(t.spans, at(15 * 60_000)), only_run(t.spans, at(15 + 15 * 60_000))
    assert (early.status, early.finished_at, early.complete) == (RunStatus.RUNNING, None, True)
    assert (late.status, late.finished_at, late.complete) == (RunStatus.INCOMPLETE, at(15), False)
    assert [s.status for s in late.steps] == [StepStatus.RUNNING, StepStatus.COMPLETED]


def test_a_run_is_as_long_as_from_its_root_s_start_to_its_last_step_s_end() -> None:
    t = TraceBuilder()
    job = t.span("job", start_ms=0, duration_ms=500)
    t.chat("m", parent=job, start_ms=10, duration_ms=20)
    run = only_run(t.spans)
    assert (run.started_at, run.finished_at, run.duration_ms) == (at(0), at(30), 30.0)
    late = TraceBuilder("late")
    late.chat("m", parent=late.agent("a", duration_ms=5), start_ms=3, duration_ms=90)
    assert only_run(late.spans).finished_at == at(93)


@pytest.mark.parametrize(("second", "expected"), [({}, RunStatus.COMPLETED), (FAILED, RunStatus.FAILED)])
def test_of_a_run_s_several_roots_the_last_to_end_speaks(second: Attributes, expected: RunStatus) -> None:
    one, two = TraceBuilder("one"), TraceBuilder("two", start_ns=START_NS + 10**9)
    one.agent("a", {"runlog.run.id": "r1", "error.type": "ValueError"}, failed=True)
    two.agent("a", {"runlog.run.id": "r1", **second}, failed=bool(second))
    assert only_run([*one.spans, *two.spans]).status is expected


# -- what the spans say of their run --------------------------------------------------------------------


def test_a_session_and_a_user_on_any_span_are_the_run_s() -> None:
    t = TraceBuilder()
    root = t.agent("a")
    t.span("http", {"session.id": "s1", "user.id": "u1"}, parent=root)
    run = only_run(t.spans)
    assert (run.session_id, run.user_id) == ("s1", "u1")


def test_of_several_sessions_the_topmost_is_the_run_s() -> None:
    t = TraceBuilder()
    root = t.agent("a", {"gen_ai.conversation.id": "top"})
    t.chat("m", {"gen_ai.conversation.id": "below"}, parent=root)
    assert only_run(t.spans).session_id == "top"


def test_labels_tags_and_origins_are_gathered_and_the_root_s_win() -> None:
    t = TraceBuilder()
    own: Attributes = {"runlog.label.task": "W2", "runlog.tags": ["x"], "runlog.fork_of": "r0", "runlog.fork_at": 3}
    below: Attributes = {"runlog.label.task": "other", "runlog.label.more": 7, "runlog.tags": ["y", "x"]}
    t.chat("m", below, parent=t.agent("a", own | {"runlog.launch.id": "l1"}))
    run = only_run(t.spans)
    assert run.labels == {"task": "W2", "more": "7"}
    assert (run.tags, run.fork_of, run.fork_at, run.launch_id) == (("x", "y"), "r0", 3, "l1")


def test_service_version_and_environment_are_the_root_s() -> None:
    t = TraceBuilder(service="shop")
    t.resource.attributes.update({"service.version": "1.2", "deployment.environment.name": "prod"})
    t.agent("a")
    run = only_run(t.spans)
    assert (run.service, run.service_version, run.environment) == ("shop", "1.2", "prod")


def test_models_are_those_that_answered_and_unpriced_ones_are_named() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    answered = {"gen_ai.response.model": "gpt-4o-mini-2024-07-18"}
    t.chat("gpt-4o-mini", answered, parent=a, input_tokens=1, output_tokens=1, provider="openai")
    t.chat("no-such-model", parent=a, input_tokens=1, output_tokens=1)
    run = only_run(t.spans)
    assert run.models == ("gpt-4o-mini-2024-07-18", "no-such-model")
    assert (run.unpriced_calls, run.unpriced_models) == (1, ("no-such-model",))


def test_counts_are_of_counted_steps_failed_ones_too() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    outer = t.chat("m", parent=a, input_tokens=1, output_tokens=1, duration_ms=9)
    t.chat("m", parent=outer, input_tokens=1, output_tokens=1, scope="client")
    t.chat("m", FAILED, parent=a, failed=True)
    t.tool("x", FAILED, parent=a, failed=True)
    t.span("r", {"openinference.span.kind": "RETRIEVER"}, parent=a)
    run = only_run(t.spans)
    assert (run.step_count, run.llm_calls, run.tool_calls, run.error_count) == (3, 2, 1, 2)
    assert run.total_tokens == 2


# -- complete, warnings, notes ------------------------------------------------------------------------


@pytest.mark.parametrize("field", ["dropped_attributes_count", "dropped_events_count", "dropped_links_count"])
@pytest.mark.parametrize("which", [0, 1], ids=["a step", "a plain span"])
def test_anything_dropped_makes_the_run_incomplete_and_is_noted(field: str, which: int) -> None:
    t = TraceBuilder()
    t.span("http", parent=t.agent("a"))
    setattr(t.spans[which], field, 2)
    run = only_run(t.spans)
    assert (run.complete, run.warnings) == (False, ())
    assert [n.partition(":")[0] for n in run.notes] == ["attributes_dropped"]


def test_repairs_conflicts_and_reused_ids_are_notes() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    a.repairs = ("clock_skew: the end is before the start",)
    later = msgspec.structs.replace(a, attributes=a.attributes | {"more": 1})
    reused = msgspec.structs.replace(t.chat("m", parent=a), span_id=a.span_id, parent_span_id=None)
    run = project([a, later, reused], prices=PRICES)[0]
    assert {n.partition(":")[0] for n in run.notes} == {"clock_skew", "conflict", "id_reuse"}
    assert (run.complete, run.warnings) == (True, ())


def test_a_loop_of_parents_is_one_closed_run_that_says_so() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", parent=a)
    a.parent_span_id = t.spans[1].span_id
    run = only_run(t.spans)
    assert (run.status, run.root_span_id, run.llm_calls) == (RunStatus.COMPLETED, a.span_id, 1)
    assert [n.partition(":")[0] for n in run.notes] == ["repaired"]


def test_spans_without_a_start_or_with_an_end_before_it_are_kept() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", parent=a, start_ms=5).started_ns = None
    t.chat("m", parent=a, start_ms=9).ended_ns = START_NS - MS
    run = only_run(t.spans)
    assert run.llm_calls == 2
    assert [s.started_ns is None for s in run.steps] == [False, True, False]


# -- size ---------------------------------------------------------------------------------------------


def nested(kind: Callable[[TraceBuilder, int, Span | None], Span], number: int) -> list[Span]:
    t = TraceBuilder()
    parent = None
    for i in range(number):
        parent = kind(t, i, parent)
    return t.spans


USED: Attributes = {"gen_ai.usage.input_tokens": 5, "gen_ai.usage.output_tokens": 1}
CHAIN: Attributes = {"openinference.span.kind": "CHAIN"}


@pytest.mark.parametrize(
    ("kind", "calls"),
    [
        (lambda t, i, p: t.agent(f"a{i}", USED, parent=p), 0),
        (lambda t, i, p: t.agent("a", USED, parent=p), 0),
        (lambda t, _, p: t.span("c", CHAIN, parent=p), None),
        (lambda t, _, p: t.tool("t", parent=p) if p else t.agent("a"), 0),
        (lambda t, _, p: t.chat("m", USED, parent=p), 1),
    ],
    ids=["agents", "one agent", "chains", "tools", "calls"],
)
def test_five_thousand_deep_takes_no_recursion_and_no_square_of_time(kind, calls: int | None) -> None:
    spans = nested(kind, 5000)
    began = time.process_time()
    found = project(spans, prices=PRICES)
    assert time.process_time() - began < 8
    assert [r.llm_calls for r in found] == ([] if calls is None else [calls])


def test_a_trace_of_many_spans_takes_steps_in_proportion() -> None:
    def steps(number: int) -> int:
        """How many functions are called: time would be the machine's."""
        t = TraceBuilder()
        a = t.agent("a", duration_ms=number)
        for i in range(number):
            t.chat("m", parent=a, input_tokens=i, output_tokens=1)
        counted = itertools.count()
        sys.setprofile(lambda *_: next(counted))
        try:
            found = only_run(t.spans)
        finally:
            sys.setprofile(None)
        assert found.llm_calls == number
        return next(counted)

    assert steps(5_000) < 6 * steps(1_000)


# -- purity -------------------------------------------------------------------------------------------

KINDS: tuple[Attributes, ...] = (
    {},
    {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"},
    {"gen_ai.operation.name": "invoke_agent"},
    {"gen_ai.operation.name": "invoke_workflow"},
    CHAIN,
    {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"},
    {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini", "gen_ai.response.id": "r1"},
    {"gen_ai.operation.name": "chat", "gen_ai.response.id": "r2", **FAILED},
    {"gen_ai.operation.name": "embeddings", "gen_ai.request.model": "e"},
    {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "t", "gen_ai.tool.call.id": "c1"},
    {"gen_ai.operation.name": "create_agent"},
    {"mcp.method.name": "tools/call", "gen_ai.operation.name": "execute_tool"},
)
EXTRAS: tuple[Attributes, ...] = (
    *({}, {}, {}),
    {"runlog.run.id": "named"},
    {"session.id": "s1"},
    {"gen_ai.usage.cost": 0.25},
    CANCELLED,
)
PROCESSES: dict[str, Resource] = {
    "x": Resource(),
    "y": Resource({"runlog.run.id": "named"}),
    "z": Resource({"runlog.run.id": "other", "runlog.replay_of": "r0"}),
}
"""By span name, for a span that comes twice comes from one process."""


@st.composite
def forests(draw: st.DrawFn) -> list[Span]:
    """Spans of up to three traces: parents may be missing, later, themselves; ids, times and numbers collide often."""
    spans: list[Span] = []
    for _ in range(draw(st.integers(1, 9))):
        started = draw(st.none() | st.integers(1, 6))
        used = draw(st.none() | st.integers(0, 2))
        usage: Attributes = {} if used is None else {"gen_ai.usage.input_tokens": used, "gen_ai.usage.output_tokens": 1}
        ended = draw(st.none() | st.integers(1, 9))
        name = draw(st.sampled_from("xxyz"))
        spans.append(
            Span(
                trace_id=draw(st.sampled_from("abc")) * 32,
                span_id=f"{draw(st.integers(1, 6)):016x}",
                parent_span_id=draw(st.none() | st.integers(1, 7).map(lambda n: f"{n:016x}")),
                name=name,
                resource=PROCESSES[name],
                kind=draw(st.sampled_from((1, 2, 3))),
                started_ns=None if started is None else START_NS + started * MS,
                ended_ns=None if ended is None else START_NS + ended * MS,
                status_code=draw(st.sampled_from((0, 0, 2))),
                attributes=draw(st.sampled_from(KINDS)) | usage | draw(st.sampled_from(EXTRAS)),
                flags=draw(st.sampled_from((0, 0x101, 0x301))),
                scope=Scope(draw(st.sampled_from(("s1", "s2", "otel_runlog")))),
            )
        )
    return spans


@given(spans=forests(), seed=st.integers(0, 2**32), repeated=st.lists(st.integers(0, 8), max_size=4))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_order_and_repetition_change_nothing(spans: list[Span], seed: int, repeated: list[int]) -> None:
    arriving = [*spans, *(spans[i % len(spans)] for i in repeated)]
    random.Random(seed).shuffle(arriving)
    assert project(arriving, prices=PRICES) == project(spans, prices=PRICES)


@given(spans=forests())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_every_span_is_in_at_most_one_run_and_the_sums_hold(spans: list[Span]) -> None:
    found = project(spans, prices=PRICES)
    places = [(s.trace_id, s.span_id, s.started_ns) for r in found for s in r.steps]
    assert len(places) == len(set(places))
    steps = [s for r in found for s in r.steps]
    models = [s for s in resolve(spans) if s.attributes.get("gen_ai.operation.name") in ("chat", "embeddings")]
    assert sum(s.kind in MODEL_KINDS for s in steps) == len(models)
    assert {s.duplicate_of for s in steps if s.duplicate_of} <= {s.span_id for s in steps if s.counted}
    for run in found:
        counted = [s for s in run.steps if s.counted]
        assert run.tokens == sum((s.usage for s in counted), Usage())
        assert [s.step_index for s in run.steps] == list(range(1, len(run.steps) + 1))
        calls = [s.call_index for s in run.steps if s.call_index is not None]
        assert calls == list(range(1, run.llm_calls + run.tool_calls + 1))
        costs = [s.cost.usd for s in counted if s.cost.usd is not None]
        known = costs or ([Decimal(0)] if run.replay_of else [])
        assert (run.cost_estimate.usd if run.cost_estimate else None) == (sum(known, Decimal(0)) if known else None)
        assert not (run.replay_of and costs)
        own = [a.own for a in run.agents]
        assert sum(own, Usage()) == run.tokens
        assert run.agents[0].inclusive == run.tokens


def test_llm_io_is_one_for_each_counted_llm_step() -> None:
    t = TraceBuilder()
    a = t.agent("a")
    t.chat("m", {"gen_ai.input.messages": '[{"role":"user","parts":[{"type":"text","content":"hi"}]}]'}, parent=a)
    t.chat("m", parent=a)
    [(run, ios)] = project_with_llm_io(t.spans, prices=PRICES)
    assert run == only_run(t.spans)
    assert [(io.call_index, [m.text for m in io.input]) for io in ios] == [(1, ["hi"]), (2, [])]
