"""Values from a recording as a terminal may show them: on one line, in few columns, and obeyed by nothing. Pure."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Final

from otel_runlog.conversation import Json
from otel_runlog.replaying.comparing import plain, shared_beginning

ELLIPSIS: Final = "…"
NOTHING: Final = "(nothing)"
_BEFORE: Final = 30
"""Letters that are shown before the first difference, where there is room for them."""
_UNSAFE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
"""C0, DEL, C1, line separators, what has no width or turns the direction of text, and lone surrogates."""


def safe(text: str) -> str:
    """A text on one line; what a terminal would obey, or not show, is written as its number."""
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def cut(text: str, columns: int) -> str:
    """As much of a safe text as fits, with an ellipsis where something is left out at its end."""
    if _fits(text, columns):
        return text
    end, used = 0, 1
    for character in text:
        used += _columns(character)
        if used > columns:
            break
        end += 1
    return text[:end] + ELLIPSIS


def pair(recorded: Json, got: Json, columns: int) -> tuple[str, str]:
    """Two values around the place where they first differ, each in this many columns."""
    one, other = _shown(recorded), _shown(got)
    if one != other and unicodedata.normalize("NFKC", one) == unicodedata.normalize("NFKC", other):
        one, other = _shown(recorded, ascii_only=True), _shown(got, ascii_only=True)  # they would look the same
    start = _start(one, other, columns)
    return _from(one, start, columns), _from(other, start, columns)


def _shown(shown: Json, *, ascii_only: bool = False) -> str:
    if shown is None:
        return NOTHING
    return safe(json.dumps(plain(shown), ensure_ascii=ascii_only))


def _start(one: str, other: str, columns: int) -> int:
    """Where to begin: at the beginning, if the difference is seen then."""
    parting = shared_beginning(one, other)
    if _fits(one, columns) and _fits(other, columns):
        return 0
    return 0 if _fits(one[:parting], columns // 2) else parting - min(_BEFORE, columns // 2)


def _from(text: str, start: int, columns: int) -> str:
    if start <= 0 or text == NOTHING:
        return cut(text, columns)
    return ELLIPSIS + cut(text[start:], columns - 1)


def _fits(text: str, columns: int) -> bool:
    return len(text) * 2 <= columns or (len(text) <= columns * 4 and sum(map(_columns, text)) <= columns)


def _columns(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
