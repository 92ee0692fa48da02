"""A span of the SDK with some parts replaced, for what is written of it. The original is never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict, Unpack

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, Status


class Parts(TypedDict, total=False):
    """What a copy may have of its own."""

    name: str
    resource: Resource
    attributes: Mapping[str, Any]
    events: Sequence[Event]
    links: Sequence[Link]
    status: Status
    start_time: int | None
    end_time: int | None
    instrumentation_scope: InstrumentationScope | None


class CopiedSpan(ReadableSpan):
    """`span` with `parts` in place of its own.

    Its dropped counts are those of the original and `left_out` attributes more: what a filter was asked to leave out
    does not count as dropped.
    """

    def __init__(self, span: ReadableSpan, *, left_out: int = 0, **parts: Unpack[Parts]) -> None:
        def part(name: str) -> Any:
            return parts[name] if name in parts else getattr(span, name)  # type: ignore[literal-required]

        super().__init__(
            name=part("name"),
            context=span.get_span_context(),
            parent=span.parent,
            resource=part("resource"),
            attributes=part("attributes"),
            events=part("events"),
            links=part("links"),
            kind=span.kind,
            status=part("status"),
            start_time=part("start_time"),
            end_time=part("end_time"),
            instrumentation_scope=part("instrumentation_scope"),
        )
        self._dropped = (span.dropped_attributes + left_out, span.dropped_events, span.dropped_links)

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes themselves: reading through the SDK's proxy takes longer."""
        return self._attributes or {}

    @property
    def dropped_attributes(self) -> int:
        """What the SDK's limits left out of the original, and what had to be left out of the copy."""
        return self._dropped[0]

    @property
    def dropped_events(self) -> int:
        """What the SDK's limits left out of the original."""
        return self._dropped[1]

    @property
    def dropped_links(self) -> int:
        """What the SDK's limits left out of the original."""
        return self._dropped[2]
