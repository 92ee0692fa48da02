"""Token counters: which attributes hold them, and how they come to the normal form.

A vocabulary is read whole: cache counts of one never join the input of another (facts/semconv, section 1). The normal
form (input includes cache, output includes reasoning) follows the OTel GenAI registry; emitters that leave the cache
out are known by name, or prove it by their own total (section 3).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from otel_runlog.conventions._attrs import count
from otel_runlog.model import Attributes, Usage


class Vocabulary(msgspec.Struct, frozen=True):
    """The names of one vocabulary's counters, each in order of preference."""

    input: tuple[str, ...]
    output: tuple[str, ...]
    cache_read: tuple[str, ...] = ()
    cache_write: tuple[str, ...] = ()
    cache_write_5m: tuple[str, ...] = ()
    cache_write_1h: tuple[str, ...] = ()
    reasoning: tuple[str, ...] = ()
    total: tuple[str, ...] = ()


GENAI = Vocabulary(
    input=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    cache_read=(
        "gen_ai.usage.cache_read.input_tokens",
        "gen_ai.usage.cache_read_input_tokens",
        "gen_ai.usage.cache_read_tokens",
        "gen_ai.usage.cached_input_tokens",
        "gen_ai.usage.input_cached_tokens",
        "gen_ai.usage.cached_tokens",
        "gen_ai.usage.details.cache_read_tokens",
        "gen_ai.usage.details.cached_tokens",
        "gen_ai.usage.details.cache_read_input_tokens",
    ),
    cache_write=(
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "gen_ai.usage.cache_write_tokens",
        "gen_ai.usage.cache_creation_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
    ),
    cache_write_5m=(
        "anthropic.usage.cache_creation.ephemeral_5m_input_tokens",
        "gen_ai.usage.details.ephemeral_5m_input_tokens",
    ),
    cache_write_1h=(
        "anthropic.usage.cache_creation.ephemeral_1h_input_tokens",
        "gen_ai.usage.details.ephemeral_1h_input_tokens",
    ),
    reasoning=(
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "gen_ai.usage.details.thoughts_tokens",
        "llm.usage.reasoning_tokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
    ),
    total=("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
)
OPENINFERENCE = Vocabulary(
    input=("llm.token_count.prompt",),
    output=("llm.token_count.completion",),
    cache_read=("llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input"),
    cache_write=("llm.token_count.prompt_details.cache_write",),
    reasoning=("llm.token_count.completion_details.reasoning",),
    total=("llm.token_count.total",),
)
VERCEL = Vocabulary(
    input=("ai.usage.inputTokens", "ai.usage.promptTokens", "gen_ai.usage.input_tokens", "ai.usage.tokens"),
    output=("ai.usage.outputTokens", "ai.usage.completionTokens", "gen_ai.usage.output_tokens"),
    cache_read=("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
    cache_write=("ai.usage.inputTokenDetails.cacheWriteTokens",),
    reasoning=("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
    total=("ai.usage.totalTokens",),
)
LLM_OLD = Vocabulary(
    input=("llm.usage.prompt_tokens",),
    output=("llm.usage.completion_tokens",),
    reasoning=("llm.usage.reasoning_tokens",),
    total=("llm.usage.total_tokens",),
)
CLAUDE_CODE = Vocabulary(
    input=("input_tokens",),
    output=("output_tokens",),
    cache_read=("cache_read_tokens",),
    cache_write=("cache_creation_tokens",),
    cache_write_5m=("cache_creation_5m_tokens",),
    cache_write_1h=("cache_creation_1h_tokens",),
)


class Counters(msgspec.Struct):
    """Counters as the emitter wrote them, with the total it claims."""

    usage: Usage
    total: int | None = None


def raw_counters(attributes: Attributes, vocabularies: Iterable[Vocabulary]) -> Counters:
    """The counters of the first vocabulary that has an input or an output count."""
    for v in vocabularies:
        tokens_in, tokens_out = count(attributes, v.input), count(attributes, v.output)
        if tokens_in is None and tokens_out is None:
            continue
        usage = Usage(
            tokens_in,
            tokens_out,
            count(attributes, v.cache_read),
            count(attributes, v.cache_write),
            count(attributes, v.reasoning),
            count(attributes, v.cache_write_5m),
            count(attributes, v.cache_write_1h),
        )
        return Counters(usage, count(attributes, v.total))
    return Counters(Usage())


class Normalised(msgspec.Struct):
    """Counters in the normal form, and what had to be said about them."""

    usage: Usage
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def normal_form(counters: Counters, *, cache_outside: bool = False, reasoning_outside: bool = False) -> Normalised:
    """Put cache inside input and reasoning inside output.

    `cache_outside` and `reasoning_outside` say what is known of the emitter. Without that knowledge the numbers
    decide: cache parts larger than the input cannot be inside it, and a total that is the sum of all parts says so too.
    A total that no reading explains is a warning and is never priced (langfuse and phoenix lost money on it).
    """
    usage, total = counters.usage, counters.total
    notes: list[str] = []
    if cache_outside or _cache_is_outside(usage, total):
        if not cache_outside:
            notes.append("repaired: cache counts stood outside input_tokens, added")
        usage = _with_cache(usage)
    if _reasoning_is_outside(usage, total, known=reasoning_outside):
        usage = msgspec.structs.replace(usage, output_tokens=(usage.output_tokens or 0) + (usage.reasoning_tokens or 0))
    return Normalised(usage, _total_mismatch(usage, total), tuple(notes))


def _cache_is_outside(usage: Usage, total: int | None) -> bool:
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    if usage.input_tokens is None or not cached:
        return False
    if cached > usage.input_tokens:
        return True
    return total == usage.input_tokens + (usage.output_tokens or 0) + cached


def _with_cache(usage: Usage) -> Usage:
    if usage.input_tokens is None:
        return usage
    fresh = usage.input_tokens
    return msgspec.structs.replace(
        usage, input_tokens=fresh + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    )


def _reasoning_is_outside(usage: Usage, total: int | None, *, known: bool) -> bool:
    reasoning = usage.reasoning_tokens or 0
    if not reasoning or usage.output_tokens is None:
        return False
    if known or reasoning > usage.output_tokens:
        return True
    return total == (usage.input_tokens or 0) + usage.output_tokens + reasoning


def _total_mismatch(usage: Usage, total: int | None) -> tuple[str, ...]:
    known = usage.total_tokens
    if total is None or known is None or usage.input_tokens is None or total == known:
        return ()
    if usage.output_tokens is None and total == usage.input_tokens:
        return ()
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    if total == known - cached:  # the total leaves the cache out, the parts are complete
        return ()
    return (f"total_mismatch: reported total {total} is not {known}, the sum of input_tokens and output_tokens",)
