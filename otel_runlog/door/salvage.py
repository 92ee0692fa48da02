"""A span that cannot be encoded as it is: kept without what broke it.

Each part is tried alone, in an otherwise empty span; what fails is left out and counts as a dropped attribute, so that
step and run say they are not whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Literal, NamedTuple, TypeAlias, TypeVar

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status, StatusCode

from otel_runlog.containment import is_applications
from otel_runlog.span import plain_text
from otel_runlog.span_copy import CopiedSpan, Parts

Encode: TypeAlias = Callable[[ReadableSpan], bytes]
_T = TypeVar("_T")


class Salvaged(NamedTuple):
    """A span's bytes, and how many of its values are not in them."""

    body: bytes
    left_out: int


def salvage(span: ReadableSpan, encode: Encode, received_ns: int) -> Salvaged:
    """What can be encoded of `span`; it ended at `received_ns` where its own end is no time.

    Raises:
        Exception: whatever `encode` raises for a span that has nothing but its ids.
    """
    return _Salvage(span, encode, received_ns).run()


class _Salvage:
    def __init__(self, span: ReadableSpan, encode: Encode, received_ns: int) -> None:
        self._span = span
        self._encode = encode
        self._left_out = 0
        bare = Parts(
            name="",
            resource=Resource.get_empty(),
            attributes={},
            events=(),
            links=(),
            status=Status(StatusCode.UNSET),
            start_time=self._time(span.start_time, None),
            end_time=self._time(span.end_time, received_ns),
            instrumentation_scope=None,
        )
        self._bare = CopiedSpan(span, **bare)

    def run(self) -> Salvaged:
        self._encode(self._bare)  # where this fails there is nothing to keep
        span, kept = self._span, Parts()
        for read in (self._name, lambda: Parts(status=span.status), self._scope):
            kept.update(self._try(read))
        kept["attributes"] = self._attributes(lambda: span.attributes)
        kept["resource"] = Resource(self._attributes(lambda: span.resource.attributes))
        kept["events"] = self._each("events", lambda: span.events, self._event)
        kept["links"] = self._each("links", lambda: span.links, self._link)
        return Salvaged(self._encode(CopiedSpan(self._bare, left_out=self._left_out, **kept)), self._left_out)

    def _try(self, read: Callable[[], Parts]) -> Parts:
        """A part, where it can be encoded."""
        try:
            parts = read()
            self._encode(CopiedSpan(self._bare, **parts))
        except BaseException as error:
            if is_applications(error):
                raise
            self._left_out += 1
            return Parts()
        return parts

    def _name(self) -> Parts:
        return Parts(name=plain_text(self._span.name, []))

    def _scope(self) -> Parts:
        return Parts(instrumentation_scope=self._span.instrumentation_scope)

    def _event(self, event: Event) -> Parts:
        attributes = self._attributes(lambda: event.attributes)
        return Parts(events=(Event(plain_text(event.name, []), attributes, self._time(event.timestamp, 0)),))

    def _link(self, link: Link) -> Parts:
        return Parts(links=(Link(link.context, self._attributes(lambda: link.attributes)),))

    def _attributes(self, read: Callable[[], Mapping[str, Any] | None]) -> dict[str, Any]:
        kept: dict[str, Any] = {}
        for key, value in self._listed(lambda: dict(read() or {}).items()):
            kept.update(self._try(partial(_attribute, key, value)).get("attributes", {}))
        return kept

    def _each(
        self, name: Literal["events", "links"], read: Callable[[], Iterable[_T]], make: Callable[[_T], Parts]
    ) -> list[Any]:
        return [kept for item in self._listed(read) for kept in self._try(partial(make, item)).get(name, ())]

    def _listed(self, read: Callable[[], Iterable[_T]]) -> list[_T]:
        """The items until one cannot be read."""
        items: list[_T] = []
        try:
            items.extend(read())
        except BaseException as error:
            if is_applications(error):
                raise
            self._left_out += 1
        return items

    def _time(self, ns: Any, otherwise: int | None) -> int | None:
        """A time given in anything that counts as a number of nanoseconds."""
        if ns is None:
            return None
        try:
            return int(ns)
        except BaseException as error:
            if is_applications(error):
                raise
            self._left_out += 1
            return otherwise


def _attribute(key: str, value: Any) -> Parts:
    return Parts(attributes={key: value})
