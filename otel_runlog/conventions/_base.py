"""The reading that all conventions share: canonical fields, usage of one vocabulary, failure, content."""

from __future__ import annotations

from collections.abc import Sequence

from otel_runlog.conventions import _fields as f
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._content import CUT, presences, state
from otel_runlog.conventions._errors import failure
from otel_runlog.conventions._index import Found, shape_of
from otel_runlog.conventions._names import INDEX, TEXTS
from otel_runlog.conventions._usage import normal_form, raw_counters
from otel_runlog.conventions._vocabularies import Vocabulary
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Span, StepKind

MODEL_KINDS = frozenset({StepKind.LLM, StepKind.EMBEDDING})
_AGENT = StepKind.AGENT
CUT_TYPES = ("Connection", "Protocol", "Timeout", "Incomplete", "connection_error", "timeout", "terminated", "Aborted")
"""Parts of error names that mean: the answer was cut on its way."""
GENERIC = ("input", "output")
"""The index's fields for prompt and answer where a convention has none of its own on the span."""
CUT_NOTE = "content_truncated: the messages on this span were cut short"


def read_common(
    span: Span,
    convention: str,
    kind: StepKind,
    vocabularies: Sequence[Vocabulary],
    *,
    cache_outside: bool = False,
    reasoning_outside: bool = False,
    content_fields: tuple[str, str] = GENERIC,
) -> Reading:
    """Read every field that needs no knowledge of the convention beyond its token vocabularies."""
    shape = shape_of(span.attributes)
    found = INDEX.gather(span.attributes, shape)
    counters = raw_counters(span.attributes, vocabularies, shape)
    usage = normal_form(counters, cache_outside=cache_outside, reasoning_outside=reasoning_outside)
    wrong = failure(span)
    reading = Reading(
        convention,
        kind,
        usage=usage.usage,
        reported_usd=f.reported_cost(found),
        session_id=f.session_of(found),
        user_id=f.user_of(found),
        failed=wrong.failed,
        cancelled=wrong.cancelled,
        error_type=wrong.type,
        error_message=wrong.message,
        warnings=usage.warnings,
        notes=usage.notes,
        **TEXTS.texts(span.attributes, shape),  # type: ignore[arg-type]  # all of its fields are texts of a reading
    )
    if kind in MODEL_KINDS:
        reading.params = f.params(span.attributes, shape)
        _read_call(reading, span, found, refused=wrong.refused)
        _read_content(reading, span, found, content_fields)
    elif kind is _AGENT:  # @ai-sdk/otel has the seed nowhere else (facts/semconv, section 2)
        reading.params = f.params(span.attributes, shape)
    return reading


def _read_call(reading: Reading, span: Span, found: Found, *, refused: bool) -> None:
    inner = f.invocation(found)
    reading.finish_reason = f.finish_reason(found)
    reading.time_to_first_token_ms = f.first_token_ms(span, found)
    reading.streaming = f.streaming(found, inner)
    if reading.streaming is None and reading.time_to_first_token_ms is not None:
        reading.streaming = True
    if inner:
        reading.params = {**f.inner_params(inner), **reading.params}
        reading.requested_tier = reading.requested_tier or text(inner, ("service_tier",))
        reading.user_id = reading.user_id or text(inner, ("user",))
        if reading.request_model is None and "id" not in inner:  # with an id it is the response (openai-agents)
            reading.request_model = text(inner, ("model", "model_name"))
    reading.refused = not reading.usage.output_tokens and (refused or _never_answered(reading))
    reading.usage_cut = not reading.refused and _was_cut(reading)


def _read_content(reading: Reading, span: Span, found: Found, fields: tuple[str, str]) -> None:
    """An embedding has no answer to carry, a refused call had none; a cut call's answer is not all there was."""
    inputs, outputs = fields
    if fields is not GENERIC:
        inputs, outputs = (own if own in found else other for own, other in zip(fields, GENERIC, strict=True))
    asked, said = presences(span, found, inputs, outputs)
    if CUT in (asked, said):
        reading.notes += (CUT_NOTE,)
    elif not said and (reading.refused or reading.kind is StepKind.EMBEDDING):
        said = asked
    elif said and reading.usage_cut:
        said = CUT
    reading.content = state(asked, said)


def _never_answered(reading: Reading) -> bool:
    """A failed call without any sign of an answer, whose error is not one of transport."""
    if not reading.failed or any(part in (reading.error_type or "") for part in CUT_TYPES):
        return False
    return not (reading.response_id or reading.response_model or reading.finish_reason or reading.usage)


def _was_cut(reading: Reading) -> bool:
    """Whether the answer stopped on its way: cancelled, a transport error, or a finish reason that says so."""
    if reading.cancelled or reading.finish_reason in ("error", "cancelled"):
        return True
    return reading.failed and any(part in (reading.error_type or "") for part in CUT_TYPES)
