"""What was acknowledged is on the disk: after kill -9, on a disk that is full or fails, and when clocks jump."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPException
from pathlib import Path

import grpc
import pytest
from doors import Doors, doors, request_of, span

from otel_runlog.doctor import examine
from otel_runlog.journal import JournalWriter, journal_folder, read_segment
from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.counters import Counters
from otel_runlog.server.intake import Intake
from otel_runlog.store.health import Book
from otel_runlog.store.reader import StoreReader


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


@contextmanager
def process(db: Path) -> Iterator[tuple[Doors, subprocess.Popen[str]]]:
    """The doors in a process of their own."""
    folders = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, str(Path(__file__).with_name("door_process.py")), str(journal_folder(db))]
    env = {**os.environ, "PYTHONPATH": folders}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as child:
        assert child.stdout is not None
        http_at, grpc_at = child.stdout.readline().split()
        try:
            yield Doors(journal_folder(db), http_at, grpc_at, Counters(), None), child
        finally:
            child.kill()


def loaded(db: Path) -> Book:
    """The journal's books after all of it was loaded."""
    Loader(db).turn()
    [book] = [book for book in examine(db).books if book.source == "journal"]
    return book


def names(db: Path) -> list[str]:
    with StoreReader(db) as store:
        return sorted(str(row[0]) for row in store.query("select name from spans").rows)


