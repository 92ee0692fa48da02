"""Time, memory and forks: what the application waits for at most, and what it holds at most.

Limits that are promised are asserted at three times the promise: the machine may be busy.
"""

import os
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_runlog.door.loading import FORK_WAIT_S
from otel_runlog.door.queueing import STALLED_S
from otel_runlog.journal import JournalWriter, journal_folder, read_segment, segments
from otel_runlog.loader import Loader
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.wire import Signal
from otel_runlog.processor import RunLogSpanProcessor
from otel_runlog.store.reader import StoreReader

BUSY = 3
FLUSH_GRACE_S = 0.2
EXIT_WRITE_S = 2.0
EXIT_LOAD_S = 3.0


class Report:
    held_by = None
    finished = ()


class HungLoader:
    """A turn that takes until it is interrupted, or let go."""

    def __init__(self):
        self.began, self.go, self.interrupted = threading.Event(), threading.Event(), False

    def __call__(self, db):
        return self

    def turn(self, timeout_s=0.0, *, limit_s=None):
        self.began.set()
        self.go.wait(60)
        return Report()

    def interrupt(self):
        self.interrupted = True
        self.go.set()


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def set_up(db):
    made = []

    def make(**arguments):
        provider = TracerProvider(shutdown_on_exit=False)
        processor = RunLogSpanProcessor(db, **arguments)
        provider.add_span_processor(processor)
        made.append(provider)
        return provider.get_tracer("t"), processor

    yield make
    for provider in made:
        provider.shutdown()


@pytest.fixture
def hung_journal(monkeypatch):
    """Appends hang until the event is set."""
    go, original = threading.Event(), JournalWriter.append

    def append(writer, *record):
        go.wait(60)
        original(writer, *record)

    monkeypatch.setattr(JournalWriter, "append", append)
    yield go
    go.set()


def names(db):
    records = [r for segment in segments(journal_folder(db)) for r in read_segment(segment.path).records]
    return [read_traces(r.body, r.encoding).spans[0].name for r in records if r.signal is Signal.TRACES]


def timed(action):
    started = time.monotonic()
    answer = action()
    return answer, time.monotonic() - started


# flush


@pytest.mark.fault(12)
@pytest.mark.parametrize("timeout_s", [0.0, 0.3, 1.0])
def test_a_flush_with_a_hung_loader_is_false_in_time(set_up, timeout_s):
    loader = HungLoader()
    tracer, processor = set_up(_loader_factory=loader)
    tracer.start_span("root").end()
    answer, took_s = timed(lambda: processor.force_flush(int(timeout_s * 1000)))
    assert (answer, took_s < timeout_s + BUSY * FLUSH_GRACE_S) == (False, True)
    loader.go.set()
    assert processor.force_flush(10_000)


@pytest.mark.fault(12)
def test_a_flush_with_a_hung_journal_is_false_in_time(set_up, db, hung_journal):
    tracer, processor = set_up(durability="queue", loader="off")
    started = time.monotonic()
    tracer.start_span("a").end()
    assert time.monotonic() - started < 1
    answer, took_s = timed(lambda: processor.force_flush(500))
    assert (answer, took_s < 0.5 + BUSY * FLUSH_GRACE_S) == (False, True)
    hung_journal.set()
    assert processor.force_flush(5_000)
    assert names(db) == ["a"]


@pytest.mark.fault(12)
@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_flush_waits_for_what_another_thread_is_writing(set_up, db, hung_journal, durability):
    tracer, processor = set_up(durability=durability, loader="off")
    hung_journal.set()
    span = tracer.start_span("a")
    hung_journal.clear()
    writing = threading.Thread(target=span.end)
    writing.start()
    while not processor._door._writing:
        time.sleep(0.001)
    answer, took_s = timed(lambda: processor.force_flush(200))
    assert (answer, took_s < 0.2 + BUSY * FLUSH_GRACE_S) == (False, True)
    hung_journal.set()
    writing.join(5)
    assert processor.force_flush(5_000)
    assert names(db) == ["a"]


# exit


@pytest.mark.fault(11)
def test_shutdown_with_a_hung_loader_interrupts_it_in_time(set_up, db, caplog):
    loader = HungLoader()
    tracer, processor = set_up(_loader_factory=loader)
    tracer.start_span("a").end()
    _, took_s = timed(processor.shutdown)
    assert (loader.interrupted, took_s < EXIT_LOAD_S * BUSY) == (True, True)
    assert names(db) == ["a"]
    assert "the rest stays in the journal" in caplog.text


