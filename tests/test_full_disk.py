"""A disk that is full or fails: what was acknowledged stays, what was not is said, and all goes on with space again."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from journalled import balanced_books, calls, in_child, write

from otel_runlog.errors import JournalError, StoreError
from otel_runlog.journal import JournalWriter, journal_folder, read_segment, segments
from otel_runlog.loader import Loader
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


def append(writer: JournalWriter, number: int) -> None:
    writer.append(Signal.TRACES, Encoding.PROTOBUF, 1, encode_spans(calls(1, f"trace {number}")))


@contextlib.contextmanager
def files_no_larger_than(limit_bytes: int) -> Iterator[None]:
    """As with a full disk, a write that would make a file larger fails."""
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit_bytes, old[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, old)
        signal.signal(signal.SIGXFSZ, handler)


@pytest.mark.fault(48)
def test_the_journal_fails_cleanly_on_a_full_disk_and_goes_on_with_space_again(small_disk: Path) -> None:
    db = small_disk / "runs.duckdb"
    ballast = small_disk / "ballast"
    writer, kept = JournalWriter(journal_folder(db)), 0
    append(writer, 0)
    free_bytes = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    ballast.write_bytes(bytes(free_bytes - 100_000))
    with contextlib.suppress(JournalError):
        for kept in range(1, 100_000):
            append(writer, kept)
    path = writer.path
    assert path is not None
    with pytest.raises(JournalError, match="No space left"):
        append(writer, kept)
    assert [record.sequence for record in read_segment(path).records] == list(range(kept))
    ballast.unlink()
    append(writer, kept)
    writer.close()
    assert Loader(db).turn().damaged == []
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (kept + 1, {})


@pytest.mark.fault(48)
def test_a_store_on_a_full_disk_keeps_what_was_committed_and_the_journal_the_rest(small_disk: Path) -> None:
    db = small_disk / "runs.duckdb"
    loader = Loader(db)
    write(db, calls(5, "first"))
    loader.turn()
    write(db, calls(300, "second"))
    ballast = small_disk / "ballast"
    free_bytes = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    ballast.write_bytes(bytes(free_bytes - 8_192))
    for _ in range(2):
        with pytest.raises(StoreError, match=r"runs\.duckdb"):
            loader.turn()
        assert len(segments(journal_folder(db))) == 1
    ballast.unlink()
    assert loader.turn().records == 300
    assert balanced_books(db).stored == 305
    assert segments(journal_folder(db)) == []


@pytest.mark.fault(48)
def test_a_store_that_may_not_be_written_fails_by_name_and_loads_later(db: Path) -> None:
    write(db, calls(5, "first"))
    Loader(db).turn()
    write(db, calls(300, "second"))

    def work() -> None:
        with files_no_larger_than(0):
            loader = Loader(db)
            for _ in range(2):
                with pytest.raises(StoreError, match=r"runs\.duckdb"):
                    loader.turn()

    assert os.waitpid(in_child(work), 0)[1] == 0
    assert Loader(db).turn().records == 300
    assert balanced_books(db).stored == 305


@pytest.mark.fault(48)
def test_a_segment_stays_until_its_rows_are_in_the_file_itself(db: Path) -> None:
    """The commit fits into the write-ahead log, the checkpoint does not fit into the file."""
    write(db, calls(5, "first"))
    Loader(db).turn()
    write(db, calls(300, "second"))
    limit_bytes = db.stat().st_size + 20_000

    def work() -> None:
        with files_no_larger_than(limit_bytes):
            assert Loader(db).turn().records == 300

    assert os.waitpid(in_child(work), 0)[1] == 0
    assert len(segments(journal_folder(db))) == 1
    assert Loader(db).turn().records == 0
    book = balanced_books(db)
    assert (book.received, book.stored) == (305, 305)
    assert segments(journal_folder(db)) == []


@pytest.mark.fault(48)
def test_a_new_store_on_a_full_disk_leaves_nothing_half_made(small_disk: Path) -> None:
    db = small_disk / "runs.duckdb"
    write(db, calls(5))
    free_bytes = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
    (small_disk / "ballast").write_bytes(bytes(free_bytes - 8_192))
    with pytest.raises(StoreError, match=r"runs\.duckdb"):
        Loader(db).turn()
    assert sorted(path.name for path in small_disk.iterdir()) == ["ballast", "runs.duckdb.journal"]
    (small_disk / "ballast").unlink()
    Loader(db).turn()
    assert balanced_books(db).stored == 5


@pytest.mark.fault(53)
def test_a_failed_fdatasync_gives_the_segment_up(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel reports a lost page once: a second fdatasync on the same file would say that all is well."""
    writer = JournalWriter(journal_folder(db), fsync=True)
    append(writer, 0)
    first, sync = writer.path, os.fdatasync
    calls_left = iter([OSError(errno.EIO, "Input/output error")])

    def failing_once(fd: int) -> None:
        if error := next(calls_left, None):
            raise error
        sync(fd)

    monkeypatch.setattr(os, "fdatasync", failing_once)
    with pytest.raises(JournalError, match="Input/output error"):
        append(writer, 1)
    append(writer, 1)  # sent again: a duplicate where the first is on the disk after all
    assert writer.path != first
    writer.close()
    Loader(db).turn()
    book = balanced_books(db)
    assert (book.stored, book.duplicate) == (2, 1)
    assert book.dropped == {"journal_no_footer": 0}
