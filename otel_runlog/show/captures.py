"""Captures for people."""

from __future__ import annotations

from otel_runlog.capture import Capture
from otel_runlog.model import Content
from otel_runlog.show import text

_COMPLETENESS = {
    Content.FULL: "all recorded",
    Content.ANSWER: "answers only",
    Content.TRUNCATED: "cut short",
    Content.NONE: "without content",
}


def summary(capture: Capture) -> str:
    """A capture in a few words."""
    agent = f" of {text.clean(capture.run.agent)}" if capture.run.agent else ""
    calls = f"{text.count(len(capture.llm_io))} model calls, {text.count(len(capture.tool_io))} tool calls"
    return f"run {text.clean(capture.run_id)}{agent}: {calls}, {_COMPLETENESS[capture.completeness]}"