@pytest.mark.fault(11)
def test_shutdown_with_a_hung_journal_keeps_its_limit(set_up, hung_journal):
    _, processor = set_up(durability="queue", loader="off")
    processor._door._queue.put(Signal.TRACES, TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("a"), 1)
    _, took_s = timed(processor.shutdown)
    assert took_s < EXIT_WRITE_S * BUSY
    hung_journal.set()


PRELUDE = """
import os, sys, threading, time
from pathlib import Path
from opentelemetry.sdk.trace import TracerProvider
from otel_runlog.processor import RunLogSpanProcessor

def set_up(db, **arguments):
    provider = TracerProvider()
    processor = RunLogSpanProcessor(db, **arguments)
    provider.add_span_processor(processor)
    return processor, provider.get_tracer("t")

def leave():
    Path(sys.argv[1]).with_name("left").write_text(str(time.time()))

"""


def run(db, script, timeout_s=60):
    file = db.with_name("script.py")
    file.write_text(PRELUDE + textwrap.dedent(script))
    return subprocess.run(
        [sys.executable, str(file), str(db)], timeout=timeout_s, capture_output=True, text=True, check=False
    )


def took_to_leave_s(db):
    return time.time() - float(db.with_name("left").read_text())


@pytest.mark.fault(11)
@pytest.mark.parametrize("durability", ["process", "queue"])
@pytest.mark.parametrize("where", ["/proc/nowhere/runs.duckdb", "/dev/null/runs.duckdb"])
def test_a_process_whose_journal_cannot_be_written_ends_in_time_with_its_own_exit_code(db, durability, where):
    done = run(
        db,
        f"""
        processor, tracer = set_up({where!r}, durability={durability!r})
        for number in range(2000):
            tracer.start_span("a").end()
        leave()
        sys.exit(5)
        """,
    )
    assert (done.returncode, took_to_leave_s(db) < EXIT_WRITE_S * BUSY) == (5, True)
    assert done.stderr.count("spans are being lost") == 1
    assert "closing after 2000 lost spans" in done.stderr


@pytest.mark.fault(11)
def test_a_process_whose_store_cannot_be_written_ends_in_time_and_the_spans_are_there_at_the_next_start(db):
    db.write_text("no database")
    done = run(
        db,
        """
        processor, tracer = set_up(sys.argv[1])
        for number in range(2000):
            tracer.start_span("a").end()
        leave()
        """,
    )
    assert (done.returncode, took_to_leave_s(db) < EXIT_LOAD_S * BUSY) == (0, True)
    assert db.read_text() == "no database"
    db.rename(db.with_suffix(".kept"))
    assert Loader(db).turn().spans == 4_000
    with StoreReader(db) as reader:
        (books,) = reader.query("select received, stored, duplicate, conflict, superseded from books").rows
    assert books == (4_000, 2_000, 0, 0, 2_000)


@pytest.mark.fault(11, 12)
def test_a_commit_that_outlasts_the_end_of_a_process_is_interrupted(db):
    done = run(
        db,
        """
        import otel_runlog.loader
        from otel_runlog.store.writer import StoreWriter

        def slow(writer, batch):
            writer._connection.duck.execute("select sum(a.range * b.range) from range(10000000) a, range(100000) b")
        StoreWriter.append = slow
        processor, tracer = set_up(sys.argv[1])
        tracer.start_span("a").end()
        leave()
        """,
    )
    assert (done.returncode, took_to_leave_s(db) < EXIT_LOAD_S * BUSY) == (0, True), done.stderr
    assert names(db) == ["a"]


# memory

HOLD = """
def peak_kib():
    with open("/proc/self/status") as status:  # Linux's ru_maxrss is that of this test's process, where that is larger
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

processor, tracer = set_up(sys.argv[1], durability={durability!r}, **{arguments})
if {durability!r} == "queue":
    processor._door._queue._most_bytes = 16 << 20
tracer.start_span("first").end()
processor.force_flush(200)
{disk}
before = peak_kib()
longest = 0.0
for number in range(256):
    span = tracer.start_span("big", attributes={{"gen_ai.input.messages": chr(97 + number % 26) * 1_000_000}})
    started = time.monotonic()
    span.end()
    longest = max(longest, time.monotonic() - started)
    del span
grown = peak_kib() - before
processor.force_flush(1_000)
print(grown // 1024, longest, sum(processor.dropped.values()), flush=True)
os._exit(0)
"""
STALLED_LOADER = (
    """{"_loader_factory": lambda db: type("L", (), {"turn": lambda s, t=0, limit_s=None: time.sleep(60)})()}"""
)
STALLED_DISK = """
from otel_runlog.journal import JournalWriter
JournalWriter.append = lambda *a: time.sleep(60)
"""


