"""What log records add to spans: Claude Code's cost, to the call it belongs to, once."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from otel_runlog.logs import API_REQUEST, API_RESPONSE
from otel_runlog.model import Attributes, AttrValue, CostStatus, LogRecord, Span, UsageSource
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import MS, START_NS, TraceBuilder

PRICES = PriceTable()
NUMBERS: Attributes = {"input_tokens": 100, "output_tokens": 10}


def trace(calls: int = 1) -> TraceBuilder:
    t = TraceBuilder()
    root = t.span("claude_code.interaction", {"span.type": "interaction"}, duration_ms=99)
    for i in range(calls):
        call: Attributes = {"span.type": "llm_request", "model": "m", **NUMBERS}
        t.span("claude_code.llm_request", call, parent=root, start_ms=10 * i + 1, duration_ms=5)
    return t


def record(t: TraceBuilder, *, at_ms: float = 6, usd: float = 0.25, **changes: object) -> LogRecord:
    attributes: Attributes = {**NUMBERS, "cost_usd": usd, "model": "m", "event.sequence": 1}
    found = LogRecord(time_ns=START_NS + int(at_ms * MS), trace_id=t.trace_id, body=API_REQUEST, attributes=attributes)
    return msgspec.structs.replace(found, **changes)


def costs(spans: list[Span], *logs: LogRecord) -> list[Decimal | None]:
    [run] = project(spans, logs=logs, prices=PRICES)
    return [s.cost.usd for s in run.steps if s.counted]


def test_the_cost_of_a_call_comes_from_its_record() -> None:
    t = trace()
    [run] = project(t.spans, logs=[record(t)], prices=PRICES)
    assert run.cost_estimate is not None
    assert (run.cost_estimate.usd, run.cost_estimate.status) == (Decimal("0.25"), CostStatus.REPORTED)
    assert run.tokens.input_tokens == 100


@pytest.mark.parametrize(
    "changes",
    [{"trace_id": None}, {"body": "claude_code.tool_result"}, {"attributes": {"cost_usd": 1}}],
    ids=["no trace", "other event", "other numbers"],
)
def test_records_of_something_else_add_nothing(changes: dict[str, object]) -> None:
    t = trace()
    assert costs(t.spans, record(t, **changes)) == [None]


def test_of_calls_with_equal_numbers_the_nearest_in_time_is_meant() -> None:
    t = trace(3)
    assert costs(t.spans, record(t, at_ms=26.5, usd=0.3), record(t, at_ms=6.5, usd=0.1)) == [
        Decimal("0.1"),
        None,
        Decimal("0.3"),
    ]


def test_a_record_delivered_twice_fills_one_call() -> None:
    t = trace(2)
    assert costs(t.spans, record(t), record(t)) == [Decimal("0.25"), None]


def test_what_the_span_says_itself_stays() -> None:
    t = trace()
    t.spans[1].attributes["gen_ai.usage.cost"] = 0.5
    assert costs(t.spans, record(t)) == [Decimal("0.5")]


# -- Gemini CLI: thoughts and cache stand in records that name no trace ----------------------------------


def gemini_call(prompt: str = "s########1") -> Span:
    call: Attributes = {
        "gen_ai.operation.name": "llm_call",
        "gen_ai.request.model": "gemini-2.5-flash",
        "gen_ai.conversation.id": "s",
        "gen_ai.prompt.name": prompt,
        "gen_ai.usage.input_tokens": 1013,
        "gen_ai.usage.output_tokens": 57,
    }
    return TraceBuilder("gemini").span("llm_call", call, duration_ms=80, scope="gemini-cli")


def response(**changes: AttrValue) -> LogRecord:
    attributes: Attributes = {
        "event.name": API_RESPONSE,
        "session.id": "s",
        "prompt_id": "s########1",
        "model": "gemini-2.5-flash-001",
        "input_token_count": 1013,
        "output_token_count": 57,
        "cached_content_token_count": 768,
        "thoughts_token_count": 33,
        "finish_reasons": ["stop"],
    }
    return LogRecord(time_ns=START_NS + 80 * MS, attributes=attributes | changes)


def test_a_response_tells_the_thoughts_and_what_was_cached() -> None:
    [run] = project([gemini_call()], logs=[response(), response()], prices=PRICES)
    [step] = run.steps
    tokens = step.usage
    assert (tokens.input_tokens, tokens.output_tokens) == (1013, 90)
    assert (tokens.cache_read_tokens, tokens.reasoning_tokens) == (768, 33)
    assert (step.usage_source, step.response_model, step.finish_reason) == (
        UsageSource.LOG,
        "gemini-2.5-flash-001",
        "stop",
    )
    assert run.warnings == ()


@pytest.mark.parametrize("changes", [{"prompt_id": "s########2"}, {"output_token_count": 58}, {"event.name": "x"}])
def test_a_response_to_something_else_leaves_the_doubt(changes) -> None:
    run = project([gemini_call()], logs=[response(**changes)], prices=PRICES)[0]
    assert run.tokens.output_tokens == 57
    assert run.warnings == ("emitter_fault: output_tokens of Gemini CLI leave the thoughts out",)
