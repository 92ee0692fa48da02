"""The store, as forwarding reads it: in turns with the loader, and never waiting for long."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Protocol

from otel_runlog.journal.cursors import Place
from otel_runlog.server.forward.batches import Piece
from otel_runlog.store.forwarding import ForwardingReader

TURN_WAIT_S: Final = 2.0


class ReadTurns(Protocol):
    """When the store can be read: `otel_runlog.server.turns.StoreTurns`."""

    def reading(self, timeout_s: float) -> AbstractContextManager[None]:
        """Have the store beside others that read; raises StoreLockedError where that takes longer than `timeout_s`."""
        ...


@contextlib.contextmanager
def store_of(db: Path, turns: ReadTurns) -> Iterator[ForwardingReader]:
    """The store, open for reading.

    Raises:
        StoreError: it cannot be read now: others have it, or there is none yet.
    """
    with turns.reading(TURN_WAIT_S), ForwardingReader(db) as reader:
        yield reader


def loaded_pieces(reader: ForwardingReader, pieces: Collection[Piece]) -> set[tuple[str, Place]]:
    """Which of the records are in the store, by segment and place."""
    loaded = reader.loaded({piece.segment for piece in pieces})
    found = ((piece, loaded.get(piece.segment, (0, False))) for piece in pieces)
    return {(p.segment, p.place) for p, (offset, ended) in found if ended or p.place.offset <= offset}


def first_of(pieces: Iterable[Piece], ready: Iterable[bool]) -> list[Piece]:
    """The pieces before the first that is not ready: records are sent in order."""
    found = []
    for piece, is_ready in zip(pieces, ready, strict=True):
        if not is_ready:
            break
        found.append(piece)
    return found
