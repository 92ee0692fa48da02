"""The messages of a run's llm steps, beside the run and never in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from otel_runlog import conventions
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.model import Content, LlmIo, Message, RunLog, Span, Step, StepKind
from otel_runlog.resolve import Key
from otel_runlog.tree import AGENT_KINDS

PREVIEW_CHARS = 200


def messages_of(span: Span) -> SpanMessages:
    """The messages a span carries; none where they cannot be read, which costs neither the span nor its run."""
    try:
        return conventions.messages(span)
    except Exception:  # noqa: BLE001  # whatever a hostile attribute does, the span stays
        return SpanMessages()


def llm_io_of(run: RunLog, spans: Mapping[Key, Span]) -> list[LlmIo]:
    """One LlmIo for each counted llm step, in order; a step without content of its own takes its other views'."""
    views: dict[str, list[Step]] = {}
    for step in run.steps:
        if step.duplicate_of:
            views.setdefault(step.duplicate_of, []).append(step)
    counted = [s for s in run.steps if s.counted and s.kind is StepKind.LLM]
    return [_io(s, [s, *views.get(s.span_id, ())], spans) for s in counted]


def _io(step: Step, views: list[Step], spans: Mapping[Key, Span]) -> LlmIo:
    io = LlmIo(
        step.run_id,
        step.trace_id,
        step.span_id,
        step.step_index,
        step.call_index,
        provider=step.provider,
        model=step.model,
        response_id=step.response_id,
        params=step.params,
    )
    for view in views:
        span = spans.get((view.trace_id, view.span_id, view.started_ns))
        if span is not None:
            _take(io, span)
    io.completeness = step.content if io.input or io.output else Content.NONE
    return io


def _take(io: LlmIo, span: Span) -> None:
    found = messages_of(span)
    io.system = io.system or found.system
    io.input = io.input or found.input
    io.output = io.output or found.output
    io.tools = io.tools or found.tools


def previews_of(run: RunLog, spans: Mapping[Key, Span]) -> tuple[str | None, str | None]:
    """The first thing a user said in a run and the last thing it answered, each cut to 200 characters.

    Model calls say it, else agents. Only as many spans are read as it takes to find both.
    """
    calls = [s for s in run.steps if s.kind is StepKind.LLM]
    agents = [s for s in run.steps if s.kind in AGENT_KINDS]
    asked = (m for s in (*calls, *agents) for m in _found(s, spans).input if m.role == "user" and m.text)
    said = (m for s in (*calls[::-1], *agents) for m in reversed(_found(s, spans).output) if m.text)
    return _cut(next(asked, None)), _cut(next(said, None))


def _found(step: Step, spans: Mapping[Key, Span]) -> SpanMessages:
    span = spans.get((step.trace_id, step.span_id, step.started_ns))
    return messages_of(span) if span is not None else SpanMessages()


def _cut(message: Message | None) -> str | None:
    if message is None or len(message.text) <= PREVIEW_CHARS:
        return message.text if message else None
    return message.text[: PREVIEW_CHARS - 1] + "…"
