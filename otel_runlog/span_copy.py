"""A span of the SDK with some parts replaced, for what is written of it. The original is never changed."""

# ruff: noqa: SIM401 - `get` would ask the original for what is replaced, and it may be replaced because asking raises

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
        super().__init__(
            name=parts["name"] if "name" in parts else span.name,
            context=span.get_span_context(),
            parent=span.parent,
            resource=parts["resource"] if "resource" in parts else span.resource,
            attributes=parts["attributes"] if "attributes" in parts else span.attributes,
            events=parts["events"] if "events" in parts else span.events,
            links=parts["links"] if "links" in parts else span.links,
            kind=span.kind,
            status=parts["status"] if "status" in parts else span.status,
            start_time=parts["start_time"] if "start_time" in parts else span.start_time,
            end_time=parts["end_time"] if "end_time" in parts else span.end_time,
            instrumentation_scope=(
                parts["instrumentation_scope"] if "instrumentation_scope" in parts else span.instrumentation_scope
            ),
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
