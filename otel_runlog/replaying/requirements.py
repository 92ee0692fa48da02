"""What a capture must hold to be replayed, and what would have recorded it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal

from otel_runlog.capture import Capture, CapturedLlm
from otel_runlog.errors import CaptureMissingError, NoLlmCall
from otel_runlog.model import Content
from otel_runlog.replaying.divergence import ReplayMode
from otel_runlog.tree import MODEL_KINDS

_OTEL: Final = (
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY and "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental"
)
_OPENINFERENCE: Final = "no OPENINFERENCE_HIDE_* variable set"
SETTINGS: Final = {
    "otel_genai": _OTEL,
    "openinference": _OPENINFERENCE,
    "traceloop": "TRACELOOP_TRACE_CONTENT=true",
    "anthropic_sdk": "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE=content",
    "pydantic_ai": "InstrumentationSettings(include_content=True)",
    "vercel_ai": "experimental_telemetry: {isEnabled: true, recordInputs: true, recordOutputs: true}",
    "google_adk": "ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true",
}
"""What makes each convention's emitters record prompts and answers, as their documentation says."""
_GENERAL: Final = "; ".join(
    (
        f"{_OTEL} (OpenTelemetry's instrumentations)",
        f"{SETTINGS['traceloop']} (Traceloop)",
        f"{_OPENINFERENCE} (OpenInference)",
        f"{SETTINGS['anthropic_sdk']} (the Anthropic SDK)",
    )
)
_UNHASHED: Final = 'content="full" of RunLogSpanProcessor: hashes were written in place of texts'
_IN_FULL: Final = 'with content="full", the default of RunLogSpanProcessor'
_SHOWN: Final = 8


def check_replayable(
    capture: Capture, *, mode: ReplayMode = ReplayMode.STRICT, key: Literal["fingerprint", "order"] = "fingerprint"
) -> None:
    """See whether a capture can be replayed at all, before anything is started.

    Answers of at least one chat call must be there. A strict replay needs the prompt of every one, a live one of some;
    soft mode and key="order" do without prompts. What else is lacking (the answer of a call, an embedding's vectors)
    is refused when it is asked for.

    Raises:
        NoLlmCall: it has no model call.
        CaptureMissingError: content is lacking; the message says the setting that would have recorded it.
    """
    if not capture.llm_io:
        raise NoLlmCall(f"run {capture.run_id} has no model call to replay")
    chats = [call for call in capture.llm_io if call.operation == "chat"]
    answered = [call for call in chats if call.answer is not None or call.error is not None]
    prompted = [call for call in chats if call.request is not None]
    if chats and not answered:
        raise CaptureMissingError(_text(capture, chats, answered, "content" if not prompted else "its answer"))
    needs_all = mode is ReplayMode.STRICT
    if key == "order" or mode is ReplayMode.SOFT or len(prompted) == len(chats) or (prompted and not needs_all):
        return
    way = " Without prompts it can be replayed with --mode soft, or in process with key='order'."
    raise CaptureMissingError(_text(capture, chats, prompted, "its prompt") + way)


def _text(capture: Capture, chats: Sequence[CapturedLlm], having: Sequence[CapturedLlm], what: str) -> str:
    lacking = [str(call.call_index) for call in chats if call not in having]
    which = ", ".join(lacking[:_SHOWN]) + (", ..." if len(lacking) > _SHOWN else "")
    which = f" (not: call {which})" if having else ""
    return (
        f"run {capture.run_id[:8]} cannot be replayed: {_calls(len(chats))}, {len(having)} recorded with "
        f"{what}{which}. To record it: {_setting(capture)}."
    )


def _calls(count: int) -> str:
    return f"{count} model call{'' if count == 1 else 's'}"


def _setting(capture: Capture) -> str:
    """The setting of the emitters that wrote the run's model calls; all that are known where none of these is."""
    kept = {call.step_index for call in capture.llm_io if call.completeness is not Content.NONE}
    models = [step for step in capture.run.steps if step.counted and step.kind in MODEL_KINDS]
    if any(step.content is not Content.NONE and step.step_index not in kept for step in models):
        return _UNHASHED
    found = dict.fromkeys(SETTINGS.get(step.convention or "") for step in capture.run.steps if step.counted)
    known = [text for text in found if text is not None]
    return f"{'; '.join(known) if known else _GENERAL}, {_IN_FULL}"
