"""How a span failed: its error type and message, and whether the provider refused the call.

A refused call cost nothing and misses no usage. HTTP status decides where it is known, the error's name otherwise.
Cancellation leaves the SDK's status UNSET (facts/reliability, table of departures, 11), so it is looked for by name.
"""

from __future__ import annotations

import re

import msgspec

from otel_runlog.conventions._attrs import text, whole
from otel_runlog.conventions._fields import http_status
from otel_runlog.model import Attributes, Span

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
STATUS_IN_TEXT = re.compile(
    r"\b(?:error code|status(?:_| )?code|HTTP)\D{0,4}([45]\d\d)\b|^(?:\w+: )?([45]\d\d)\b", re.IGNORECASE
)
"""How errors of the clients of OpenAI, Anthropic and Google, of Pydantic AI and of HTTP libraries say the status."""
LEAST_ERROR, MOST_ERROR = 400, 599
"""HTTP's statuses that are errors."""


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
        return status >= LEAST_ERROR
    name = kind.rpartition(".")[2]
    return is_local(kind) or bool(REFUSED.search(name) or STATUS_IN_TEXT.search(message))


def is_local(error_type: str | None) -> bool:
    """Whether an error is one of a call that was never sent."""
    return (error_type or "").rpartition(".")[2] in LOCAL


def error_status(attributes: Attributes, error_type: str | None, message: str | None) -> int | None:
    """The HTTP status by which a provider refused a call: an attribute, else an error type or message that says it."""
    found = STATUS_IN_TEXT.search(message or "")
    told = int(found[1] or found[2]) if found else None
    said = (http_status(attributes), whole((error_type or "").strip()), told)
    return next((s for s in said if s is not None and LEAST_ERROR <= s <= MOST_ERROR), None)
