"""The HTTP status that a recorded error came with, where only its class, code or text is known."""

from __future__ import annotations

import re
from typing import Final

from otel_runlog.conversation import CallError

WORDS: Final = (
    ("overloaded", 529),
    ("ratelimit", 429),
    ("quota", 429),
    ("toomanyrequests", 429),
    ("resourceexhausted", 429),
    ("authentication", 401),
    ("unauthenticated", 401),
    ("unauthorized", 401),
    ("permission", 403),
    ("forbidden", 403),
    ("notfound", 404),
    ("conflict", 409),
    ("toolarge", 413),
    ("unprocessable", 422),
    ("badrequest", 400),
    ("invalidrequest", 400),
    ("invalidargument", 400),
    ("contentfilter", 400),
    ("contentpolicy", 400),
    ("contextlength", 400),
    ("contextwindow", 400),
    ("timeout", 504),
    ("timedout", 504),
    ("deadlineexceeded", 504),
    ("unavailable", 503),
    ("badgateway", 502),
    ("internalserver", 500),
)
"""What stands in an error's type, in lower case without signs: names of the SDKs' exceptions, of the APIs' codes."""
DEFAULT: Final = 500
_STATUS: Final = re.compile(
    r"\b(?:error code|status(?: code)?|http(?:/\d(?:\.\d)?)?)\b\D{0,3}([45]\d\d)\b", re.IGNORECASE
)
_LEADING: Final = re.compile(r"\s*([45]\d\d)\b")


def error_status(error: CallError) -> int:
    """The status to answer a recorded error with: the provider's own, else what its type or message says, else 500."""
    if error.http_status is not None and 400 <= error.http_status <= 599:  # noqa: PLR2004
        return error.http_status
    return (
        _told(error.type or "") or _told(error.message or "") or _meant(error.type) or _meant(error.message) or DEFAULT
    )


def _told(text: str) -> int | None:
    """A status in words such as `Error code: 429` or `429 RESOURCE_EXHAUSTED`."""
    found = _LEADING.match(text) or _STATUS.search(text)
    return int(found[1]) if found else None


def _meant(text: str | None) -> int | None:
    letters = re.sub(r"[^a-z]", "", (text or "").lower())
    return next((status for word, status in WORDS if word in letters), None)
