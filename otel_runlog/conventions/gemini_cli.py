"""Gemini CLI: gen_ai.* spans with operations of its own, every model call and every batch of tools a trace.

Its output_tokens leave the thoughts out, and only its logs say how many there were (facts/semconv, section 3).
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span

NAME = "gemini_cli"
SCOPE = "gemini-cli"


def matches(span: Span) -> bool:
    """The CLI's scope."""
    return span.scope.name == SCOPE


def read(span: Span) -> Reading | None:
    """Read as gen_ai; the prompt's id is the run's own name."""
    reading = otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    reading.native_run_id = text(span.attributes, ("gen_ai.prompt.name",))
    return reading


def messages(span: Span) -> SpanMessages:
    """gen_ai messages: Gemini's own contents."""
    return genai_messages(span)
