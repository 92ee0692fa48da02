"""How much of a call's prompt and answer a span carries: hidden, hollow and cut-off values told from whole ones."""

from __future__ import annotations

from collections.abc import Iterable

from otel_runlog.conventions._index import Found
from otel_runlog.model import AttrValue, Content, Span

MARKERS = ("<REDACTED>", "[REDACTED]", "__REDACTED__")
"""What emitters write where content was hidden (facts/semconv, section 4)."""
HIDDEN = (None, "", *MARKERS)
CUT_MARK = "[TRUNCATED: original length"
"""What Gemini CLI writes at the end of what it cut (facts/semconv, section 4)."""
CUT_MARK_CHARS = 100
BODY_KEYS = ('"arguments"', '"response"', '"result"', '"text":', '"uri"', '"data"', '"file_id"')
"""Keys beside `content` of parts that hold something; parts without any (Pydantic AI, content off) are hollow."""
LATER_START = '"tool_call_response"'
LATER_START_CHARS = 80
"""A prompt whose first part is a tool's result begins in the middle of a conversation (Anthropic's tool runner)."""
INPUT_EVENTS = frozenset(
    {"gen_ai.user.message", "gen_ai.system.message", "gen_ai.tool.message", "gen_ai.content.prompt"}
)
OUTPUT_EVENTS = frozenset({"gen_ai.choice", "gen_ai.content.completion"})
DETAILS_EVENT = "gen_ai.client.inference.operation.details"


ABSENT, CUT, WHOLE = 0, 1, 2
"""Whether a value is there, in rising order: nothing, a part of it, all of it."""


def presence(value: AttrValue) -> int:
    """Whether `value` holds content, in full."""
    if value in HIDDEN:
        return ABSENT
    if not isinstance(value, str):
        return ABSENT if value in ([], {}) else WHOLE
    if value[0] not in "[{":
        return WHOLE
    tail = value.rstrip()[-CUT_MARK_CHARS:]
    if tail[-1:] not in "]}" or CUT_MARK in tail:
        return CUT
    if '"content"' not in value and '"parts"' in value and not any(key in value for key in BODY_KEYS):
        return ABSENT
    return ABSENT if value in ("[]", "{}") else WHOLE


def presences(span: Span, found: Found, inputs: str, outputs: str) -> tuple[int, int]:
    """Whether prompt and answer stand on `span`; `inputs` and `outputs` are fields of the index."""
    asked = ABSENT if _begins_later(found, inputs) else _best(found.get(inputs, ()))
    said = _best(found.get(outputs, ()))
    for event in span.events if not asked or not said else ():
        named = event.attributes if event.name == DETAILS_EVENT else ()
        asked = asked or WHOLE * (event.name in INPUT_EVENTS or "gen_ai.input.messages" in named)
        said = said or WHOLE * (event.name in OUTPUT_EVENTS or "gen_ai.output.messages" in named)
    return asked, said


def _begins_later(found: Found, inputs: str) -> bool:
    """Whether the provider knew more than the prompt says: what is here is no prompt to repeat."""
    if "previous_response" in found:
        return True
    for value in found.get(inputs, ()):
        if isinstance(value, str) and value.find(LATER_START, 0, LATER_START_CHARS) >= 0:
            return True
    return False


def _best(values: Iterable[AttrValue]) -> int:
    return max(map(presence, values), default=ABSENT)


_TRUNCATED = Content.TRUNCATED
_STATES = {
    (ABSENT, ABSENT): Content.NONE,
    (WHOLE, ABSENT): _TRUNCATED,
    (ABSENT, WHOLE): Content.ANSWER,
    (WHOLE, WHOLE): Content.FULL,
}


def state(asked: int, said: int) -> Content:
    """The word for what is there of prompt and answer. An answer alone is `answer`, a prompt alone is cut short."""
    return _STATES.get((asked, said), _TRUNCATED)
