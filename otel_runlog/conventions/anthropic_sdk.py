"""The Anthropic SDK's own spans (2.x traces itself as soon as a tracer provider is set).

They stand under, beside, or in another trace than those of any other Anthropic instrumentation, so they are often a
second view of one call. Their numbers are the transport's own: where both exist these are the ones to trust. A stream
that was cut or abandoned has an input but neither output nor stop reason.
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "anthropic_sdk"
SCOPE_PREFIX = "com.anthropic.sdk."


def matches(span: Span) -> bool:
    """The SDK's scope."""
    return span.scope.name.startswith(SCOPE_PREFIX)


def read(span: Span) -> Reading | None:
    """Read as gen_ai; a stream without stop reason was cut."""
    reading = otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    if reading.kind is StepKind.LLM and reading.finish_reason is None and not reading.refused:
        reading.usage_cut = reading.usage.output_tokens is None
    return reading


def messages(span: Span) -> SpanMessages:
    """gen_ai messages, and the tool runner's result."""
    found = genai_messages(span)
    found.output = found.output or value_of(span.attributes.get("anthropic.tool_result.content"), "tool")
    return found
