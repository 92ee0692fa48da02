"""The normal form of token counts: cache inside input, reasoning inside output, whatever the emitter does."""

from __future__ import annotations

import pytest
from captured import COUNTERS, made, said
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog import conventions
from otel_runlog.conventions._names import FIELDS, INDEX, TEXT_FIELDS, TEXTS
from otel_runlog.conventions._usage import Counters, normal_form, raw_counters
from otel_runlog.conventions._vocabularies import CLAUDE_CODE, GENAI, LLM_OLD, OPENINFERENCE, PYDANTIC_ROLLUP, VERCEL
from otel_runlog.model import Attributes, Usage

CHAT: Attributes = {"gen_ai.operation.name": "chat"}
LLM: Attributes = {"openinference.span.kind": "LLM"}
VOCABULARIES = {
    "genai": GENAI,
    "openinference": OPENINFERENCE,
    "vercel": VERCEL,
    "llm_old": LLM_OLD,
    "claude_code": CLAUDE_CODE,
    "pydantic_rollup": PYDANTIC_ROLLUP,
}
TABLE = [
    # emitter, its scope, what it sends of an Anthropic call: fresh 1026, cache read 768, write 128, output 64
    ("util-genai 1.3b0", "opentelemetry.instrumentation.genai.anthropic", 1922, (1922, 64, 768, 128, None)),
    ("genai-bedrock 1.3b0", "opentelemetry.instrumentation.genai.bedrock", 1026, (1922, 64, 768, 128, None)),
    ("contrib botocore", "opentelemetry.instrumentation.botocore.bedrock-runtime", 1026, (1922, 64, 768, 128, None)),
    ("Anthropic SDK", "com.anthropic.sdk.python", 1922, (1922, 64, 768, 128, None)),
    ("Vercel 7", "gen_ai", 1922, (1922, 64, 768, 128, None)),
    ("Pydantic AI", "pydantic-ai", 1922, (1922, 64, 768, 128, None)),
    ("Strands", "strands.telemetry.tracer", 1922, (1922, 64, 768, 128, None)),
    ("MS Agent Framework", "agent_framework", 1922, (1922, 64, 768, 128, None)),
]
"""facts/semconv, section 3."""


