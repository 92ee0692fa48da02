"""What a convention says of a span of which only the scope and the names of its attributes are known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Never, cast

from otel_runlog.model import Attributes, Scope, Span


class _AsksMoreError(Exception):
    """The answer depends on what is not known: a value, or the span itself."""


class _Names(dict[str, object]):
    """Attributes without their values."""

    def __getitem__(self, name: str) -> Never:
        raise _AsksMoreError

    def get(self, name: str, default: object = None) -> object:
        if name in self:
            raise _AsksMoreError
        return default


class _Probe:
    """A span without anything else. A name of its own and the rest are asked for in vain."""

    def __init__(self, scope: Scope, names: Sequence[str]) -> None:
        self.scope = scope
        self.attributes = cast("Attributes", _Names.fromkeys(names))

    def __getattr__(self, name: str) -> Never:
        raise _AsksMoreError


def answer(matches: Callable[[Span], bool], scope: Scope, names: Sequence[str]) -> bool | None:
    """Whether `matches` is true of every span of that scope and with those names, or of none; None: of some."""
    try:
        return matches(cast("Span", _Probe(scope, names)))
    except _AsksMoreError:
        return None
