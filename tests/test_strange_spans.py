"""Spans this project never saw: real attributes of two vocabularies on one span, wrong types, missing parents.

Whatever comes, nothing raises, no number is invented, and what is not known is NULL.
"""

from __future__ import annotations

import functools
import json

import msgspec
from corpus import scenarios
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_runlog.model import Attributes, AttrValue, Span
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project, project_with_llm_io
from otel_runlog.span import digest

PRICES = PriceTable.default()
VARIANTS = (
    *("pydantic-ai", "openinference-openai", "openinference-langchain", "traceloop-langchain", "traceloop-sdk@0.40"),
    *("vercel-ai-v5", "vercel-ai-v7", "anthropic-sdk-native", "claude-code", "strands-agents", "agent-framework"),
    *("google-adk", "litellm-otel", "logfire-openai", "langsmith-otel", "otel-genai-openai", "otel-openai-v2"),
)


@functools.cache
def real_spans() -> list[Span]:
    """The spans of a tool loop, or whatever a variant's first scenario has."""
    found = []
    for variant in VARIANTS:
        known = scenarios(variant)
        found += known.get("tool_loop", next(iter(known.values()))).spans()[:12]
    return found


def as_text(value: AttrValue) -> AttrValue:
    return str(value) if isinstance(value, int | float) else value


def as_number(value: AttrValue) -> AttrValue:
    return len(value) if isinstance(value, str) else value


def as_repr(value: AttrValue) -> AttrValue:
    return repr(value)


def as_json(value: AttrValue) -> AttrValue:
    return json.dumps(value, default=str)


WRONG_TYPES = (as_text, as_number, as_repr, as_json, lambda _: None, lambda v: [v], lambda v: {"value": v})


@st.composite
def strange(draw: st.DrawFn) -> Span:
    """A real span with attributes of another vocabulary mixed in and some of other types."""
    one, two = (draw(st.sampled_from(real_spans())) for _ in range(2))
    attributes: Attributes = dict(one.attributes)
    if two.attributes and draw(st.booleans()):
        keys = draw(st.lists(st.sampled_from(sorted(two.attributes)), max_size=8))
        attributes |= {k: two.attributes[k] for k in keys}
    for key in draw(st.lists(st.sampled_from(sorted(attributes)), max_size=6)) if attributes else ():
        attributes[key] = draw(st.sampled_from(WRONG_TYPES))(attributes[key])
    if draw(st.booleans()):
        attributes["gen_ai.operation.name"] = draw(
            st.sampled_from(["chat", "dream", "", "invoke_agent", "execute_tool"])
        )
    parent = draw(st.sampled_from([one.parent_span_id, None, "00000000000000aa", one.span_id]))
    return msgspec.structs.replace(one, attributes=attributes, parent_span_id=parent)


def numbers_in(value: object) -> set[int]:
    """Every whole number that stands anywhere in a value, also inside its strings."""
    if isinstance(value, bool) or value is None:
        return set()
    if isinstance(value, int | float):
        return {int(value)} if value == value and abs(value) != float("inf") else set()  # noqa: PLR0124
    if isinstance(value, str):
        return {int(n) for n in "".join(c if c.isdigit() and c.isascii() else " " for c in value[:200_000]).split()}
    if isinstance(value, dict):
        return {n for v in value.values() for n in numbers_in(v)}
    return {n for v in value for n in numbers_in(v)} if isinstance(value, list | tuple) else set()


@given(st.lists(strange(), min_size=1, max_size=8))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_strange_spans_never_raise_and_invent_no_number(spans: list[Span]) -> None:
    seen = {n for s in spans for n in numbers_in([s.attributes, [e.attributes for e in s.events]])}
    for run in project(spans, prices=PRICES):
        for step in run.steps:
            usage = step.usage
            parts = [usage.cache_read_tokens or 0, usage.cache_write_tokens or 0]
            for total, inner in ((usage.input_tokens, parts), (usage.output_tokens, [usage.reasoning_tokens or 0])):
                assert total is None or total in seen or total - sum(inner) in seen, (step, total)
            assert all(p in seen or p == 0 for p in parts)


@given(st.lists(strange(), min_size=1, max_size=8))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_call_without_counts_has_none_and_no_cost(spans: list[Span]) -> None:
    bare = [
        msgspec.structs.replace(s, attributes={k: v for k, v in s.attributes.items() if not numbers_in(v)}, events=())
        for s in spans
    ]
    for run, calls in project_with_llm_io(bare, prices=PRICES):
        assert run.tokens.total_tokens is None
        assert run.cost_estimate is None or run.cost_estimate.usd is None
        assert len(calls) == sum(s.counted and s.kind == "llm" for s in run.steps)


@given(st.lists(strange(), min_size=1, max_size=6), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_their_order_changes_nothing(spans: list[Span], random) -> None:
    shuffled = list(spans)
    random.shuffle(shuffled)
    assert project(spans, prices=PRICES) == project([*shuffled, *spans[:2]], prices=PRICES)
    assert {digest(s) for s in spans} == {digest(s) for s in shuffled}
