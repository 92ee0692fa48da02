"""Pydantic AI: gen_ai.* with a run id of its own (gen_ai.agent.call.id) and roll-ups on the agent span.

Today's roll-up has names of its own (gen_ai.aggregated_usage.*) and is not read as usage where calls carry theirs;
versions 1 and `use_aggregated_usage_attribute_names=False` write gen_ai.usage.* on the agent, shared with sub-agents.
"""

from __future__ import annotations

from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._messages import messages_of
from otel_runlog.conventions._usage import Vocabulary, normal_form, raw_counters
from otel_runlog.conventions.otel_genai import messages as genai_messages
from otel_runlog.conventions.otel_genai import read as read_genai
from otel_runlog.conventions.otel_genai import with_name
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "pydantic_ai"
OLD_AGENT, OLD_TOOL, OLD_TOOLS = "agent run", "running tool", "running tools"
"""Span names of instrumentation versions 1 and 2, which set no operation name on them."""
AGGREGATED = Vocabulary(
    input=("gen_ai.aggregated_usage.input_tokens",),
    output=("gen_ai.aggregated_usage.output_tokens",),
    cache_read=(
        "gen_ai.aggregated_usage.cache_read.input_tokens",
        "gen_ai.aggregated_usage.details.cache_read_tokens",
    ),
    cache_write=(
        "gen_ai.aggregated_usage.cache_creation.input_tokens",
        "gen_ai.aggregated_usage.details.cache_write_tokens",
    ),
    reasoning=("gen_ai.aggregated_usage.details.reasoning_tokens",),
)


def matches(span: Span) -> bool:
    """The scope of Pydantic AI."""
    return span.scope.name == "pydantic-ai"


def read(span: Span) -> Reading | None:
    """Read the agent, its calls and its tools; `running tools` only groups."""
    reading = read_genai(span)
    kind = _old_kind(span)
    if kind is not None and (reading is None or reading.kind in (StepKind.LLM, StepKind.OTHER)):
        reading = _empty(span, kind) if reading is None else reading
        reading.kind = kind
    if reading is None:
        return None
    if reading.kind is StepKind.AGENT:
        reading.total_is_no_sum = True
        if not reading.usage:
            reading.usage = normal_form(raw_counters(span.attributes, (AGGREGATED,))).usage
    if reading.kind is StepKind.TOOL and reading.tool_name is None:
        reading.tool_name = span.name.removeprefix("running tool: ")
    return with_name(reading, NAME)


def _old_kind(span: Span) -> StepKind | None:
    if span.name == OLD_AGENT or ("agent_name" in span.attributes and "pydantic_ai.all_messages" in span.attributes):
        return StepKind.AGENT
    if span.name == OLD_TOOLS:
        return StepKind.CHAIN
    return StepKind.TOOL if span.name.startswith(OLD_TOOL) else None


def _empty(span: Span, kind: StepKind) -> Reading:
    return Reading(NAME, kind, agent=text(span.attributes, ("gen_ai.agent.name", "agent_name")))


def messages(span: Span) -> SpanMessages:
    """gen_ai messages; older tools say tool_arguments and tool_response, agents all_messages and final_result."""
    a = span.attributes
    found = genai_messages(span)
    found.input = found.input or messages_of(a.get("tool_arguments"), "tool")
    found.output = (
        found.output or messages_of(a.get("tool_response"), "tool") or messages_of(a.get("final_result"), "assistant")
    )
    return found
