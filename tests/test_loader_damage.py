"""Damage of every kind from the file to the doctor: what is sound loads, what is lost is counted, the file is kept."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner
from journalled import balanced_books, calls, ends, flip, in_child, named, write

from otel_runlog import loader as loading
from otel_runlog.cli.main import main
from otel_runlog.journal import JournalWriter, journal_folder, layout, segments
from otel_runlog.loader import Loader
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.store.reader import StoreReader

SPANS = 5


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


@pytest.fixture
def segment(db: Path) -> Path:
    return write(db, calls(SPANS))[1]


def doctor(db: Path) -> tuple[int, dict[str, object]]:
    result = CliRunner().invoke(main, ["doctor", "--db", str(db), "--format", "json"])
    assert result.stderr.count("Traceback") == 0
    return result.exit_code, json.loads(result.stdout or "{}")


def zero_middle(path: Path) -> None:
    content, edges = bytearray(path.read_bytes()), ends(path)
    content[edges[1] + 5 : edges[4] - 5] = bytes(edges[4] - edges[1] - 10)
    path.write_bytes(content)


def join_with_another(path: Path) -> None:
    other = write(Path(str(path.parent).removesuffix(".journal")), calls(3, "other"))[1]
    path.write_bytes(path.read_bytes() + other.read_bytes())
    other.unlink()


def cut_record_out(path: Path) -> None:
    content, edges = path.read_bytes(), ends(path)
    path.write_bytes(content[: edges[2]] + content[edges[3] :])


def keep_first(length: int) -> Callable[[Path], None]:
    return lambda path: os.truncate(path, length)


DAMAGES = [
    pytest.param(zero_middle, 2, {"journal_bad_record": 3}, id="zeroed middle"),
    pytest.param(join_with_another, 5, {"journal_trailing_bytes": 3}, id="two segments in one"),
    pytest.param(cut_record_out, 4, {"journal_sequence_gap": 1}, id="record cut out"),
    pytest.param(
        lambda path: path.write_text("this was a segment\n" * 9),
        0,
        {"journal_bad_header": 0, "journal_torn_tail": 1},
        id="text",
    ),
    pytest.param(keep_first(0), 0, {"journal_empty": 1}, id="empty"),
    pytest.param(keep_first(7), 0, {"journal_bad_header": 1}, id="half a header"),
    pytest.param(lambda path: flip(path, 9), 5, {"journal_bad_header": 0}, id="bad header"),
    pytest.param(lambda path: flip(path, -1), 5, {"journal_bad_footer": 0}, id="bad footer"),
    pytest.param(lambda path: os.truncate(path, ends(path)[3] + 9), 3, {"journal_torn_tail": 1}, id="cut in a record"),
]


@pytest.mark.fault(49)
@pytest.mark.parametrize(("spoil", "sound", "dropped"), DAMAGES)
def test_damage_is_counted_kept_and_told_until_somebody_looks_after_it(
    db: Path, segment: Path, spoil: Callable[[Path], object], sound: int, dropped: dict[str, int]
) -> None:
    spoil(segment)
    content = segment.read_bytes()
    code, found = doctor(db)
    aside = Path(f"{segment}.damaged")
    assert (code, found["journal"]["damaged"]) == (1, [str(aside)])
    assert aside.read_bytes() == content
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (sound, dropped)
    assert doctor(db)[0] == 1
    assert balanced_books(db) == book
    aside.unlink()
    assert doctor(db)[0] == 0


@pytest.mark.fault(49)
def test_a_segment_that_ends_between_records_looks_like_one_of_a_killed_process(db: Path, segment: Path) -> None:
    os.truncate(segment, ends(segment)[3])
    assert doctor(db)[0] == 0
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (3, {"journal_no_footer": 0})
    assert segments(segment.parent) == []


@pytest.mark.fault(49)
def test_a_header_alone_loses_nothing(db: Path, segment: Path) -> None:
    os.truncate(segment, layout.HEADER_BYTES)
    assert Loader(db).turn().damaged == []
    assert balanced_books(db).dropped == {"journal_no_footer": 0}


@pytest.mark.fault(49)
def test_a_segment_removed_while_it_is_loaded_costs_the_turn_nothing(
    db: Path, segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = loading.read_segment

    def removed(path: Path, *args: object, **options: object) -> object:
        path.unlink(missing_ok=True)
        return read(path, *args, **options)

    write(db, calls(2, "other"))
    monkeypatch.setattr(loading, "read_segment", removed)
    assert Loader(db).turn().records == 0
    monkeypatch.undo()
    assert segments(segment.parent) == []


@pytest.mark.fault(49)
def test_damage_seen_while_the_writer_lived_is_not_forgotten_when_it_ends(db: Path) -> None:
    writer, path = write(db, calls(3), close=False)
    flip(path, ends(path)[1] + 40)
    assert Loader(db).turn().damaged == []
    writer.append(Signal.TRACES, Encoding.PROTOBUF, 9, encode_spans(calls(1, "later")))
    writer.close()
    assert Loader(db).turn().damaged == [f"{path}.damaged"]
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (3, {"journal_bad_record": 1})


@pytest.mark.fault(49)
def test_a_gap_exactly_between_two_turns_is_seen_by_a_loader_that_starts_anew(db: Path) -> None:
    writer, path = write(db, calls(3), close=False)
    assert Loader(db).turn().records == 3
    edge = path.stat().st_size
    for number in range(2):
        writer.append(Signal.TRACES, Encoding.PROTOBUF, 9, encode_spans(calls(1, f"later {number}")))
    lost_until = ends(path)[4]
    writer.close()
    content = path.read_bytes()
    path.write_bytes(content[:edge] + content[lost_until:])
    assert Loader(db).turn().damaged == [f"{path}.damaged"]
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (4, {"journal_sequence_gap": 1})


@pytest.mark.fault(49)
@pytest.mark.parametrize(("records_left", "lost"), [(1, 0), (3, 0)])
def test_a_segment_shorter_than_what_was_read_of_it_is_kept_and_told(db: Path, records_left: int, lost: int) -> None:
    writer, path = write(db, calls(4), close=False)
    Loader(db).turn()
    edge = ends(path)[records_left]
    writer.close()
    os.truncate(path, edge)
    assert Loader(db).turn().damaged == [f"{path}.damaged"]
    book = balanced_books(db)
    assert (book.stored, book.dropped) == (4, {"journal_shrunk": lost})


@pytest.mark.fault(49)
def test_a_damaged_segment_never_takes_the_place_of_another(db: Path, segment: Path) -> None:
    flip(segment, -1)
    spoilt = segment.read_bytes()
    Loader(db).turn()
    segment.write_bytes(spoilt + b"changed by hand")
    assert Loader(db).turn().damaged == [f"{segment}.damaged.1"]
    assert Path(f"{segment}.damaged").read_bytes() == spoilt


@pytest.mark.fault(49)
@pytest.mark.parametrize("spoilt", [False, True])
def test_a_kill_between_commit_and_putting_away_changes_nothing(
    db: Path, segment: Path, monkeypatch: pytest.MonkeyPatch, spoilt: bool
) -> None:
    if spoilt:
        flip(segment, ends(segment)[1] + 40)
    monkeypatch.setattr(Loader, "_put_away", lambda *_: None)
    Loader(db).turn()
    before = balanced_books(db)
    monkeypatch.undo()
    report = Loader(db).turn()
    assert (report.records, report.damaged) == (0, [f"{segment}.damaged"] if spoilt else [])
    assert segments(segment.parent) == []
    assert balanced_books(db) == before


@pytest.mark.fault(49)
def test_a_segment_of_a_newer_version_stays_and_the_others_load(
    db: Path, segment: Path, caplog: pytest.LogCaptureFixture
) -> None:
    later = named(segment, 1)
    header = layout.unpack_header(segment.read_bytes())
    assert header is not None
    newer = layout.Header(header.pid, header.started_ns, header.seed, version=layout.VERSION + 1)
    later.write_bytes(layout.pack_header(newer) + b"what only a newer version can read")
    loader = Loader(db)
    assert (loader.turn().records, loader.turn().unreadable) == (SPANS, [str(later)])
    assert caplog.messages == [f"{later} was written by a newer otel-runlog: upgrade it to load this"]
    assert later.exists()
    assert balanced_books(db).dropped == {}


@pytest.mark.fault(49)
def test_what_only_looks_like_a_segment_holds_nothing_up(db: Path, segment: Path) -> None:
    os.mkfifo(segment.with_name("1-1-00000001.seg"))
    segment.with_name("1-1-00000002.seg").mkdir()
    segment.with_name("1-1-00000003.seg").symlink_to("nowhere")
    assert Loader(db).turn().records == SPANS
    assert balanced_books(db).stored == SPANS


@pytest.mark.fault(49, 53)
def test_a_segment_the_disk_does_not_give_stays_and_the_others_load(
    db: Path, segment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = named(segment, 1)
    shutil.copy(segment, bad)
    opened = Path.open

    def fails(path: Path, *args: object, **options: object) -> object:
        if path == bad:
            raise OSError(5, "Input/output error")
        return opened(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "open", fails)
        report = Loader(db).turn()
    assert (report.records, report.unreadable) == (SPANS, [str(bad)])
    assert Loader(db).turn().records == SPANS
    assert balanced_books(db).duplicate == SPANS


def lose_log(db: Path, how: str) -> None:
    wal = db.with_name(db.name + ".wal")
    assert wal.stat().st_size > 0
    if how == "deleted":
        wal.unlink()
    elif how == "cut":
        os.truncate(wal, wal.stat().st_size // 2)
    else:
        flip(wal, wal.stat().st_size // 2)


def killed_before_the_checkpoint(db: Path) -> None:
    """Load in a child that is killed when its rows are committed, and stand in the write-ahead log alone."""

    def work() -> None:
        loading.StoreWriter.close = lambda _: os.kill(os.getpid(), 9)  # type: ignore[method-assign,assignment]
        Loader(db).turn()

    os.waitpid(in_child(work), 0)


@pytest.mark.fault(49)
@pytest.mark.parametrize("how", ["kept", "deleted", "cut", "changed"])
def test_a_lost_write_ahead_log_costs_no_record_of_the_journal(db: Path, segment: Path, how: str) -> None:
    Loader(db).open().close()
    killed_before_the_checkpoint(db)
    assert segment.exists()
    if how != "kept":
        lose_log(db, how)
    code, _ = doctor(db)
    if code == 2:  # DuckDB saw it: what the error asks for is done
        db.with_name(db.name + ".wal").rename(db.with_name("old.wal"))
        code, _ = doctor(db)
    assert code == 0
    assert balanced_books(db).stored == SPANS
    assert segments(segment.parent) == []


@pytest.mark.fault(50)
def test_a_store_moved_away_leaves_its_log_behind_and_the_journal_loads_into_a_new_one(
    db: Path, segment: Path, caplog: pytest.LogCaptureFixture
) -> None:
    Loader(db).open().close()
    killed_before_the_checkpoint(db)
    db.rename(db.with_name("old.duckdb"))
    assert Loader(db).turn().records == SPANS
    [orphan] = db.parent.glob("runs.duckdb.wal.orphan-*")
    assert str(orphan) in caplog.text
    assert balanced_books(db).stored == SPANS


@pytest.mark.fault(54)
def test_a_clock_that_runs_backwards_changes_no_order(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    times = iter([10**18, 10**18 - 10**9])
    monkeypatch.setattr("otel_runlog.journal.segment.time.time_ns", lambda: next(times))
    writer = JournalWriter(journal_folder(db), segment_bytes=10)
    spans = calls(2)
    for at, span in zip((2**63, 5), spans, strict=True):  # received "in 2262", then "in 1970"
        writer.append(Signal.TRACES, Encoding.PROTOBUF, at, encode_spans([span]))
    writer.close()
    Loader(db).turn()
    assert balanced_books(db).stored == 2
    with StoreReader(db) as reader:
        steps = reader.query("select duration_ms from steps")
    assert all(float(str(duration)) >= 0 for (duration,) in steps.rows)


@pytest.mark.fault(21, 54)
@pytest.mark.parametrize(("started_ns", "ended_ns"), [(2_000, 1_000), (0, 5), (2**64 - 1, 2**64 - 1), (5, 2**64 - 1)])
def test_times_that_cannot_be_are_stored_without_negative_durations(db: Path, started_ns: int, ended_ns: int) -> None:
    [span] = calls(1)
    span.started_ns, span.ended_ns = started_ns, ended_ns
    body = json.dumps(as_otlp(span.trace_id, span.span_id, started_ns, ended_ns)).encode()
    writer = JournalWriter(journal_folder(db))
    writer.append(Signal.TRACES, Encoding.JSON, 1, body)
    writer.close()
    assert Loader(db).turn().records == 1
    assert balanced_books(db).stored == 1
    with duckdb.connect(db, read_only=True) as plain:
        found = plain.execute("select duration_ms from steps union all select duration_ms from runs").fetchall()
    assert found
    assert all(duration is None or duration >= 0 for (duration,) in found)


def as_otlp(trace_id: str, span_id: str, started_ns: int, ended_ns: int) -> dict[str, object]:
    attributes = [{"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}}]
    span = {
        "traceId": trace_id,
        "spanId": span_id,
        "name": "chat",
        "startTimeUnixNano": str(started_ns),
        "endTimeUnixNano": str(ended_ns),
        "attributes": attributes,
    }
    return {"resourceSpans": [{"scopeSpans": [{"scope": {}, "spans": [span]}]}]}
