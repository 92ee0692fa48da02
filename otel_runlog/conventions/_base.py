"""The reading that all conventions share: canonical fields in their order, usage of one vocabulary, failure, content."""

from __future__ import annotations

from collections.abc import Sequence

from otel_runlog.conventions import _fields as f
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._errors import failure
from otel_runlog.conventions._usage import Vocabulary, normal_form, raw_counters
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Attributes, Content, Span, StepKind

MODEL_KINDS = frozenset({StepKind.LLM, StepKind.EMBEDDING})
MARKERS = ("<REDACTED>", "[REDACTED]", "__REDACTED__")
"""What emitters write where content was hidden (facts/semconv, section 4)."""
CUT_TYPES = ("Connection", "Protocol", "Timeout", "Incomplete", "connection_error", "timeout", "terminated", "Aborted")
"""Parts of error names that mean: the answer was cut on its way."""
STUB_TOKENS = 8
"""message_start of Anthropic streams says 1 to 8 output tokens before any is made."""
INPUT_KEYS = ("gen_ai.input.messages", "ai.prompt.messages", "gen_ai.prompt.0.role", "gen_ai.prompt")
OUTPUT_KEYS = (
    "gen_ai.output.messages",
    "ai.response.text",
    "ai.response.toolCalls",
    "ai.response.object",
    "gen_ai.completion.0.role",
    "gen_ai.completion.0.content",
    "gen_ai.completion",
)


def read_common(
    span: Span,
    convention: str,
    kind: StepKind,
    vocabularies: Sequence[Vocabulary],
    *,
    cache_outside: bool = False,
    reasoning_outside: bool = False,
) -> Reading:
    """Read every field that needs no knowledge of the convention beyond its token vocabularies."""
    a = span.attributes
    usage = normal_form(raw_counters(a, vocabularies), cache_outside=cache_outside, reasoning_outside=reasoning_outside)
    wrong = failure(span)
    reading = Reading(
        convention=convention,
        kind=kind,
        agent=text(a, f.AGENT),
        provider=text(a, f.PROVIDER),
        request_model=text(a, f.REQUEST_MODEL),
        response_model=text(a, f.RESPONSE_MODEL),
        response_id=text(a, f.RESPONSE_ID),
        usage=usage.usage,
        reported_usd=f.reported_cost(a),
        service_tier=text(a, f.SERVICE_TIER),
        requested_tier=text(a, f.REQUESTED_TIER),
        session_id=f.session(a),
        user_id=f.user(a),
        native_run_id=text(a, f.NATIVE_RUN),
        failed=wrong.failed,
        cancelled=wrong.cancelled,
        error_type=wrong.type,
        error_message=wrong.message,
        tool_name=text(a, f.TOOL_NAME),
        tool_call_id=text(a, f.TOOL_CALL_ID),
        warnings=usage.warnings,
        notes=usage.notes,
    )
    if kind in MODEL_KINDS:
        _read_call(reading, span, refused=wrong.refused)
    return reading


def _read_call(reading: Reading, span: Span, *, refused: bool) -> None:
    a = span.attributes
    reading.finish_reason = f.finish_reason(a)
    reading.params = f.params(a)
    reading.streaming = f.streaming(a)
    reading.time_to_first_token_ms = f.first_token_ms(span)
    reading.content = content(a, INPUT_KEYS, OUTPUT_KEYS)
    reading.refused = not reading.usage.output_tokens and (refused or _never_answered(reading))
    reading.usage_cut = not reading.refused and _was_cut(reading)


def _never_answered(reading: Reading) -> bool:
    """A failed call without any sign of an answer, whose error is not one of transport."""
    if not reading.failed or any(part in (reading.error_type or "") for part in CUT_TYPES):
        return False
    return not (reading.response_id or reading.response_model or reading.finish_reason or reading.usage)


def _was_cut(reading: Reading) -> bool:
    """Whether the answer stopped on its way: cancelled, a transport error, a finish reason that says so or is missing.

    An abandoned stream ends without error and without finish reason, with what message_start said: one output token.
    """
    if reading.cancelled or reading.finish_reason in ("error", "cancelled"):
        return True
    if reading.streaming and reading.finish_reason is None and (reading.usage.output_tokens or 0) <= STUB_TOKENS:
        return True
    return reading.failed and any(part in (reading.error_type or "") for part in CUT_TYPES)


def content(attributes: Attributes, inputs: Sequence[str], outputs: Sequence[str]) -> Content:
    """How much of prompt and answer stands in `attributes`."""
    has_input, has_output = _present(attributes, inputs), _present(attributes, outputs)
    if has_output:
        return Content.FULL if has_input else Content.ANSWER
    return Content.TRUNCATED if has_input else Content.NONE


def _present(attributes: Attributes, keys: Sequence[str]) -> bool:
    return any(attributes.get(k) not in (None, "", *MARKERS) for k in keys)
