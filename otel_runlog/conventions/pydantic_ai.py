"""Pydantic AI: gen_ai.* with a run id of its own (gen_ai.agent.call.id) and roll-ups on the agent span.

Today's roll-up has names of its own (gen_ai.aggregated_usage.*) and is not read as usage where calls carry theirs;
versions 1 and `use_aggregated_usage_attribute_names=False` write gen_ai.usage.* on the agent, shared with sub-agents.
Instrumentation versions 1 and 2 name their spans `agent run` and `running tool`; version 1 tells messages as events.
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import items, mapping, text
from otel_runlog.conventions._base import CUT_NOTE, read_common
from otel_runlog.conventions._content import CUT, WHOLE, presence, state
from otel_runlog.conventions._genai_messages import EVENT_ROLES, event_messages, genai_messages
from otel_runlog.conventions._messages import dumped, messages_of, split_system, value_of
from otel_runlog.conventions._usage import normal_form, raw_counters
from otel_runlog.conventions._vocabularies import GENAI, PYDANTIC_ROLLUP
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Content, Span, StepKind

NAME = "pydantic_ai"
SCOPE = "pydantic-ai"
OLD_AGENT, OLD_TOOL, OLD_TOOLS = "agent run", "running tool", "running tools"
"""Span names of instrumentation versions 1 and 2, which set no operation name on them."""
EVENT_LISTS = ("events", "all_messages_events")
"""Where version 1 tells the messages of a call and of an agent."""


def matches(span: Span) -> bool:
    """The scope of Pydantic AI."""
    return span.scope.name == SCOPE


def read(span: Span) -> Reading | None:
    """Read the agent, its calls and its tools; `running tools` only groups."""
    a = span.attributes
    declared = _old_kind(span) if otel_genai.OPERATION not in a else None
    reading = read_common(span, NAME, declared, (GENAI,)) if declared else otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    if reading.kind is StepKind.AGENT:
        _read_agent(reading, a)
    elif reading.kind is StepKind.TOOL:
        reading.tool_name = reading.tool_name or span.name.removeprefix("running tool: ")
    elif reading.kind is StepKind.LLM and "events" in a:
        _read_event_content(reading, a["events"])
    return reading


def _old_kind(span: Span) -> StepKind | None:
    if span.name == OLD_AGENT or ("agent_name" in span.attributes and "final_result" in span.attributes):
        return StepKind.AGENT
    if span.name == OLD_TOOLS:
        return StepKind.CHAIN
    return StepKind.TOOL if span.name.startswith(OLD_TOOL) else None


def _read_agent(reading: Reading, a: Attributes) -> None:
    reading.agent = reading.agent or text(a, ("agent_name",))
    reading.request_model = reading.request_model or text(a, ("model_name",))
    reading.total_is_no_sum = True
    if not reading.usage:
        reading.usage = normal_form(raw_counters(a, (PYDANTIC_ROLLUP,))).usage


def _read_event_content(reading: Reading, events: AttrValue) -> None:
    """Version 1: prompt and answer stand in one list of events."""
    if presence(events) == CUT:
        reading.content, reading.notes = Content.TRUNCATED, (*reading.notes, CUT_NOTE)
        return
    found = _told(events)
    asked, said = (WHOLE * any(m.text for m in side) for side in (found.input, found.output))
    reading.content = state(asked, said)


def _told(events: AttrValue) -> SpanMessages:
    """Version 1's events: each a flat object with `event.name`; a plain answer may have lost its name."""
    bodies = [mapping(e) for e in items(events)]
    return event_messages((str(b.get("event.name") or _event_of(b)), b) for b in bodies)


def _event_of(body: Attributes) -> str:
    return next((name for name, role in EVENT_ROLES.items() if role == body.get("role")), "")


def messages(span: Span) -> SpanMessages:
    """gen_ai messages; older tools say tool_arguments and tool_response, agents all_messages and final_result."""
    a = span.attributes
    found = genai_messages(span)
    for key in EVENT_LISTS:
        if key in a and not found.input:
            found = _told(a[key])
    if not found.input and "pydantic_ai.all_messages" in a:
        _, given = split_system(messages_of(a["pydantic_ai.all_messages"]))
        answered = bool(given) and given[-1].role == "assistant"
        found.input, found.output = (given[:-1], given[-1:]) if answered else (given, ())
    found.input = found.input or value_of(a.get("tool_arguments"), "tool")
    found.output = (
        found.output or value_of(a.get("tool_response"), "tool") or value_of(a.get("final_result"), "assistant")
    )
    found.tools = found.tools or dumped(items(mapping(a.get("model_request_parameters")).get("function_tools")), "tool")
    return found
