"""How much of a call's prompt and answer a span carries: hidden, hollow and cut-off values told from whole ones."""

from __future__ import annotations

import enum
from collections.abc import Iterable

from otel_runlog.conventions._index import Found
from otel_runlog.model import AttrValue, Content, Span

MARKERS = ("<REDACTED>", "[REDACTED]", "__REDACTED__")
"""What emitters write where content was hidden (facts/semconv, section 4)."""
HIDDEN = (None, "", *MARKERS)
CUT_MARK = "[TRUNCATED: original length"
"""What Gemini CLI writes at the end of what it cut (facts/semconv, section 4)."""
CUT_MARK_CHARS = 100
BODY_KEYS = ('"content"', '"arguments"', '"response"', '"result"', '"text":', '"uri"', '"data"', '"file_id"')
"""Keys of message parts that hold something; parts without any (Pydantic AI, content off) are hollow."""
INPUT_EVENTS = frozenset(
    {"gen_ai.user.message", "gen_ai.system.message", "gen_ai.tool.message", "gen_ai.content.prompt"}
)
OUTPUT_EVENTS = frozenset({"gen_ai.choice", "gen_ai.content.completion"})
DETAILS_EVENT = "gen_ai.client.inference.operation.details"


class Presence(enum.IntEnum):
    """Whether a value is there."""

    ABSENT = 0
    CUT = 1
    WHOLE = 2


def presence(value: AttrValue) -> Presence:
    """Whether `value` holds content, in full."""
    if value in HIDDEN:
        return Presence.ABSENT
    if not isinstance(value, str):
        return Presence.ABSENT if value in ([], {}) else Presence.WHOLE
    if value[0] not in "[{":
        return Presence.WHOLE
    tail = value.rstrip()[-CUT_MARK_CHARS:]
    if tail[-1:] not in "]}" or CUT_MARK in tail:
        return Presence.CUT
    if '"parts"' in value and not any(key in value for key in BODY_KEYS):
        return Presence.ABSENT
    return Presence.ABSENT if value in ("[]", "{}") else Presence.WHOLE


def presences(span: Span, found: Found, inputs: str, outputs: str) -> tuple[Presence, Presence]:
    """Whether prompt and answer stand on `span`; `inputs` and `outputs` are fields of the index."""
    asked = _best(found.get(inputs, ()))
    said = _best(found.get(outputs, ()))
    for event in span.events if not asked or not said else ():
        named = event.attributes if event.name == DETAILS_EVENT else ()
        asked = asked or Presence((event.name in INPUT_EVENTS or "gen_ai.input.messages" in named) * 2)
        said = said or Presence((event.name in OUTPUT_EVENTS or "gen_ai.output.messages" in named) * 2)
    return asked, said


def _best(values: Iterable[AttrValue]) -> Presence:
    return max(map(presence, values), default=Presence.ABSENT)


def state(asked: Presence, said: Presence) -> Content:
    """The word for what is there of prompt and answer. An answer alone is `answer`, a prompt alone is cut short."""
    if Presence.CUT in (asked, said):
        return Content.TRUNCATED
    if said:
        return Content.FULL if asked else Content.ANSWER
    return Content.TRUNCATED if asked else Content.NONE
