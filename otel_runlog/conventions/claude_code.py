"""Claude Code: claude_code.* spans with bare names, and log events that repeat them and alone know the cost.

Bare input_tokens leave the cache out; gen_ai.usage.* of later versions on the same span includes it. `session.id` is
the conversation, `user.id` a device, gen_ai.response.id the HTTP request's id. `tool.execution` and
`tool.blocked_on_user` are parts of their `tool` (facts/semconv, sections 2 to 4 and trap 8).
"""

from __future__ import annotations

import re

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import flag, number, text, whole
from otel_runlog.conventions._base import CUT_NOTE, read_common
from otel_runlog.conventions._content import ABSENT, CUT, presence, state
from otel_runlog.conventions._genai_messages import shown
from otel_runlog.conventions._messages import messages_of, value_of
from otel_runlog.conventions._usage import normal_form, raw_counters
from otel_runlog.conventions._vocabularies import CLAUDE_CODE, GENAI
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Content, Span, StepKind

NAME = "claude_code"
PREFIX = "claude_code."
AGENT = "claude-code"
SCOPE = "com.anthropic.claude_code.tracing"
BROKE_OFF = re.compile(r"abort|interrupt|cancel|time[d ]?-?out|connection|terminated", re.IGNORECASE)
ASKED, SAID = "new_context", "response.model_output"
"""What came new into the context, and the answer; opt-in. The whole prompt is nowhere."""


def matches(span: Span) -> bool:
    """The CLI's scope, or its span names."""
    return span.scope.name == SCOPE or span.name.startswith(PREFIX)


def read(span: Span) -> Reading:
    """Read by span.type, else by the name."""
    a = span.attributes
    kind = _kinds.CLAUDE_CODE.get(text(a, ("span.type",)) or span.name.removeprefix(PREFIX), StepKind.OTHER)
    reading = read_common(span, NAME, kind, (CLAUDE_CODE,), cache_outside=True)
    reading.session_id = text(a, ("session.id", "gen_ai.conversation.id"))
    reading.user_id = text(a, ("user.account_uuid", "user.email", "user.id"))
    reading.response_id = None
    reading.failed = reading.failed or flag(a.get("success")) is False
    if reading.failed:
        reading.error_type = reading.error_type or text(a, ("error_class",))
        reading.error_message = reading.error_message or text(a, ("error",))
    if kind is StepKind.LLM:
        _read_call(reading, a)
    elif kind is StepKind.TOOL:
        reading.tool_name = text(a, ("tool_name", "gen_ai.tool.name"))
        reading.tool_call_id = text(a, ("tool_use_id", "gen_ai.tool.call.id"))
    elif kind is StepKind.AGENT:
        reading.agent = text(a, ("agent_type", "gen_ai.agent.name")) or AGENT
    return reading


def _read_call(reading: Reading, a: Attributes) -> None:
    if not reading.usage:
        reading.usage = normal_form(raw_counters(a, (GENAI,))).usage
    reading.request_model = text(a, ("gen_ai.request.model", "model"))
    reading.provider = reading.provider or "anthropic"
    reading.finish_reason = reading.finish_reason or text(a, ("stop_reason",))
    reading.time_to_first_token_ms = number(a.get("ttft_ms"))
    reading.streaming = True if reading.time_to_first_token_ms is not None else None
    if effort := text(a, ("effort",)):
        reading.params = {**reading.params, "reasoning_effort": effort}
    _read_refusal(reading, a)
    reading.agent = text(a, ("agent_type", "agent_id"))
    reading.content = _content(a)
    if reading.content is Content.TRUNCATED:
        reading.notes += (CUT_NOTE,)


def _read_refusal(reading: Reading, a: Attributes) -> None:
    """A failed call was refused, unless its error says that it broke off on its way."""
    status = whole(a.get("status_code"))
    broke_off = status is None and bool(BROKE_OFF.search(reading.error_message or ""))
    reading.refused = reading.failed and not reading.usage.output_tokens and not broke_off
    reading.usage_cut = not reading.refused and (reading.usage_cut or broke_off)


def _content(a: Attributes) -> Content:
    """An answer at best: what the span says of the prompt is only what was new in it."""
    if presence(a.get(SAID)):
        return Content.TRUNCATED if flag(a.get(f"{SAID}_truncated")) else Content.ANSWER
    return state(CUT if presence(a.get(ASKED)) else ABSENT, ABSENT)


def messages(span: Span) -> SpanMessages:
    """Prompt and answer where the opt-in switches recorded them."""
    a = span.attributes
    tool = value_of(shown(a.get("tool_input")), "tool")
    event = next((e.attributes for e in span.events if e.name == "tool.output"), {})
    result = next((event[k] for k in ("output", "content", "diff") if k in event), None)
    if tool or result is not None:
        return SpanMessages(input=tool, output=value_of(shown(result or a.get(ASKED)), "tool"))
    return SpanMessages(
        system=messages_of(shown(a.get("system_prompt_preview")), "system"),
        input=messages_of(shown(a.get("user_prompt") or a.get(ASKED))),
        output=messages_of(shown(a.get(SAID)), "assistant"),
    )
