"""Laminar: lmnr.span.type on its own spans, lmnr.span.path and lmnr.association.properties.* on all of its process.

Its model calls are gen_ai.*, by instrumentations that began as Traceloop's. A span of type CACHED repeats a call of an
earlier run without asking the model. No capture of it is in the corpus: names are those of its SDKs and of
facts/semconv, section 1.
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions._payloads import answer_messages, read_content, request_messages
from otel_runlog.conventions._tool_values import arguments_of, result_of
from otel_runlog.conventions._vocabularies import GENAI, LLM_OLD
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Content, Span, StepKind

NAME = "laminar"
TYPE, PATH = "lmnr.span.type", "lmnr.span.path"
ASKED, SAID = "lmnr.span.input", "lmnr.span.output"
SESSION, USER = ("lmnr.association.properties.session_id",), ("lmnr.association.properties.user_id",)
CACHED = "CACHED"
TYPES = {
    "LLM": StepKind.LLM,
    "TOOL": StepKind.TOOL,
    "DEFAULT": StepKind.CHAIN,
    "PIPELINE": StepKind.CHAIN,
    "EXECUTOR": StepKind.CHAIN,
    "EVALUATION": StepKind.CHAIN,
    "EVALUATOR": StepKind.EVALUATOR,
    "HUMAN_EVALUATOR": StepKind.EVALUATOR,
    CACHED: StepKind.OTHER,
}


def matches(span: Span) -> bool:
    """The type of its own spans, or the path that its processor puts on all."""
    return TYPE in span.attributes or PATH in span.attributes


def read(span: Span) -> Reading | None:
    """Read by operation, else by lmnr.span.type; None where its processor stamped what is no step."""
    a = span.attributes
    kind = _kind(span)
    if kind is None:
        return None
    is_cached = text(a, (TYPE,)) == CACHED
    reading = read_common(span, NAME, kind, () if is_cached else (GENAI, LLM_OLD))
    if is_cached:
        reading.reported_usd = None
    reading.session_id = text(a, SESSION) or reading.session_id
    reading.user_id = text(a, USER) or reading.user_id
    if kind in MODEL_KINDS:
        if reading.content is Content.NONE:
            read_content(reading, a.get(ASKED), a.get(SAID))
    else:
        otel_genai.name_parts(reading, span)
    return reading


def _kind(span: Span) -> StepKind | None:
    a = span.attributes
    declared = text(a, (TYPE,)) or ""
    return StepKind.OTHER if declared == CACHED else otel_genai.kind(span, TYPES.get(declared) or _observed(a))


def _observed(a: Attributes) -> StepKind | None:
    """A function that was observed without a type."""
    return StepKind.CHAIN if ASKED in a or SAID in a else None


def messages(span: Span) -> SpanMessages:
    """gen_ai messages, else what went in and came out."""
    a = span.attributes
    found, kind = genai_messages(span), _kind(span)
    asked, said = a.get(ASKED), a.get(SAID)
    if kind is StepKind.TOOL:
        return SpanMessages(input=found.input or arguments_of(asked), output=found.output or result_of(said))
    if kind in MODEL_KINDS:
        if not found.input and asked is not None:
            given = request_messages(asked)
            found.system, found.input = found.system or given.system, given.input
        found.output = found.output or answer_messages(said)
        return found
    found.input = found.input or value_of(asked, "user")
    found.output = found.output or value_of(said, "assistant")
    return found
