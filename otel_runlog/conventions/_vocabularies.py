"""The token counters of each vocabulary: which attributes hold them (facts/semconv, sections 2 and 5).

A vocabulary is read whole: cache counts of one never join the input of another (facts/semconv, section 1).
"""

from __future__ import annotations

from otel_runlog.conventions._index import Index


class Vocabulary:
    """The names of one vocabulary's counters, each in order of preference."""

    def __init__(
        self,
        *,
        input_tokens: tuple[str, ...],
        output_tokens: tuple[str, ...],
        cache_read_tokens: tuple[str, ...] = (),
        cache_write_tokens: tuple[str, ...] = (),
        cache_write_5m_tokens: tuple[str, ...] = (),
        cache_write_1h_tokens: tuple[str, ...] = (),
        reasoning_tokens: tuple[str, ...] = (),
        total_tokens: tuple[str, ...] = (),
    ) -> None:
        self.index = Index(
            {
                "input_tokens": input_tokens,
                "output_tokens": output_tokens,
                "cache_read_tokens": cache_read_tokens,
                "cache_write_tokens": cache_write_tokens,
                "cache_write_5m_tokens": cache_write_5m_tokens,
                "cache_write_1h_tokens": cache_write_1h_tokens,
                "reasoning_tokens": reasoning_tokens,
                "total_tokens": total_tokens,
            }
        )


GENAI = Vocabulary(
    input_tokens=("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    output_tokens=("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    cache_read_tokens=(
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
    cache_write_tokens=(
        "gen_ai.usage.cache_write.input_tokens",
        "gen_ai.usage.cache_creation.input_tokens",
        "gen_ai.usage.cache_creation_input_tokens",
        "gen_ai.usage.cache_write_input_tokens",
        "gen_ai.usage.cache_write_tokens",
        "gen_ai.usage.cache_creation_tokens",
        "gen_ai.usage.details.cache_write_tokens",
        "gen_ai.usage.details.cache_creation_input_tokens",
    ),
    cache_write_5m_tokens=(
        "anthropic.usage.cache_creation.ephemeral_5m_input_tokens",
        "gen_ai.usage.details.ephemeral_5m_input_tokens",
    ),
    cache_write_1h_tokens=(
        "anthropic.usage.cache_creation.ephemeral_1h_input_tokens",
        "gen_ai.usage.details.ephemeral_1h_input_tokens",
    ),
    reasoning_tokens=(
        "gen_ai.usage.reasoning.output_tokens",
        "gen_ai.usage.reasoning_tokens",
        "gen_ai.usage.details.reasoning_tokens",
        "gen_ai.usage.details.thoughts_tokens",
        "llm.usage.reasoning_tokens",
        "ai.usage.outputTokenDetails.reasoningTokens",
    ),
    total_tokens=("gen_ai.usage.total_tokens", "llm.usage.total_tokens"),
)
OPENINFERENCE = Vocabulary(
    input_tokens=("llm.token_count.prompt",),
    output_tokens=("llm.token_count.completion",),
    cache_read_tokens=("llm.token_count.prompt_details.cache_read", "llm.token_count.prompt_details.cache_input"),
    cache_write_tokens=("llm.token_count.prompt_details.cache_write",),
    reasoning_tokens=("llm.token_count.completion_details.reasoning",),
    total_tokens=("llm.token_count.total",),
)
VERCEL = Vocabulary(
    input_tokens=("ai.usage.inputTokens", "ai.usage.promptTokens", "ai.usage.tokens"),
    output_tokens=("ai.usage.outputTokens", "ai.usage.completionTokens"),
    cache_read_tokens=("ai.usage.inputTokenDetails.cacheReadTokens", "ai.usage.cachedInputTokens"),
    cache_write_tokens=("ai.usage.inputTokenDetails.cacheWriteTokens",),
    reasoning_tokens=("ai.usage.outputTokenDetails.reasoningTokens", "ai.usage.reasoningTokens"),
    total_tokens=("ai.usage.totalTokens",),
)
LLM_OLD = Vocabulary(
    input_tokens=("llm.usage.prompt_tokens",),
    output_tokens=("llm.usage.completion_tokens",),
    reasoning_tokens=("llm.usage.reasoning_tokens",),
    total_tokens=("llm.usage.total_tokens",),
)
CLAUDE_CODE = Vocabulary(
    input_tokens=("input_tokens",),
    output_tokens=("output_tokens",),
    cache_read_tokens=("cache_read_tokens",),
    cache_write_tokens=("cache_creation_tokens",),
    cache_write_5m_tokens=("cache_creation_5m_tokens",),
    cache_write_1h_tokens=("cache_creation_1h_tokens",),
)
PYDANTIC_ROLLUP = Vocabulary(
    input_tokens=("gen_ai.aggregated_usage.input_tokens",),
    output_tokens=("gen_ai.aggregated_usage.output_tokens",),
    cache_read_tokens=(
        "gen_ai.aggregated_usage.cache_read.input_tokens",
        "gen_ai.aggregated_usage.details.cache_read_tokens",
        "gen_ai.aggregated_usage.details.cache_read_input_tokens",
    ),
    cache_write_tokens=(
        "gen_ai.aggregated_usage.cache_write.input_tokens",
        "gen_ai.aggregated_usage.cache_creation.input_tokens",
        "gen_ai.aggregated_usage.details.cache_write_tokens",
        "gen_ai.aggregated_usage.details.cache_creation_input_tokens",
    ),
    reasoning_tokens=("gen_ai.aggregated_usage.details.reasoning_tokens",),
)
CODEX_CALL = Vocabulary(
    input_tokens=("gen_ai.usage.input_tokens",),
    output_tokens=("gen_ai.usage.output_tokens",),
    cache_read_tokens=("gen_ai.usage.cache_read.input_tokens",),
    cache_write_tokens=("gen_ai.usage.cache_write.input_tokens",),
    reasoning_tokens=("codex.usage.reasoning_output_tokens",),
    total_tokens=("codex.usage.total_tokens",),
)
CODEX_TURN = Vocabulary(
    input_tokens=("codex.turn.token_usage.input_tokens",),
    output_tokens=("codex.turn.token_usage.output_tokens",),
    cache_read_tokens=("codex.turn.token_usage.cached_input_tokens",),
    cache_write_tokens=("codex.turn.token_usage.cache_write_input_tokens",),
    reasoning_tokens=("codex.turn.token_usage.reasoning_output_tokens",),
    total_tokens=("codex.turn.token_usage.total_tokens",),
)
GEMINI_LOG = Vocabulary(
    input_tokens=("input_token_count",),
    output_tokens=("output_token_count",),
    cache_read_tokens=("cached_content_token_count",),
    reasoning_tokens=("thoughts_token_count",),
)
