"""The reading end: records up to a position, and every loss by name."""

from __future__ import annotations

import enum
import os
from pathlib import Path

import msgspec

from otel_runlog.errors import JournalError
from otel_runlog.journal import layout
from otel_runlog.journal.folder import is_living, parse_segment_name
from otel_runlog.journal.layout import Record


class DamageKind(enum.StrEnum):
    """What is wrong with a segment.

    Two lose nothing that is known of: `no_footer`, its writer was killed, and `newer_version`, a later otel-runlog can
    read it. `full` is no fault of the file: its records were let go because the journal was over its limit.
    """

    NO_FOOTER = "no_footer"
    EMPTY = "empty"
    SHRUNK = "shrunk"
    FULL = "full"
    BAD_HEADER = "bad_header"
    NEWER_VERSION = "newer_version"
    BAD_RECORD = "bad_record"
    SEQUENCE_GAP = "sequence_gap"
    TORN_TAIL = "torn_tail"
    BAD_FOOTER = "bad_footer"
    TRAILING_BYTES = "trailing_bytes"


class Damage(msgspec.Struct, frozen=True):
    """One thing that is wrong: where, how many bytes could not be read, and how many records that cost.

    The sequence numbers say how many; behind the last sound record, where nothing says it, they are counted by what is
    left of their beginnings, and are one at least.
    """

    kind: DamageKind
    offset: int
    bytes: int = 0
    records_lost: int = 0

    @property
    def loses_data(self) -> bool:
        """Whether bytes that were written cannot be read: such a segment is set aside."""
        return self.kind not in (DamageKind.NO_FOOTER, DamageKind.NEWER_VERSION, DamageKind.FULL)


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
    source = _read_bytes(path, offset)
    if source.size < offset:
        return _read_shrunk(path, offset, sequence or 0, living=living)
    scan = _Scan(source, living=living)
    scan.sequence = sequence
    if max_bytes is not None:
        scan.max_bytes = max_bytes
    if offset == 0:
        scan.look_at_header()
    return scan.run()


def _read_shrunk(path: Path, offset: int, sequence: int, *, living: bool) -> SegmentRead:
    """Read a file that is shorter than what was read of it before: what is not yet known may stand anywhere in it."""
    if living:  # what its writer adds will stand behind `offset` some day, or be read when the writer is gone
        return SegmentRead([], offset, sequence)
    scan = _Scan(_read_bytes(path, 0), living=False)
    scan.look_at_header()
    found = scan.run(known=sequence)
    if any(damage.kind is DamageKind.FULL for damage in found.damage):
        return found
    shrunk = Damage(DamageKind.SHRUNK, 0, offset - found.offset)
    news = found.damage if (found.sequence or 0) >= sequence else ()
    return msgspec.structs.replace(found, damage=(shrunk, *news))


