"""The reading end: records up to a position, and every loss by name."""

from __future__ import annotations

import enum
from pathlib import Path

import msgspec

from otel_runlog.errors import JournalError
from otel_runlog.journal import layout
from otel_runlog.journal.folder import is_living, parse_segment_name
from otel_runlog.journal.layout import Record


class DamageKind(enum.StrEnum):
    """What is wrong with a segment. Only `no_footer` alone loses nothing that is known of: its writer was killed."""

    NO_FOOTER = "no_footer"
    EMPTY = "empty"
    BAD_HEADER = "bad_header"
    NEWER_VERSION = "newer_version"
    BAD_RECORD = "bad_record"
    SEQUENCE_GAP = "sequence_gap"
    TORN_TAIL = "torn_tail"
    BAD_FOOTER = "bad_footer"
    TRAILING_BYTES = "trailing_bytes"


class Damage(msgspec.Struct, frozen=True):
    """One thing that is wrong: where, how many bytes could not be read, and how many records that cost if known."""

    kind: DamageKind
    offset: int
    bytes: int = 0
    records_lost: int | None = 0

    @property
    def loses_data(self) -> bool:
        """Whether bytes that were written are gone: such a segment is set aside."""
        return self.kind is not DamageKind.NO_FOOTER


class SegmentRead(msgspec.Struct):
    """What `read_segment` found from its offset on.

    Attributes:
        records: the sound records, in order.
        offset: where the next call goes on.
        sequence: the number the next record must have.
        damage: what was wrong between the two offsets.
        ended: nothing will follow: the footer was read, or the writer is gone and all bytes were looked at.
        more: records stand after `offset` that `max_bytes` kept out.
    """

    records: list[Record]
    offset: int
    sequence: int | None = None
    damage: tuple[Damage, ...] = ()
    ended: bool = False
    more: bool = False


def read_segment(
    path: Path, offset: int = 0, *, sequence: int | None = None, max_bytes: int | None = None
) -> SegmentRead:
    """Read the records of a segment from `offset` on.

    A record that a living writer has only half written is no damage: reading stops before it. A bad record is skipped
    where a sound one follows it, and counted.

    Args:
        path: the segment.
        offset: where an earlier read of it stopped; 0 is the beginning.
        sequence: the `sequence` of that earlier read, so that a gap between the two is seen.
        max_bytes: stop after the record that reaches so many bytes.

    Raises:
        JournalError: the file cannot be read.
    """
    living = is_living(path)  # before reading: see is_living
    first = _read(path, offset, sequence, max_bytes, living=living)
    if living and first.damage:  # a writer that takes back a half-written record may be caught in between
        return _read(path, offset, sequence, max_bytes, living=living)
    return first


def _read(path: Path, offset: int, sequence: int | None, max_bytes: int | None, *, living: bool) -> SegmentRead:
    scan = _Scan(_read_bytes(path, offset), living=living)
    scan.sequence = sequence
    if max_bytes is not None:
        scan.max_bytes = max_bytes
    if offset == 0:
        scan.look_at_header()
    return scan.run()


class _SegmentBytes(msgspec.Struct, frozen=True):
    """The header's bytes, and all that stands from file offset `base` on."""

    name: str
    head: bytes
    base: int
    data: bytes

    def seed(self) -> int:
        """What the crcs start from: the header says it, and where that is damaged the name does."""
        if header := layout.unpack_header(self.head):
            return header.seed
        named = parse_segment_name(self.name)
        return named.seed if named else 0


def _read_bytes(path: Path, offset: int) -> _SegmentBytes:
    try:
        with path.open("rb") as file:
            head = file.read(layout.HEADER_BYTES)
            base = max(offset, len(head))
            file.seek(base)
            return _SegmentBytes(path.name, head, base, file.read())
    except OSError as error:
        raise JournalError(f"cannot read the segment {path}: {error}") from error


