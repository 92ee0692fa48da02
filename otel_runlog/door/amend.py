"""What the SDK's span lacks of its own end: that it was cancelled, and what its attribute limit pushed out.

A BaseException leaves the status unset (facts of the SDK: `use_span` records Exceptions only), and a full span drops
its oldest attributes, which are the ones it was started with: model, session.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from opentelemetry.sdk.trace import ReadableSpan, Span
from opentelemetry.trace import StatusCode

from otel_runlog.containment import cancellation
from otel_runlog.span_copy import CopiedSpan

_STATE: Final = "_runlog_start"
"""Kept on the attributes: the one object that a span has in common with what on_end is given of it."""


_Start: TypeAlias = tuple[dict[str, Any], int]
"""The attributes, and the id of the exception being handled then: what cleans up after it is not cancelled by it.

A bare tuple: every span pays for it.
"""


def note_start(span: Span) -> dict[str, Any]:
    """Remember what `amended` needs of a span that starts now; returns a copy of its attributes."""
    kept: Any = span._attributes  # noqa: SLF001 - reading through the SDK's proxy takes four times as long
    attributes: dict[str, Any] = kept.copy()
    setattr(kept, _STATE, (attributes, id(sys.exception())))
    return attributes


def amended(span: ReadableSpan) -> ReadableSpan:
    """`span`, which is just ending in this thread, as it is to be written: itself, but for the two cases above."""
    cause = sys.exception()
    if not span.dropped_attributes and (cause is None or isinstance(cause, Exception)):
        return span
    start: _Start | None = getattr(span._attributes, _STATE, None)  # noqa: SLF001
    attributes = dict(span.attributes or {})
    added = _pushed_out(span, start, attributes) | _cancelled(span, start, cause, attributes)
    return CopiedSpan(span, attributes=attributes | added) if added else span


def _pushed_out(span: ReadableSpan, start: _Start | None, attributes: Mapping[str, Any]) -> dict[str, Any]:
    if start is None or not span.dropped_attributes:
        return {}
    return {key: value for key, value in start[0].items() if key not in attributes}


def _cancelled(
    span: ReadableSpan, start: _Start | None, cause: BaseException | None, attributes: Mapping[str, Any]
) -> dict[str, str]:
    if cause is None or isinstance(cause, Exception) or (start is not None and start[1] == id(cause)):
        return {}
    if span.status.status_code is not StatusCode.UNSET or "error.type" in attributes:
        return {}
    name = cancellation(cause)
    return {} if name is None else {"error.type": name}
