"""Batches of records: joined by kind and size, and cut so that nothing of them is forgotten or counted twice."""

import pytest
from journalled import ends

from otel_runlog.journal import JournalWriter
from otel_runlog.journal.cursors import Place
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward.batches import Source, fitting


@pytest.fixture
def writer(tmp_path):
    made = JournalWriter(tmp_path / "journal")
    yield made
    made.close()


def append(writer, *bodies, signal=Signal.TRACES):
    for body in bodies:
        writer.append(signal, Encoding.PROTOBUF, 1, body)


def source(writer, max_bytes=1000):
    """Start records are passed over, others joined by their signal."""
    return Source(writer.folder, lambda r: None if r.signal is Signal.STARTS else r.signal, max_bytes)


def all_batches(writer, max_bytes=1000):
    places, found = {}, []
    while batch := source(writer, max_bytes).gather(places):
        places.update(batch.places)
        found.append(batch)
    return found


def bodies(batch):
    return [record.body for record in batch.records]


def test_records_are_joined_until_there_is_no_room(writer):
    append(writer, b"a" * 400, b"b" * 600, b"c", b"d" * 1200, b"e")
    assert [[len(b) for b in bodies(batch)] for batch in all_batches(writer)] == [[400, 600], [1], [1200], [1]]


def test_records_of_another_kind_begin_another_batch(writer):
    append(writer, b"a", b"b")
    append(writer, b"c", signal=Signal.LOGS)
    append(writer, b"d")
    assert [bodies(batch) for batch in all_batches(writer)] == [[b"a", b"b"], [b"c"], [b"d"]]


def test_records_of_several_segments_are_joined_the_oldest_first(writer):
    for body in (b"a", b"b", b"c"):
        append(writer, body)
        writer.close()
    [batch, *_] = all_batches(writer)
    assert bodies(batch) == [b"a", b"b", b"c"]
    assert all(place.ended for place in batch.places.values())


def test_what_is_passed_over_is_behind_the_cursor(writer):
    append(writer, b"a", b"b", signal=Signal.STARTS)
    [batch] = all_batches(writer)
    assert (batch.pieces, [place.sequence for place in batch.places.values()]) == ([], [2])
    assert source(writer).gather(batch.places) is None


def test_there_is_nothing_in_no_folder(tmp_path):
    assert Source(tmp_path / "none", lambda record: record.signal, 1).gather({}) is None


def test_a_cut_batch_is_as_far_as_its_last_piece_and_counts_what_was_lost_before_it(writer):
    append(writer, b"first", b"bad", b"start")
    append(writer, b"passed over", signal=Signal.STARTS)
    append(writer, b"second", b"third")
    path = writer.path
    content = bytearray(path.read_bytes())
    content[ends(path)[2] - 1] ^= 0xFF
    path.write_bytes(content)
    [whole] = all_batches(writer)
    assert bodies(whole) == [b"first", b"start", b"second", b"third"]
    assert sum(whole.lost.values()) == 1
    parts = [whole.of([piece]) for piece in whole.pieces]
    assert [sum(part.lost.values()) for part in parts] == [0, 1, 0, 0]
    assert parts[0].places == {path.name: Place(ends(path)[1], 1)}
    assert whole.of(whole.pieces) is whole


def test_pieces_that_fit_are_one_at_least(writer):
    append(writer, b"a" * 300, b"b" * 300, b"c" * 300)
    [batch] = all_batches(writer)
    assert [len(fitting(batch.pieces, limit)) for limit in (1, 300, 599, 600, 5000)] == [1, 1, 1, 2, 3]
    assert fitting([]) == []
