"""A memory of look-ups that cannot grow without end: names come from the wire."""

from __future__ import annotations

from typing import TypeVar

MAX_ENTRIES = 4096

K = TypeVar("K")
V = TypeVar("V")


class BoundedCache(dict[K, V]):
    """A dict that forgets everything when it is full: one slow look-up per name again, and no bookkeeping per hit."""

    def remember(self, key: K, value: V) -> V:
        """Keep a value, and return it."""
        if len(self) >= MAX_ENTRIES:
            self.clear()
        self[key] = value
        return value
