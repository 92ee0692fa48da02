"""Codex CLI: hundreds of internal spans a turn, of which four kinds are steps.

The run is `session_task.turn`; its token_usage is the sum of its calls. `try_run_sampling_request` is one model call
with the model's name, and some `handle_responses` below it (exported under the name of the event it handled) has its
tokens. A tool is the span that dispatches it. Session: `thread.id`, where it is text; elsewhere
that name is the number of a thread of the process (facts/semconv, section 1, row 4; corpus README).
"""

from __future__ import annotations

from otel_runlog.conventions._attrs import flag, text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._vocabularies import CODEX_CALL, CODEX_TURN
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Span, StepKind

NAME = "codex"
SCOPE = "codex_"
AGENT = "codex"
TURN, REQUEST = "session_task.turn", "try_run_sampling_request"
TURN_TOKENS, TOKENS = "codex.turn.token_usage.input_tokens", "gen_ai.usage.input_tokens"
PHASE, CALL_ID = "codex.tool.phase", "call_id"
RUN = ("turn.id", "turn_id")
SESSION = ("conversation.id", "thread.id", "thread_id")
EFFORT = ("codex.request.reasoning_effort", "codex.turn.reasoning_effort")
DEFAULT = "default"
"""A reasoning effort that nobody asked for."""


def matches(span: Span) -> bool:
    """The scopes of the CLI's programs: codex_exec, codex_cli_rs and others."""
    return span.scope.name.startswith(SCOPE)


def read(span: Span) -> Reading | None:
    """Read turns, calls and tools; every other span is no step."""
    a = span.attributes
    kind = _kind(span)
    if kind is None:
        return None
    vocabulary = CODEX_TURN if kind is StepKind.AGENT else CODEX_CALL
    reading = read_common(span, NAME, kind, (vocabulary,))
    reading.native_run_id = text(a, RUN)
    reading.session_id = text(a, SESSION) if reading.native_run_id else None
    if kind is StepKind.TOOL:
        _read_tool(reading, span)
        return reading
    reading.request_model = text(a, ("model",))
    reading.is_part = TOKENS in a
    reading.agent = AGENT if kind is StepKind.AGENT else None
    if (effort := text(a, EFFORT)) not in (None, DEFAULT):
        reading.params = {**reading.params, "reasoning_effort": effort}
    return reading


def _kind(span: Span) -> StepKind | None:
    a = span.attributes
    if span.name == TURN or TURN_TOKENS in a:
        return StepKind.AGENT
    if span.name == REQUEST or TOKENS in a:
        return StepKind.LLM
    return StepKind.TOOL if a.get(PHASE) == "dispatch" and CALL_ID in a else None


def _read_tool(reading: Reading, span: Span) -> None:
    a: Attributes = span.attributes
    reading.tool_name = text(a, ("tool_name",)) or span.name
    reading.tool_call_id = text(a, (CALL_ID,))
    if flag(a.get("aborted")):
        reading.failed, reading.cancelled = False, True


def messages(span: Span) -> SpanMessages:  # noqa: ARG001  # a convention's signature
    """None: prompts and tool results stand in log records alone."""
    return SpanMessages()
