"""OpenInference: openinference.span.kind, llm.token_count.*, flattened messages.

Its processors also stamp spans of other instrumentations; llm.* and gen_ai.* then stand side by side and only one set
is read. An AGENT span that repeats its calls (smolagents, where it even adds up over the object's life) counts only
where nothing below it has usage. Names and shapes: facts/semconv, sections 2 and 4.
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import dump, text
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._genai_messages import genai_messages, shown
from otel_runlog.conventions._messages import Messages
from otel_runlog.conventions._openinference_messages import flat_messages
from otel_runlog.conventions._tool_values import arguments_of, call_id_in, result_of
from otel_runlog.conventions._vocabularies import GENAI, OPENINFERENCE
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Message, Span, StepKind

NAME = "openinference"
KIND = "openinference.span.kind"
INPUT, OUTPUT = "input.value", "output.value"
CONTENT_FIELDS = ("openinference_input", "openinference_output")
SMOLAGENTS = "openinference.instrumentation.smolagents"
FINAL_ANSWER = "final_answer"
"""smolagents' way to end a run: no tool runs, though the span's kind says TOOL."""
LIFETIME_TOTALS = (SMOLAGENTS, "pydantic-ai")
"""Scopes whose AGENT spans say what the object used since it was made, or what sub-agents used with it."""
HANDOFF = "handoff to "
"""openai-agents passes the conversation on: no tool runs, though the span's kind says TOOL."""
OPENAI_AGENTS = "openinference.instrumentation.openai_agents"
NODE_ID = "graph.node.id"
AGENT_SUFFIXES = ("._execute_core", ".run")
METADATA, LANGCHAIN_AGENT = "metadata", '"lc_agent_name"'
"""LangChain's create_agent names its agent in the metadata of all that runs below it; its own span is a CHAIN."""


class _Metadata(msgspec.Struct):
    """What is worth knowing of LangChain's metadata."""

    lc_agent_name: str | None = None


class _Answer(msgspec.Struct):
    """What is worth knowing of a provider's raw answer."""

    id: object = None
    response_id: object = None
    service_tier: object = None


def matches(span: Span) -> bool:
    """The attribute that every OpenInference span has."""
    return KIND in span.attributes


def read(span: Span) -> Reading:
    """Read a span by its OpenInference kind."""
    kind = _kind(span)
    reading = read_common(span, NAME, kind, (OPENINFERENCE, GENAI), content_fields=CONTENT_FIELDS)
    if kind in MODEL_KINDS:
        _read_answer(reading, span.attributes.get(OUTPUT))
    elif kind is StepKind.TOOL:
        reading.tool_name = reading.tool_name or span.name
        reading.tool_call_id = reading.tool_call_id or call_id_in((span.attributes.get(OUTPUT),))
    elif kind in (StepKind.AGENT, StepKind.CHAIN):
        reading.total_is_no_sum = span.scope.name in LIFETIME_TOTALS
        if kind is StepKind.AGENT:
            reading.agent = reading.agent or _agent_name(span)
    reading.agent = reading.agent or _langchain_agent(span.attributes.get(METADATA))
    return reading


def _kind(span: Span) -> StepKind:
    declared = _kinds.OPENINFERENCE.get((text(span.attributes, (KIND,)) or "").upper(), StepKind.OTHER)
    is_control = declared is StepKind.TOOL and (span.name.startswith(HANDOFF) or _is_answer(span))
    return StepKind.OTHER if is_control else declared


def _is_answer(span: Span) -> bool:
    return span.scope.name == SMOLAGENTS and span.attributes.get("tool.name") == FINAL_ANSWER


def _agent_name(span: Span) -> str | None:
    """graph.node.id where it is given; CrewAI's `role._execute_core` and the like are the role.

    The AGENT span of openai-agents that is no node is its trace: a name of the workflow, above all agents of it.
    """
    node = text(span.attributes, (NODE_ID,))
    if node is None and span.scope.name == OPENAI_AGENTS:
        return None
    name = node or span.name
    for suffix in AGENT_SUFFIXES:
        name = name.removesuffix(suffix)
    return name


def _langchain_agent(metadata: AttrValue) -> str | None:
    """The agent that LangChain says a span belongs to."""
    if not isinstance(metadata, str) or LANGCHAIN_AGENT not in metadata:
        return None
    try:
        return msgspec.json.decode(metadata, type=_Metadata).lc_agent_name or None
    except (msgspec.DecodeError, RecursionError):
        return None


def _read_answer(reading: Reading, value: AttrValue) -> None:
    """OpenInference has no attribute for the response id and the tier: they stand inside the raw answer."""
    if not isinstance(value, str) or 'id"' not in value or (reading.response_id and reading.service_tier):
        return  # neither "id" nor Gemini's "response_id"
    try:
        answer = msgspec.json.decode(value, type=_Answer)
    except (msgspec.DecodeError, RecursionError):
        return
    found: Attributes = {"id": answer.id, "response_id": answer.response_id, "tier": answer.service_tier}  # type: ignore[dict-item]
    reading.response_id = reading.response_id or text(found, ("id", "response_id"))
    reading.service_tier = reading.service_tier or text(found, ("tier",))


def messages(span: Span) -> SpanMessages:
    """The flattened messages, else input.value and output.value, else the gen_ai.* of a stamped span."""
    a = span.attributes
    if _kind(span) is StepKind.TOOL:
        return _tool(span)
    found = flat_messages(a)
    other = genai_messages(span) if not (found.input and found.output) else SpanMessages()
    return SpanMessages(
        system=found.system or other.system,
        input=_told(found.input) or other.input or _value(a, INPUT, "user"),
        output=_told(found.output) or other.output or _value(a, OUTPUT, "assistant"),
        tools=found.tools or other.tools,
    )


def _told(messages: Messages) -> Messages:
    """Messages of which one says something; those of shapes the instrumentation does not know are roles alone."""
    return messages if any(m.text for m in messages) else ()


def _tool(span: Span) -> SpanMessages:
    a, other = span.attributes, genai_messages(span)
    return SpanMessages(
        input=arguments_of(a[INPUT]) if INPUT in a else other.input,
        output=result_of(a[OUTPUT]) if OUTPUT in a else other.output,
    )


def _value(a: Attributes, key: str, role: str) -> Messages:
    """The raw request or answer as one message: its shape is the client's own."""
    value = shown(a.get(key))
    return () if value in (None, "") else (Message(role, dump(value), dump(value)),)