@pytest.mark.fault(14)
@pytest.mark.parametrize("durability", ["process", "queue"])
def test_a_stalled_loader_and_large_prompts_fill_the_disk_and_not_the_memory(db, durability):
    done = run(db, HOLD.format(durability=durability, arguments=STALLED_LOADER, disk=""))
    grown_mib, _, dropped = map(float, done.stdout.split())
    assert (grown_mib < 96, dropped) == (True, 0), done.stderr
    assert sorted(names(db)) == [*["big"] * 256, "first"]


@pytest.mark.fault(14)
def test_a_stalled_disk_costs_spans_and_neither_memory_nor_time(db):
    done = run(db, HOLD.format(durability="queue", arguments={"loader": "off"}, disk=STALLED_DISK))
    grown_mib, longest_s, dropped = map(float, done.stdout.split())
    assert (grown_mib < 96, longest_s < STALLED_S * BUSY) == (True, True), done.stdout
    assert 200 < dropped < 256
    assert "spans are being lost (queue_full)" in done.stderr


# forks


@pytest.mark.fault(7)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_at_most_its_limit_and_the_child_never_opens_what_the_parent_has_open(set_up, db):
    loader = HungLoader()
    made = []

    def factory(path):
        made.append(os.getpid())
        return loader

    tracer, processor = set_up(_loader_factory=factory)
    tracer.start_span("parent").end()
    assert loader.began.wait(5)
    started = time.monotonic()
    pid = os.fork()
    waited_s = time.monotonic() - started
    if pid == 0:
        code = 1
        try:
            tracer.start_span("child").end()
            flushed, took_s = timed(lambda: processor.force_flush(2_000))
            processor.shutdown()
            code = 0 if flushed and took_s < 1 and made == [os.getppid()] else 2
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert (code, waited_s < FORK_WAIT_S * BUSY) == (0, True)
    loader.go.set()
    assert processor.force_flush(5_000)
    assert sorted(names(db)) == ["child", "parent"]


@pytest.mark.fault(7)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_parent_and_child_both_load_where_no_turn_was_in_progress(set_up, db):
    tracer, processor = set_up()
    tracer.start_span("parent").end()
    assert processor.force_flush(10_000)
    if (pid := os.fork()) == 0:
        code = 1
        try:
            tracer.start_span("child").end()
            code = 0 if processor.force_flush(20_000) else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    tracer.start_span("after").end()
    assert processor.force_flush(10_000)
    Loader(db).turn()
    with StoreReader(db) as reader:
        assert sorted(reader.query("select name from spans").rows) == [("after",), ("child",), ("parent",)]
        (books,) = reader.query("select received, stored, duplicate, conflict, superseded from books").rows
    assert books == (6, 3, 0, 0, 3)


@pytest.mark.fault(6)
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("durability", ["process", "queue"])
def test_children_of_multiprocessing_write_what_waits_before_they_end(db, method, durability):
    done = run(
        db,
        f"""
        import multiprocessing
        processor, tracer = set_up(sys.argv[1], durability={durability!r}, loader="off")

        def work(count):
            for number in range(count):
                tracer.start_span("child").end()

        if __name__ == "__main__":
            child = multiprocessing.get_context({method!r}).Process(target=work, args=(300,))
            child.start()
            child.join()
            sys.exit(child.exitcode)
        """,
    )
    assert done.returncode == 0, done.stderr
    assert names(db) == ["child"] * 300
    assert [read_segment(segment.path).damage for segment in segments(journal_folder(db))] == [()]


# permissions


@pytest.mark.fault(52)
@pytest.mark.parametrize("umask", [0, 0o777])
def test_files_and_folders_are_private_under_any_umask(db, umask):
    done = run(
        db,
        f"""
        os.umask({umask})
        processor, tracer = set_up(sys.argv[1])
        for number in range(50):
            tracer.start_span("a").end()
        assert processor.force_flush(20_000)
        tracer.start_span("open").end()
        for root, folders, files in os.walk(Path(sys.argv[1]).parent):
            for name in folders:
                assert (Path(root) / name).stat().st_mode & 0o777 == 0o700, name
            for name in files:
                if name != "script.py":
                    assert (Path(root) / name).stat().st_mode & 0o777 == 0o600, name
        print("checked", sorted(os.listdir(Path(sys.argv[1]).parent)))
        """,
    )
    assert done.returncode == 0, done.stderr
    assert "runs.duckdb.journal" in done.stdout
