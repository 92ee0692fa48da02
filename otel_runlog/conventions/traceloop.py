"""Traceloop (OpenLLMetry): traceloop.* on its workflows, agents, tasks and tools; gen_ai.* on its model calls.

Model calls carry no traceloop.* attribute, only their scope tells (facts/semconv, section 1, row 17). Versions to 0.4x
write gen_ai.prompt.N and llm.usage.*, later ones the OTel names; Ollama the old ones still. A span that declares
itself an agent (crewai.agent) is none of the calls it repeats, whatever model and tokens it names.
"""

from __future__ import annotations

import re

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages, shown
from otel_runlog.conventions._index import shape_of
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions._tool_values import arguments_of, call_id_in, result_of
from otel_runlog.conventions._vocabularies import GENAI, LLM_OLD
from otel_runlog.conventions.otel_genai import kind as genai_kind
from otel_runlog.conventions.otel_genai import name_parts
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "traceloop"
KIND, ENTITY = "traceloop.span.kind", "traceloop.entity.name"
SCOPE = re.compile(r"opentelemetry\.instrumentation\.[a-z_]+(\.v1)?$|traceloop|@traceloop/")
OFFICIAL = re.compile(r"opentelemetry\.instrumentation\.[a-z_]+")
"""Scopes whose names the official packages use too: only the version tells."""
VERSION = re.compile(r"0\.[3-6]\d?\.\d+$")
"""Traceloop's version numbers; the official packages are 0.x or 2.x with a b (0.66b2, 2.4b0)."""
CACHE_OUTSIDE = "opentelemetry.instrumentation.bedrock"
REASONING_OUTSIDE = "opentelemetry.instrumentation.google_generativeai"
LANGCHAIN_AGENT = "traceloop.association.properties.lc_agent_name"
"""The agent of LangChain's create_agent, on all that runs below it; the span that declares it may stand beside."""
OPENAI_AGENTS = "opentelemetry.instrumentation.openai_agents"
"""Its workflow span is openai-agents' trace: a name that is no agent's, above all agents of it."""
ARGUMENTS = ("gen_ai.tool.call.arguments", "traceloop.entity.input")
RESULT = ("gen_ai.tool.call.result", "traceloop.entity.output", "mcp.response.value")


def matches(span: Span) -> bool:
    """A Traceloop instrumentation's scope, or a traceloop.* attribute."""
    scope = span.scope
    if SCOPE.match(scope.name) and (VERSION.match(scope.version) or not OFFICIAL.fullmatch(scope.name)):
        return True
    return bool(shape_of(span.attributes).starting("traceloop."))


def read(span: Span) -> Reading | None:
    """Read by operation, else by traceloop.span.kind."""
    a = span.attributes
    declared = text(a, (KIND,)) or ""
    kind = genai_kind(span, _kinds.TRACELOOP.get(declared))
    if kind is None and declared not in _kinds.TRACELOOP_OTHER:
        return None
    reading = read_common(
        span,
        NAME,
        kind or StepKind.OTHER,
        (GENAI, LLM_OLD),
        cache_outside=span.scope.name == CACHE_OUTSIDE,
        reasoning_outside=span.scope.name == REASONING_OUTSIDE,
    )
    _name(reading, span)
    reading.agent = reading.agent or text(a, (LANGCHAIN_AGENT,))
    return reading


def _name(reading: Reading, span: Span) -> None:
    """Agents and tools by gen_ai.*, else by the entity that the decorator or the framework names."""
    a = span.attributes
    entity = text(a, (ENTITY,))
    if reading.kind is StepKind.TOOL:
        reading.tool_name = text(a, ("gen_ai.tool.name",)) or entity or span.name.removesuffix(".tool")
        reading.tool_call_id = reading.tool_call_id or call_id_in((a.get(ARGUMENTS[0]), a.get(RESULT[0])))
        return
    name_parts(reading, span)
    if reading.kind is StepKind.WORKFLOW and span.scope.name == OPENAI_AGENTS:
        return
    if reading.kind in (StepKind.AGENT, StepKind.WORKFLOW):
        reading.agent = reading.agent or entity or text(a, ("traceloop.workflow.name", "crewai.agent.role"))


def messages(span: Span) -> SpanMessages:
    """gen_ai messages, else the entity's input and output."""
    a = span.attributes
    found = genai_messages(span)
    if text(a, (KIND,)) == "tool" or "gen_ai.tool.name" in a:
        given, got = (next((a[k] for k in keys if k in a), None) for keys in (ARGUMENTS, RESULT))
        return SpanMessages(input=arguments_of(given), output=result_of(got))
    found.input = found.input or value_of(shown(a.get(ARGUMENTS[1])), "user")
    found.output = found.output or value_of(shown(a.get(RESULT[1])), "assistant")
    return found
