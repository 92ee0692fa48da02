"""From a span to what it says, one module a vocabulary.

To add one: a module with NAME, matches(span), read(span) and messages(span), and its name in CONVENTIONS. The first
that matches reads the span. Order: vocabularies with a mark of their own first, the general one last.
"""

from __future__ import annotations

from typing import Protocol

from otel_runlog.conventions import (
    anthropic_sdk,
    claude_code,
    codex,
    crewai,
    gemini_cli,
    google_adk,
    haystack,
    known_faults,
    laminar,
    langfuse,
    langsmith,
    litellm,
    logfire,
    mcp,
    mlflow,
    ms_agent_framework,
    openinference,
    openlit,
    otel_genai,
    pydantic_ai,
    semantic_kernel,
    spring_ai,
    strands,
    traceloop,
    vercel,
)
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span


class Convention(Protocol):
    """What a convention module offers."""

    NAME: str

    def matches(self, span: Span) -> bool:
        """Whether this vocabulary wrote the span."""

    def read(self, span: Span) -> Reading | None:
        """The span in the canonical words; None where it is no step."""

    def messages(self, span: Span) -> SpanMessages:
        """The messages the span carries."""


CONVENTIONS: tuple[Convention, ...] = (
    logfire,  # first: its pending spans repeat spans of any other
    langfuse,  # before all that it observes: its type wins
    openinference,  # before pydantic_ai and gen_ai: its processors stamp their spans
    claude_code,
    vercel,
    pydantic_ai,
    anthropic_sdk,
    gemini_cli,
    codex,
    litellm,  # before frameworks: it writes on any span that is open
    langsmith,
    mlflow,
    openlit,
    haystack,
    google_adk,
    strands,
    ms_agent_framework,
    semantic_kernel,
    crewai,
    laminar,  # before traceloop: its instrumentations began as those, and its processor stamps every span
    traceloop,  # after frameworks: its SDK stamps every span
    spring_ai,
    mcp,
    otel_genai,  # last: it takes whatever has a gen_ai attribute
)


BY_NAME = {convention.NAME: convention for convention in CONVENTIONS}


def convention_of(span: Span) -> Convention | None:
    """The convention that wrote `span`; None where none did."""
    for convention in CONVENTIONS:
        if convention.matches(span):
            return convention
    return None


def read(span: Span) -> Reading | None:
    """The span in the canonical words, known faults of its emitter seen to; None where it is no step."""
    convention = convention_of(span)
    reading = convention.read(span) if convention else None
    if reading is not None:
        known_faults.apply(span, reading)
    return reading


def messages(span: Span, name: str | None = None) -> SpanMessages:
    """The messages the span carries; empty where no convention reads it. `name`: its convention's, if it is known."""
    convention = BY_NAME.get(name) if name else convention_of(span)
    return convention.messages(span) if convention else SpanMessages()


__all__ = ["CONVENTIONS", "Convention", "Reading", "SpanMessages", "convention_of", "messages", "read"]
