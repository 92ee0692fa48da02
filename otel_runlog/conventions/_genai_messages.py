"""Messages of gen_ai.* spans: JSON lists, their flattened older form, and tool arguments and results."""

from __future__ import annotations

from otel_runlog.conventions._attrs import items
from otel_runlog.conventions._messages import dumped, messages_of, unflatten
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.model import Attributes, Message, Span


def genai_messages(span: Span) -> SpanMessages:
    """Read today's names first, then gen_ai.prompt.N and gen_ai.completion.N."""
    a = span.attributes
    return SpanMessages(
        system=messages_of(a.get("gen_ai.system_instructions"), "system"),
        input=_input(a),
        output=_output(a),
        tools=dumped(items(a.get("gen_ai.tool.definitions")), "tool"),
    )


def _input(a: Attributes) -> tuple[Message, ...]:
    if "gen_ai.input.messages" in a:
        return messages_of(a["gen_ai.input.messages"])
    if "gen_ai.tool.call.arguments" in a:
        return messages_of(a["gen_ai.tool.call.arguments"], "tool")
    flat = unflatten(a, "gen_ai.prompt.")
    return messages_of(flat) if flat else messages_of(a.get("gen_ai.prompt"))  # type: ignore[arg-type]


def _output(a: Attributes) -> tuple[Message, ...]:
    if "gen_ai.output.messages" in a:
        return messages_of(a["gen_ai.output.messages"], "assistant")
    if "gen_ai.tool.call.result" in a:
        return messages_of(a["gen_ai.tool.call.result"], "tool")
    flat = unflatten(a, "gen_ai.completion.")
    return messages_of(flat, "assistant") if flat else messages_of(a.get("gen_ai.completion"), "assistant")  # type: ignore[arg-type]