class _SegmentBytes(msgspec.Struct, frozen=True):
    """The header's bytes, and all that stands from file offset `base` on; `size` is the whole file's."""

    name: str
    head: bytes
    base: int
    data: bytes
    size: int

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
            size = file.seek(0, os.SEEK_END)
            file.seek(base)
            data = file.read()
            return _SegmentBytes(path.name, head, base, data, max(size, base + len(data) if data else 0))
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
        self._leave = False
        self._known = 0

    def look_at_header(self) -> None:
        """Report an empty file or a header that cannot be read."""
        self.sequence, self._checksum = 0, 0
        header = layout.unpack_header(self._head)
        if header is None:
            self._note_missing_header()
        elif header.version > layout.VERSION:
            self._note(DamageKind.NEWER_VERSION, len(self._head) + len(self._data))
            self._leave = True

    def _note_missing_header(self) -> None:
        is_short = len(self._head) < layout.HEADER_BYTES
        if is_short and self._living:  # somebody cut the file; its writer may go on
            return
        kind = DamageKind.BAD_HEADER if self._head else DamageKind.EMPTY
        self._note(kind, len(self._head), int(is_short))  # a segment is made for its first record

    def run(self, known: int = 0) -> SegmentRead:
        """Read on until the footer, the end, a half-written record or the byte limit.

        Records with a number below `known` are passed over.
        """
        self._known = known
        while not (self._ended or self._leave) and self._at < min(len(self._data), self.max_bytes):
            record = layout.unpack_record(self._data, self._at, self._seed, self._base)
            if record is not None:
                self._take(record)
            elif not (self._take_footer() or self._skip_to_next()):
                break
        return self._result()

    def _take(self, record: Record) -> None:
        self._count_up_to(record.sequence)
        if record.sequence >= self._known:
            self._records.append(record)
        self.sequence = record.sequence + 1
        if self._checksum is not None:
            self._checksum = layout.next_checksum(self._checksum, layout.record_crc(self._data, self._at))
        self._at = record.end_offset - self._base

    def _take_footer(self) -> bool:
        footer = layout.unpack_footer(self._data, self._at, self._seed, self._base)
        if footer is None:
            return False
        if footer.let_go:
            self._note(DamageKind.FULL, 0, max(footer.records - max(self.sequence or 0, self._known), 0))
        else:
            self._check(footer)
        self._at = footer.end_offset - self._base
        if trailing := len(self._data) - self._at:
            self._note(DamageKind.TRAILING_BYTES, trailing, self._data.count(layout.RECORD_MARKER, self._at))
        self._at, self._ended = len(self._data), True
        return True

    def _check(self, footer: layout.Footer) -> None:
        self._count_up_to(footer.records)
        if self._checksum not in (None, footer.checksum) and not self._damage:
            self._note(DamageKind.BAD_FOOTER, layout.FOOTER_BYTES)

    def _skip_to_next(self) -> bool:
        found = layout.find_next(self._data, self._at, self._seed)
        if found is not None:
            self._skipped = (self._base + self._at, found - self._at)
            self._at = found
            return True
        if not self._living:
            self._note_tail()
            self._at, self._ended = len(self._data), True
        return False

    def _count_up_to(self, sequence: int) -> None:
        """Note what is missing between the record that was due and the one (or the footer) with `sequence`."""
        if self._skipped is not None:
            offset, length = self._skipped
            lost = self._begun(offset - self._base, length) if self.sequence is None else sequence - self.sequence
            self._damage.append(Damage(DamageKind.BAD_RECORD, offset, length, max(lost, 0)))
            self._skipped = None
        elif self.sequence is not None and sequence != self.sequence:
            self._note(DamageKind.SEQUENCE_GAP, 0, max(sequence - self.sequence, 0))

    def _begun(self, at: int, length: int) -> int:
        """How many records begin in bytes that cannot be read, the one at `at` included."""
        return 1 + self._data.count(layout.RECORD_MARKER, at + 1, at + length)

    def _note_tail(self) -> None:
        length = len(self._data) - self._at
        if layout.is_bad_footer(self._data, self._at, self.sequence):
            self._note(DamageKind.BAD_FOOTER, length)
            return
        torn = layout.claims_more_than(self._data, self._at)
        kind = DamageKind.TORN_TAIL if torn else DamageKind.BAD_RECORD
        self._note(kind, length, self._begun(self._at, length))

    def _note(self, kind: DamageKind, length: int, records_lost: int = 0) -> None:
        self._damage.append(Damage(kind, self._base + self._at, length, records_lost))

    def _result(self) -> SegmentRead:
        more = self._at < len(self._data) and self._at >= self.max_bytes
        if not (self._ended or self._leave or self._living or more):
            if len(self._head) == layout.HEADER_BYTES:
                self._note(DamageKind.NO_FOOTER, 0)
            self._ended = True
        return SegmentRead(
            self._records, self._base + self._at, self.sequence, tuple(self._damage), ended=self._ended, more=more
        )
