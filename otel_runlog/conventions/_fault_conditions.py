"""When the rows of known_faults are true, and how those that can be put right are: one small function each."""

from __future__ import annotations

import math

from otel_runlog.conventions._attrs import mapping, path, text, whole
from otel_runlog.conventions._base import MODEL_KINDS
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Attributes, Content, Span, StepKind, Usage

STUB_TOKENS = 8
"""message_start of Anthropic streams says 1 to 8 output tokens before any is made."""
LITELLM, TRACELOOP = "litellm", "traceloop"
"""Names of conventions whose faults stand on spans of any scope, or of a scope that others use too."""
THOUGHTLESS = ("gemini-1", "gemini-2.0", "gemma-")
"""Models that Gemini CLI may call and that do not think."""
USAGE_OBJECT = "metadata.usage_object"
AFC_TOOLS = "message.tool_calls.0.tool_call.function.name"
AFC_HISTORY = '"automatic_function_calling_history":[{'
CACHE_READ = "gen_ai.usage.cache_read.input_tokens"
CHARS_A_TOKEN = 2
"""OpenLIT's estimate: half the characters, rounded up."""
OPENLIT_DEFAULTS: Attributes = {
    "temperature": 1.0,
    "top_p": 1.0,
    "frequency_penalty": 0.0,
    "presence_penalty": 0.0,
    "seed": 0,
    "max_tokens": -1,
}
LANGFUSE_DEFAULTS: Attributes = {
    "temperature": 1,
    "top_p": 1,
    "frequency_penalty": 0,
    "presence_penalty": 0,
    "max_tokens": "Infinity",
}
LAST_SILENT_MAJOR = 5
"""The last major version of the AI SDK whose generateText tells no cache counts (corpus)."""
USER_AGENT = "ai.request.headers.user-agent"


def is_traceloop_stream(_: Span, reading: Reading) -> bool:
    """The official instrumentation has the same scope and counts right."""
    return reading.convention == TRACELOOP and bool(reading.streaming and reading.usage.output_tokens)


def says_no_thoughts(_: Span, reading: Reading) -> bool:
    """A call of a model that may think, with an answer and no count of thoughts: its logs alone know."""
    usage = reading.usage
    if reading.kind is not StepKind.LLM or (reading.request_model or "").startswith(THOUGHTLESS):
        return False
    return bool(usage.output_tokens) and usage.reasoning_tokens is None


def is_google_loop(span: Span, reading: Reading) -> bool:
    """The span tells tools that were called inside, or a history of such calls."""
    history = span.attributes.get("output.value")
    if reading.kind is not StepKind.LLM:
        return False
    return AFC_TOOLS in span.attributes or (isinstance(history, str) and AFC_HISTORY in history.replace(" ", ""))


def is_agent_total(_: Span, reading: Reading) -> bool:
    """Usage on what is no model call."""
    return reading.kind not in MODEL_KINDS and bool(reading.usage)


def is_litellm_on_anothers_span(span: Span, reading: Reading) -> bool:
    """Neither LiteLLM's own span nor a framework's span of the very call (`generate_content gpt-4o`)."""
    if reading.convention != LITELLM or reading.kind is not StepKind.LLM or span.scope.name == LITELLM:
        return False
    return reading.request_model is None or not span.name.endswith(reading.request_model)


def is_litellm_estimate(span: Span, reading: Reading) -> bool:
    """Providers give details of the prompt; LiteLLM's own counter gives none, and counts text (measured)."""
    if reading.convention != LITELLM or not reading.streaming or not reading.usage:
        return False
    usage = mapping(span.attributes.get(USAGE_OBJECT))
    counted_text = path(usage, "completion_tokens_details", "text_tokens")
    return usage.get("prompt_tokens_details", 0) is None and counted_text is not None


def is_openlit_estimate(span: Span, reading: Reading) -> bool:
    """OpenLIT writes the cache's counts, 0 too, where the provider told usage; its guess is half the characters."""
    if not reading.streaming or reading.usage.output_tokens is None or CACHE_READ in span.attributes:
        return False
    said = "".join(m.text for m in genai_messages(span).output) if reading.content is Content.FULL else ""
    return not said or reading.usage.output_tokens == math.ceil(len(said) / CHARS_A_TOKEN)


def costs_nothing(_: Span, reading: Reading) -> bool:
    """A cost of 0: no call that served tokens is free."""
    return reading.reported_usd is not None and not reading.reported_usd


def has_openlit_defaults(_: Span, reading: Reading) -> bool:
    """A parameter equal to what OpenLIT writes where none was sent."""
    return _has(reading, OPENLIT_DEFAULTS)


def has_langfuse_defaults(_: Span, reading: Reading) -> bool:
    """A parameter equal to what Langfuse writes where none was sent."""
    return _has(reading, LANGFUSE_DEFAULTS)


def _has(reading: Reading, defaults: Attributes) -> bool:
    return any(name in defaults and defaults[name] == value for name, value in reading.params.items())


def is_answered_for_nothing(_: Span, reading: Reading) -> bool:
    """openai-agents says 0 of a chat completions stream that told no usage, and its bridges pass it on (measured)."""
    usage = reading.usage
    return reading.kind is StepKind.LLM and usage.input_tokens == 0 and usage.output_tokens == 0 and not reading.failed


def is_message_start_only(_: Span, reading: Reading) -> bool:
    """An abandoned stream ends without error and without finish reason."""
    if reading.kind is not StepKind.LLM or not reading.streaming or reading.refused:
        return False
    return reading.finish_reason is None and (reading.usage.output_tokens or 0) <= STUB_TOKENS


def is_old_vercel_without_cache(span: Span, reading: Reading) -> bool:
    """A doGenerate call of a version that is known, without a cache count."""
    if reading.kind is not StepKind.LLM or reading.streaming or reading.usage.cache_read_tokens is not None:
        return False
    agent = text(span.attributes, (USER_AGENT,)) or ""
    major = whole(agent.partition("ai/")[2].partition(".")[0]) or 0
    return bool(reading.usage) and 0 < major <= LAST_SILENT_MAJOR


def drop_usage(_: Span, reading: Reading) -> None:
    """What was invented is no count."""
    reading.usage = Usage()


def drop_cost(_: Span, reading: Reading) -> None:
    """What was invented is no cost."""
    reading.reported_usd = None


def drop_usage_and_cost(span: Span, reading: Reading) -> None:
    """A cost of an estimate is an estimate."""
    drop_usage(span, reading)
    drop_cost(span, reading)


def drop_openlit_defaults(_: Span, reading: Reading) -> None:
    """Leave out what equals a default."""
    _drop(reading, OPENLIT_DEFAULTS)


def drop_langfuse_defaults(_: Span, reading: Reading) -> None:
    """Leave out what equals a default."""
    _drop(reading, LANGFUSE_DEFAULTS)


def _drop(reading: Reading, defaults: Attributes) -> None:
    reading.params = {k: v for k, v in reading.params.items() if k not in defaults or defaults[k] != v}
