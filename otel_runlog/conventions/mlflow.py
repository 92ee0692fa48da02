"""MLflow's own spans over OTLP: every value is JSON, text stands in quotes of its own.

The whole request and the whole answer stand in spanInputs and spanOutputs; tokenUsage includes the cache and leaves
reasoning out, which only the answer tells. With MLFLOW_ENABLE_OTEL_GENAI_SEMCONV it writes gen_ai.* instead, and is
read as that (facts/semconv, sections 2 and 4).
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import items, mapping, parsed, text, whole
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._fields import inner_params, streaming
from otel_runlog.conventions._messages import dumped, value_of
from otel_runlog.conventions._payloads import answer_messages, answer_of, read_content, request_messages
from otel_runlog.conventions._provider_usage import filled
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Span, StepKind, Usage

NAME = "mlflow"
KIND, REQUEST_ID = "mlflow.spanType", "mlflow.traceRequestId"
INPUTS, OUTPUTS, TOOLS = "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.chat.tools"
USAGE, MODEL, PROVIDER = "mlflow.chat.tokenUsage", "mlflow.llm.model", "mlflow.llm.provider"
SESSION, USER = ("mlflow.trace.session", "session.id"), ("mlflow.trace.user", "user.id")


def matches(span: Span) -> bool:
    """The type or the trace's id, one of which every span of its has."""
    return KIND in span.attributes or REQUEST_ID in span.attributes


def read(span: Span) -> Reading:
    """Read by spanType; what is asked and said tells the rest."""
    a = span.attributes
    kind = _kinds.MLFLOW.get((_text(a, (KIND,)) or "").upper(), StepKind.OTHER)
    reading = read_common(span, NAME, kind, ())
    reading.session_id, reading.user_id = _text(a, SESSION), _text(a, USER)
    if kind in MODEL_KINDS:
        _read_call(reading, a)
    elif kind is StepKind.TOOL:
        reading.tool_name = _text(a, ("mlflow.spanFunctionName",)) or span.name
    elif kind is StepKind.AGENT:
        reading.agent = span.name
    return reading


def _text(a: Attributes, keys: tuple[str, ...]) -> str | None:
    """A text out of its JSON."""
    values: Attributes = {key: parsed(a[key]) for key in keys if key in a}
    return text(values, keys)


def _read_call(reading: Reading, a: Attributes) -> None:
    asked, said = mapping(a.get(INPUTS)), answer_of(a.get(OUTPUTS))
    reading.usage = _usage(mapping(a.get(USAGE)), said.usage)
    reading.provider = _text(a, (PROVIDER,)) or reading.provider
    reading.request_model = text(asked, ("model",)) or _text(a, (MODEL,))
    reading.response_model = said.model or _text(a, (MODEL,))
    reading.response_id, reading.finish_reason, reading.service_tier = said.id, said.finish_reason, said.service_tier
    reading.params = inner_params(asked)
    reading.streaming = streaming({}, asked)
    read_content(reading, a.get(INPUTS), a.get(OUTPUTS))


def _usage(told: Attributes, in_answer: Usage) -> Usage:
    """tokenUsage, cache inside; the answer's reasoning where its input is the same."""
    usage = Usage(
        input_tokens=whole(told.get("input_tokens")),
        output_tokens=whole(told.get("output_tokens")),
        cache_read_tokens=whole(told.get("cache_read_input_tokens")),
        cache_write_tokens=whole(told.get("cache_creation_input_tokens")),
        cache_write_1h_tokens=whole(told.get("cache_creation_input_tokens_above_1hr")),
    )
    return filled(usage, in_answer)


def messages(span: Span) -> SpanMessages:
    """The request's and the answer's messages of a call, else inputs and outputs as they are."""
    a = span.attributes
    kind = _kinds.MLFLOW.get((_text(a, (KIND,)) or "").upper())
    if kind not in MODEL_KINDS:
        role = "tool" if kind is StepKind.TOOL else "user"
        other = role if role == "tool" else "assistant"
        return SpanMessages(input=value_of(_plain(a.get(INPUTS)), role), output=value_of(_plain(a.get(OUTPUTS)), other))
    found = request_messages(a.get(INPUTS)) if INPUTS in a else SpanMessages()
    found.output = answer_messages(a.get(OUTPUTS))
    found.tools = found.tools or dumped(items(a.get(TOOLS)), "tool")
    return found


def _plain(value: AttrValue) -> AttrValue:
    """A JSON text as the text; objects stay as they were written."""
    inner = parsed(value)
    return inner if isinstance(inner, str) else value
