"""What is next for a destination: records of the journal, in the order of segments, joined to one request.

Several records make one request where they can: the messages of a repeated field that stand in two bodies stand in the
two joined as well, so two requests in protobuf, one behind the other, are one request (protobuf, "Last One Wins" and
repeated fields). A processor in an agent's process writes a record a span, and a backend is spared a request for each.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from otel_runlog.errors import JournalError
from otel_runlog.journal.cursors import Place
from otel_runlog.journal.folder import Segment, segments
from otel_runlog.journal.following import read_piece
from otel_runlog.journal.layout import Record
from otel_runlog.journal.reader import DamageKind, SegmentRead

REQUEST_BYTES: Final = 2 << 20
"""Records are joined up to this. A gRPC server takes 4 MiB unless it was told otherwise; one record goes as it is."""

KindOf: TypeAlias = Callable[[Record], Hashable]
"""Records of equal kind may be joined; None passes a record over."""


class Piece(msgspec.Struct, frozen=True):
    """A record to be sent, and where the cursor is once it was. `lost`: records before it that never will be."""

    segment: str
    record: Record
    lost: dict[str, int] = {}

    @property
    def place(self) -> Place:
        """Behind the record."""
        return Place(self.record.end_offset, self.record.sequence + 1)


class Batch(msgspec.Struct):
    """Records of one kind.

    Attributes:
        pieces: what is to be sent, in order; none where there was only what is passed over.
        places: where the cursor is once all of it was sent, records that are passed over included.
        lost: records that can never be sent, by reason: the journal was over its limit, or damaged.
    """

    pieces: list[Piece] = []
    places: dict[str, Place] = {}
    lost: dict[str, int] = {}

    @property
    def records(self) -> list[Record]:
        """What is to be sent."""
        return [piece.record for piece in self.pieces]

    def of(self, pieces: list[Piece]) -> Batch:
        """The batch of some of its pieces, or itself for all of them."""
        if len(pieces) == len(self.pieces):
            return self
        lost: Counter[str] = Counter()
        for piece in pieces:
            lost.update(piece.lost)
        return Batch(pieces, {piece.segment: piece.place for piece in pieces}, dict(lost))


def fitting(pieces: list[Piece], limit_bytes: int = REQUEST_BYTES) -> list[Piece]:
    """Those of the first pieces that make one request together: one at least, where there is one."""
    sizes = itertools.accumulate(len(piece.record.body) for piece in pieces)
    return pieces[: max(sum(size <= limit_bytes for size in sizes), 1)]


class Source:
    """Gathers batches behind a cursor's places; a destination has one of its own."""

    def __init__(self, folder: Path, kind_of: KindOf, max_bytes: int) -> None:
        self._folder = folder
        self._kind_of = kind_of
        self._max_bytes = max_bytes
        self._newer: set[str] = set()

    def gather(self, places: Mapping[str, Place]) -> Batch | None:
        """The next batch; None where nothing is there that was not sent.

        Raises:
            JournalError: the journal's folder cannot be read.
        """
        gathering = _Gathering(self._kind_of, self._max_bytes)
        for segment in segments(self._folder):
            place = places.get(segment.name, Place())
            if segment.name in self._newer:
                continue
            while not gathering.is_full and _may_have_more(segment, place):
                place, more = self._take(gathering, segment, place)
                if not more:
                    break
            if gathering.is_full:
                break
        return gathering.batch if gathering.batch.places else None

    def _take(self, gathering: _Gathering, segment: Segment, place: Place) -> tuple[Place, bool]:
        try:
            read = read_piece(segment.path, place.offset, place.sequence, gathering.room_bytes)
        except JournalError:  # it is gone, or cannot be read now
            return place, False
        if any(damage.kind is DamageKind.NEWER_VERSION for damage in read.damage):
            self._newer.add(segment.name)  # the loader says so
            return place, False
        return gathering.take(segment.name, place, read), read.more


def _may_have_more(segment: Segment, place: Place) -> bool:
    return not place.ended and (not segment.living or segment.size_bytes > place.offset)


class _Gathering:
    """A batch on its way: until it is full, or a record of another kind comes."""

    def __init__(self, kind_of: KindOf, max_bytes: int) -> None:
        self.batch = Batch()
        self.is_full = False
        self._kind_of = kind_of
        self._kind: Hashable = None
        self._lost: Counter[str] = Counter()
        self._lost_before: defaultdict[str, Counter[str]] = defaultdict(Counter)
        self.room_bytes = max_bytes

    def take(self, segment: str, place: Place, read: SegmentRead) -> Place:
        """Take of what was read what belongs to the batch; returns the place behind it."""
        reached = place
        lost = {f"journal_{damage.kind}": damage.records_lost for damage in read.damage if damage.records_lost}
        self._lost_before[segment].update(lost)
        for record in read.records:
            if self.is_full or not self._takes(segment, record):
                self.is_full = True
                break
            reached = Place(record.end_offset, record.sequence + 1)
        else:
            reached = Place(read.offset, read.sequence, read.ended)
        if reached != place:
            self.batch.places[segment] = reached
            self._lost.update(lost)
            self.batch.lost = dict(self._lost)
        return reached

    def _takes(self, segment: str, record: Record) -> bool:
        """Whether there is room for it. What was found wrong in its segment goes with the next record that is sent."""
        kind = self._kind_of(record)
        if kind is None:
            return True
        if self.batch.pieces and (kind != self._kind or len(record.body) > self.room_bytes):
            return False
        self._kind = kind
        self.batch.pieces.append(Piece(segment, record, dict(self._lost_before.pop(segment, {}))))
        self.room_bytes -= len(record.body)
        self.is_full = self.room_bytes <= 0
        return True
