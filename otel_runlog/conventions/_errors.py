"""How a span failed: its error type and message, and whether the provider refused the call.

A refused call cost nothing and misses no usage. HTTP status decides where it is known, the error's name otherwise.
Cancellation leaves the SDK's status UNSET (facts/reliability, table of departures, 11), so it is looked for by name.
"""

from __future__ import annotations

import re

import msgspec

from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._fields import http_status
from otel_runlog.model import Span

ERROR = 2
"""OTLP's STATUS_CODE_ERROR."""
CANCELLED = frozenset({"CancelledError", "KeyboardInterrupt", "GeneratorExit", "SystemExit", "AbortError"})
REFUSED = re.compile(
    r"(RateLimit|BadRequest|Authentication|PermissionDenied|NotFound|Conflict|UnprocessableEntity|InternalServer"
    r"|APIStatus|Overloaded|ServiceUnavailable|APICall|ModelHTTP|Client|Server|ContentFilter)Error$"
    r"|^(rate_limit|overloaded|invalid_request|authentication|permission|not_found|api)_error$|^[45]\d\d$"
)
LOCAL = frozenset({"TypeError", "ValueError", "ValidationError", "AttributeError", "KeyError", "NotImplementedError"})
"""Errors of a call that was never sent."""
STATUS_IN_TEXT = re.compile(r"\b(?:error code|status(?:_| )?code|HTTP)\D{0,4}[45]\d\d\b|^[45]\d\d\b", re.IGNORECASE)


class Failure(msgspec.Struct, frozen=True, gc=False):
    """What went wrong with a span, if anything did."""

    failed: bool = False
    cancelled: bool = False
    refused: bool = False
    type: str | None = None
    message: str | None = None


NONE = Failure()


def failure(span: Span) -> Failure:
    """Read status, error attributes and exception events of `span`."""
    if span.status_code != ERROR and not span.events and "error.type" not in span.attributes:
        return NONE
    event = next((e for e in reversed(span.events) if e.name == "exception"), None)
    details = event.attributes if event else {}
    kind = text(span.attributes, ("error.type",)) or text(details, ("exception.type",))
    message = span.status_message or text(details, ("exception.message",)) or text(span.attributes, ("error.message",))
    cancelled = (kind or "").rpartition(".")[2] in CANCELLED
    failed = not cancelled and (span.status_code == ERROR or "error.type" in span.attributes)
    if not failed and not cancelled:  # an exception that was recorded and survived
        return NONE
    return Failure(failed, cancelled, failed and _refused(span, kind or "", message or ""), kind, message)


def _refused(span: Span, kind: str, message: str) -> bool:
    status = http_status(span.attributes)
    if status is not None:
        return status >= 400  # noqa: PLR2004  # HTTP's first error status
    name = kind.rpartition(".")[2]
    return name in LOCAL or bool(REFUSED.search(name) or STATUS_IN_TEXT.search(message))
