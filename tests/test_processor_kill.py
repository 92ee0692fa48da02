"""Agents that end in every way there is: every span that ended is in the journal once, and open roots are known."""

import signal
import subprocess
import sys
import textwrap
import time

import pytest

from otel_runlog.journal import DamageKind, journal_folder, read_segment, segments
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.wire import Signal

PRELUDE = """
import concurrent.futures, multiprocessing, os, signal, sys
from opentelemetry.sdk.trace import TracerProvider
from otel_runlog.processor import RunLogSpanProcessor

arguments = {"loader": "off"}

def set_up(**more):
    provider = TracerProvider()
    provider.add_span_processor(RunLogSpanProcessor(sys.argv[1], **arguments, **more))
    return provider, provider.get_tracer("t")

def emit(who, count):
    root = tracer.start_span(f"{who}-root")
    for number in range(count - 1):
        tracer.start_span(f"{who}-{number}").end()
    root.end()

"""


def run(tmp_path, script, timeout_s=30):
    """Run `script` after PRELUDE; returns its exit code and the store's path."""
    db = tmp_path / "runs.duckdb"
    file = tmp_path / "script.py"
    file.write_text(PRELUDE + textwrap.dedent(script))
    command = [sys.executable, str(file), str(db)]
    done = subprocess.run(command, timeout=timeout_s, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, db


def journalled(db, wanted=Signal.TRACES):
    """Span names by segment; no segment may be living or lose data."""
    found = []
    for segment in segments(journal_folder(db)):
        read = read_segment(segment.path)
        assert not segment.living
        assert [damage.kind for damage in read.damage if damage.kind is not DamageKind.NO_FOOTER] == []
        bodies = [(r.body, r.encoding) for r in read.records if r.signal is wanted]
        found.append(sorted(span.name for body in bodies for span in read_traces(*body).spans))
    return sorted(found)


def emitted(who, count):
    return sorted([f"{who}-root", *(f"{who}-{number}" for number in range(count - 1))])


@pytest.mark.fault(1, 4)
@pytest.mark.parametrize(
    ("ending", "code"),
    [
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.kill(os.getpid(), signal.SIGTERM)", -signal.SIGTERM),
        ("os._exit(3)", 3),
        ("sys.exit(4)", 4),
        ("pass", 0),
        ("provider.shutdown()", 0),
    ],
)
def test_every_way_to_end_keeps_every_span(tmp_path, ending, code):
    returncode, db = run(tmp_path, f"provider, tracer = set_up()\nemit('a', 1000)\n{ending}")
    assert (returncode, journalled(db)) == (code, [emitted("a", 1_000)])


def test_power_durability_writes_the_same(tmp_path):
    _, db = run(tmp_path, "provider, tracer = set_up(durability='power')\nemit('a', 50)\nos._exit(0)")
    assert journalled(db) == [emitted("a", 50)]


@pytest.mark.parametrize("ending", ["pass", "sys.exit(0)", "provider.force_flush(); os._exit(0)"])
def test_the_queue_is_written_before_an_orderly_end(tmp_path, ending):
    _, db = run(tmp_path, f"provider, tracer = set_up(durability='queue')\nemit('a', 1000)\n{ending}")
    assert journalled(db) == [emitted("a", 1000)]


def test_an_orderly_end_writes_the_footer(tmp_path):
    _, db = run(tmp_path, "provider, tracer = set_up()\nemit('a', 10)")
    assert [read_segment(segment.path).damage for segment in segments(journal_folder(db))] == [()]


@pytest.mark.fault(3)
def test_a_killed_run_is_visible_by_its_start(tmp_path):
    script = """
        provider, tracer = set_up()
        with tracer.start_as_current_span("agent", attributes={"gen_ai.operation.name": "invoke_agent"}):
            for number in range(10):
                tracer.start_span(f"step-{number}").end()
            os.kill(os.getpid(), signal.SIGKILL)
    """
    _, db = run(tmp_path, script)
    assert journalled(db, Signal.STARTS) == [["agent"]]
    assert journalled(db) == [sorted(f"step-{number}" for number in range(10))]


@pytest.mark.fault(5)
@pytest.mark.parametrize("durability", ["process", "queue"])
@pytest.mark.parametrize("ending", ["os._exit(0)", "sys.exit(0)"])
def test_parent_and_forked_child_lose_and_double_nothing(tmp_path, durability, ending):
    script = f"""
        provider, tracer = set_up(durability={durability!r})
        emit("before", 100)
        if (pid := os.fork()) == 0:
            emit("child", 300)
            provider.force_flush()
            {ending}
        emit("after", 50)
        os.waitpid(pid, 0)
    """
    _, db = run(tmp_path, script)
    assert journalled(db) == sorted([sorted(emitted("before", 100) + emitted("after", 50)), emitted("child", 300)])


@pytest.mark.fault(6)
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing_children_end_with_every_span_and_a_footer(tmp_path, method):
    script = f"""
        provider, tracer = set_up()
        if __name__ == "__main__":
            emit("parent", 20)
            child = multiprocessing.get_context("{method}").Process(target=emit, args=("child", 300))
            child.start()
            child.join()
            assert child.exitcode == 0
    """
    _, db = run(tmp_path, script)
    assert journalled(db) == [emitted("child", 300), emitted("parent", 20)]
    assert [read_segment(segment.path).damage for segment in segments(journal_folder(db))] == [(), ()]


@pytest.mark.fault(6)
def test_a_pool_of_forked_processes_keeps_every_span(tmp_path):
    script = """
        provider, tracer = set_up()
        emit("parent", 20)
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
            list(pool.map(emit, [f"task{number}" for number in range(6)], [50] * 6))
    """
    _, db = run(tmp_path, script)
    names = sorted(name for segment in journalled(db) for name in segment)
    assert names == sorted(emitted("parent", 20) + [n for task in range(6) for n in emitted(f"task{task}", 50)])


@pytest.mark.fault(4)
def test_a_signal_handler_that_flushes_and_exits(tmp_path):
    script = """
        provider, tracer = set_up()
        def leave(number, frame):
            emit("handler", 5)
            provider.shutdown()
            os._exit(7)
        signal.signal(signal.SIGALRM, leave)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        number = 0
        while True:
            tracer.start_span(f"loop-{number}").end()
            number += 1
    """
    code, db = run(tmp_path, script)
    names = [name for segment in journalled(db) for name in segment]
    loop = [name for name in names if name.startswith("loop")]
    assert (code, sorted(set(names) - set(loop))) == (7, emitted("handler", 5))
    assert len(loop) == len(set(loop)) == max(int(name.removeprefix("loop-")) for name in loop) + 1


LEAVE = """
        import time
        from pathlib import Path
        Path(__file__).with_name("left").write_text(str(time.time()))
"""


def took_to_leave_s(tmp_path):
    """From the last statement of the script to now, right after its process ended."""
    return time.time() - float((tmp_path / "left").read_text())


@pytest.mark.fault(11)
def test_exit_is_quick_where_neither_journal_nor_store_can_be_written(tmp_path):
    script = """
        sys.argv[1] = "/proc/nowhere/runs.duckdb"
        arguments = {"loader": "thread"}
        provider, tracer = set_up()
        emit("a", 2000)
    """
    code, _ = run(tmp_path, script + LEAVE)
    assert (code, took_to_leave_s(tmp_path) < 2) == (0, True)


@pytest.mark.fault(11)
def test_exit_waits_for_loading_no_longer_than_its_limit(tmp_path):
    script = """
        import time
        class Stuck:
            def turn(self, timeout_s=0.0, *, limit_s=None):
                time.sleep(60)
        arguments = {"loader": "thread", "_loader_factory": lambda db: Stuck()}
        provider, tracer = set_up()
        emit("a", 10)
    """
    code, db = run(tmp_path, script + LEAVE)
    assert (code, journalled(db)) == (0, [emitted("a", 10)])
    assert 2.9 < took_to_leave_s(tmp_path) < 4


@pytest.mark.fault(4, 11)
def test_exit_waits_for_a_turn_that_was_interrupted(tmp_path):
    """An interpreter that ends while the loader is inside DuckDB aborts the process."""
    script = """
        import threading, time
        from pathlib import Path
        class Slow:
            stop = threading.Event()
            def interrupt(self):
                self.stop.set()
            def turn(self, timeout_s=0.0, *, limit_s=None):
                self.stop.wait(60)
                time.sleep(0.8)
                Path(sys.argv[1]).with_name("ended").touch()
                raise RuntimeError("interrupted")
        arguments = {"loader": "thread", "_loader_factory": lambda db: Slow()}
        provider, tracer = set_up()
        emit("a", 10)
    """
    code, _ = run(tmp_path, script)
    assert (code, (tmp_path / "ended").exists()) == (0, True)
