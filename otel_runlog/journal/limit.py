"""The journal's limit: over it, the oldest records are let go, and what is left of their segment says how many.

A segment that was let go is its header and one frame with the number of its records, so whoever loads it counts what it
had not loaded before, and so does whoever forwards it for what it had not sent (see cursors). Only segments without a
living writer go; what living ones hold is above the limit if need be.
"""

from __future__ import annotations

import contextlib
import logging
import os
from pathlib import Path

from otel_runlog.errors import JournalError
from otel_runlog.journal import layout
from otel_runlog.journal.folder import FILE_MODE, TEMPORARY_SUFFIX, Segment, segments, size_bytes
from otel_runlog.journal.reader import read_segment

LET_GO_BYTES = layout.HEADER_BYTES + layout.FOOTER_BYTES
"""How long a segment is that was let go."""

PIECE_BYTES = 1 << 20

logger = logging.getLogger("otel_runlog")


def keep_below(folder: Path, limit_bytes: int) -> int:
    """Let the oldest segments go until the journal holds at most `limit_bytes`; returns how many records that cost.

    Raises:
        JournalError: the folder cannot be read.
    """
    over_bytes = size_bytes(folder) - limit_bytes
    records = 0
    for segment in segments(folder) if over_bytes > 0 else ():
        if over_bytes <= 0:
            break
        if not segment.living and segment.size_bytes > LET_GO_BYTES:
            with contextlib.suppress(OSError, JournalError):  # loaded and gone meanwhile, or a disk that fails
                records += let_go(segment)
                over_bytes -= segment.size_bytes - LET_GO_BYTES
    if records:
        logger.warning(
            "the journal %s was over its limit of %d bytes: the oldest %d records were dropped before they were "
            "loaded, or sent to every destination; `otel-runlog runs` loads what is there",
            *(folder, limit_bytes, records),
        )
    return records


def let_go(segment: Segment) -> int:
    """Put a segment's number of records in its place, in one step; returns that number."""
    with segment.path.open("rb") as file:
        head = file.read(layout.HEADER_BYTES)
        file.seek(-layout.FOOTER_BYTES, os.SEEK_END)
        end = file.read()
    header = layout.unpack_header(head)
    if header is None or header.version > layout.VERSION:
        return 0  # damaged or newer: kept
    footer = layout.unpack_footer(end, 0, header.seed)
    records = footer.records if footer else _count(segment.path)
    rest = layout.pack_footer(header.seed, layout.Footer(records, 0, let_go=True))
    temporary = segment.path.with_suffix(f".{os.getpid()}{TEMPORARY_SUFFIX}")
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    try:
        os.write(fd, head + rest)
    finally:
        os.close(fd)
    temporary.rename(segment.path)
    return records


def _count(path: Path) -> int:
    """The records of a segment whose writer was killed; a piece at a time, on the application's thread."""
    offset, sequence, more = 0, None, True
    while more:
        read = read_segment(path, offset, sequence=sequence, max_bytes=PIECE_BYTES)
        offset, sequence, more = read.offset, read.sequence, read.more
    return sequence or 0
