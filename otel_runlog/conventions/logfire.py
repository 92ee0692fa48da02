"""Logfire's own instrumentations: gen_ai.* beside JSON of its own; span names are templates.

A stream is told by two spans, often in two traces: one around the request, which knows no answer, and a log (a span
without length) `streaming response from ...` with all of it. The log is the call, the other no step that counts.
Pending spans repeat a span at its start for viewers. gen_ai.usage.raw is the provider's usage object and knows the
reasoning; before March 2026 the input of Anthropic left the cache out. The Claude Agent SDK's chats say
gen_ai.usage.partial.*, which is no count, its root the true numbers (facts/semconv, sections 1 to 3).
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds, otel_genai
from otel_runlog.conventions._attrs import items, mapping, text, whole
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._fields import inner_params
from otel_runlog.conventions._genai_messages import event_messages, genai_messages
from otel_runlog.conventions._messages import Messages, value_of
from otel_runlog.conventions._payloads import answer_messages, read_content, request_messages
from otel_runlog.conventions._provider_usage import filled, usage_of
from otel_runlog.conventions._vocabularies import GENAI
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Content, Span, StepKind

NAME = "logfire"
SCOPE, AGENTS = "logfire", "logfire.openai_agents"
SPAN_TYPE, LEVEL = "logfire.span_type", "logfire.level_num"
PENDING, LOG = "pending_span", "log"
ERROR_LEVEL = 17
"""OTel's severity number of an error."""
CLIENT_MARK = "async"
"""On every span of its instrumentations of a provider's client."""
REQUEST, RESPONSE = "request_data", "response_data"
RAW, USAGE, RESPONSE_ID = "gen_ai.usage.raw", "usage", "gen_ai.response.id"
SETTINGS = ("model_settings", "model_config")
ANSWER = ("gen_ai.output.messages", RESPONSE, RESPONSE_ID, RAW, "gen_ai.usage.input_tokens")
NULL = "null"
"""JSON, as the bridge writes what is not given."""
ANSWERED_AT_ONCE = "Image Generation"
"""Its answer leaves no sign on the span, and it is no stream."""


def matches(span: Span) -> bool:
    """A scope of Logfire's, or a pending span of any."""
    scope = span.scope.name
    return scope == SCOPE or scope.startswith("logfire.") or span.attributes.get(SPAN_TYPE) == PENDING


def read(span: Span) -> Reading | None:
    """Read as gen_ai; the OpenAI Agents bridge by its templates."""
    a = span.attributes
    if a.get(SPAN_TYPE) == PENDING:
        return None
    reading = _read_agents(span) if span.scope.name == AGENTS else otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    if (whole(a.get(LEVEL)) or 0) >= ERROR_LEVEL and not reading.cancelled:
        reading.failed = True
        reading.error_message = reading.error_message or text(mapping(a.get("error")), ("message",))
    if reading.kind in MODEL_KINDS:
        _read_call(reading, span)
    return reading


def _read_agents(span: Span) -> Reading | None:
    a = span.attributes
    kind = next((kind for start, kind in _kinds.LOGFIRE.items() if span.name.startswith(start)), StepKind.OTHER)
    reading = read_common(span, NAME, kind, (GENAI,))
    if kind is StepKind.AGENT:
        reading.agent = text(a, ("name",))
    elif kind is StepKind.TOOL:
        reading.tool_name = text(a, ("name",)) or span.name
    elif kind is StepKind.WORKFLOW:
        group = text(a, ("group_id",))
        reading.session_id = group if group != NULL else None
    return reading


def _read_call(reading: Reading, span: Span) -> None:
    a = span.attributes
    if _is_opening(span, reading):
        reading.kind = StepKind.OTHER
        return
    if a.get(SPAN_TYPE) == LOG:
        reading.streaming = True
    raw = usage_of(a.get(RAW) or a.get(USAGE) or mapping(a.get(RESPONSE)).get("usage"))
    reading.usage = raw if raw and reading.usage.input_tokens != raw.input_tokens else filled(reading.usage, raw)
    settings = next((mapping(a[key]) for key in SETTINGS if key in a), mapping(a.get(REQUEST)))
    reading.params = {**inner_params(settings), **reading.params}
    if reading.content is Content.NONE:
        found = messages(span)
        read_content(reading, _texts(found.system + found.input), _texts(found.output))


def _is_opening(span: Span, reading: Reading) -> bool:
    """A client's request that ended without failing and without any sign of an answer: this one comes in a log."""
    a = span.attributes
    if CLIENT_MARK not in a or a.get(SPAN_TYPE) == LOG or reading.failed or reading.cancelled:
        return False
    return not any(key in a for key in ANSWER) and not span.name.startswith(ANSWERED_AT_ONCE)


def _texts(found: Messages) -> AttrValue:
    return "\n".join(m.text for m in found if m.text)


def messages(span: Span) -> SpanMessages:
    """gen_ai messages, else the events of the bridge, else request_data and response_data; a function's input."""
    a = span.attributes
    if span.name.startswith("Function"):
        return SpanMessages(input=value_of(a.get("input"), "tool"), output=value_of(a.get("output"), "tool"))
    found = genai_messages(span)
    if "events" in a and not found.input:
        found = _told(items(a["events"]))
    if not found.input and (asked := a.get("input") or a.get("raw_input") or a.get(REQUEST)) is not None:
        found = request_messages(asked)
    found.output = found.output or _answer(a)
    return found


def _told(events: list[AttrValue]) -> SpanMessages:
    """The bridge's events, of which the last ones of the assistant are the answer."""
    bodies = [mapping(e) for e in events]
    found = event_messages((str(b.get("event.name")), b) for b in bodies)
    last = len(found.input)
    while last and not found.output and found.input[last - 1].role == "assistant":
        last -= 1
    found.input, found.output = found.input[:last], found.output or found.input[last:]
    return found


def _answer(a: Attributes) -> Messages:
    if "output" in a:
        said = items(a["output"])
        return tuple(m for v in said for m in answer_messages(v)) or answer_messages(a["output"])
    told = mapping(a.get(RESPONSE))
    return answer_messages(told.get("message") or told.get("combined_chunk_content"))
