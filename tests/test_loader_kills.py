"""A loader that is killed or interrupted at any instruction loads nothing twice and leaves nothing out."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from journalled import balanced_books, calls, ends, flip, in_child, write

from otel_runlog import loader as loading
from otel_runlog.journal import JournalWriter, damaged, journal_folder, segments
from otel_runlog.loader import Loader
from otel_runlog.model import Span
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.store import statements
from otel_runlog.store.connection import StoreConnection
from otel_runlog.store.writer import StoreWriter

SPANS = 4


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


@pytest.fixture
def commits_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """After every segment, as if segments were large."""
    monkeypatch.setattr(loading, "BYTES_PER_READ", 1_000)


def ended_how(pid: int) -> int:
    """The signal that ended the process, 0 for none."""
    return os.WTERMSIG(os.waitpid(pid, 0)[1])


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(owner: object, name: str) -> None:
    """Be killed instead of calling it."""
    setattr(owner, name, die)


def after(owner: object, name: str, times: int = 1) -> None:
    """Be killed when it has been called so many times."""
    called, count = getattr(owner, name), iter(range(1, 1000))

    def call(*arguments: object, **options: object) -> object:
        result = called(*arguments, **options)
        if next(count) == times:
            die()
        return result

    setattr(owner, name, call)


def within_the_transaction() -> None:
    whole = StoreConnection.transaction

    @contextlib.contextmanager
    def cut_short(store: StoreConnection) -> Iterator[None]:
        with whole(store):
            yield
            die()

    StoreConnection.transaction = cut_short  # type: ignore[method-assign]


STAGES: dict[str, Callable[[], None]] = {
    "before the store is opened": lambda: before(loading, "StoreWriter"),
    "before the first batch": lambda: before(StoreWriter, "append"),
    "all written, nothing committed": within_the_transaction,
    "the first batch committed": lambda: after(StoreWriter, "append"),
    "the second batch committed": lambda: after(StoreWriter, "append", 2),
    "all committed, not closed": lambda: before(StoreWriter, "close"),
    "closed, nothing put away": lambda: before(Loader, "_put_away"),
    "one segment removed": lambda: after(loading, "retire"),
    "the damaged one not set aside": lambda: before(loading, "set_aside"),
    "the damaged one set aside": lambda: after(loading, "set_aside"),
}


@pytest.mark.fault(8)
@pytest.mark.usefixtures("commits_often")
@pytest.mark.parametrize("stage", STAGES)
def test_a_loader_killed_at_a_stage_is_made_good_by_the_next(db: Path, stage: str) -> None:
    for name in ("one", "two"):
        write(db, calls(SPANS, name))
    _, spoilt = write(db, calls(SPANS, "three"))
    flip(spoilt, ends(spoilt)[1] + 40)

    def work() -> None:
        STAGES[stage]()
        Loader(db).turn()

    assert ended_how(in_child(work)) == signal.SIGKILL
    Loader(db).turn()
    book = balanced_books(db)
    assert (book.received, book.stored, book.duplicate) == (3 * SPANS, 3 * SPANS - 1, 0)
    assert book.dropped == {"journal_bad_record": 1}
    assert (segments(spoilt.parent), damaged(spoilt.parent)) == ([], [Path(f"{spoilt}.damaged")])


@pytest.mark.fault(2, 8)
@pytest.mark.usefixtures("commits_often")
def test_a_loader_killed_at_random_instants_loads_everything_once(db: Path) -> None:
    chance = random.Random(8)
    total = 0
    for _ in range(6):
        for _ in range(4):
            write(db, calls(8, f"trace {total}"))
            total += 8
        pid = in_child(lambda: Loader(db).turn())
        time.sleep(chance.uniform(0.01, 0.3))
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    while Loader(db).turn().more:
        pass
    book = balanced_books(db)
    assert (book.received, book.stored) == (total, total)
    assert segments(journal_folder(db)) == []


def killed_writer(db: Path, spans: list[Span]) -> None:
    def work() -> None:
        write(db, spans, close=False)
        die()

    assert ended_how(in_child(work)) == signal.SIGKILL


@pytest.mark.fault(1, 51)
def test_segments_of_24_killed_processes_load_once_while_a_writer_lives(db: Path) -> None:
    for number in range(24):
        killed_writer(db, calls(SPANS, f"killed {number}"))
    living, path = write(db, calls(SPANS, "living"), close=False)
    assert len(segments(path.parent)) == 25
    Loader(db).turn()
    living.append(Signal.TRACES, Encoding.PROTOBUF, 9, encode_spans(calls(1, "later")))
    Loader(db).turn()
    assert [segment.path for segment in segments(path.parent)] == [path]
    living.close()
    Loader(db).turn()
    book = balanced_books(db)
    assert (book.received, book.stored) == (25 * SPANS + 1, 25 * SPANS + 1)
    assert book.dropped == {"journal_no_footer": 0}


def keep_loading(db: Path, until_s: float) -> None:
    deadline = time.monotonic() + until_s
    while time.monotonic() < deadline:
        Loader(db).turn(1.0)


@pytest.mark.fault(51)
def test_two_loaders_at_once_beside_a_living_writer_load_everything_once(db: Path) -> None:
    loaders = [in_child(lambda: keep_loading(db, 2.0)) for _ in range(2)]
    writer = JournalWriter(journal_folder(db), segment_bytes=20_000)
    written = 0
    deadline = time.monotonic() + 1.5
    while time.monotonic() < deadline:
        writer.append(Signal.TRACES, Encoding.PROTOBUF, 1, encode_spans(calls(1, f"trace {written}")))
        written += 1
        time.sleep(0.003)  # no more than the two can load
    writer.close()
    assert [ended_how(pid) for pid in loaders] == [0, 0]
    Loader(db).turn()
    book = balanced_books(db)
    assert (book.received, book.stored, book.dropped) == (written, written, {})
    assert segments(journal_folder(db)) == []


@pytest.mark.fault(11, 12)
@pytest.mark.usefixtures("commits_often")
def test_an_interrupted_turn_ends_soon_and_says_that_more_is_left(db: Path) -> None:
    for number in range(20):
        write(db, calls(10, f"trace {number}"))
    loader = Loader(db)
    append, first = StoreWriter.append, threading.Event()

    def slow(store: StoreWriter, batch: object) -> None:
        append(store, batch)  # type: ignore[arg-type]
        first.set()

    interrupting = threading.Thread(target=lambda: (first.wait(20), loader.interrupt()))
    interrupting.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreWriter, "append", slow)
        report = loader.turn()
    interrupting.join()
    assert report.more
    assert report.records < 200
    assert not loader.turn().more
    book = balanced_books(db)
    assert (book.received, book.stored) == (200, 200)


def test_a_statement_that_runs_is_interrupted_and_its_batch_rolled_back(db: Path) -> None:
    write(db, calls(SPANS))
    loader = Loader(db)
    loader.open().close()
    begun = threading.Event()

    def endless(writer: StoreWriter, _: object) -> None:
        begun.set()
        with writer._store.transaction():
            writer._store.rows("endless")

    interrupting = threading.Thread(target=lambda: (begun.wait(20), time.sleep(0.1), loader.interrupt()))
    interrupting.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(StoreWriter, "append", endless)
        patch.setattr(
            "otel_runlog.store.statements.query",
            lambda name: "select count(*) from range(10000000000)" if name == "endless" else STATEMENTS(name),
        )
        started = time.monotonic()
        report = loader.turn()
        took_s = time.monotonic() - started
    interrupting.join()
    assert (report.more, report.records) == (True, 0)
    assert took_s < 10
    assert loader.turn().records == SPANS
    assert balanced_books(db).stored == SPANS


STATEMENTS = statements.query


def test_an_interrupt_without_a_turn_has_no_effect(db: Path) -> None:
    write(db, calls(SPANS))
    loader = Loader(db)
    loader.interrupt()
    assert loader.turn().records == SPANS
    loader.interrupt()
    write(db, calls(SPANS, "other"))
    assert loader.turn().records == SPANS
    assert balanced_books(db).stored == 2 * SPANS


def test_a_turn_whose_time_is_up_says_that_more_is_left(db: Path) -> None:
    write(db, calls(SPANS))
    assert Loader(db).turn(limit_s=0.0).more
    assert not Loader(db).turn().more
    assert balanced_books(db).stored == SPANS


def test_short_segments_are_committed_together(db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(9):
        write(db, calls(SPANS, f"trace {number}"))
    loader, commits = Loader(db), []
    commit = loader.commit
    monkeypatch.setattr(loader, "commit", lambda *arguments: commits.append(1) or commit(*arguments))
    assert loader.turn().records == 9 * SPANS
    assert len(commits) == 1
    assert balanced_books(db).stored == 9 * SPANS
