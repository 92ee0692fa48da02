"""From a span to what it says, one module a vocabulary.

To add one: a module with NAME, matches(span), read(span) and messages(span), and its name in CONVENTIONS. The first
that matches reads the span. Order: vocabularies with a mark of their own first, the general one last.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Protocol, TypeAlias

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
from otel_runlog.conventions._index import SHAPES_REMEMBERED, Shape, shape_of
from otel_runlog.conventions._probe import answer
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Scope, Span


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


_Candidates: TypeAlias = tuple[tuple[Convention, bool], ...]
"""Conventions, and whether it is certain already that they wrote a span."""
_EVERY_ONE: _Candidates = tuple((convention, False) for convention in CONVENTIONS)


def convention_of(span: Span, shape: Shape | None = None) -> Convention | None:
    """The convention that wrote `span`; None where none did. `shape`: its attributes', where it is known already."""
    shape = shape or shape_of(span.attributes)
    for convention, is_match in _candidates(span.scope, shape) if shape.is_common else _EVERY_ONE:
        if is_match or convention.matches(span):
            return convention
    return None


@lru_cache(SHAPES_REMEMBERED)
def _candidates(scope: Scope, shape: Shape) -> _Candidates:
    """Those that can have written a span of that scope and shape: to ask these takes a fourth of asking all."""
    answers = ((convention, answer(convention.matches, scope, shape.names)) for convention in CONVENTIONS)
    return tuple((convention, bool(is_match)) for convention, is_match in answers if is_match is not False)


def read(span: Span, shape: Shape | None = None) -> Reading | None:
    """The span in the canonical words, known faults of its emitter seen to; None where it is no step."""
    convention = convention_of(span, shape)
    reading = convention.read(span) if convention else None
    if reading is not None:
        known_faults.apply(span, reading)
    return reading


def messages(span: Span, name: str | None = None) -> SpanMessages:
    """The messages the span carries; empty where no convention reads it. `name`: its convention's, if it is known."""
    convention = BY_NAME.get(name) if name else convention_of(span)
    return convention.messages(span) if convention else SpanMessages()


__all__ = ["CONVENTIONS", "Convention", "Reading", "SpanMessages", "convention_of", "messages", "read"]
