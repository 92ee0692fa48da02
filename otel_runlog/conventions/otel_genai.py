"""OTel GenAI semantic conventions, from gen_ai.system and prompt_tokens (1.27) to today's names.

The last convention asked: whatever carries gen_ai.* attributes and is no vocabulary of its own.
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._index import shape_of
from otel_runlog.conventions._vocabularies import GENAI, LLM_OLD, OPENINFERENCE
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Span, StepKind

NAME = "otel_genai"
OPERATION = "gen_ai.operation.name"
MODEL = "gen_ai.request.model"
CACHE_OUTSIDE = ("opentelemetry.instrumentation.genai.bedrock", "opentelemetry.instrumentation.botocore")
"""Scopes that pass Bedrock's inputTokens on as they are (facts/semconv, section 3)."""
REASONING_OUTSIDE = ("opentelemetry.instrumentation.google_generativeai",)
TRANSPORT = (
    "http.request.method",
    "http.method",
    "rpc.system",
    "rpc.system.name",
    "messaging.system",
    "db.system.name",
)
"""Marks of spans that baggage or a wrapper may have stamped with a model's name; alone it makes no call of them."""


def matches(span: Span) -> bool:
    """Any gen_ai.* attribute."""
    return bool(shape_of(span.attributes).starting("gen_ai."))


def kind(span: Span, declared: StepKind | None = None) -> StepKind | None:
    """What the span does: its operation, else what its own vocabulary declares, else what its attributes tell.

    A name no table knows is a tool where the span names one, a model call where it has a model and tokens, else OTHER.
    """
    a = span.attributes
    operation = text(a, (OPERATION,))
    known = _kinds.OPERATION.get(operation.lower()) if operation else None
    known = known or declared or _kinds.LLM_REQUEST_TYPE.get(text(a, ("llm.request.type",)) or "")
    if known is not None:
        return known
    if text(a, ("gen_ai.tool.name",)):
        return StepKind.TOOL
    if text(a, (MODEL,)) and _is_call(a, bare=operation is None):
        return StepKind.LLM
    return StepKind.OTHER if operation else None


def _is_call(a: Attributes, *, bare: bool) -> bool:
    """Whether a span with a model's name calls it: it has tokens, or says nothing else of itself."""
    if GENAI.index.gather(a):
        return True
    return bare and not any(key in a for key in TRANSPORT)


def read(span: Span) -> Reading | None:
    """Read a gen_ai span; None where it is no step."""
    step_kind = kind(span)
    if step_kind is None:
        return None
    scope = span.scope.name
    reading = read_common(
        span,
        NAME,
        step_kind,
        (GENAI, OPENINFERENCE, LLM_OLD),
        cache_outside=scope.startswith(CACHE_OUTSIDE),
        reasoning_outside=scope.startswith(REASONING_OUTSIDE),
    )
    if step_kind not in MODEL_KINDS:
        name_parts(reading, span)
    return reading


def read_as(name: str, span: Span) -> Reading | None:
    """The same, for a vocabulary of its own that writes gen_ai.* too."""
    reading = read(span)
    if reading is not None:
        reading.convention = name
    return reading


def name_parts(reading: Reading, span: Span) -> None:
    """Take from the operation and the span's name what attributes leave out, and mark what never roots a run."""
    operation = text(span.attributes, (OPERATION,)) or ""
    reading.rootless = operation in _kinds.ROOTLESS_OPERATIONS
    rest = span.name.removeprefix(operation).strip() if operation and span.name.startswith(operation) else None
    if reading.agent is None and reading.kind in (StepKind.AGENT, StepKind.WORKFLOW):
        workflow = text(span.attributes, ("gen_ai.workflow.name",))
        reading.agent = workflow or (rest if rest and rest != reading.request_model else None)
    if reading.tool_name is None and reading.kind is StepKind.TOOL:
        reading.tool_name = rest or span.name


def messages(span: Span) -> SpanMessages:
    """The span's messages."""
    return genai_messages(span)