@pytest.mark.parametrize(("scope", "sent", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_the_cache_is_inside_the_input_of_every_emitter(scope, sent, expected) -> None:
    counts: Attributes = {
        "gen_ai.usage.input_tokens": sent,
        "gen_ai.usage.output_tokens": 64,
        "gen_ai.usage.cache_read.input_tokens": 768,
        "gen_ai.usage.cache_creation.input_tokens": 128,
    }
    assert said(conventions.read(made(CHAT | counts, scope=scope)))["usage"] == expected


@pytest.mark.parametrize(
    ("read", "write"),
    [
        ("cache_read.input_tokens", "cache_write.input_tokens"),
        ("cache_read.input_tokens", "cache_creation.input_tokens"),
        ("cache_read_input_tokens", "cache_creation_input_tokens"),
        ("cache_read_tokens", "cache_write_tokens"),
        ("cache_read_tokens", "cache_creation_tokens"),
        ("cached_input_tokens", "cache_write_input_tokens"),
        ("input_cached_tokens", "cache_write_tokens"),
        ("details.cache_read_tokens", "details.cache_write_tokens"),
        ("details.cache_read_input_tokens", "details.cache_creation_input_tokens"),
    ],
)
def test_every_spelling_of_the_cache_means_the_same(read, write) -> None:
    counts: Attributes = {
        "gen_ai.usage.input_tokens": 130213,
        "gen_ai.usage.output_tokens": 500,
        f"gen_ai.usage.{read}": 128955,
        f"gen_ai.usage.{write}": 1253,
    }
    assert said(conventions.read(made(CHAT | counts)))["usage"] == (130213, 500, 128955, 1253, None)


@pytest.mark.parametrize(
    ("sent", "total", "expected"),
    [
        (Usage(3, 442, 7917, 350), 8712, Usage(8270, 442, 7917, 350)),
        (Usage(3, 12, 13216, 25), None, Usage(13244, 12, 13216, 25)),
        (Usage(100, 10, 60, 0), 110, Usage(100, 10, 60, 0)),
        (Usage(100, 10, 60, 0), 170, Usage(160, 10, 60, 0)),
        (Usage(100, 10, 60, 0), None, Usage(100, 10, 60, 0)),
        (Usage(100, 5, None, None, 9), None, Usage(100, 14, None, None, 9)),
        (Usage(100, 20, None, None, 9), 129, Usage(100, 29, None, None, 9)),
        (Usage(100, 20, None, None, 9), 120, Usage(100, 20, None, None, 9)),
        (Usage(None, 20, 5), None, Usage(None, 20, 5)),
        (Usage(11, None), 11, Usage(11, None)),
    ],
)
def test_the_numbers_decide_where_nothing_is_known_of_the_emitter(sent, total, expected) -> None:
    normal = normal_form(Counters(sent, total))
    assert (normal.usage, normal.warnings) == (expected, ())


def test_a_total_that_nothing_explains_is_a_warning_and_no_tokens() -> None:
    normal = normal_form(Counters(Usage(4299, 631), 58291))
    assert normal.usage == Usage(4299, 631)
    assert normal.warnings == (
        "total_mismatch: reported total 58291 is not 4930, the sum of input_tokens and output_tokens",
    )


def test_zero_and_absent_stay_apart() -> None:
    counts: Attributes = {"llm.token_count.prompt": 0, "llm.token_count.prompt_details.cache_read": 0}
    assert said(conventions.read(made(LLM | counts)))["usage"] == (0, None, 0, None, None)
    assert "usage" not in said(conventions.read(made(LLM)))


def test_counts_of_two_vocabularies_never_mix() -> None:
    counts: Attributes = {
        "llm.token_count.prompt": 100,
        "gen_ai.usage.input_tokens": 90,
        "gen_ai.usage.output_tokens": 7,
        "gen_ai.usage.cache_read.input_tokens": 5,
    }
    assert said(conventions.read(made(LLM | counts)))["usage"] == (100, None, None, None, None)
    del counts["llm.token_count.prompt"]
    assert said(conventions.read(made(LLM | counts)))["usage"] == (90, 7, 5, None, None)


@pytest.mark.parametrize("name", VOCABULARIES)
def test_a_preferred_name_wins_in_any_order_of_the_attributes(name) -> None:
    names = list(VOCABULARIES[name].index)
    values: Attributes = {n: i + 1 for i, n in enumerate(names)}
    backwards = dict(reversed(values.items()))
    found = raw_counters(values, (VOCABULARIES[name],))
    assert found == raw_counters(backwards, (VOCABULARIES[name],))
    assert found.usage.input_tokens == 1


def test_no_name_stands_in_two_fields() -> None:
    for vocabulary in VOCABULARIES.values():
        assert len(set(vocabulary.index)) == len(list(vocabulary.index))
    names = [n for names in (*FIELDS.values(), *TEXT_FIELDS.values()) for n in names]
    assert len(names) == len(set(names)) == len([*INDEX, *TEXTS])


TOKENS = st.none() | st.integers(0, 10**6)


@given(st.builds(Usage, TOKENS, TOKENS, TOKENS, TOKENS, TOKENS), TOKENS, st.booleans(), st.booleans())
def test_the_normal_form_only_ever_adds_parts_to_their_whole(usage, total, cache_outside, reasoning_outside) -> None:
    normal = normal_form(Counters(usage, total), cache_outside=cache_outside, reasoning_outside=reasoning_outside).usage
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    for counter in COUNTERS[2:]:
        assert getattr(normal, counter) == getattr(usage, counter)
    if usage.input_tokens is None:
        assert normal.input_tokens is None
    else:
        assert normal.input_tokens in (usage.input_tokens, usage.input_tokens + cached)
        assert normal.input_tokens >= cached
    if usage.output_tokens is None:
        assert normal.output_tokens is None
    else:
        reasoning = usage.reasoning_tokens or 0
        assert normal.output_tokens in (usage.output_tokens, usage.output_tokens + reasoning)
        assert normal.output_tokens >= reasoning
