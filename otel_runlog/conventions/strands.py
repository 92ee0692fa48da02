"""Strands Agents: gen_ai.* with every counter in two spellings, messages as span events in Bedrock's shapes.

invoke_agent says what the Agent object used since it was made, not in this run (facts/semconv, section 1, row 11): it
is no sum of its calls, and where no call has usage and it must count, that is doubtful. Time to first token is in ms
under a name that OTel gives seconds (trap 8). Two forms of events: one a message, and `operation.details`.
"""

from __future__ import annotations

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import items, mapping, number, parsed, text
from otel_runlog.conventions._content import DETAILS_EVENT
from otel_runlog.conventions._genai_messages import CHOICE, genai_messages
from otel_runlog.conventions._messages import Messages, part_text
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Message, Span, StepKind

NAME = "strands"
SCOPE = "strands.telemetry.tracer"
FIRST_TOKEN_MS = "gen_ai.server.time_to_first_token"  # noqa: S105  # no secret
STATUS, CANCELLATION = "gen_ai.tool.status", "strands.cancellation.type"


def matches(span: Span) -> bool:
    """The scope of Strands' tracer."""
    return span.scope.name == SCOPE


def read(span: Span) -> Reading | None:
    """Read as gen_ai; what only events tell is added."""
    reading = otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    if reading.kind is StepKind.LLM:
        _read_call(reading, span)
    elif reading.kind is StepKind.TOOL:
        _read_tool(reading, span)
    elif reading.usage:
        reading.total_is_no_sum = True
    if (name := text(span.attributes, (CANCELLATION,))) is not None:
        reading.failed, reading.cancelled, reading.error_type = False, True, name
    return reading


def _read_call(reading: Reading, span: Span) -> None:
    reading.finish_reason = reading.finish_reason or _finish_reason(span)
    reading.time_to_first_token_ms = number(span.attributes.get(FIRST_TOKEN_MS))
    reading.streaming = True  # it knows no other way


def _finish_reason(span: Span) -> str | None:
    for event in reversed(span.events):
        if event.name == CHOICE:
            return text(event.attributes, ("finish_reason",))
        if event.name == DETAILS_EVENT and "gen_ai.output.messages" in event.attributes:
            said = items(event.attributes["gen_ai.output.messages"])
            return text(mapping(said[0]), ("finish_reason",)) if said else None
    return None


def _read_tool(reading: Reading, span: Span) -> None:
    """A tool that answers with an error fails, also where the span's status says nothing of it."""
    if text(span.attributes, (STATUS,)) == "error" and not reading.failed:
        reading.failed = True
        reading.error_message = next((m.text for m in messages(span).output), None)


def messages(span: Span) -> SpanMessages:
    """gen_ai messages; of a tool its arguments, and its result as a person reads it."""
    found = genai_messages(span)
    if text(span.attributes, (otel_genai.OPERATION,)) == "execute_tool":
        found.output = _results(found.output)
    return found


def _results(messages: Messages) -> Messages:
    return tuple(Message("tool", _blocks_text(m), m.raw) for m in messages)


def _blocks_text(message: Message) -> str:
    """The text of a list of Bedrock's content blocks; anything else as it is."""
    blocks = parsed(message.text)
    if isinstance(blocks, list) and all(isinstance(b, dict) for b in blocks):
        return part_text(blocks)
    return message.text
