"""Haystack: spans named haystack.*, no token attributes; usage stands in the outputs that content tracing records.

Haystack 2 runs components (`chat_generator`, `tool_invoker`) inside an agent, 3 has a span for each model call and each
tool of an agent's step. Without HAYSTACK_CONTENT_TRACING_ENABLED no call tells its usage (facts/semconv, row 19).
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import flag, items, mapping, path, text
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._errors import STATUS_IN_TEXT
from otel_runlog.conventions._fields import inner_params
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions._payloads import answer_messages, answer_of, read_content, request_messages
from otel_runlog.conventions._tool_values import around
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Span, StepKind

NAME = "haystack"
PREFIX = "haystack."
TYPE, COMPONENT = "haystack.component.type", "haystack.component.name"
WRAPPER = "PipelineRuntimeError"
"""Around whatever error a component raised; only its message tells which."""
INPUTS = (
    "haystack.component.input",
    "haystack.agent.step.llm.input",
    "haystack.agent.step.tool.input",
    "haystack.agent.input",
    "haystack.pipeline.input_data",
)
OUTPUTS = (
    "haystack.component.output",
    "haystack.agent.step.llm.output",
    "haystack.agent.step.tool.output",
    "haystack.agent.output",
    "haystack.pipeline.output_data",
)


def matches(span: Span) -> bool:
    """The names of Haystack's operations, whatever tracer carries them."""
    return span.name.startswith(PREFIX)


def read(span: Span) -> Reading:
    """Read by the operation, components by their type."""
    a = span.attributes
    kind = _kind(span)
    reading = read_common(span, NAME, kind, ())
    if kind in MODEL_KINDS:
        _read_call(reading, a)
    elif kind is StepKind.TOOL:
        _read_tool(reading, a)
    elif kind is StepKind.AGENT:
        reading.agent = text(a, (COMPONENT, "haystack.agent.name"))
    return reading


def _kind(span: Span) -> StepKind:
    component = text(span.attributes, (TYPE,)) or ""
    for end, kind in _kinds.HAYSTACK_COMPONENT.items():
        if component.endswith(end):
            return kind
    return _kinds.HAYSTACK.get(span.name, StepKind.OTHER)


def _value(a: Attributes, keys: tuple[str, ...]) -> AttrValue:
    return next((a[key] for key in keys if key in a), None)


def _read_call(reading: Reading, a: Attributes) -> None:
    asked, said = mapping(_value(a, INPUTS)), answer_of(_value(a, OUTPUTS))
    reading.usage = said.usage
    if (reading.error_type or "").endswith(WRAPPER):
        reading.refused = bool(STATUS_IN_TEXT.search(reading.error_message or ""))
    reading.response_model, reading.response_id = said.model, said.id
    reading.finish_reason, reading.service_tier = said.finish_reason, said.service_tier
    reading.params = inner_params(mapping(asked.get("generation_kwargs")))
    read_content(reading, _value(a, INPUTS), _value(a, OUTPUTS))


def _read_tool(reading: Reading, a: Attributes) -> None:
    """A tool of a step, or an invoker, which is one tool's span only where it invoked one."""
    only = _only_result(_value(a, OUTPUTS))
    reading.tool_name = text(a, ("haystack.tool.name",)) or text(mapping(only.get("origin")), ("tool_name",))
    reading.tool_name = reading.tool_name or text(a, (TYPE,))
    reading.tool_call_id = text(a, ("haystack.tool.call.id",)) or text(mapping(only.get("origin")), ("id",))
    reading.failed = reading.failed or flag(a.get("haystack.tool.error")) is True or only.get("error") is True
    if reading.failed and reading.error_message is None:
        message = path(_value(a, OUTPUTS), "error") or only.get("result")
        reading.error_message = message if isinstance(message, str) else None


def _only_result(output: AttrValue) -> Attributes:
    """What an invoker that invoked one tool says of it."""
    results = _results(output)
    return mapping(results[0]) if len(results) == 1 else {}


def _results(output: AttrValue) -> list[AttrValue]:
    """The results in {"tool_messages": [{"content": [{"tool_call_result": ...}]}]}."""
    told = [mapping(m) for m in items(path(output, "tool_messages"))]
    parts = [mapping(p) for m in told for p in items(m.get("content"))]
    return [p["tool_call_result"] for p in parts if "tool_call_result" in p]


def messages(span: Span) -> SpanMessages:
    """The messages of a call, else input and output as they are."""
    asked, said = _value(span.attributes, INPUTS), _value(span.attributes, OUTPUTS)
    kind = _kind(span)
    if kind in MODEL_KINDS:
        found = request_messages(asked) if asked is not None else SpanMessages()
        found.output = answer_messages(said)
        return found
    if kind is not StepKind.TOOL:
        return SpanMessages(input=value_of(asked, "user"), output=value_of(said, "assistant"))
    only = _only_result(said)
    arguments = mapping(mapping(only.get("origin")).get("arguments"))
    return SpanMessages(input=around(asked, arguments or None), output=around(said, only.get("result")))
