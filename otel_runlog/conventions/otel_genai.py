"""OTel GenAI semantic conventions, from gen_ai.system and prompt_tokens (1.27) to today's names.

The last convention asked: whatever carries gen_ai.* attributes and is no vocabulary of its own.
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._usage import GENAI, LLM_OLD, OPENINFERENCE
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "otel_genai"
CACHE_OUTSIDE = ("opentelemetry.instrumentation.genai.bedrock", "opentelemetry.instrumentation.botocore")
"""Scopes that pass Bedrock's inputTokens on as they are (facts/semconv, section 3)."""
REASONING_OUTSIDE = ("opentelemetry.instrumentation.google_generativeai",)


def matches(span: Span) -> bool:
    """Any gen_ai.* attribute."""
    return any(key.startswith("gen_ai.") for key in span.attributes)


def kind(span: Span) -> StepKind | None:
    """The operation's kind, else what the attributes say: a tool's name is a tool, a model is a model call."""
    operation = text(span.attributes, ("gen_ai.operation.name",))
    if operation is not None:
        return _kinds.OPERATION.get(operation.lower(), StepKind.OTHER)
    found = _kinds.LLM_REQUEST_TYPE.get(text(span.attributes, ("llm.request.type",)) or "")
    if found is not None:
        return found
    if "gen_ai.tool.name" in span.attributes:
        return StepKind.TOOL
    return StepKind.LLM if "gen_ai.request.model" in span.attributes else None


def read(span: Span) -> Reading | None:
    """Read a gen_ai span; None where it is no step."""
    step_kind = kind(span)
    if step_kind is None:
        return None
    reading = read_common(
        span,
        NAME,
        step_kind,
        (GENAI, OPENINFERENCE, LLM_OLD),
        cache_outside=span.scope.name.startswith(CACHE_OUTSIDE),
        reasoning_outside=span.scope.name.startswith(REASONING_OUTSIDE),
    )
    name_parts(reading, span)
    return reading


def name_parts(reading: Reading, span: Span) -> None:
    """Take from the operation and the span's name what attributes leave out, and mark what never roots a run."""
    operation = text(span.attributes, ("gen_ai.operation.name",)) or ""
    reading.rootless = operation in _kinds.ROOTLESS_OPERATIONS or "mcp.method.name" in span.attributes
    rest = span.name.removeprefix(operation).strip() if operation and span.name.startswith(operation) else None
    if reading.kind in (StepKind.AGENT, StepKind.WORKFLOW) and reading.agent is None:
        workflow = text(span.attributes, ("gen_ai.workflow.name",))
        reading.agent = workflow or (rest if rest and rest != reading.request_model else None)
    if reading.kind is StepKind.TOOL and reading.tool_name is None:
        reading.tool_name = rest or span.name


def messages(span: Span) -> SpanMessages:
    """The span's messages."""
    return genai_messages(span)


def with_name(reading: Reading, name: str) -> Reading:
    """The same reading under another convention's name."""
    return msgspec.structs.replace(reading, convention=name)
