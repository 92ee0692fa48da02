"""Content once: where in its span's attributes each message of a model call stands.

The text of a message is stored with the attribute that carried it and nowhere else; the view `messages` reads it there.
A conversation that is sent again with every call costs little: DuckDB compresses the values of a column together. Of 20
agents that send all they said with each of 50 calls 3.9 % of the bytes are stored (`python -m tests.bench history`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

import msgspec

from otel_runlog.model import Attributes

SHORTEST = 24
"""Shorter texts are kept as they are: where they stand takes as much to say, and they stand in many places."""
_escaped = msgspec.json.Encoder().encode


class SpanMessage(msgspec.Struct, frozen=True):
    """One message of a model call."""

    direction: str
    position: int
    role: str
    text: str


class Place(
    msgspec.Struct,
    omit_defaults=True,
    rename={"direction": "d", "position": "p", "role": "r", "start": "s", "length": "l", "text": "t"},
):
    """A message, and where its text stands in the value of its attribute.

    Without a start it is the whole value; with one, `length` characters from `start` (the first is 1) are the text
    inside a JSON string. `text` is the text itself, where it stands in no attribute or is short.
    """

    direction: str
    position: int
    role: str
    start: int | None = None
    length: int | None = None
    text: str | None = None


class Places(msgspec.Struct, rename={"key": "k", "places": "m"}):
    """The messages that stand in one attribute; those that stand in none have no key."""

    key: str | None
    places: list[Place]


def pack_messages(messages: Sequence[SpanMessage], attributes: Attributes) -> str | None:
    """The column `messages` of a span; None where it has none."""
    if not messages:
        return None
    found: dict[str | None, list[Place]] = {}
    finder = _Finder(attributes)
    for message in messages:
        key, place = finder.place(message)
        found.setdefault(key, []).append(place)
    return _escaped([Places(key, places) for key, places in found.items()]).decode()


class _Finder:
    """Finds texts in the values of a span's attributes: as they are, or escaped in one of two ways."""

    def __init__(self, attributes: Attributes) -> None:
        self._values = {k: v for k, v in attributes.items() if type(v) is str and len(v) >= SHORTEST}
        self._wholes = {value: key for key, value in self._values.items()}
        self._ends = dict.fromkeys(self._values, 0)

    def place(self, message: SpanMessage) -> tuple[str | None, Place]:
        """The attribute, if any, and the place in it."""
        place = Place(message.direction, message.position, message.role)
        text = message.text
        if len(text) >= SHORTEST and _is_readable(text):
            if (whole := self._wholes.get(text)) is not None and _is_readable(whole):
                return whole, place
            for escaped in _spellings(text):
                if (key := self._find(escaped)) is not None and _is_readable(key):
                    place.start, place.length = self._ends[key] - len(escaped) + 1, len(escaped)
                    return key, place
        place.text = text.encode("utf-8", "replace").decode()
        return None, place

    def _find(self, escaped: str) -> str | None:
        """The attribute that has it; `_ends` is then where it ends there. Messages come in order."""
        for key, value in self._values.items():
            at = value.find(escaped, self._ends[key])
            if at < 0 and self._ends[key]:
                at = value.find(escaped)
            if at >= 0:
                self._ends[key] = at + len(escaped)
                return key
        return None


def _spellings(text: str) -> Iterable[str]:
    """How the inside of a JSON string may spell a text."""
    yield _escaped(text)[1:-1].decode()
    if not text.isascii():
        yield json.dumps(text)[1:-1]


def _is_readable(text: str) -> bool:
    """Whether DuckDB can read the text out of JSON: it refuses some of what Python escapes."""
    if "\0" in text or not text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