@pytest.mark.fault(17)
def test_what_was_acknowledged_is_there_after_kill_9(db: Path) -> None:
    acknowledged: list[int] = []
    with process(db) as (served, child):
        threads = [threading.Thread(target=keep_sending, args=(served, n, acknowledged)) for n in range(4)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 60:
            assert child.poll() is None
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
        for thread in threads:
            thread.join(30)
    book = loaded(db)
    found = names(db)
    assert {f"span {number}" for number in acknowledged} <= set(found)
    assert len(found) == len(set(found)) == book.stored
    assert len(found) <= len(acknowledged) + 4  # one more of each sender may have reached the disk
    assert book.received == book.stored


def keep_sending(served: Doors, sender: int, acknowledged: list[int]) -> None:
    """Over HTTP and gRPC in turn, until nobody answers."""
    number = 1 + sender * 1_000_000
    with suppress(OSError, HTTPException, grpc.RpcError):
        while True:
            if number % 2:
                assert served.post(request_of(span(number))).status == 200
            else:
                served.call(request_of(span(number)))
            acknowledged.append(number)
            number += 1


@pytest.mark.fault(19)
def test_a_request_that_comes_again_is_stored_once(db: Path) -> None:
    body = request_of(span(1), span(2))
    with doors(journal_folder(db)) as served:
        for _ in range(3):
            assert served.post(body).status == 200
        threads = [threading.Thread(target=served.call, args=(body,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    book = loaded(db)
    assert (book.received, book.stored, book.duplicate) == (10, 2, 8)
    assert names(db) == ["span 1", "span 2"]


@pytest.mark.fault(20)
def test_the_same_ids_with_other_content_are_both_kept(db: Path) -> None:
    with doors(journal_folder(db)) as served:
        assert served.post(request_of(span(1))).status == 200
        assert served.call(request_of(span(1, name="another"))) == b""
    book = loaded(db)
    assert (book.received, book.stored, book.conflict) == (2, 1, 1)
    assert names(db) == ["another", "span 1"]


@pytest.mark.fault(22)
def test_the_books_count_what_the_answer_said_was_rejected(db: Path) -> None:
    with doors(journal_folder(db)) as served:
        served.post(request_of(span(1), span(2, trace_id=b""), span(3, span_id=bytes(8)), span(4) + b"\x0a\xff"))
        served.call(request_of(span(5, trace_id=b"x")))
    book = loaded(db)
    assert (book.received, book.stored) == (5, 1)
    assert book.rejected == {"bad_trace_id": 2, "bad_span_id": 1, "undecodable": 1}


@pytest.mark.fault(48)
def test_on_a_full_disk_nothing_is_acknowledged_and_with_space_all_goes_on(small_disk: Path, tmp_path: Path) -> None:
    db, ballast = small_disk / "runs.duckdb", small_disk / "ballast"
    big = "x" * 100_000
    with doors(journal_folder(db)) as served:
        assert served.post(request_of(span(1, name=big))).status == 200
        free_bytes = os.statvfs(small_disk).f_bavail * os.statvfs(small_disk).f_frsize
        ballast.write_bytes(bytes(free_bytes - 250_000))
        statuses = [served.post(request_of(span(number, name=big))).status for number in range(2, 6)]
        assert statuses == [200, 200, 503, 503]
        error = served.refused_call(request_of(span(6, name=big)))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        ballast.unlink()
        assert served.post(request_of(span(7, name=big))).status == 200
        assert served.call(request_of(span(8, name=big))) == b""
        assert served.counters.total("received") == 5
    book = loaded(db)
    assert (book.received, book.stored, book.dropped) == (5, 5, {})


@pytest.mark.fault(53)
def test_a_failed_fdatasync_is_no_acknowledgement_and_the_next_request_gets_a_new_segment(
    db: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sync, synced = os.fdatasync, []
    failures = [OSError(errno.EIO, "Input/output error")]

    def failing_once(fd: int) -> None:
        synced.append(Path(f"/proc/self/fd/{fd}").readlink())
        if len(synced) == 2:
            raise failures.pop()
        sync(fd)

    with doors(journal_folder(db)) as served:
        monkeypatch.setattr(os, "fdatasync", failing_once)
        statuses = [served.post(request_of(span(number))).status for number in (1, 2, 2)]
        assert statuses == [200, 503, 200]
        assert synced[0] == synced[1] != synced[2]  # no second try on the file that failed
        monkeypatch.undo()
    book = loaded(db)
    assert (book.stored, book.duplicate, book.dropped) == (2, 1, {"journal_no_footer": 0})
    said = [record.message for record in caplog.records if record.name == "otel_runlog"]
    assert len(said) == 2
    assert "Input/output error" in said[0]
    assert said[1] == "the journal can be written again"


@pytest.mark.fault(54)
def test_a_clock_that_jumps_costs_nothing(db: Path) -> None:
    times = iter([10**18, 5, -7, 10**18 - 3_600 * 10**9, 2**63])
    writer = JournalWriter(journal_folder(db), fsync=True)
    intake = Intake(writer, Counters(), clock_ns=lambda: next(times))
    for number in range(1, 6):
        answer = intake.take(Signal.TRACES, Encoding.PROTOBUF, request_of(span(number)), "http")
        assert answer.outcome == "accepted"
    writer.close()
    assert loaded(db).stored == 5
    assert names(db) == [f"span {number}" for number in range(1, 6)]


def test_waiting_requests_share_an_fdatasync(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sync, synced, gate = os.fdatasync, [], threading.Event()

    def gated(fd: int) -> None:
        synced.append(fd)
        assert gate.wait(10)
        sync(fd)

    monkeypatch.setattr(os, "fdatasync", gated)
    writer = JournalWriter(journal_folder(db), fsync=True)
    intake = Intake(writer, Counters())
    body = request_of(span(1))

    take = [
        threading.Thread(target=intake.take, args=(Signal.TRACES, Encoding.PROTOBUF, body, "http")) for _ in range(10)
    ]
    for thread in take:
        thread.start()
    while len(list(written(writer))) < 10:
        time.sleep(0.01)
    gate.set()
    for thread in take:
        thread.join()
    assert len(synced) <= 3
    writer.close()
    assert loaded(db).received == 10


def written(writer: JournalWriter) -> Iterator[object]:
    if writer.path is not None:
        yield from read_segment(writer.path).records
