"""OpenLIT: gen_ai.* with defaults of its own for what was never sent, and estimates for what no stream told.

Both are rows of known_faults. Anthropic's and Bedrock's input is passed on without the cache.
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import number
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._usage import normal_form, raw_counters
from otel_runlog.conventions._vocabularies import GENAI
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "openlit"
SCOPE = "openlit."
CACHE_OUTSIDE = ("openlit.instrumentation.anthropic", "openlit.instrumentation.bedrock")
FIRST_TOKEN_S = "gen_ai.server.time_to_first_token"  # noqa: S105  # no secret


def matches(span: Span) -> bool:
    """A scope of OpenLIT's."""
    return span.scope.name.startswith(SCOPE)


def read(span: Span) -> Reading | None:
    """Read as gen_ai; of a stream the first token's time."""
    reading = otel_genai.read_as(NAME, span)
    if reading is None or reading.kind is not StepKind.LLM:
        return reading
    if span.scope.name.startswith(CACHE_OUTSIDE):
        reading.usage = normal_form(raw_counters(span.attributes, (GENAI,)), cache_outside=True).usage
    seconds = number(span.attributes.get(FIRST_TOKEN_S)) if reading.streaming else None
    if seconds is not None:
        reading.time_to_first_token_ms = seconds * 1e3
    return reading


def messages(span: Span) -> SpanMessages:
    """gen_ai messages."""
    return genai_messages(span)
