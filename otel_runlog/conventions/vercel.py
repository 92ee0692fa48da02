"""Vercel AI SDK: ai.* spans of versions 3 to 6 (scope `ai`), gen_ai.* spans of version 7 (scope `gen_ai`).

Up to version 5 Anthropic's input leaves the cache out, and its counts stand only in providerMetadata. Versions 6 and 7
include it. The root of generateText repeats its last step (5) or the sum (6, 7): it is never read as a call.
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions import _kinds, otel_genai
from otel_runlog.conventions._attrs import items, mapping, path, text, whole
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import Messages, dumped, message, messages_of, split_system, value_of
from otel_runlog.conventions._usage import Counters, normal_form, raw_counters
from otel_runlog.conventions._vocabularies import GENAI, VERCEL
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Span, StepKind, Usage

NAME = "vercel_ai"
OPERATION = "ai.operationId"
METADATA = "ai.response.providerMetadata"
FRESH = "ai.usage.inputTokenDetails.noCacheTokens"
"""Said from version 6 on, whose input includes the cache."""
LAST_EXCLUSIVE_MAJOR = 5
"""The last major version whose Anthropic input leaves the cache out (30 where 6 and 7 say 100, measured)."""
CACHE_READ_PATHS = (
    ("anthropic", "usage", "cache_read_input_tokens"),
    ("openai", "cachedPromptTokens"),
    ("bedrock", "usage", "cacheReadInputTokens"),
)
CACHE_WRITE_PATHS = (
    ("anthropic", "usage", "cache_creation_input_tokens"),
    ("anthropic", "cacheCreationInputTokens"),
    ("bedrock", "usage", "cacheWriteInputTokens"),
)
CACHE_5M = ("anthropic", "usage", "cache_creation", "ephemeral_5m_input_tokens")
CACHE_1H = ("anthropic", "usage", "cache_creation", "ephemeral_1h_input_tokens")
FRESH_INPUT = ("anthropic", "usage", "input_tokens")
"""What Anthropic itself said, always without the cache: equal to the span's input, that leaves it out too."""
METADATA_WORDS = ("cache", "Cache", "reasoningTokens", "service_tier", "serviceTier")
"""Metadata without any of these adds nothing."""
METADATA_KINDS = MODEL_KINDS | {StepKind.AGENT}
"""Where providerMetadata is read: calls, and roots that repeat the last one (metadata is the last call's alone)."""
TIER_PATHS = (("anthropic", "usage", "service_tier"), ("openai", "serviceTier"))


def matches(span: Span) -> bool:
    """An ai.operationId, or the scope of @ai-sdk/otel."""
    return OPERATION in span.attributes or (span.scope.name == "gen_ai" and otel_genai.OPERATION in span.attributes)


def read(span: Span) -> Reading | None:
    """Read by ai.operationId; version 7 by its gen_ai operation."""
    a = span.attributes
    reading = _read_legacy(span) if OPERATION in a else otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    reading.total_is_no_sum = reading.kind is StepKind.AGENT
    if METADATA in a and reading.kind in METADATA_KINDS:
        _read_metadata(reading, a)
    return reading


def _read_legacy(span: Span) -> Reading:
    a = span.attributes
    operation = text(a, (OPERATION,)) or ""
    kind = _kinds.VERCEL.get(operation, StepKind.OTHER)
    reading = read_common(span, NAME, kind, (VERCEL, GENAI))
    if kind is StepKind.AGENT:
        reading.agent = reading.agent or text(a, ("ai.telemetry.functionId",))
    elif kind is StepKind.LLM:
        reading.streaming = operation.endswith(".doStream")
    return reading


def _read_metadata(reading: Reading, a: Attributes) -> None:
    """Add what only providerMetadata knows, and the cache to version 5's input."""
    told = a[METADATA]
    if isinstance(told, str) and not any(word in told for word in METADATA_WORDS):
        return
    meta = mapping(told)
    tiers = (path(meta, *p) for p in TIER_PATHS)
    reading.service_tier = reading.service_tier or next((t for t in tiers if isinstance(t, str) and t), None)
    counters = raw_counters(a, (VERCEL, GENAI) if OPERATION in a else (GENAI,))
    is_sum = reading.kind is StepKind.AGENT and whole(path(meta, *FRESH_INPUT)) != counters.usage.input_tokens
    if counters.usage and not is_sum:
        usage = _with_metadata(counters.usage, meta)
        normal = normal_form(Counters(usage, counters.total), cache_outside=_leaves_cache_out(usage, meta, a))
        reading.usage, reading.warnings = normal.usage, normal.warnings
        reading.notes = tuple(dict.fromkeys((*reading.notes, *normal.notes)))


def _leaves_cache_out(usage: Usage, meta: Attributes, a: Attributes) -> bool:
    fresh = whole(path(meta, *FRESH_INPUT))
    if fresh is not None:
        return fresh == usage.input_tokens
    exclusive = 0 < _major(a) <= LAST_EXCLUSIVE_MAJOR and FRESH not in a
    return exclusive and ("anthropic" in meta or "bedrock" in meta)


def _with_metadata(usage: Usage, meta: Attributes) -> Usage:
    def known(value: int | None, *paths: tuple[str, ...]) -> int | None:
        return (
            value
            if value is not None
            else next((n for p in paths if p[0] in meta and (n := whole(path(meta, *p))) is not None), None)
        )

    return msgspec.structs.replace(
        usage,
        cache_read_tokens=known(usage.cache_read_tokens, *CACHE_READ_PATHS),
        cache_write_tokens=known(usage.cache_write_tokens, *CACHE_WRITE_PATHS),
        cache_write_5m_tokens=known(usage.cache_write_5m_tokens, CACHE_5M),
        cache_write_1h_tokens=known(usage.cache_write_1h_tokens, CACHE_1H),
        reasoning_tokens=known(usage.reasoning_tokens, ("openai", "reasoningTokens")),
    )


def _major(a: Attributes) -> int:
    """The SDK's major version from its user agent `ai/<version>`; 0 where it is not told."""
    agent = text(a, ("ai.request.headers.user-agent",)) or ""
    return whole(agent.partition("ai/")[2].partition(".")[0]) or 0


def messages(span: Span) -> SpanMessages:
    """ai.prompt.messages and ai.response.*; version 7 as gen_ai."""
    a = span.attributes
    if OPERATION not in a:
        return genai_messages(span)
    if "ai.toolCall.name" in a:
        return SpanMessages(
            input=value_of(a.get("ai.toolCall.args"), "tool"), output=value_of(a.get("ai.toolCall.result"), "tool")
        )
    prompt = mapping(a.get("ai.prompt"))
    given = messages_of(a.get("ai.prompt.messages")) or messages_of(prompt.get("messages") or prompt.get("prompt"))
    system, asked = split_system(given)
    return SpanMessages(
        system=messages_of(prompt.get("system"), "system") + system,
        input=asked or messages_of(a.get("ai.values") or a.get("ai.value")),
        output=_output(a),
        tools=dumped(items(a.get("ai.prompt.tools")), "tool"),
    )


def _output(a: Attributes) -> Messages:
    answer = a.get("ai.response.text") or a.get("ai.response.object")
    calls = items(a.get("ai.response.toolCalls"))
    if not answer and not calls:
        return ()
    return (message({"role": "assistant", "content": answer, "tool_calls": calls}, "assistant"),)
