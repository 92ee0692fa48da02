"""All conventions together: whatever a span holds, reading never raises and never invents a number."""

from __future__ import annotations

import itertools
import math

import pytest
from corpus import all_names, scenario
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_runlog import conventions
from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import parsed, whole
from otel_runlog.conventions._names import INDEX, TEXTS
from otel_runlog.conventions._vocabularies import CLAUDE_CODE, GENAI, LLM_OLD, OPENINFERENCE, PYDANTIC_ROLLUP, VERCEL
from otel_runlog.model import AttrValue, Scope, Span, SpanEvent, StepKind

VOCABULARIES = (GENAI, OPENINFERENCE, VERCEL, LLM_OLD, CLAUDE_CODE, PYDANTIC_ROLLUP)
OTHER_NAMES = (
    *("gen_ai.operation.name", "openinference.span.kind", "traceloop.span.kind", "span.type", "ai.operationId"),
    *("llm.request.type", "mcp.method.name", "litellm.call_id", "metadata.usage_object", "llm.openai.usage"),
    *(
        "ai.response.providerMetadata",
        "ai.request.headers.user-agent",
        "traceloop.entity.input",
        "events",
        "status_code",
    ),
    *("traceloop.entity.output", "pydantic_ai.all_messages", "all_messages_events", "final_result", "tool_arguments"),
    *(
        "input.value",
        "output.value",
        "gen_ai.input.messages",
        "gen_ai.tool.definitions",
        "ai.prompt",
        "ai.toolCall.args",
    ),
    *("gen_ai.prompt.0.content", "gen_ai.completion.1.tool_calls.0.name", "llm.input_messages.3.message.role"),
    *("llm.tools.0.tool.json_schema", "new_context", "response.model_output", "success", "error.type", "error"),
    *("llm.openai.choices", "llm.openai.messages", "model_request_parameters", "agent_name", "ai.response.toolCalls"),
)
NAMES = sorted({*INDEX, *TEXTS, *OTHER_NAMES, *itertools.chain(*(v.index for v in VOCABULARIES))})
WORDS = sorted({*_kinds.OPERATION, *_kinds.OPENINFERENCE, *_kinds.VERCEL, *_kinds.CLAUDE_CODE, *_kinds.TRACELOOP})
SCOPES = (
    *("", "ai", "gen_ai", "pydantic-ai", "com.anthropic.sdk.python", "com.anthropic.claude_code.tracing", "litellm"),
    *("opentelemetry.instrumentation.openai.v1", "opentelemetry.instrumentation.bedrock", "gemini-cli"),
    *("opentelemetry.instrumentation.genai.bedrock", "openinference.instrumentation.google_genai"),
)
SPAN_NAMES = (
    "chat m",
    "raw_gen_ai_request",
    "agent run",
    "running tool",
    "claude_code.llm_request",
    "handoff to x",
    "",
)
TEXTS = (
    st.sampled_from(WORDS)
    | st.text(max_size=8)
    | st.sampled_from(
        (
            "\ud800",
            "[{",
            "{'a': 1}",
            '[{"role": "user", "parts": [{}]}]',
            '{"input_tokens": 5}',
            "9" * 5000,
            "ai/5.0",
            "1e999",
        )
    )
    | st.sampled_from(("{'prompt_tokens': 7, 'completion_tokens': 3}", '{"anthropic": {"usage": {"input_tokens": 4}}}'))
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 10**6)
    | st.sampled_from((2**63, 2**70, 10**400, -1, 0))
    | st.floats()
    | TEXTS
    | st.binary(max_size=4)
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
EVENT_NAMES = ("exception", "gen_ai.choice", "gen_ai.user.message", "gen_ai.content.prompt", "tool.output")
EVENT_KEYS = ("exception.type", "exception.message", "content", "message", "gen_ai.prompt", "output")
EVENTS = st.builds(
    SpanEvent,
    st.sampled_from((*EVENT_NAMES, "gen_ai.client.inference.operation.details", "First Token Stream Event")),
    st.integers(0, 2**63),
    st.dictionaries(st.sampled_from((*EVENT_KEYS, "gen_ai.input.messages")), VALUES, max_size=3),
)
SPANS = st.builds(
    Span,
    trace_id=st.just("0" * 31 + "1"),
    span_id=st.just("0" * 15 + "1"),
    name=st.sampled_from(SPAN_NAMES) | st.text(max_size=5),
    started_ns=st.none() | st.integers(0, 2**63),
    status_code=st.sampled_from((0, 1, 2)),
    status_message=st.text(max_size=5),
    attributes=st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=14),
    events=st.lists(EVENTS, max_size=2).map(tuple),
    scope=st.builds(Scope, st.sampled_from(SCOPES), st.sampled_from(("", "0.62.4", "1.3b0"))),
)


def numbers_in(value: AttrValue) -> set[int]:
    """Every count anywhere in a value, also inside strings of JSON and reprs."""
    value = parsed(value)
    if isinstance(value, dict):
        return set().union(*map(numbers_in, value.values()))
    if isinstance(value, list):
        return set().union(*map(numbers_in, value))
    count = whole(value)
    return set() if count is None else {count}


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SPANS)
def test_any_span_is_read_without_raising_and_no_number_is_invented(span) -> None:
    reading = conventions.read(span)
    messages = conventions.messages(span)
    assert all(isinstance(m.text, str) for m in (*messages.system, *messages.input, *messages.output, *messages.tools))
    if reading is None:
        return
    there = numbers_in(span.attributes)
    sums = {sum(c) for n in (1, 2, 3) for c in itertools.combinations_with_replacement(sorted(there)[:40], n)}
    for name in reading.usage.__struct_fields__:
        count = getattr(reading.usage, name)
        assert count is None or count in there or count in sums
    first = reading.time_to_first_token_ms
    assert first is None or math.isfinite(first)


def first_that_matches(span):
    return next((c for c in conventions.CONVENTIONS if c.matches(span)), None)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SPANS)
def test_the_convention_is_the_first_that_matches(span) -> None:
    assert conventions.convention_of(span) is first_that_matches(span)


def test_the_convention_of_every_real_span_is_the_first_that_matches() -> None:
    for span in (s for name in all_names() for s in scenario(name).spans()):
        assert conventions.convention_of(span) is first_that_matches(span), span.name


def test_every_kind_a_table_names_is_one() -> None:
    tables = (_kinds.OPERATION, _kinds.OPENINFERENCE, _kinds.TRACELOOP, _kinds.VERCEL, _kinds.CLAUDE_CODE)
    assert {kind for table in tables for kind in table.values()} <= set(StepKind)
    assert set(_kinds.OPERATION) >= _kinds.ROOTLESS_OPERATIONS


def test_names_of_conventions_are_theirs_alone() -> None:
    names = [c.NAME for c in conventions.CONVENTIONS]
    assert len(names) == len(set(names))
    assert names[-1] == "otel_genai"


@pytest.mark.parametrize("variant", sorted({n.partition("/")[0] for n in all_names()}))
def test_every_real_model_call_names_its_model_and_its_convention(variant) -> None:
    spans = [s for n in all_names() if n.partition("/")[0] == variant for s in scenario(n).spans()]
    calls = [(s, r) for s in spans if (r := conventions.read(s)) is not None and r.kind is StepKind.LLM]
    for span, reading in calls:
        assert reading.request_model or reading.response_model or reading.failed or reading.is_part, span.name
        assert reading.convention in {c.NAME for c in conventions.CONVENTIONS}
        found = conventions.messages(span)
        if reading.content == "full":
            assert any(m.text for m in (*found.input, *found.system)), span.name
