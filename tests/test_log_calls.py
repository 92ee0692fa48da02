"""Calls that only log records tell of are steps, until a span says the same."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path

import pytest
from corpus import COUNTERS, scenario
from hypothesis import given, settings
from hypothesis import strategies as st
from test_loader import load, load_items, open_ended, stored

from otel_runlog.conventions.log_events import EVENTS, place_of
from otel_runlog.loader import Loader
from otel_runlog.log_calls import NOTE
from otel_runlog.logs import fills
from otel_runlog.model import Attributes, LogRecord, RunLog, RunStatus, Scope, Span, StepStatus, UsageSource
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import MS, START_NS, TraceBuilder

PRICES = PriceTable.default()
CONVERSATION = "01a22745-a40a-7e70-9982-b37118810105"
LOGS_ONLY = {
    "claude-code/single_chat": (1, (1013, 57, 0, 0), ("claude-code",), ()),
    "claude-code/prompt_cache": (1, (5510, 192, 1536, 896), ("claude-code",), ("Bash", "Bash")),
    "claude-code/concurrent": (2, (6273, 447, 0, 0), ("claude-code",) * 2, ("Bash",) * 4),
    "gemini-cli/cache_reasoning": (1, (3078, 294, 1536, 0), ("gemini-cli",), ("run_shell_command",) * 2),
    "otel-genai-openai@events/streaming_chat": (1, (1013, 57, 0, 0), (None,), ()),
    "otel-openai-v2@events/single_chat": (1, (1013, 57, 0, 0), (None,), ()),
}
"""What telemetry of logs only tells: runs, counters as served, agents, tools."""


def codex(name: str, at_ms: int, trace_id: str | None = None, **attributes: object) -> LogRecord:
    told = {"event.name": f"codex.{name}", "conversation.id": CONVERSATION, "model": "gpt-5-mini", **attributes}
    scope = Scope("codex_otel.log_only")
    time_ns = START_NS + at_ms * MS
    return LogRecord(observed_ns=time_ns, trace_id=trace_id, span_id="1" * 16, attributes=told, scope=scope)  # type: ignore[arg-type]


def codex_logs(trace_id: str | None) -> list[LogRecord]:
    """As captured: answers name no trace, tools and requests do."""
    counts: Attributes = {"event.kind": "response.completed", "input_token_count": "1013", "output_token_count": "57"}
    return [
        codex("api_request", 5, trace_id, duration_ms="4"),
        codex("sse_event", 9, **{"event.kind": "response.completed", "duration_ms": "6"}),
        codex("sse_event", 10, **counts, cached_token_count="512", reasoning_token_count="7"),
        codex(
            "tool_result", 30, trace_id, call_id="c1", tool_name="exec", duration_ms="8", success="false", output="no"
        ),
    ]


def codex_spans() -> list[Span]:
    t = TraceBuilder("codex")
    turn = t.span("session_task.turn", {"turn.id": "t1", "thread.id": CONVERSATION}, scope="codex_exec", duration_ms=50)
    call: Attributes = {"model": "gpt-5-mini", "gen_ai.usage.input_tokens": 1013, "gen_ai.usage.output_tokens": 57}
    t.span("try_run_sampling_request", call, parent=turn, start_ms=2, duration_ms=8, scope="codex_exec")
    tool: Attributes = {"codex.tool.phase": "dispatch", "call_id": "c1", "tool_name": "exec"}
    t.span("dispatch", tool, parent=turn, start_ms=20, duration_ms=10, scope="codex_exec")
    return t.spans


def tokens(runs: Sequence[RunLog]) -> tuple[int, ...]:
    return tuple(sum(getattr(run.tokens, name) or 0 for run in runs) for name in COUNTERS[:4])


@pytest.mark.parametrize("name", LOGS_ONLY)
def test_telemetry_of_logs_only_makes_runs(name: str) -> None:
    runs = project([], logs=scenario(name).log_records(), prices=PRICES)
    tools = tuple(step.tool_name for run in runs for step in run.steps if step.tool_name)
    assert (len(runs), tokens(runs), tuple(run.agent for run in runs), tools) == LOGS_ONLY[name]
    calls = [step for run in runs for step in run.steps if step.usage]
    assert {step.usage_source for step in calls} == {UsageSource.LOG}
    assert all(NOTE in step.notes for run in runs for step in run.steps)
    assert {(run.status, run.complete) for run in runs} == {(RunStatus.RUNNING, False)}  # no record says it is over


@pytest.mark.parametrize("name", LOGS_ONLY)
def test_a_record_of_a_call_that_has_a_span_makes_no_step(name: str) -> None:
    found = scenario(name)
    with_logs = project(found.spans(), logs=found.log_records(), prices=PRICES)
    alone = project(found.spans(), prices=PRICES)
    assert [(r.run_id, [s.span_id for s in r.steps]) for r in with_logs] == [
        (r.run_id, [s.span_id for s in r.steps]) for r in alone
    ]


def test_logs_of_codex_are_one_run_a_conversation() -> None:
    [run] = project([], logs=codex_logs("a" * 32), prices=PRICES)
    assert (run.agent, run.session_id, run.llm_calls, run.tool_calls) == ("codex", CONVERSATION, 1, 1)
    call, tool = run.steps
    assert (call.usage.input_tokens, call.usage.cache_read_tokens, call.usage.reasoning_tokens) == (1013, 512, 7)
    assert (tool.status, tool.error_message, tool.duration_ms) == (StepStatus.FAILED, "no", 8)


def test_a_result_says_that_a_tool_failed_where_its_span_does_not() -> None:
    spans = codex_spans()
    [run] = project(spans, logs=codex_logs(spans[0].trace_id), prices=PRICES)
    assert [(s.kind, s.status, s.error_message) for s in run.steps if s.tool_name] == [
        ("tool", StepStatus.FAILED, "no")
    ]
    assert run.status is RunStatus.COMPLETED


@settings(max_examples=8, deadline=None)
@given(st.permutations(range(7)), st.lists(st.integers(0, 7), max_size=3))
def test_spans_take_over_from_records_in_the_store_whatever_comes_first(order: list[int], cuts: list[int]) -> None:
    spans = codex_spans()
    logs = codex_logs(spans[0].trace_id)
    items = [[*spans, *logs][i] for i in order]
    with tempfile.TemporaryDirectory() as folder:
        db = Path(folder) / "runs.duckdb"
        for number, (a, b) in enumerate(itertools.pairwise([0, *sorted(cuts), len(items)]), 1):
            load_items(db, number, items[a:b])
            seen = items[:b]
            want = project(spans_in(seen), logs=records_in(seen), prices=PRICES)
            assert {k: open_ended(r) for k, r in stored(db).items()} == {r.run_id: open_ended(r) for r in want}
    assert [run.llm_calls for run in want] == [1]


def spans_in(items: Sequence[Span | LogRecord]) -> list[Span]:
    return [x for x in items if isinstance(x, Span)]


def records_in(items: Sequence[Span | LogRecord]) -> list[LogRecord]:
    return [x for x in items if isinstance(x, LogRecord)]


def test_the_old_name_of_a_run_of_records_leads_to_that_of_its_spans(tmp_path: Path) -> None:
    found, db = scenario("claude-code/single_chat"), tmp_path / "runs.duckdb"
    load_items(db, 1, found.log_records())
    [before] = stored(db).values()
    load_items(db, 2, found.spans())
    [after] = stored(db).values()
    with StoreReader(db) as reader:
        assert reader.find(before.run_id) == after.run_id != before.run_id
    assert (before.tokens, after.tokens) == (after.tokens, before.tokens)


def claude(event: str = "api_request", **attributes: object) -> LogRecord:
    told = {"event.name": event, "session.id": "s", "prompt.id": "p", "user.email": "a@example.com", **attributes}
    scope = Scope("com.anthropic.claude_code.events")
    return LogRecord(START_NS + 100 * MS, body=f"claude_code.{event}", attributes=told, scope=scope)  # type: ignore[arg-type]


REQUEST: Attributes = {"model": "claude-sonnet-4-5", "input_tokens": "10", "output_tokens": "5", "cost_usd": "0.25"}


def test_without_tracing_a_prompt_is_a_run() -> None:
    logs = [
        claude(**REQUEST, duration_ms="40"),
        claude(**REQUEST | {"prompt.id": "q"}),
        claude("tool_result", tool_name="Bash", success="true", duration_ms="3"),
        claude("api_error", error="overloaded", status_code="529", model="claude-sonnet-4-5"),
    ]
    first, second = project([], logs=logs, prices=PRICES)
    assert (first.llm_calls, first.tool_calls, first.error_count, second.llm_calls) == (2, 1, 1, 1)
    assert (first.session_id, first.user_id, first.agent) == ("s", "a@example.com", "claude-code")
    assert first.cost_estimate is not None
    assert first.cost_estimate.reported_usd == Decimal("0.25")
    [call] = [s for s in first.steps if s.usage]
    assert (call.duration_ms, call.model, call.parent_span_id) == (40, "claude-sonnet-4-5", None)
    assert first.usage_missing_calls == 0  # the provider refused the other


def test_records_that_name_no_run_make_none() -> None:
    nameless = claude(**REQUEST | {"prompt.id": None, "session.id": None})
    assert place_of(nameless) is None
    assert project([], logs=[nameless], prices=PRICES) == []


def test_a_request_alone_is_no_call() -> None:
    asked: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    name = "gen_ai.client.inference.operation.details"
    assert project([], logs=[LogRecord(1, None, "a" * 32, "b" * 16, name, attributes=asked)], prices=PRICES) == []


def test_usage_that_the_span_of_a_call_lacks_comes_from_its_details() -> None:
    t = TraceBuilder()
    asked: Attributes = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
    span = t.span("chat gpt-4o-mini", asked)
    told: Attributes = {"gen_ai.usage.input_tokens": 9, "gen_ai.usage.output_tokens": 3, "gen_ai.response.id": "r1"}
    details = LogRecord(
        START_NS,
        None,
        span.trace_id,
        span.span_id,
        "gen_ai.client.inference.operation.details",
        attributes=asked | told,
    )
    [run] = project([span], logs=[details], prices=PRICES)
    [step] = run.steps
    assert (step.usage.input_tokens, step.usage.output_tokens, step.usage_source) == (9, 3, UsageSource.LOG)
    assert (step.response_id, run.usage_missing_calls, run.warnings) == ("r1", 0, ())


def test_every_event_of_the_table_is_kept_with_its_trace() -> None:
    for name, event in EVENTS.items():
        record = LogRecord(1, None, "a" * 32, "b" * 16, name, attributes={event.told[0]: "1"})
        assert fills(record)


def test_a_duration_beyond_all_times_costs_nobody_anything() -> None:
    [run] = project([], logs=[claude(**REQUEST, duration_ms="1e305")], prices=PRICES)
    assert run.tokens.input_tokens == 10


def test_a_record_of_a_call_inside_a_named_run_counts_once(tmp_path: Path) -> None:
    t = TraceBuilder("gemini")
    named: Attributes = {"runlog.run.id": "mine", "gen_ai.operation.name": "invoke_agent", "session.id": "outer"}
    root = t.span("invoke_agent outer", named, scope="otel_runlog", duration_ms=180)
    call: Attributes = {"gen_ai.operation.name": "llm_call", "gen_ai.request.model": "g", "gen_ai.prompt.name": "s#1"}
    call |= {"gen_ai.conversation.id": "s", "gen_ai.usage.input_tokens": 13, "gen_ai.usage.output_tokens": 7}
    t.span("llm_call", call, parent=root, duration_ms=80, scope="gemini-cli")
    told: Attributes = {"event.name": "gemini_cli.api_response", "session.id": "s", "prompt_id": "s#1", "model": "g"}
    told |= {"input_token_count": 13, "output_token_count": 7, "thoughts_token_count": 3}
    logs, db = [LogRecord(time_ns=START_NS + 80 * MS, attributes=told)], tmp_path / "runs.duckdb"
    load(Loader(db, prices=PRICES), 1, t.spans)
    load(Loader(db, prices=PRICES), 2, [], logs)
    want = {r.run_id: open_ended(r) for r in project(t.spans, logs=logs, prices=PRICES)}
    assert {k: open_ended(r) for k, r in stored(db).items()} == want


def test_details_on_a_span_that_is_no_call_are_calls() -> None:
    t = TraceBuilder()
    http = t.span("POST /chat", {"http.request.method": "POST"}, duration_ms=100)
    logs = [details(http, START_NS + n * MS, n) for n in (10, 50)]
    runs = project(t.spans, logs=logs, prices=PRICES)
    assert sum(run.tokens.input_tokens or 0 for run in runs) == 60


def details(span: Span, at_ns: int, number: int) -> LogRecord:
    told: Attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.response.id": f"r{number}",
    }
    told |= {"gen_ai.usage.input_tokens": number, "gen_ai.usage.output_tokens": 1}
    event = "gen_ai.client.inference.operation.details"
    return LogRecord(at_ns, trace_id=span.trace_id, span_id=span.span_id, event_name=event, attributes=told)


def test_the_name_of_a_run_of_records_without_a_trace_lives_on(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    load(Loader(db, prices=PRICES), 1, [], [codex("sse_event", 10, input_token_count="13", output_token_count="7")])
    [before] = stored(db)
    t = TraceBuilder()
    turn = t.span("session_task.turn", {"turn.id": "t", "thread.id": CONVERSATION}, scope="codex_exec", duration_ms=50)
    call: Attributes = {"model": "m", "gen_ai.usage.input_tokens": 13, "gen_ai.usage.output_tokens": 7}
    t.span("try_run_sampling_request", call, parent=turn, start_ms=2, duration_ms=8, scope="codex_exec")
    load(Loader(db, prices=PRICES), 2, t.spans)
    [after] = stored(db)
    with StoreReader(db) as reader:
        assert reader.find(before) == after
