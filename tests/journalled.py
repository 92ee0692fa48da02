"""Segments of the journal with spans in them, their records one by one, and the store's books after loading."""

from __future__ import annotations

import json
import os
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import msgspec

from otel_runlog.doctor import examine
from otel_runlog.journal import JournalWriter, journal_folder, layout, read_segment
from otel_runlog.journal.folder import parse_segment_name
from otel_runlog.model import Span
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.store.health import Book
from otel_runlog.testing import TraceBuilder


def calls(number: int, name: str = "trace") -> list[Span]:
    """Model calls of one trace."""
    trace = TraceBuilder(name)
    for i in range(number):
        trace.chat("gpt-4o-mini", input_tokens=i, output_tokens=1)
    return trace.spans


def in_child(work: Callable[[], object]) -> int:
    """Do it in a forked process; returns its pid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of threads that are not here
        pid = os.fork()
    if pid:
        return pid
    try:
        work()
    except BaseException:  # noqa: BLE001 - a forked test must not go on
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def write(db: Path, spans: list[Span], *, close: bool = True) -> tuple[JournalWriter, Path]:
    """A segment with a record for each span."""
    writer = JournalWriter(journal_folder(db))
    for number, span in enumerate(spans):
        writer.append(Signal.TRACES, Encoding.PROTOBUF, number, encode_spans([span]))
    path = writer.path
    assert path is not None
    if close:
        writer.close()
    return writer, path


def ends(path: Path) -> list[int]:
    """Where the header and every record end."""
    return [layout.HEADER_BYTES, *(record.end_offset for record in read_segment(path).records)]


def named(path: Path, number: int) -> Path:
    """Another name for the same segment: a damaged header costs nothing while the name has the seed."""
    name = parse_segment_name(path.name)
    assert name is not None
    return path.with_name(str(msgspec.structs.replace(name, started_ns=name.started_ns + number)))


def balanced_books(db: Path) -> Book:
    """The journal's books, which must balance."""
    [book] = [book for book in examine(db).books if book.source == "journal"]
    kept = book.stored + book.duplicate + book.conflict + book.superseded
    assert book.received == kept + sum(book.rejected.values()) + sum(book.dropped.values())
    return book


def flip(path: Path, at: int, mask: int = 0xFF) -> None:
    """Change one byte."""
    content = bytearray(path.read_bytes())
    content[at] ^= mask
    path.write_bytes(content)


def as_json(book: Book) -> dict[str, object]:
    """The books as `doctor --format json` tells them."""
    return dict(json.loads(msgspec.json.encode(book)))
