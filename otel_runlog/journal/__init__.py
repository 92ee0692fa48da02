"""The journal: append-only segments on disk, written before anything else happens to a span."""

from otel_runlog.journal.folder import (
    Segment,
    damaged,
    is_living,
    journal_folder,
    make_folder,
    retire,
    segments,
    set_aside,
)
from otel_runlog.journal.layout import Record
from otel_runlog.journal.reader import Damage, DamageKind, SegmentRead, read_segment
from otel_runlog.journal.writer import SEGMENT_BYTES, JournalWriter

__all__ = [
    "SEGMENT_BYTES",
    "Damage",
    "DamageKind",
    "JournalWriter",
    "Record",
    "Segment",
    "SegmentRead",
    "damaged",
    "is_living",
    "journal_folder",
    "make_folder",
    "read_segment",
    "retire",
    "segments",
    "set_aside",
]
