"""What the reader says about sound, half-written and damaged segments."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog.journal import DamageKind, JournalWriter, layout, read_segment
from otel_runlog.otlp.wire import Encoding, Signal

BODIES = [b"first", b"", b"third \xf1RL\x01 with a marker", b"x" * 100]


def write(folder: Path, bodies=BODIES) -> Path:
    """A cleanly closed segment."""
    writer = JournalWriter(folder)
    for number, body in enumerate(bodies):
        writer.append(Signal.TRACES, Encoding.PROTOBUF, 1_000 + number, body)
    path = writer.path
    writer.close()
    return path


@pytest.fixture
def segment(tmp_path):
    return write(tmp_path / "j")


def bodies(read):
    return [record.body for record in read.records]


def kinds(read):
    return [damage.kind for damage in read.damage]


def replace(path: Path, data: bytes) -> Path:
    """The same bytes under the same name, with no writer."""
    path.write_bytes(data)
    return path


def test_a_clean_segment_reads_back_whole(segment):
    read = read_segment(segment)
    assert bodies(read) == BODIES
    assert [record.sequence for record in read.records] == [0, 1, 2, 3]
    assert [record.received_ns for record in read.records] == [1000, 1001, 1002, 1003]
    assert (read.damage, read.ended, read.more) == ((), True, False)
    assert read.offset == segment.stat().st_size


def test_signal_and_encoding_come_back(tmp_path):
    writer = JournalWriter(tmp_path / "j")
    pairs = [(signal, encoding) for signal in Signal for encoding in Encoding]
    for signal, encoding in pairs:
        writer.append(signal, encoding, 0, b"")
    assert [(r.signal, r.encoding) for r in read_segment(writer.path).records] == pairs
    writer.close()


def test_a_living_segment_has_not_ended_and_is_read_on_from_the_offset(tmp_path):
    writer = JournalWriter(tmp_path / "j")
    writer.append(Signal.LOGS, Encoding.JSON, 1, b"a")
    first = read_segment(writer.path)
    assert (bodies(first), first.ended, first.damage) == ([b"a"], False, ())
    writer.append(Signal.LOGS, Encoding.JSON, 2, b"b")
    second = read_segment(writer.path, first.offset, sequence=first.sequence)
    assert (bodies(second), second.ended, second.damage) == ([b"b"], False, ())
    path = writer.path
    writer.close()
    third = read_segment(path, second.offset, sequence=second.sequence)
    assert (bodies(third), third.ended, third.damage) == ([], True, ())


def test_max_bytes_reads_in_portions(segment):
    found, read, portions = [], read_segment(segment, max_bytes=1), 1
    found += bodies(read)
    while not read.ended:
        assert read.more
        read = read_segment(segment, read.offset, sequence=read.sequence, max_bytes=1)
        found += bodies(read)
        portions += 1
    assert (found, portions) == (BODIES, 5)


def test_every_cut_is_seen_and_what_stands_before_it_is_read(segment):
    whole = segment.read_bytes()
    ends = [record.end_offset for record in read_segment(segment).records]
    for length in range(len(whole)):
        read = read_segment(replace(segment, whole[:length]))
        assert bodies(read) == BODIES[: sum(end <= length for end in ends)], length
        assert read.damage, length
        assert read.ended


def test_every_flipped_byte_is_seen_and_costs_one_record_at_most(segment):
    whole = segment.read_bytes()
    for at in range(len(whole)):
        read = read_segment(replace(segment, whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :]))
        assert read.damage, at
        assert any(damage.loses_data for damage in read.damage), at
        assert len(read.records) >= 3, at
        assert [record for record in read.records if record.body != BODIES[record.sequence]] == []


def test_a_bad_record_between_good_ones_is_counted(segment):
    whole = bytearray(segment.read_bytes())
    second = read_segment(segment).records[0].end_offset
    whole[second + 10] ^= 1
    (damage,) = read_segment(replace(segment, bytes(whole))).damage
    assert (damage.kind, damage.offset, damage.records_lost) == (DamageKind.BAD_RECORD, second, 1)
    assert damage.bytes == layout.RECORD_HEAD_BYTES


def test_a_record_cut_out_is_a_gap_in_the_sequence(segment):
    whole = segment.read_bytes()
    first, second, *_ = (record.end_offset for record in read_segment(segment).records)
    read = read_segment(replace(segment, whole[:first] + whole[second:]))
    assert [(damage.kind, damage.records_lost) for damage in read.damage] == [(DamageKind.SEQUENCE_GAP, 1)]
    assert bodies(read) == [BODIES[0], BODIES[2], BODIES[3]]


def test_a_gap_between_two_reads_is_seen(segment):
    records = read_segment(segment).records
    read = read_segment(segment, records[1].end_offset, sequence=1)
    assert [(damage.kind, damage.records_lost) for damage in read.damage] == [(DamageKind.SEQUENCE_GAP, 1)]


def test_the_last_records_missing_before_the_footer_are_counted(segment):
    whole = segment.read_bytes()
    records = read_segment(segment).records
    cut = whole[: records[1].end_offset] + whole[records[3].end_offset :]
    read = read_segment(replace(segment, cut))
    assert [(damage.kind, damage.records_lost) for damage in read.damage] == [(DamageKind.SEQUENCE_GAP, 2)]


def test_a_killed_writer_leaves_no_footer_and_nothing_lost(segment):
    whole = segment.read_bytes()
    read = read_segment(replace(segment, whole[: -layout.FOOTER_BYTES]))
    assert (bodies(read), kinds(read), read.ended) == (BODIES, [DamageKind.NO_FOOTER], True)
    assert not read.damage[0].loses_data


def test_a_half_written_record_of_a_living_writer_is_no_damage(tmp_path):
    writer = JournalWriter(tmp_path / "j")
    writer.append(Signal.TRACES, Encoding.PROTOBUF, 1, b"whole")
    end = writer.path.stat().st_size
    record = writer.path.read_bytes()[layout.HEADER_BYTES :]
    for length in range(1, len(record)):
        with writer.path.open("r+b") as file:
            file.truncate(end)
            file.seek(end)
            file.write(record[:length])
        read = read_segment(writer.path)
        assert (bodies(read), read.offset, read.damage, read.ended) == ([b"whole"], end, (), False)


def test_an_empty_and_a_headless_file_are_reported(segment):
    assert kinds(read_segment(replace(segment, b""))) == [DamageKind.EMPTY]
    assert DamageKind.BAD_HEADER in kinds(read_segment(replace(segment, b"RUNLOG")))


def test_a_damaged_header_does_not_cost_the_records(segment):
    whole = segment.read_bytes()
    read = read_segment(replace(segment, bytes(layout.HEADER_BYTES) + whole[layout.HEADER_BYTES :]))
    assert (bodies(read), kinds(read)) == (BODIES, [DamageKind.BAD_HEADER])


def test_a_newer_version_is_left_alone(segment):
    whole = segment.read_bytes()
    header = layout.unpack_header(whole)
    newer = layout.pack_header(layout.Header(header.pid, header.started_ns, header.seed, version=layout.VERSION + 1))
    read = read_segment(replace(segment, newer + whole[layout.HEADER_BYTES :]))
    assert (bodies(read), kinds(read), read.ended) == ([], [DamageKind.NEWER_VERSION], False)
    assert not read.damage[0].loses_data


def test_bytes_behind_the_footer_are_reported(segment):
    read = read_segment(replace(segment, segment.read_bytes() + b"more"))
    assert (bodies(read), kinds(read)) == (BODIES, [DamageKind.TRAILING_BYTES])


def test_a_record_of_another_segment_never_passes_for_one_of_this(tmp_path):
    inner = write(tmp_path / "inner", [b"forged"]).read_bytes()
    path = write(tmp_path / "outer", [inner, b"last"])
    whole = bytearray(path.read_bytes())
    whole[layout.HEADER_BYTES + 8] ^= 1  # the first record's length
    read = read_segment(replace(path, bytes(whole)))
    assert bodies(read) == [b"last"]


@settings(max_examples=60, deadline=None)
@given(written=st.lists(st.binary(max_size=40), min_size=1, max_size=6), data=st.data())
def test_random_damage_never_yields_a_wrong_record(tmp_path_factory, written, data):
    path = write(tmp_path_factory.mktemp("fuzz") / "j", written)
    whole = path.read_bytes()
    at = data.draw(st.integers(0, len(whole)))
    noise = data.draw(st.binary(max_size=30))
    cut = data.draw(st.integers(0, 30))
    changed = whole[:at] + noise + whole[at + cut :]
    read = read_segment(replace(path, changed))
    assert all(record.body == written[record.sequence] for record in read.records)
    assert read.damage or changed == whole
