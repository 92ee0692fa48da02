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
    calls = f"{_calls(len(capture.llm_io), 'model')}, {_calls(len(capture.tool_io), 'tool')}"
    return f"run {text.clean(capture.run_id)}{agent}: {calls}, {_COMPLETENESS[capture.completeness]}"


def _calls(count: int, what: str) -> str:
    return f"{text.count(count)} {what} call{'' if count == 1 else 's'}"
