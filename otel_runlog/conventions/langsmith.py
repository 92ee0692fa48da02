"""LangSmith's OTel export: langsmith.span.kind; gen_ai.prompt and gen_ai.completion are whole inputs and outputs.

Every span, chains too, has gen_ai.operation.name and gen_ai.system: neither is a sign of a model call. Cache and
reasoning counts stand in Python reprs or in langsmith.metadata.usage_metadata; chains whose output has usage_metadata
repeat their call's tokens. `langsmith.trace.session_name` is the project, no session (facts/semconv, section 2).
"""

from __future__ import annotations

import re

import msgspec

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import flag, mapping, text
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._content import HIDDEN
from otel_runlog.conventions._fields import inner_params
from otel_runlog.conventions._messages import Messages, value_of
from otel_runlog.conventions._payloads import answer_messages, answer_of, read_content, request_messages
from otel_runlog.conventions._provider_usage import filled, usage_of
from otel_runlog.conventions._tool_values import result_of
from otel_runlog.conventions._vocabularies import GENAI
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Span, SpanEvent, StepKind, Usage

NAME = "langsmith"
KIND, SCOPE = "langsmith.span.kind", "langsmith"
ASKED, SAID = "gen_ai.prompt", "gen_ai.completion"
METADATA = "langsmith.metadata."
SESSION = (f"{METADATA}session_id", f"{METADATA}thread_id", f"{METADATA}conversation_id")
USAGE = f"{METADATA}usage_metadata"
REPR = re.compile(r"([A-Za-z_][\w.]*)\(")
"""An exception as Python writes it: the type stands before the bracket."""
TYPE, MESSAGE = "exception.type", "exception.message"
TRACEBACK = "Traceback (most recent call last)"


def matches(span: Span) -> bool:
    """The kind that every span of its exporter has."""
    return KIND in span.attributes


def read(span: Span) -> Reading:
    """Read by langsmith.span.kind; whatever else looks like a model call is none."""
    a = span.attributes
    kind = _kinds.LANGSMITH.get((text(a, (KIND,)) or "").lower(), StepKind.OTHER)
    reading = read_common(_with_real_error(span), NAME, kind, (GENAI,))
    reading.session_id = text(a, SESSION) or reading.session_id
    reading.user_id = text(a, (f"{METADATA}user_id",)) or reading.user_id
    reading.agent = text(a, (f"{METADATA}lc_agent_name",)) or reading.agent
    if kind in MODEL_KINDS:
        _read_call(reading, a)
    else:
        reading.provider = reading.request_model = None
    if kind is StepKind.TOOL:
        reading.tool_name = reading.tool_name or span.name
    return reading


def _with_real_error(span: Span) -> Span:
    """The exporter records every error as an Exception whose message is the real one's repr and its traceback."""
    return msgspec.structs.replace(span, events=tuple(map(_real_error, span.events))) if span.events else span


def _real_error(event: SpanEvent) -> SpanEvent:
    told = event.attributes.get(MESSAGE)
    if event.attributes.get(TYPE) != "Exception" or not isinstance(told, str):
        return event
    message = told.partition(TRACEBACK)[0].strip()
    named = REPR.match(message)
    real: Attributes = {TYPE: named[1] if named else "Exception", MESSAGE: message}
    return msgspec.structs.replace(event, attributes={**event.attributes, **real})


def _read_call(reading: Reading, a: Attributes) -> None:
    asked, said = mapping(a.get(ASKED)), answer_of(a.get(SAID))
    reading.usage = _usage(reading.usage, a, said.usage)
    reading.request_model = reading.request_model or text(a, (f"{METADATA}ls_model_name",))
    reading.provider = text(a, (f"{METADATA}ls_provider",)) or reading.provider
    reading.response_model = reading.response_model or said.model
    reading.response_id = reading.response_id or said.id
    reading.finish_reason = reading.finish_reason or said.finish_reason
    reading.service_tier = reading.service_tier or said.service_tier
    reading.streaming = flag(a.get("langsmith.request.streaming"))
    sent = {k.removeprefix("ls_"): v for k, v in _metadata(a).items()}
    reading.params = {**inner_params(sent), **inner_params(asked if "model" in asked else {}), **reading.params}
    read_content(reading, a.get(ASKED), None if reading.failed else a.get(SAID))


def _metadata(a: Attributes) -> Attributes:
    found = {k.removeprefix(METADATA): v for k, v in a.items() if k.startswith(f"{METADATA}ls_")}
    return {**mapping(found.get("ls_invocation_params")), **found}


def _usage(told: Usage, a: Attributes, in_answer: Usage) -> Usage:
    """The counts on the span, with the parts that only its details, its metadata or the answer tell."""
    details: Attributes = {
        "input_tokens": told.input_tokens,
        "output_tokens": told.output_tokens,
        "input_token_details": mapping(a.get("gen_ai.usage.input_token_details")),
        "output_token_details": mapping(a.get("gen_ai.usage.output_token_details")),
    }
    usage = told or in_answer
    for other in (usage_of(a.get(USAGE)), usage_of(details), in_answer):
        usage = filled(usage, other)
    return usage


def messages(span: Span) -> SpanMessages:
    """The request's and the answer's messages; a tool's arguments and result."""
    a = span.attributes
    asked, said = _shown(a.get(ASKED)), _shown(a.get(SAID))
    if text(a, (KIND,)) == "tool":
        return SpanMessages(input=value_of(asked, "tool"), output=_result(said))
    found = request_messages(asked) if asked is not None else SpanMessages()
    found.output = answer_messages(said) if said is not None else ()
    return found


def _shown(value: AttrValue) -> AttrValue:
    return None if value in (*HIDDEN, "{}") else value


def _result(said: AttrValue) -> Messages:
    """{"output": ...}: plain, or a ToolMessage of LangChain."""
    inner = mapping(said).get("output")
    if isinstance(inner, dict) and "content" in inner:
        inner = inner["content"]
    return result_of(said) if inner is None else value_of(inner, "tool")
