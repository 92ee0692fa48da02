"""Claude Code: claude_code.* spans with bare names, and log events that repeat them and alone know the cost.

Bare input_tokens leave the cache out. `session.id` is the conversation, `user.id` a device, gen_ai.response.id the HTTP
request's id. `tool.execution` and `tool.blocked_on_user` are parts of their `tool`.
"""

from __future__ import annotations

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import flag, number, text, whole
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._messages import messages_of
from otel_runlog.conventions._usage import CLAUDE_CODE
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "claude_code"
PREFIX = "claude_code."
SCOPE = "com.anthropic.claude_code.tracing"


def matches(span: Span) -> bool:
    """The CLI's scope, or its span names."""
    return span.scope.name == SCOPE or span.name.startswith(PREFIX)


def read(span: Span) -> Reading | None:
    """Read by span.type, else by the name."""
    a = span.attributes
    kind = _kinds.CLAUDE_CODE.get(text(a, ("span.type",)) or span.name.removeprefix(PREFIX), StepKind.OTHER)
    reading = read_common(span, NAME, kind, (CLAUDE_CODE,), cache_outside=True)
    reading.session_id = text(a, ("session.id", "gen_ai.conversation.id"))
    reading.user_id = text(a, ("user.account_uuid", "user.email", "user.id"))
    reading.response_id = None
    reading.failed = reading.failed or flag(a.get("success")) is False
    reading.error_message = reading.error_message or text(a, ("error",))
    if kind is StepKind.LLM:
        _read_call(reading, span)
    elif kind is StepKind.TOOL:
        reading.tool_name = text(a, ("tool_name", "gen_ai.tool.name"))
        reading.tool_call_id = text(a, ("tool_use_id", "gen_ai.tool.call.id"))
    elif kind is StepKind.AGENT:
        reading.agent = text(a, ("agent_type", "gen_ai.agent.name")) or "claude-code"
    return reading


def _read_call(reading: Reading, span: Span) -> None:
    a = span.attributes
    reading.request_model = text(a, ("gen_ai.request.model", "model"))
    reading.provider = reading.provider or "anthropic"
    reading.finish_reason = reading.finish_reason or text(a, ("stop_reason",))
    reading.time_to_first_token_ms = number(a.get("ttft_ms"))
    status = whole(a.get("status_code"))
    reading.refused = reading.failed and not reading.usage.output_tokens and (status is None or status >= 400)  # noqa: PLR2004
    reading.agent = text(a, ("agent_type", "agent_id"))


def messages(span: Span) -> SpanMessages:
    """Prompt and answer where the opt-in switches recorded them."""
    a = span.attributes
    prompt = a.get("user_prompt") or a.get("new_context") or a.get("tool_input")
    output = next((e.attributes for e in span.events if e.name == "tool.output"), {})
    result = next((output[k] for k in ("output", "content", "diff") if k in output), None)
    return SpanMessages(
        input=() if prompt == "<REDACTED>" else messages_of(prompt),
        output=messages_of(a.get("response.model_output") or result, "assistant"),
    )
