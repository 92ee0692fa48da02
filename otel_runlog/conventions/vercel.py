"""Vercel AI SDK: ai.* spans of versions 3 to 6 (scope `ai`), gen_ai.* spans of version 7 (scope `gen_ai`).

Up to version 5 Anthropic's input leaves the cache out; its counts stand only in providerMetadata. Version 6 and 7
include it. The root of generateText repeats its last step (5) or the sum (6, 7): it is never read as a call.
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import items, mapping, parsed, path, text, whole
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._messages import dumped, message, messages_of
from otel_runlog.conventions._usage import GENAI, VERCEL, Counters, Vocabulary, normal_form, raw_counters
from otel_runlog.conventions.otel_genai import messages as genai_messages
from otel_runlog.conventions.otel_genai import read as read_genai
from otel_runlog.conventions.otel_genai import with_name
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Message, Span, StepKind, Usage

NAME = "vercel_ai"
OPERATION = "ai.operationId"
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
VERCEL_ROLLUP = Vocabulary(input=VERCEL.input[:2], output=VERCEL.output[:2])


def matches(span: Span) -> bool:
    """An ai.operationId, or the scope of @ai-sdk/otel."""
    return OPERATION in span.attributes or (span.scope.name == "gen_ai" and "gen_ai.operation.name" in span.attributes)


def read(span: Span) -> Reading | None:
    """Read by ai.operationId; version 7 by its gen_ai operation."""
    if OPERATION not in span.attributes:
        return _read_v7(span)
    a = span.attributes
    kind = _kinds.VERCEL.get(str(a[OPERATION]), StepKind.OTHER)
    reading = read_common(span, NAME, kind, (VERCEL, GENAI))
    _read_usage(reading, a)
    function = text(a, ("ai.telemetry.functionId",))
    if kind is StepKind.AGENT:
        reading.agent = reading.agent or function
        reading.total_is_no_sum = True
    if kind in MODEL_KINDS:
        reading.streaming = ".doStream" in str(a[OPERATION])
    return reading


def _read_v7(span: Span) -> Reading | None:
    reading = read_genai(span)
    if reading is None:
        return None
    if reading.kind is StepKind.AGENT:
        reading.total_is_no_sum = True
    return with_name(reading, NAME)


def _read_usage(reading: Reading, a: Attributes) -> None:
    """Add what only providerMetadata knows, and the cache to version 5's input."""
    counters = raw_counters(a, (VERCEL, GENAI))
    if not counters.usage:
        return
    meta = mapping(a.get("ai.response.providerMetadata"))
    usage = _with_metadata(counters.usage, meta)
    outside = _major(a) <= LAST_EXCLUSIVE_MAJOR and ("anthropic" in meta or "bedrock" in meta)
    inclusive = "ai.usage.inputTokenDetails.noCacheTokens" in a
    normal = normal_form(Counters(usage, counters.total), cache_outside=outside and not inclusive)
    reading.usage, reading.warnings, reading.notes = normal.usage, normal.warnings, normal.notes


def _with_metadata(usage: Usage, meta: Attributes) -> Usage:
    def known(value: int | None, *paths: tuple[str, ...]) -> int | None:
        return (
            value if value is not None else next((n for p in paths if (n := whole(path(meta, *p))) is not None), None)
        )

    return msgspec.structs.replace(
        usage,
        cache_read_tokens=known(usage.cache_read_tokens, *CACHE_READ_PATHS),
        cache_write_tokens=known(usage.cache_write_tokens, *CACHE_WRITE_PATHS),
        cache_write_5m_tokens=known(None, CACHE_5M),
        cache_write_1h_tokens=known(None, CACHE_1H),
        reasoning_tokens=known(usage.reasoning_tokens, ("openai", "reasoningTokens")),
    )


def _major(a: Attributes) -> int:
    """The SDK's major version from its user agent `ai/<version>`; 0 where it is not told."""
    agent = text(a, ("ai.request.headers.user-agent",)) or ""
    head = agent.partition("ai/")[2].partition(".")[0]
    return int(head) if head.isdecimal() else 0


def messages(span: Span) -> SpanMessages:
    """ai.prompt.messages and ai.response.*; version 7 as gen_ai."""
    a = span.attributes
    if OPERATION not in a:
        return genai_messages(span)
    prompt = mapping(a.get("ai.prompt"))
    given = messages_of(a.get("ai.prompt.messages")) or messages_of(prompt.get("messages") or prompt.get("prompt"))
    tool_in = messages_of(a.get("ai.toolCall.args"), "tool")
    return SpanMessages(
        system=messages_of(prompt.get("system"), "system") + tuple(m for m in given if m.role == "system"),
        input=tuple(m for m in given if m.role != "system") or tool_in,
        output=_output(a) or messages_of(a.get("ai.toolCall.result"), "tool"),
        tools=dumped(items(a.get("ai.prompt.tools")), "tool"),
    )


def _output(a: Attributes) -> tuple[Message, ...]:
    answer = a.get("ai.response.text") or a.get("ai.response.object")
    calls = items(a.get("ai.response.toolCalls"))
    if not answer and not calls:
        return ()
    return (message({"role": "assistant", "content": parsed(answer), "tool_calls": calls}, "assistant"),)