class _Scan:
    """One pass over the bytes of a segment."""

    def __init__(self, source: _SegmentBytes, *, living: bool) -> None:
        self.sequence: int | None = None
        self.max_bytes = len(source.data)
        self._head, self._data, self._base = source.head, source.data, source.base
        self._seed = source.seed()
        self._living = living
        self._at = 0
        self._checksum: int | None = None
        self._records: list[Record] = []
        self._damage: list[Damage] = []
        self._skipped: tuple[int, int] | None = None
        self._ended = False

    def look_at_header(self) -> None:
        """Report an empty file or a header that cannot be read."""
        self.sequence, self._checksum = 0, 0
        header = layout.unpack_header(self._head)
        if not self._head:
            self._note(DamageKind.EMPTY, 0)
        elif header is None:
            self._note(DamageKind.BAD_HEADER, len(self._head))
        elif header.version > layout.VERSION:
            self._note(DamageKind.NEWER_VERSION, len(self._head) + len(self._data))
            self._at, self._ended = len(self._data), True

    def run(self) -> SegmentRead:
        """Read on until the footer, the end, a half-written record or the byte limit."""
        while not self._ended and self._at < min(len(self._data), self.max_bytes):
            record = layout.unpack_record(self._data, self._at, self._seed, self._base)
            if record is not None:
                self._take(record)
            elif not (self._take_footer() or self._skip_to_next()):
                break
        return self._result()

    def _take(self, record: Record) -> None:
        self._count_up_to(record.sequence)
        self._records.append(record)
        self.sequence = record.sequence + 1
        if self._checksum is not None:
            self._checksum = layout.next_checksum(self._checksum, layout.record_crc(self._data, self._at))
        self._at = record.end_offset - self._base

    def _take_footer(self) -> bool:
        footer = layout.unpack_footer(self._data, self._at, self._seed, self._base)
        if footer is None:
            return False
        self._count_up_to(footer.records)
        if self._checksum not in (None, footer.checksum) and not self._damage:
            self._note(DamageKind.BAD_FOOTER, layout.FOOTER_BYTES)
        self._at = footer.end_offset - self._base
        if trailing := len(self._data) - self._at:
            self._note(DamageKind.TRAILING_BYTES, trailing)
        self._at, self._ended = len(self._data), True
        return True

    def _skip_to_next(self) -> bool:
        found = layout.find_next(self._data, self._at, self._seed)
        if found is not None:
            self._skipped = (self._base + self._at, found - self._at)
            self._at = found
            return True
        if not self._living:
            self._note(self._kind_of_tail(), len(self._data) - self._at, records_lost=None)
            self._at, self._ended = len(self._data), True
        return False

    def _count_up_to(self, sequence: int) -> None:
        """Note what is missing between the record that was due and the one (or the footer) with `sequence`."""
        lost = None if self.sequence is None else max(sequence - self.sequence, 0)
        if self._skipped is not None:
            offset, length = self._skipped
            self._damage.append(Damage(DamageKind.BAD_RECORD, offset, length, lost))
            self._skipped = None
        elif self.sequence is not None and sequence != self.sequence:
            self._note(DamageKind.SEQUENCE_GAP, 0, records_lost=lost)

    def _kind_of_tail(self) -> DamageKind:
        if layout.claims_more_than(self._data, self._at):
            return DamageKind.TORN_TAIL
        is_footer = self._data.startswith(layout.FOOTER_MARKER, self._at)
        return DamageKind.BAD_FOOTER if is_footer else DamageKind.BAD_RECORD

    def _note(self, kind: DamageKind, length: int, *, records_lost: int | None = 0) -> None:
        self._damage.append(Damage(kind, self._base + self._at, length, records_lost))

    def _result(self) -> SegmentRead:
        more = self._at < len(self._data) and self._at >= self.max_bytes
        if not (self._ended or self._living or more):
            if self._head:
                self._note(DamageKind.NO_FOOTER, 0)
            self._ended = True
        return SegmentRead(
            self._records, self._base + self._at, self.sequence, tuple(self._damage), ended=self._ended, more=more
        )
