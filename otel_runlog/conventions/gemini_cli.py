"""Gemini CLI: gen_ai.* spans with operations of its own, every model call and every batch of tools a trace.

Its output_tokens leave the thoughts out, and only its logs say how many there were (facts/semconv, section 3).
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import dump, items, mapping, text
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import Messages, message
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Span

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
    """gen_ai messages: Gemini's own contents, an answer as the pieces in which it came."""
    found = genai_messages(span)
    if len(found.output) > 1:
        found.output = _joined(items(span.attributes.get("gen_ai.output.messages")))
    return found


def _joined(pieces: list[AttrValue]) -> Messages:
    """One answer out of its pieces: text that follows text is one part."""
    parts: list[Attributes] = []
    for part in (mapping(p) for piece in pieces for p in items(mapping(piece).get("parts"))):
        if parts and _are_texts_alike(parts[-1], part):
            parts[-1] = {**part, "text": dump(parts[-1]["text"]) + dump(part["text"])}
        else:
            parts.append(part)
    return (message({"role": "model", "parts": [*parts]}, "assistant"),) if parts else ()


def _are_texts_alike(a: Attributes, b: Attributes) -> bool:
    """Whether both are thoughts, or both what was said."""
    return "text" in a and "text" in b and {**a, "text": ""} == {**b, "text": ""}
