"""A destination's cursor on its way: moved in memory by every request that was answered, put on the disk now and then.

What was answered and not yet noted is sent again after a crash: forwarding is at least once. It is noted once a second,
whenever there is nothing to do, and at the end.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from otel_runlog.errors import JournalError
from otel_runlog.journal.cursors import Cursor, Place, load, save
from otel_runlog.journal.folder import segments

NOTE_EVERY_S: Final = 1.0


class Progress:
    """How far a destination is.

    Args:
        folder: the journal's.
        name: the cursor's.
        on_past: called when a segment was sent whole and that is noted, so that it can go.
    """

    def __init__(self, folder: Path, name: str, on_past: Callable[[], None]) -> None:
        self._folder = folder
        self._name = name
        self._on_past = on_past
        self._places: dict[str, Place] = {}
        self._is_noted = True
        self._is_past = False
        self._noted_at = 0.0

    @property
    def places(self) -> Mapping[str, Place]:
        """How far each segment was sent."""
        return self._places

    def begin(self) -> None:
        """Go on where the noted cursor is.

        Raises:
            JournalError: it cannot be read, so all that the journal has is sent, or cannot be written.
        """
        self._places = {}
        cursor = load(self._folder, self._name)
        if cursor is None:
            save(self._folder, self._name, Cursor())
        else:
            self._places = dict(cursor.places)

    def move(self, places: Mapping[str, Place]) -> None:
        """Requests up to these places were answered."""
        self._places.update(places)
        self._is_past = self._is_past or any(place.ended for place in places.values())
        self._is_noted = False

    def note_if_due(self) -> None:
        """Note it, unless that was done a moment ago. Raises as `note`."""
        if time.monotonic() - self._noted_at >= NOTE_EVERY_S:
            self.note()

    def note(self) -> None:
        """Put the cursor on the disk.

        Raises:
            JournalError: it cannot be written; the next call tries again.
        """
        self._noted_at = time.monotonic()
        if self._is_noted:
            return
        gone = [name for name in self._places if not (self._folder / name).exists()]
        for name in gone:
            del self._places[name]
        save(self._folder, self._name, Cursor(self._places))
        self._is_noted = True
        if self._is_past:
            self._is_past = False
            self._on_past()

    def pending_bytes(self) -> int:
        """How much of the journal is not sent yet, start records and the like included. Any thread may ask."""
        places = dict(self._places)
        try:
            return sum(_left(places.get(s.name, Place()), s.size_bytes) for s in segments(self._folder))
        except JournalError:
            return 0


def _left(place: Place, size_bytes: int) -> int:
    return 0 if place.ended else max(size_bytes - place.offset, 0)
