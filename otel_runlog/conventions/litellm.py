"""LiteLLM: litellm_request spans, raw_gen_ai_request below them, and what it writes on the application's own span.

With a span of the application's open it makes no litellm_request but puts each call's attributes on that span, the
last call's over all before (facts/semconv, trap 5). The raw spans below then are the calls: they hold the provider's
answer as Python reprs under llm.<provider>.*. A stream without usage gets LiteLLM's own estimate, which is no count.
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import items, mapping, path, text, whole
from otel_runlog.conventions._errors import ERROR
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import messages_of, split_system
from otel_runlog.conventions._usage import Counters, normal_form
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Content, Span, StepKind, Usage

NAME = "litellm"
SCOPE = "litellm"
RAW = "raw_gen_ai_request"
CALL_ID, COST, STREAMING = "litellm.call_id", "gen_ai.cost.total_cost", "llm.is_streaming"


def matches(span: Span) -> bool:
    """LiteLLM's scope, or its attributes on another's span: a cost beside a boolean written as text is its hand."""
    a = span.attributes
    return span.scope.name == SCOPE or CALL_ID in a or (COST in a and isinstance(a.get(STREAMING), str))


def read(span: Span) -> Reading | None:
    """Read a call; numbers on a span that is not LiteLLM's are one call's of perhaps several."""
    if span.name == RAW:
        return _read_raw(span)
    reading = otel_genai.read_as(NAME, span)
    if reading is None or reading.kind is not StepKind.LLM:
        return reading
    usage_object = mapping(span.attributes.get("metadata.usage_object"))
    if usage_object and reading.usage == _openai(usage_object, parts=False):
        reading.usage = _openai(usage_object)
    return reading


def _openai(usage: Attributes, *, parts: bool = True) -> Usage:
    """A usage object in OpenAI's words, cache inside; LiteLLM puts every provider's into them."""
    tokens = Usage(whole(usage.get("prompt_tokens")), whole(usage.get("completion_tokens")))
    if not parts:
        return tokens
    write = whole(usage.get("cache_creation_input_tokens"))
    return Usage(
        tokens.input_tokens,
        tokens.output_tokens,
        whole(path(usage, "prompt_tokens_details", "cached_tokens")),
        write if write is not None else whole(path(usage, "prompt_tokens_details", "cache_write_tokens")),
        whole(path(usage, "completion_tokens_details", "reasoning_tokens")),
    )


def _anthropic(usage: Attributes) -> Usage:
    """A usage object in Anthropic's words: the cache stands outside the input."""
    counters = Usage(
        whole(usage.get("input_tokens")),
        whole(usage.get("output_tokens")),
        whole(usage.get("cache_read_input_tokens")),
        whole(usage.get("cache_creation_input_tokens")),
    )
    return normal_form(Counters(counters), cache_outside=True).usage


def _read_raw(span: Span) -> Reading | None:
    """The provider's own answer; None where it holds no usage (streams, content off)."""
    prefix = _provider_prefix(span.attributes)
    answer = {k.removeprefix(prefix): v for k, v in span.attributes.items() if k.startswith(prefix)} if prefix else {}
    usage = mapping(answer.get("usage"))
    if not usage:
        return None
    choices = items(answer.get("choices"))
    return Reading(
        NAME,
        StepKind.LLM,
        provider=prefix.split(".")[1],
        response_model=text(answer, ("model",)),
        response_id=text(answer, ("id",)),
        usage=_openai(usage) if "prompt_tokens" in usage else _anthropic(usage),
        service_tier=text(answer, ("service_tier",)),
        finish_reason=text(mapping(choices[0]), ("finish_reason",)) if choices else text(answer, ("stop_reason",)),
        failed=span.status_code == ERROR,
        content=Content.FULL if choices and f"{prefix}messages" in span.attributes else Content.NONE,
    )


def _provider_prefix(a: Attributes) -> str:
    """`llm.<provider>.` of the attributes that hold the answer."""
    name = next((k for k in a if k.startswith("llm.") and k.endswith(".usage")), "")
    return name.removesuffix("usage")


def messages(span: Span) -> SpanMessages:
    """gen_ai messages; on raw spans the request's own and the answer's."""
    prefix = _provider_prefix(span.attributes) if span.name == RAW else ""
    if not prefix:
        return genai_messages(span)
    choices = [mapping(c).get("message") for c in items(span.attributes.get(f"{prefix}choices"))]
    system, given = split_system(messages_of(span.attributes.get(f"{prefix}messages")))
    return SpanMessages(system, given, messages_of(choices, "assistant"))
