"""OpenInference: openinference.span.kind, llm.token_count.*, flattened messages.

Its processors also stamp spans of other instrumentations; llm.* and gen_ai.* then stand side by side and only one set
is read. An AGENT span that repeats its calls (smolagents, where it even adds up over the object's life) counts only
where nothing below it has usage.
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import dump, mapping, text
from otel_runlog.conventions._base import MARKERS, content, read_common
from otel_runlog.conventions._messages import dumped, message, messages_of, unflatten
from otel_runlog.conventions._usage import GENAI, OPENINFERENCE
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Message, Span, StepKind

NAME = "openinference"
KIND = "openinference.span.kind"
INPUT_KEYS = ("llm.input_messages.0.message.role", "llm.input_messages.1.message.role", "input.value")
OUTPUT_KEYS = ("llm.output_messages.0.message.role", "output.value")
LAST_CALL_ONLY = "openinference.instrumentation.google_genai"
LIFETIME_TOTALS = "openinference.instrumentation.smolagents"
"""The scope whose AGENT spans say what the object used since it was made."""


def matches(span: Span) -> bool:
    """The attribute that every OpenInference span has."""
    return KIND in span.attributes


def read(span: Span) -> Reading | None:
    """Read a span by its OpenInference kind."""
    a = span.attributes
    kind = _kinds.OPENINFERENCE.get(str(a[KIND]).upper(), StepKind.OTHER)
    reading = read_common(span, NAME, kind, (OPENINFERENCE, GENAI))
    if kind is StepKind.LLM:
        reading.content = content(a, INPUT_KEYS, OUTPUT_KEYS)
        reading.usage_cut = reading.usage_cut or _is_loop(span)
        reading.response_id = reading.response_id or _response_id(a)
        reading.streaming = True if reading.streaming is None and reading.time_to_first_token_ms else reading.streaming
    elif kind is StepKind.TOOL:
        reading.tool_name = reading.tool_name or span.name
    elif kind in (StepKind.AGENT, StepKind.CHAIN):
        reading.total_is_no_sum = span.scope.name == LIFETIME_TOTALS
        if kind is StepKind.AGENT:
            reading.agent = reading.agent or _agent_name(span)
    return reading


def _is_loop(span: Span) -> bool:
    """Google's automatic function calling: several calls in one span, the usage of the last (facts/semconv, trap 6)."""
    if span.scope.name != LAST_CALL_ONLY:
        return False
    history = span.attributes.get("output.value")
    return "message.tool_calls.0.tool_call.function.name" in span.attributes or (
        isinstance(history, str) and '"automatic_function_calling_history":[{' in history.replace(" ", "")
    )


def _agent_name(span: Span) -> str:
    """graph.node.id where it is given; CrewAI's `role._execute_core` and the like are the role."""
    return text(span.attributes, ("graph.node.id",)) or span.name.removesuffix("._execute_core").removesuffix(".run")


def _response_id(a: Attributes) -> str | None:
    """OpenInference has no attribute for it: the id stands inside the raw answer."""
    value = a.get("output.value")
    if not isinstance(value, str) or '"id"' not in value:
        return None
    return text(mapping(value), ("id", "response_id"))


def messages(span: Span) -> SpanMessages:
    """The flattened messages, else input.value and output.value."""
    a = span.attributes
    inputs = _flat(a, "llm.input_messages.") or _value(a, "input.value", "user")
    return SpanMessages(
        system=tuple(m for m in inputs if m.role in ("system", "developer")),
        input=tuple(m for m in inputs if m.role not in ("system", "developer")),
        output=_flat(a, "llm.output_messages.") or _value(a, "output.value", "assistant"),
        tools=dumped((t.get("tool", t) for t in unflatten(a, "llm.tools.")), "tool"),
    )


def _flat(a: Attributes, prefix: str) -> tuple[Message, ...]:
    return tuple(message(_plain(m.get("message", m))) for m in unflatten(a, prefix))


def _plain(value: object) -> Attributes:
    """OpenInference's nesting (contents[].message_content, tool_calls[].tool_call) as a plain message."""
    if not isinstance(value, dict):
        return {}
    plain: Attributes = {k: v for k, v in value.items() if k not in ("contents", "tool_calls")}
    if contents := value.get("contents"):
        plain["parts"] = [c.get("message_content", c) if isinstance(c, dict) else c for c in contents]
    if calls := value.get("tool_calls"):
        plain["tool_calls"] = [c.get("tool_call", c) if isinstance(c, dict) else c for c in calls]
    return plain


def _value(a: Attributes, key: str, role: str) -> tuple[Message, ...]:
    value = a.get(key)
    if value is None or value in MARKERS:
        return ()
    if isinstance(value, str):
        return (Message(role, value, value),)
    return messages_of(dump(value), role)
