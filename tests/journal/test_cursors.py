"""A segment stays until it is loaded and every destination's cursor is past it, whichever process would remove it."""

import json

import pytest
from journalled import balanced_books, calls, ends, write

from otel_runlog.errors import ConfigError, JournalError
from otel_runlog.journal import JournalWriter, cursors, journal_folder, segments
from otel_runlog.journal.cursors import Cursor, Place
from otel_runlog.journal.following import read_piece
from otel_runlog.journal.limit import LET_GO_BYTES, keep_below
from otel_runlog.journal.reader import read_segment
from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding, Signal


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def folder(db):
    return journal_folder(db)


def test_a_cursor_is_what_was_saved_and_nobody_else_can_read_it(folder):
    assert cursors.load(folder, "there") is None
    cursor = Cursor({"1-2-0000000a.seg": Place(77, 3), "1-3-0000000b.seg": Place(99, 5, ended=True)})
    cursors.save(folder, "there", cursor)
    assert cursors.load(folder, "there") == cursor
    path = folder / "cursors" / "there.json"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    assert [p.name for p in path.parent.iterdir()] == ["there.json"]


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 101, "a b", "\0"])
def test_a_name_that_is_no_file_s_is_refused(folder, name):
    with pytest.raises(ConfigError, match="cannot be called"):
        cursors.save(folder, name, Cursor())


def test_a_loaded_segment_waits_for_the_slowest_destination(db, folder):
    _, path = write(db, calls(4))
    cursors.configured(folder, ["fast", "slow"])
    loader = Loader(db)
    assert loader.turn().spans == 4
    assert path.exists()
    size = path.stat().st_size
    cursors.save(folder, "fast", Cursor({path.name: Place(size, 4, ended=True)}))
    cursors.save(folder, "slow", Cursor({path.name: Place(ends(path)[2], 2)}))
    loader.turn()
    assert path.exists()
    cursors.save(folder, "slow", Cursor({path.name: Place(size, 4, ended=True)}))
    loader.turn()
    assert not path.exists()
    assert balanced_books(db).stored == 4


def test_what_only_waits_for_a_destination_does_not_have_the_store_opened(db, folder, monkeypatch):
    write(db, calls(1))
    cursors.configured(folder, ["there"])
    loader = Loader(db)
    loader.turn()
    monkeypatch.setattr(Loader, "open", lambda *_: pytest.fail("opened"))
    assert loader.turn().records == 0


def test_nor_does_a_segment_that_was_closed_after_it_was_loaded(db, folder, monkeypatch):
    """Its footer is no record, so no position says that it has ended."""
    writer, path = write(db, calls(1), close=False)
    cursors.configured(folder, ["there"])
    loader = Loader(db)
    loader.turn()
    writer.close()
    loader.turn()
    with monkeypatch.context() as patched:
        patched.setattr(Loader, "open", lambda *_: pytest.fail("opened"))
        loader.turn()
    assert path.exists()
    cursors.save(folder, "there", Cursor({path.name: Place(path.stat().st_size, 1)}))
    loader.turn()
    assert not path.exists()


def test_a_loader_of_another_process_waits_too_and_loads_nothing_twice(db, folder):
    _, path = write(db, calls(3))
    cursors.configured(folder, ["there"])
    Loader(db).turn()
    assert Loader(db).turn().spans == 0
    assert path.exists()
    assert balanced_books(db).received == 3


def test_what_a_closed_segment_had_grown_by_since_it_was_listed_is_waited_for(db, folder):
    """The loader goes by what it read, not by the size that it saw first."""
    _, path = write(db, calls(2))
    cursors.configured(folder, ["there"])
    cursors.save(folder, "there", Cursor({path.name: Place(ends(path)[1], 1)}))
    Loader(db).turn()
    assert path.exists()


def test_a_destination_that_is_there_no_more_holds_nothing(db, folder):
    _, path = write(db, calls(2))
    cursors.configured(folder, ["gone", "there"])
    cursors.save(folder, "there", Cursor({path.name: Place(0, 0, ended=True)}))
    loader = Loader(db)
    loader.turn()
    assert path.exists()
    cursors.configured(folder, ["there"])
    loader.turn()
    assert not path.exists()
    assert [p.name for p in (folder / "cursors").iterdir()] == ["there.json"]


def test_configuring_keeps_what_was_sent(folder):
    cursor = Cursor({"1-2-0000000a.seg": Place(77, 3)})
    cursors.save(folder, "there", cursor)
    cursors.configured(folder, ["there", "new"])
    assert cursors.load(folder, "there") == cursor
    assert cursors.load(folder, "new") == Cursor()


def test_a_cursor_that_cannot_be_read_holds_everything(db, folder):
    _, path = write(db, calls(1))
    cursors.configured(folder, ["there"])
    (folder / "cursors" / "there.json").write_text("{")
    Loader(db).turn()
    assert path.exists()
    with pytest.raises(JournalError, match="yet to be sent"):
        cursors.load(folder, "there")


def test_over_its_limit_the_journal_lets_go_of_what_a_destination_lacks_and_says_how_much(db, folder):
    _, path = write(db, calls(5))
    cursors.configured(folder, ["there"])
    cursors.save(folder, "there", Cursor({path.name: Place(ends(path)[2], 2)}))
    Loader(db).turn()
    assert keep_below(folder, 1) == 5
    assert path.stat().st_size == LET_GO_BYTES
    sent = cursors.load(folder, "there").places[path.name]
    read = read_piece(path, sent.offset, sent.sequence, 1 << 20)
    assert [(str(d.kind), d.records_lost) for d in read.damage] == [("full", 3)]
    assert read.ended
    cursors.save(folder, "there", Cursor({path.name: Place(read.offset, read.sequence, ended=True)}))
    Loader(db).turn()
    assert segments(folder) == []
    assert balanced_books(db).stored == 5


@pytest.mark.parametrize("piece_bytes", [1, 700, 5000, 1 << 20])
def test_pieces_are_what_the_whole_is(db, folder, piece_bytes):
    writer = JournalWriter(folder)
    bodies = [bytes([i]) * (i * i * 13) for i in range(30)]
    for body in bodies:
        writer.append(Signal.TRACES, Encoding.PROTOBUF, 1, body)
    path = writer.path
    writer.close()
    found, offset, sequence, ended = [], 0, None, False
    while not ended:
        read = read_piece(path, offset, sequence, piece_bytes)
        found += read.records
        offset, sequence, ended = read.offset, read.sequence, read.ended
        assert not read.damage
    assert found == read_segment(path).records
    assert [record.body for record in found] == bodies
    assert offset == path.stat().st_size


def test_a_bad_record_between_pieces_is_counted_once(db, folder):
    _, path = write(db, calls(5))
    content = bytearray(path.read_bytes())
    content[ends(path)[2] - 1] ^= 0xFF
    path.write_bytes(content)
    records, lost, offset, sequence, ended = [], 0, 0, None, False
    while not ended:
        read = read_piece(path, offset, sequence, 1)
        records += read.records
        lost += sum(damage.records_lost for damage in read.damage)
        offset, sequence, ended = read.offset, read.sequence, read.ended
    assert ([record.sequence for record in records], lost) == ([0, 2, 3, 4], 1)


def test_the_file_says_what_it_means(folder):
    cursors.save(folder, "there", Cursor({"1-2-0000000a.seg": Place(77, 3)}))
    told = json.loads((folder / "cursors" / "there.json").read_text())
    assert told == {"places": {"1-2-0000000a.seg": {"offset": 77, "sequence": 3, "ended": False}}}
