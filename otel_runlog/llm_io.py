"""The messages of a run's llm steps, beside the run and never in it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_runlog import conventions
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.log_content import CallKey, LoggedContent, content_of_calls, with_logged
from otel_runlog.model import Content, LlmIo, LogRecord, Message, RunLog, Span, Step, StepKind
from otel_runlog.resolve import Key
from otel_runlog.tree import AGENT_KINDS

PREVIEW_CHARS = 200
HOLLOW = '"type":"anthropic_'
"""What Anthropic's client writes on its own spans in place of pictures and documents, which other views have."""
_LLM = frozenset({StepKind.LLM})


def messages_of(span: Span, convention: str | None = None) -> SpanMessages:
    """The messages a span carries; none where they cannot be read, which costs neither the span nor its run."""
    try:
        return conventions.messages(span, convention)
    except Exception:  # noqa: BLE001  # whatever a hostile attribute does, the span stays
        return SpanMessages()


class StepMessages:
    """The messages of steps: those of their spans; what a model call's span lacks, its log records say.

    `read` are messages that were read already, by the span's `id`: reading a call's 3 KB takes 30 us.
    """

    def __init__(
        self,
        spans: Mapping[Key, Span],
        logs: Iterable[LogRecord] = (),
        read: Mapping[int, SpanMessages] | None = None,
    ) -> None:
        self._spans = spans
        self._read = read or {}
        self._logged: dict[CallKey, LoggedContent] = content_of_calls(logs)

    def of(self, step: Step) -> SpanMessages:
        """The messages of one step; none where neither span nor records of it are here."""
        span = self.span_of(step)
        logged = self._logged.get((step.trace_id, step.span_id)) if step.kind is StepKind.LLM else None
        own = self._read.get(id(span)) or messages_of(span) if span else SpanMessages()
        return with_logged(own, logged)

    def span_of(self, step: Step) -> Span | None:
        """The span that a step was read from; None where it is not here, or a log record told of it."""
        return self._spans.get((step.trace_id, step.span_id, step.started_ns))


def llm_io_of(run: RunLog, messages: StepMessages) -> list[LlmIo]:
    """One LlmIo for each counted llm step, in order; a step without content of its own takes its other views'."""
    return [io for _, io in io_of(run, messages, _LLM)]


def io_of(run: RunLog, messages: StepMessages, kinds: frozenset[StepKind]) -> list[tuple[Step, LlmIo]]:
    """The counted steps of some kinds, in order, each with its messages as `llm_io_of` gives them."""
    views: dict[str, list[Step]] = {}
    for step in run.steps:
        if step.duplicate_of:
            views.setdefault(step.duplicate_of, []).append(step)
    counted = [s for s in run.steps if s.counted and s.kind in kinds]
    return [(s, _io(s, [s, *views.get(s.span_id, ())], messages)) for s in counted]


def _io(step: Step, views: list[Step], messages: StepMessages) -> LlmIo:
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
        _take(io, messages.of(view))
    io.completeness = step.content if io.input or io.output else Content.NONE
    return io


def _take(io: LlmIo, found: SpanMessages) -> None:
    io.system = io.system or found.system
    if not io.input or (found.input and _is_hollow(io.input) and not _is_hollow(found.input)):
        io.input = found.input
    io.output = io.output or found.output
    io.tools = io.tools or found.tools


def _is_hollow(messages: tuple[Message, ...]) -> bool:
    return any(HOLLOW in message.raw for message in messages)


def previews_of(run: RunLog, messages: StepMessages) -> tuple[str | None, str | None]:
    """The first thing a user said in a run and the last thing it answered, each cut to 200 characters.

    Model calls say it, else agents. Only as many spans are read as it takes to find both.
    """
    calls = [s for s in run.steps if s.kind is StepKind.LLM]
    agents = [s for s in run.steps if s.kind in AGENT_KINDS]
    asked = (m.text for s in (*calls, *agents) for m in messages.of(s).input if m.role == "user" and m.text)
    said = (m.text for s in (*calls[::-1], *agents) for m in reversed(messages.of(s).output) if m.text)
    return preview(next(asked, None)), preview(next(said, None))


def preview(text: str | None) -> str | None:
    """A text, cut to 200 characters where it is longer."""
    return text if text is None or len(text) <= PREVIEW_CHARS else text[: PREVIEW_CHARS - 1] + "…"
