"""Traceloop (OpenLLMetry): traceloop.* on its workflows, agents, tasks and tools; gen_ai.* on its model calls.

Model calls carry no traceloop.* attribute, only their scope tells (facts/semconv, section 1, row 17). Versions to 0.4x
write gen_ai.prompt.N and llm.usage.*, later ones the OTel names.
"""

from __future__ import annotations

import re

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import messages_of
from otel_runlog.conventions._usage import GENAI, LLM_OLD
from otel_runlog.conventions.otel_genai import kind as genai_kind
from otel_runlog.conventions.otel_genai import name_parts
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "traceloop"
SCOPE = re.compile(r"^opentelemetry\.instrumentation\.[a-z_]+(\.v1)?$|^traceloop")
VERSION = re.compile(r"^0\.[3-6]\d?\.\d+$")
"""Traceloop's version numbers; the official packages are 0.x or 2.x with a b (0.66b2, 2.4b0)."""
CACHE_OUTSIDE = "opentelemetry.instrumentation.bedrock"
REASONING_OUTSIDE = "opentelemetry.instrumentation.google_generativeai"
ANTHROPIC = "opentelemetry.instrumentation.anthropic"


def matches(span: Span) -> bool:
    """A traceloop.* attribute, or a Traceloop instrumentation's scope."""
    if SCOPE.match(span.scope.name) and (VERSION.match(span.scope.version) or span.scope.name.endswith(".v1")):
        return True
    return any(key.startswith("traceloop.") for key in span.attributes)


def read(span: Span) -> Reading | None:
    """Read by operation, else by traceloop.span.kind."""
    a = span.attributes
    declared = _kinds.TRACELOOP.get(text(a, ("traceloop.span.kind",)) or "")
    step_kind = genai_kind(span) or declared
    if step_kind is None:
        return None
    reading = read_common(
        span,
        NAME,
        step_kind,
        (GENAI, LLM_OLD),
        cache_outside=span.scope.name == CACHE_OUTSIDE,
        reasoning_outside=span.scope.name == REASONING_OUTSIDE,
    )
    name_parts(reading, span)
    entity = text(a, ("traceloop.entity.name",))
    if step_kind in (StepKind.AGENT, StepKind.WORKFLOW):
        reading.agent = reading.agent or entity or text(a, ("traceloop.workflow.name", "crewai.agent.role"))
    if step_kind is StepKind.TOOL:
        reading.tool_name = text(a, ("gen_ai.tool.name",)) or entity or span.name.removesuffix(".tool")
    _known_faults(reading, span)
    return reading


def _known_faults(reading: Reading, span: Span) -> None:
    """Its Anthropic streams count message_start's one output token on top (facts/semconv, trap 7, measured)."""
    if span.scope.name == ANTHROPIC and reading.streaming and reading.usage.output_tokens:
        reading.usage_fault = True


def messages(span: Span) -> SpanMessages:
    """gen_ai messages, else the entity's input and output."""
    found = genai_messages(span)
    found.input = found.input or messages_of(span.attributes.get("traceloop.entity.input"))
    found.output = found.output or messages_of(span.attributes.get("traceloop.entity.output"), "assistant")
    return found
