"""OpenInference's flattened messages: llm.input_messages.N.message.* and the like (facts/semconv, section 4).

Indices may start at 1 and have gaps. Hidden texts say __REDACTED__ in place of the content.
"""

from __future__ import annotations

from otel_runlog.conventions._content import MARKERS
from otel_runlog.conventions._messages import Messages, dumped, message, split_system, unflatten
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.model import Attributes, AttrValue, Message


def flat_messages(a: Attributes) -> SpanMessages:
    """Chat messages, else the prompts and choices of text completions; tool definitions."""
    system, given = split_system(_chat(a, "llm.input_messages.", "user"))
    return SpanMessages(
        system=system,
        input=given or _plain_texts(a, "llm.prompts.", "prompt", "user"),
        output=_chat(a, "llm.output_messages.", "assistant")
        or _plain_texts(a, "llm.choices.", "completion", "assistant"),
        tools=dumped((_schema(t.get("tool", t)) for t in unflatten(a, "llm.tools.")), "tool"),
    )


def _chat(a: Attributes, prefix: str, role: str) -> Messages:
    found = (message(_plain(m.get("message", m)), role) for m in unflatten(a, prefix))
    return tuple(Message(m.role, "", m.raw) if m.text in MARKERS else m for m in found)


def _plain(value: AttrValue) -> Attributes:
    """OpenInference's nesting (contents[].message_content, tool_calls[].tool_call) as a plain message."""
    if not isinstance(value, dict):
        return {"content": value}
    plain = {k: v for k, v in value.items() if k not in ("contents", "tool_calls")}
    if contents := _unwrapped(value.get("contents"), "message_content"):
        plain["parts"] = contents
    if calls := _unwrapped(value.get("tool_calls"), "tool_call"):
        plain["tool_calls"] = calls
    return plain


def _unwrapped(values: AttrValue, key: str) -> list[AttrValue]:
    found = values if isinstance(values, list) else []
    return [v.get(key, v) if isinstance(v, dict) else v for v in found]


def _plain_texts(a: Attributes, prefix: str, key: str, role: str) -> Messages:
    found = (o.get(key) for o in unflatten(a, prefix))
    return tuple(message({"role": role, "content": o.get("text")}) for o in found if isinstance(o, dict))


def _schema(tool: AttrValue) -> AttrValue:
    return tool.get("json_schema", tool) if isinstance(tool, dict) else tool
