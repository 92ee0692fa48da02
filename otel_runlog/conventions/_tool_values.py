"""What wrappers put around a tool's arguments and result: LangChain's callbacks, decorators (facts/semconv, 4)."""

from __future__ import annotations

import msgspec

from otel_runlog.conventions._attrs import dump, mapping
from otel_runlog.conventions._genai_messages import shown
from otel_runlog.conventions._messages import Messages, value_of
from otel_runlog.model import Attributes, AttrValue

CALL_ID = "tool_call_id"


def arguments_of(value: AttrValue) -> Messages:
    """A tool's arguments out of {"inputs": ...} (Traceloop, LangChain) or {"args": [], "kwargs": ...} (decorators)."""
    whole = mapping(value)
    inner = whole.get("inputs") if "input_str" in whole else None
    if "kwargs" in whole and not whole.get("args") and inner is None:
        inner = whole["kwargs"]
    return around(value, inner if isinstance(inner, dict) else None)


def result_of(value: AttrValue) -> Messages:
    """A tool's result out of LangChain's serialised ToolMessage."""
    content = _tool_message(value).get("content")
    return around(value, content if isinstance(content, str | list | dict) else None)


def call_id_in(values: tuple[AttrValue, ...]) -> str | None:
    """The tool call's id that only such a wrapper tells."""
    for value in values:
        if isinstance(value, str) and CALL_ID in value:
            found = _tool_message(value).get(CALL_ID) or mapping(mapping(value).get("kwargs")).get(CALL_ID)
            if isinstance(found, str) and found:
                return found
    return None


def _tool_message(value: AttrValue) -> Attributes:
    """LangChain's ToolMessage in one of its forms: {"output": {"kwargs": ...}} or {"type": "tool", "data": ...}."""
    if not isinstance(value, str) or CALL_ID not in value:
        return {}
    whole = mapping(value)
    inner = mapping(whole.get("output")).get("kwargs") if "output" in whole else whole.get("data")
    return inner if isinstance(inner, dict) else {}


def around(value: AttrValue, inner: AttrValue) -> Messages:
    """`value` as one message that shows `inner`, where that is known."""
    if inner is None:
        return value_of(shown(value), "tool")
    return tuple(msgspec.structs.replace(m, raw=dump(value)) for m in value_of(inner, "tool"))
