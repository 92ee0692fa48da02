"""Over its limit the journal lets the oldest records go, and the books say how many."""

import os

import pytest
from journalled import balanced_books, calls, write

from otel_runlog.doctor import examine
from otel_runlog.journal import DamageKind, JournalWriter, journal_folder, read_segment, segments
from otel_runlog.journal.folder import size_bytes
from otel_runlog.journal.layout import FOOTER_BYTES
from otel_runlog.journal.limit import LET_GO_BYTES, keep_below
from otel_runlog.loader import Loader
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


def test_below_the_limit_nothing_goes(db):
    _, path = write(db, calls(3))
    before = path.read_bytes()
    assert keep_below(path.parent, path.stat().st_size) == 0
    assert path.read_bytes() == before


def test_a_segment_that_goes_while_the_journal_is_measured_hides_no_other(db):
    _, path = write(db, calls(3))
    for name in ("0-1-0.seg", "9-9-9.seg"):  # what is listed and then cannot be found
        path.with_name(name).symlink_to("nowhere")
    assert size_bytes(path.parent) == path.stat().st_size


@pytest.mark.fault(48)
def test_the_oldest_segments_are_let_go_and_counted_once(db, caplog):
    paths = [write(db, calls(3, f"trace {n}"))[1] for n in range(3)]
    folder = journal_folder(db)
    limit = sum(path.stat().st_size for path in paths) - 1
    assert keep_below(folder, limit) == 3
    assert [path.stat().st_size == LET_GO_BYTES for path in paths] == [True, False, False]
    assert "the oldest 3 records were dropped" in caplog.text
    (damage,) = read_segment(paths[0]).damage
    assert (damage.kind, damage.records_lost, damage.loses_data) == (DamageKind.FULL, 3, False)
    assert keep_below(folder, limit) == 0
    assert Loader(db).turn().records == 6
    book = balanced_books(db)
    assert (book.received, book.stored, book.dropped) == (9, 6, {"journal_full": 3})
    assert segments(folder) == []
    assert examine(db).is_sound


@pytest.mark.fault(48)
def test_what_was_loaded_before_is_not_counted_as_dropped(db):
    writer, path = write(db, calls(2), close=False)
    Loader(db).turn()
    writer.append(Signal.TRACES, Encoding.PROTOBUF, 9, encode_spans(calls(1, "later")))
    writer.close()
    assert keep_below(path.parent, 0) == 3
    assert Loader(db).turn().records == 0
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (2, {"journal_full": 1})
    assert segments(path.parent) == []


def test_living_and_damaged_segments_stay(db):
    living, first = write(db, calls(1), close=False)
    _, second = write(db, calls(1, "other"))
    os.truncate(second, 10)
    assert keep_below(first.parent, 0) == 0
    assert second.stat().st_size == 10
    living.close()


@pytest.mark.fault(48)
def test_a_writer_looks_at_the_limit_whenever_it_begins_a_segment(db):
    writer = JournalWriter(journal_folder(db), segment_bytes=1, max_bytes=2_000)
    for span in calls(30):
        writer.append(Signal.TRACES, Encoding.PROTOBUF, 1, encode_spans([span]))
    writer.close()
    assert sum(segment.size_bytes for segment in segments(journal_folder(db))) < 2_000 + 30 * LET_GO_BYTES
    Loader(db).turn()
    book = balanced_books(db)
    assert book.stored > 0
    assert (book.received, book.stored + book.dropped["journal_full"]) == (30, 30)


def test_a_segment_that_was_closed_says_itself_how_many_go(db, monkeypatch):
    paths = [write(db, calls(3, f"trace {n}"))[1] for n in range(2)]
    monkeypatch.setattr("otel_runlog.journal.limit.read_segment", None)  # 60 MB of it took 0.4 s of the application
    assert keep_below(paths[0].parent, 0) == 6


def test_a_segment_of_a_killed_writer_is_counted_piece_by_piece(db, monkeypatch):
    path = write(db, calls(9))[1]
    path.write_bytes(path.read_bytes()[:-FOOTER_BYTES])
    monkeypatch.setattr("otel_runlog.journal.limit.PIECE_BYTES", 1)
    assert keep_below(path.parent, 0) == 9
