"""Every byte of a segment changed, every length it can be cut to: no record is missing without being counted."""

from pathlib import Path

import pytest
from journalled import balanced_books, calls, ends, named, write

from otel_runlog.doctor import examine
from otel_runlog.journal import DamageKind, damaged, layout, read_segment, segments
from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding, Signal

MASKS = (0x01, 0x80, 0xFE, 0xFF)
"""0xFE makes of a record's marker that of a footer, 0x01 of a footer's that of a segment let go."""
BODIES = (b"first", b"", b"a marker \xf1RL\x01 inside", b"last")
SEED = 0x1234ABCD


def segment(folder: Path, bodies=BODIES, *, footer: bool = True) -> Path:
    """A small one, of a writer that closed it or was killed."""
    checksum, parts = 0, [layout.pack_header(layout.Header(1, 2, SEED))]
    for number, body in enumerate(bodies):
        head, crc = layout.pack_record_head(Signal.TRACES, Encoding.PROTOBUF, 7, body, seed=SEED, sequence=number)
        checksum = layout.next_checksum(checksum, crc)
        parts += [head, body]
    if footer:
        parts.append(layout.pack_footer(SEED, layout.Footer(len(bodies), checksum)))
    folder.mkdir(exist_ok=True)
    path = folder / f"1-2-{SEED:08x}.seg"
    path.write_bytes(b"".join(parts))
    return path


def lost(read) -> int:
    return sum(damage.records_lost for damage in read.damage)


@pytest.mark.fault(49)
@pytest.mark.parametrize("footer", [True, False], ids=["closed", "killed"])
@pytest.mark.parametrize("mask", MASKS)
def test_every_changed_byte_is_seen_and_the_record_it_costs_is_counted(tmp_path, mask, footer):
    path = segment(tmp_path / "j", footer=footer)
    whole = path.read_bytes()
    for at in range(len(whole)):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ mask]) + whole[at + 1 :])
        read = read_segment(path)
        assert any(damage.loses_data for damage in read.damage), at
        assert all(record.body == BODIES[record.sequence] for record in read.records), at
        assert len(read.records) + lost(read) == len(BODIES), (at, read.damage)
        assert read.ended, at


@pytest.mark.fault(49)
@pytest.mark.parametrize("footer", [True, False], ids=["closed", "killed"])
def test_every_cut_is_seen_and_a_record_that_was_begun_is_counted(tmp_path, footer):
    path = segment(tmp_path / "j", footer=footer)
    whole, edges = path.read_bytes(), ends(path)
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        read = read_segment(path)
        assert [record.body for record in read.records] == list(BODIES[: sum(end <= length for end in edges[1:])])
        if length in edges:  # as if the writer had been killed there
            assert [damage.kind for damage in read.damage] == [DamageKind.NO_FOOTER], length
        else:
            assert any(damage.loses_data for damage in read.damage), length
        if length not in edges and length < edges[-1]:
            assert lost(read) >= 1, length  # a marker in its body may pass for one more


@pytest.mark.fault(49)
@pytest.mark.parametrize("first", range(len(BODIES)))
def test_several_records_that_are_gone_from_a_killed_writers_end_are_counted(tmp_path, first):
    path = segment(tmp_path / "j", footer=False)
    content, edges = bytearray(path.read_bytes()), ends(path)
    for start in edges[first:-1]:
        content[start + layout.RECORD_HEAD_BYTES - 1] ^= 0xFF
    path.write_bytes(content)
    read = read_segment(path)
    assert len(read.records) == first
    assert lost(read) >= len(BODIES) - first


def trials(whole: bytes, edges: list[int]):
    """The content of damaged copies, and how many of their records are lost at least."""
    for at in range(len(whole)):
        yield bytes([*whole[:at], whole[at] ^ 0xFF, *whole[at + 1 :]]), 0
    for length in range(len(whole)):
        yield whole[:length], int(length not in edges and length < edges[-1])


@pytest.mark.slow
@pytest.mark.fault(49)
def test_each_damaged_copy_is_loaded_counted_and_set_aside(tmp_path):
    """All in one turn: copies under names of their own are segments of their own, with the same spans."""
    db = tmp_path / "runs.duckdb"
    _, path = write(db, calls(2))
    whole, edges = path.read_bytes(), ends(path)
    contents = [*trials(whole, edges)][:: max(1, len(whole) // 150)]
    path.unlink()
    expected = [copied(named(path, number), content) for number, (content, _) in enumerate(contents)]
    report = Loader(db).turn()
    book = balanced_books(db)
    assert report.records == sum(len(read.records) for read in expected)
    assert sum(book.dropped.values()) == sum(map(lost, expected)) >= sum(least for _, least in contents)
    assert book.stored == 2
    spoilt = [read for read in expected if any(damage.loses_data for damage in read.damage)]
    assert len(report.damaged) == len(damaged(path.parent)) == len(spoilt)
    assert segments(path.parent) == []
    assert not examine(db).is_sound
    assert Loader(db).turn().records == 0


def copied(path: Path, content: bytes):
    path.write_bytes(content)
    return read_segment(path)
