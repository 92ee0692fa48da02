"""Spans that carry hashes in place of texts (`content="hash"`): nobody can replay those. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from otel_runlog.content import is_content
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.llm_io import StepMessages
from otel_runlog.model import AttrValue, Span, Step

_MARKER: Final = re.compile(r"sha256:[0-9a-f]{64}")
"""What `content.hash_marker` gives."""


class Readable(StepMessages):
    """The messages of steps, none where their span carries hashes."""

    def __init__(self, messages: StepMessages) -> None:
        self._messages = messages

    def of(self, step: Step) -> SpanMessages:
        """The messages of one step."""
        span = self.span_of(step)
        return SpanMessages() if span is not None and carries_hashes(span) else self._messages.of(step)

    def span_of(self, step: Step) -> Span | None:
        """The span that a step was read from."""
        return self._messages.span_of(step)


def carries_hashes(span: Span) -> bool:
    """Whether all of a span's content is hashes; one of a tool that gave a digest has arguments beside it."""
    found = False
    for value in _content(span):
        if not (isinstance(value, str) and _MARKER.fullmatch(value)):
            return False
        found = True
    return found


def _content(span: Span) -> Iterator[AttrValue]:
    for attributes in (span.attributes, *[event.attributes for event in span.events]):
        yield from (value for key, value in attributes.items() if is_content(key))
