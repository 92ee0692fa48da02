"""CrewAI as Traceloop's instrumentation tells it: crew > task > agent > call, the first three all `invoke_agent`.

The operation says nothing there: traceloop.span.kind and the names do. An agent's numbers are those of its token
counter, which goes on over all its tasks and crews; the crew's stand in a repr, the sum of its agents'. Neither is a
sum of the calls below (facts/semconv, row 17; known_faults).
"""

from __future__ import annotations

import re

from otel_runlog.conventions import _kinds, otel_genai
from otel_runlog.conventions._attrs import text, whole
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages, shown
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions._vocabularies import GENAI
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Span, StepKind, Usage

NAME = "crewai"
SCOPE = "opentelemetry.instrumentation.crewai"
CREW, CALL_SUFFIX = "crewai.workflow", ".llm"
KIND = "traceloop.span.kind"
CREW_NAME, ROLE = "crewai.crew.name", "crewai.agent.role"
UNNAMED_CREW = "crew"
CREW_USAGE = ("crewai.crew.token_usage", "crewai.crew.usage_metrics")
COUNT = re.compile(r"\b(prompt_tokens|completion_tokens|cached_prompt_tokens)=(\d+)")
RESULTS = ("traceloop.entity.output", "crewai.crew.result")


def matches(span: Span) -> bool:
    """The instrumentation's scope."""
    return span.scope.name == SCOPE


def read(span: Span) -> Reading | None:
    """Read by name and declared kind, the rest as gen_ai."""
    a = span.attributes
    kind = _kind(span)
    if kind is None:
        return None
    reading = read_common(span, NAME, kind, (GENAI,))
    if kind is StepKind.WORKFLOW:
        name = text(a, (CREW_NAME,))
        reading.agent = None if name == UNNAMED_CREW else name
        reading.usage = reading.usage or _crew_usage(a)
    elif kind is StepKind.AGENT:
        reading.agent = reading.agent or text(a, (ROLE,)) or span.name.removesuffix(".agent")
    elif kind is StepKind.LLM:
        reading.request_model = reading.request_model or span.name.removesuffix(CALL_SUFFIX)
        return reading
    reading.total_is_no_sum = bool(reading.usage)
    return reading


def _kind(span: Span) -> StepKind | None:
    if span.name == CREW:
        return StepKind.WORKFLOW
    if span.name.endswith(CALL_SUFFIX):
        return StepKind.LLM
    declared = _kinds.TRACELOOP.get(text(span.attributes, (KIND,)) or "")
    return declared or otel_genai.kind(span)


def _crew_usage(a: Attributes) -> Usage:
    """The counts out of `total_tokens=3270 prompt_tokens=3078 cached_prompt_tokens=0 completion_tokens=192 ...`."""
    counts = {name: whole(count) for name, count in COUNT.findall(text(a, CREW_USAGE) or "")}
    return Usage(
        input_tokens=counts.get("prompt_tokens"),
        output_tokens=counts.get("completion_tokens"),
        cache_read_tokens=counts.get("cached_prompt_tokens"),
    )


def messages(span: Span) -> SpanMessages:
    """gen_ai messages of calls; of crews and tasks their result."""
    found = genai_messages(span)
    if not found.output:
        result = next((span.attributes[k] for k in RESULTS if k in span.attributes), None)
        found.output = value_of(shown(result), "assistant")
    return found
