"""Requests that were recorded in part: whether one that is asked can be it, as far as the recording goes. Pure."""

from __future__ import annotations

from typing import Final

from otel_runlog.conventions._content import CUT_MARK
from otel_runlog.conversation import Json, LlmRequest
from otel_runlog.fingerprint import canonical
from otel_runlog.replaying.comparing import same

LEAST_LETTERS: Final = 32
"""A text that was cut shorter than this says too little to be known again."""
MEDIA: Final = "media"
"""Where canonical turns and results have digests and addresses."""
_ELLIPSES: Final = ("...", "…")


def can_be(recorded: LlmRequest, asked: LlmRequest) -> bool:
    """Whether a request is the recorded one with each text as it was recorded, or going on where that was cut off."""
    try:
        return _goes_on(canonical(recorded), canonical(asked))
    except (ValueError, TypeError, RecursionError):
        return False


def _goes_on(recorded: Json, asked: Json) -> bool:
    if isinstance(recorded, str) and isinstance(asked, str):
        return recorded == asked or _begins(asked, _without_mark(recorded))
    if isinstance(recorded, list) and isinstance(asked, list):
        return len(recorded) == len(asked) and all(map(_goes_on, recorded, asked))
    if isinstance(recorded, dict) and isinstance(asked, dict):
        if recorded.keys() != asked.keys():
            return False
        return all((_media if key == MEDIA else _goes_on)(value, asked[key]) for key, value in recorded.items())
    return same(recorded, asked)


def _media(recorded: Json, asked: Json) -> bool:
    """Pictures and files, of some of which nothing is known but that they were there."""
    if not (isinstance(recorded, list) and isinstance(asked, list)):
        return recorded is None or _goes_on(recorded, asked)
    return len(recorded) == len(asked) and all(a is None or a == b for a, b in zip(recorded, asked, strict=True))


def _begins(text: str, beginning: str) -> bool:
    return len(beginning) >= LEAST_LETTERS and text.startswith(beginning)


def _without_mark(text: str) -> str:
    """A text without what says that it was cut."""
    text = text.partition(CUT_MARK)[0]
    return next((text.removesuffix(mark) for mark in _ELLIPSES if text.endswith(mark)), text)
