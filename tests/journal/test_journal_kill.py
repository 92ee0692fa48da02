"""Real processes that end in every way there is: nothing that append returned for is lost or doubled."""

import signal
import subprocess
import sys
import textwrap

import pytest

from otel_runlog.journal import DamageKind, journal_folder, read_segment, segments

PRELUDE = """
import multiprocessing, os, signal, sys
from pathlib import Path
from otel_runlog.journal import JournalWriter
from otel_runlog.otlp.wire import Encoding, Signal

writer = JournalWriter(Path(sys.argv[1]))

def emit(who, count):
    for number in range(count):
        writer.append(Signal.TRACES, Encoding.PROTOBUF, number, f"{who}-{number}".encode())
"""


def run(tmp_path, script):
    """Run `script` after PRELUDE; returns its exit code and the journal's folder."""
    folder = journal_folder(tmp_path / "runs.duckdb")
    file = tmp_path / "script.py"
    file.write_text(PRELUDE + textwrap.dedent(script))
    command = [sys.executable, str(file), str(folder)]
    done = subprocess.run(command, timeout=30, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, folder


def read_all(folder):
    """Bodies by segment; no segment may be living or lose data."""
    found = []
    for segment in segments(folder):
        read = read_segment(segment.path)
        assert (segment.living, read.ended) == (False, True)
        assert [damage.kind for damage in read.damage if damage.kind is not DamageKind.NO_FOOTER] == []
        found.append([record.body.decode() for record in read.records])
    return found


def emitted(who, count):
    return [f"{who}-{number}" for number in range(count)]


@pytest.mark.fault(1, 4)
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os._exit(3)", 3),
        ("sys.exit(4)", 4),
        ("pass", 0),
    ],
)
def test_every_way_to_end_keeps_every_record(tmp_path, ending, code):
    returncode, folder = run(tmp_path, f"emit('a', 1000)\n{ending}")
    assert returncode == code
    assert read_all(folder) == [emitted("a", 1000)]


@pytest.mark.fault(5)
def test_parent_and_forked_child_write_segments_of_their_own(tmp_path):
    script = """
        emit("before", 100)
        if (pid := os.fork()) == 0:
            emit("child", 300)
            os._exit(0)
        emit("after", 50)
        os.waitpid(pid, 0)
        writer.close()
    """
    _, folder = run(tmp_path, script)
    assert sorted(read_all(folder)) == sorted([emitted("before", 100) + emitted("after", 50), emitted("child", 300)])


def test_a_child_that_outlives_its_parent_does_not_hold_the_parents_segment(tmp_path):
    script = """
        emit("parent", 10)
        os.pipe()
        read_end, write_end = os.pipe()
        if os.fork() == 0:
            os.close(write_end)
            os.read(read_end, 1)  # until the parent is gone
            from otel_runlog.journal import is_living, segments
            mine = [segment.living for segment in segments(writer.folder)]
            emit(f"living={mine}", 1)
            os._exit(0)
        os._exit(0)
    """
    _, folder = run(tmp_path, script)
    deadline_reads = 0
    while len(segments(folder)) < 2 and deadline_reads < 10_000:
        deadline_reads += 1
    while any(segment.living for segment in segments(folder)):
        pass
    assert sorted(read_all(folder)) == [["living=[False]-0"], emitted("parent", 10)]


def test_the_parents_lock_survives_the_childs_end(tmp_path):
    script = """
        from otel_runlog.journal import segments
        emit("parent", 1)
        if (pid := os.fork()) == 0:
            os._exit(0)
        os.waitpid(pid, 0)
        emit(f"{[segment.living for segment in segments(writer.folder)]}", 1)
    """
    _, folder = run(tmp_path, script)
    assert read_all(folder) == [["parent-0", "[True]-0"]]


@pytest.mark.fault(5)
def test_fork_while_another_thread_appends(tmp_path):
    script = """
        import threading
        stop = threading.Event()
        counts = [0]
        def busy():
            while not stop.is_set():
                emit("t", 1)
                counts[0] += 1
        thread = threading.Thread(target=busy)
        thread.start()
        children = []
        for number in range(20):
            if (pid := os.fork()) == 0:
                signal.alarm(5)
                emit(f"c{number}", 5)
                os._exit(0)
            children.append(pid)
        codes = [os.waitpid(pid, 0)[1] for pid in children]
        stop.set()
        thread.join()
        emit(f"codes={set(codes)} threads={counts[0]}", 1)
    """
    _, folder = run(tmp_path, script)
    found = sorted(read_all(folder), key=len)
    assert sorted(found[:-1]) == sorted(emitted(f"c{number}", 5) for number in range(20))
    assert found[-1][-1] == f"codes={{0}} threads={len(found[-1]) - 1}-0"


@pytest.mark.fault(6)
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing_children_keep_every_record(tmp_path, method):
    script = f"""
        if __name__ == "__main__":
            context = multiprocessing.get_context("{method}")
            emit("parent", 20)
            child = context.Process(target=emit, args=("child", 300))
            child.start()
            child.join()
            assert child.exitcode == 0
    """
    _, folder = run(tmp_path, script)
    assert sorted(read_all(folder)) == [emitted("child", 300), emitted("parent", 20)]


@pytest.mark.fault(2)
def test_kill_at_any_instant_loses_nothing_acknowledged(tmp_path):
    script = """
        out = os.open(sys.argv[1] + ".acked", os.O_WRONLY | os.O_CREAT, 0o600)
        print("go", flush=True)
        number = 0
        while True:
            writer.append(Signal.TRACES, Encoding.PROTOBUF, 0, b"%d" % number * 500)
            number += 1
            os.pwrite(out, b"%010d" % number, 0)
    """
    folder = journal_folder(tmp_path / "runs.duckdb")
    file = tmp_path / "script.py"
    file.write_text(PRELUDE + textwrap.dedent(script))
    for round_number in range(5):
        acked = tmp_path / f"{folder.name}.acked"
        acked.unlink(missing_ok=True)
        with subprocess.Popen([sys.executable, str(file), str(folder)], stdout=subprocess.PIPE) as child:
            child.stdout.readline()
            while not acked.exists() or int(acked.read_bytes() or b"0") < 50 * (round_number + 1):
                pass
            child.kill()
        (segment,) = segments(folder)
        read = read_segment(segment.path)
        assert [damage.kind for damage in read.damage] in ([DamageKind.NO_FOOTER], [DamageKind.TORN_TAIL])
        assert int(acked.read_bytes()) <= len(read.records) <= int(acked.read_bytes()) + 1
        assert [record.body for record in read.records] == [b"%d" % n * 500 for n in range(len(read.records))]
        segment.path.unlink()
