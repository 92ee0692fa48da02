"""The messages of a run's llm steps, beside the run and never in it. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from otel_runlog import conventions
from otel_runlog.model import Content, LlmIo, RunLog, Span, Step, StepKind
from otel_runlog.resolve import Key

PREVIEW_CHARS = 200


def llm_io_of(run: RunLog, spans: Mapping[Key, Span]) -> list[LlmIo]:
    """One LlmIo for each counted llm step, in order; a step without content of its own takes its other views'."""
    views: dict[str, list[Step]] = {}
    for step in run.steps:
        views.setdefault(step.duplicate_of or step.span_id, []).append(step)
    counted = [s for s in run.steps if s.counted and s.kind is StepKind.LLM]
    return [_io(s, views.get(s.span_id, [s]), spans) for s in counted]


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
    for view in sorted(views, key=lambda v: not v.counted):
        span = spans.get((view.trace_id, view.span_id, view.started_ns))
        if span is not None:
            _take(io, span)
    io.completeness = step.content if io.input or io.output else Content.NONE
    return io


def _take(io: LlmIo, span: Span) -> None:
    found = conventions.messages(span)
    io.system = io.system or found.system
    io.input = io.input or found.input
    io.output = io.output or found.output
    io.tools = io.tools or found.tools


def previews(calls: list[LlmIo]) -> tuple[str | None, str | None]:
    """The first thing a user said in a run and the last thing a model answered, each cut to 200 characters."""
    asked = next((m.text for io in calls for m in io.input if m.role == "user" and m.text), None)
    said = next((m.text for io in reversed(calls) for m in reversed(io.output) if m.text), None)
    return _cut(asked), _cut(said)


def _cut(text: str | None) -> str | None:
    if text is None or len(text) <= PREVIEW_CHARS:
        return text
    return text[: PREVIEW_CHARS - 1] + "…"
