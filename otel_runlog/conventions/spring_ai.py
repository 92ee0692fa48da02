"""Spring AI: gen_ai.* by Micrometer, every value text; content in span events gen_ai.content.prompt and .completion.

Its own observations around a call (ChatClient, advisors, tool calls, vector stores) say spring.ai.kind. No capture
of it is in the corpus: names are those of Spring AI's observability reference and of facts/semconv, section 4.
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds, otel_genai
from otel_runlog.conventions._attrs import number, text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import AttrValue, Span, StepKind

NAME = "spring_ai"
KIND, SYSTEM, PREFIX = "spring.ai.kind", "spring_ai", "spring.ai."
SCOPE = "org.springframework.boot"
TOOL = ("spring.ai.tool.definition.name",)
ARGUMENTS, RESULT = "spring.ai.tool.call.arguments", "spring.ai.tool.call.result"
NUMBERS = frozenset({"temperature", "top_p", "top_k", "max_tokens", "frequency_penalty", "presence_penalty", "seed"})


def matches(span: Span) -> bool:
    """Spring AI's kind, or a gen_ai span of Spring Boot's tracer."""
    a = span.attributes
    return KIND in a or (span.scope.name == SCOPE and otel_genai.OPERATION in a)


def read(span: Span) -> Reading | None:
    """Read by spring.ai.kind, else as gen_ai."""
    a = span.attributes
    declared = _kinds.SPRING_AI.get(text(a, (KIND,)) or "")
    reading = read_common(span, NAME, declared, ()) if declared else otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    if reading.kind is StepKind.TOOL:
        reading.tool_name = text(a, TOOL) or reading.tool_name or span.name
    if reading.provider == SYSTEM:
        reading.provider = None
    reading.params = {k: _number(v) if k in NUMBERS else v for k, v in reading.params.items()}
    return reading


def _number(value: AttrValue) -> AttrValue:
    """A number out of Micrometer's text, whole where it is whole."""
    found = number(value) if isinstance(value, str) else None
    if found is None:
        return value
    return int(found) if found.is_integer() and "." not in str(value) else found


def messages(span: Span) -> SpanMessages:
    """Messages in events; a tool's arguments and result."""
    a = span.attributes
    if ARGUMENTS in a or RESULT in a:
        return SpanMessages(input=value_of(a.get(ARGUMENTS), "tool"), output=value_of(a.get(RESULT), "tool"))
    return genai_messages(span)
