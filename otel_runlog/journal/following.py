"""Reading a segment a piece at a time, as one who follows its writer does: no more bytes than were asked for.

`read_segment` reads all that stands behind its offset, as it looks for sound records beyond damage; for one who comes
by for every piece of a 64 MiB segment that is too much. Here sound records are taken from a window, and where the
window holds none, or a number is missing, `read_segment` says what is wrong.
"""

from __future__ import annotations

from pathlib import Path

from otel_runlog.errors import JournalError
from otel_runlog.journal import layout
from otel_runlog.journal.reader import SegmentRead, read_segment


def read_piece(path: Path, offset: int, sequence: int | None, max_bytes: int) -> SegmentRead:
    """As `read_segment`, for at most `max_bytes` but for one record.

    Raises:
        JournalError: the file cannot be read.
    """
    window = _Window.read(path, offset, max_bytes)
    records = window.records(sequence, max_bytes) if window else []
    if not records:
        return read_segment(path, offset, sequence=sequence, max_bytes=1)
    last = records[-1]
    return SegmentRead(records, last.end_offset, last.sequence + 1, more=True)


class _Window:
    """Some bytes of a segment with a sound header of this version."""

    def __init__(self, data: bytes, base: int, seed: int) -> None:
        self._data, self._base, self._seed = data, base, seed

    @classmethod
    def read(cls, path: Path, offset: int, size: int) -> _Window | None:
        try:
            with path.open("rb") as file:
                header = layout.unpack_header(file.read(layout.HEADER_BYTES))
                if header is None or header.version > layout.VERSION:
                    return None
                base = max(offset, layout.HEADER_BYTES)
                file.seek(base)
                data = file.read(size + layout.RECORD_HEAD_BYTES)
                more = min(layout.claimed_bytes(data), layout.MAX_BODY_BYTES) - len(data)
                return cls(data + file.read(max(more, 0)), base, header.seed)
        except OSError as error:
            raise JournalError(f"cannot read the segment {path}: {error}") from error

    def records(self, sequence: int | None, max_bytes: int) -> list[layout.Record]:
        """The sound records from the beginning on, as long as no number is missing."""
        found: list[layout.Record] = []
        at, due = 0, sequence or 0
        while at < max_bytes:
            record = layout.unpack_record(self._data, at, self._seed, self._base)
            if record is None or record.sequence != due:
                break
            found.append(record)
            at, due = record.end_offset - self._base, due + 1
        return found
