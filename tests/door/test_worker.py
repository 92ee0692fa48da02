"""The thread behind the door: started when it is needed, tried again where there can be none, gone in time."""

import os
import threading
import time

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_runlog.door.worker import HURRY_S, Receipt, Worker
from otel_runlog.journal import journal_folder, read_segment, segments
from otel_runlog.otlp.wire import Signal
from otel_runlog.processor import RunLogSpanProcessor


class Report:
    held_by = None
    finished = ()


class Loader:
    def __init__(self):
        self.turned = threading.Event()

    def __call__(self, db):
        return self

    def turn(self, timeout_s=0.0, *, limit_s=None):
        self.turned.set()
        return Report()


@pytest.fixture
def fail_to_start(monkeypatch):
    """Makes the next so many starts of threads fail, as RLIMIT_NPROC does; says how many failed."""
    failed = []
    original = threading.Thread.start

    def make(times):
        def start(thread):
            if len(failed) < times:
                failed.append(thread.name)
                raise RuntimeError("can't start new thread")
            original(thread)

        monkeypatch.setattr(threading.Thread, "start", start)
        return failed

    return make


@pytest.fixture
def set_up(tmp_path):
    providers = []

    def make(**arguments):
        provider = TracerProvider(shutdown_on_exit=False)
        processor = RunLogSpanProcessor(tmp_path / "runs.duckdb", **arguments)
        provider.add_span_processor(processor)
        providers.append(provider)
        return provider.get_tracer("t"), processor

    yield make
    for provider in providers:
        provider.shutdown()


def count(tmp_path):
    found = segments(journal_folder(tmp_path / "runs.duckdb"))
    return sum(r.signal is Signal.TRACES for s in found for r in read_segment(s.path).records)


def answers(inbox):
    while (message := inbox.get()) is not None:
        message.answer(good=True)


@pytest.mark.parametrize("times", [1, 3])
def test_loading_starts_with_a_later_span_where_no_thread_could_be_started(
    set_up, tmp_path, fail_to_start, caplog, times
):
    loader = Loader()
    tracer, processor = set_up(_loader_factory=loader)
    failed = fail_to_start(times)
    for _ in range(times):
        tracer.start_span("a").end()
        assert not loader.turned.is_set()
    assert len(failed) == times
    tracer.start_span("b").end()
    assert loader.turned.wait(10)
    assert processor.force_flush(5_000)
    assert count(tmp_path) == times + 1
    assert caplog.text.count("cannot start the thread") == 1


def test_a_flush_is_false_while_no_thread_can_be_started_and_true_after(set_up, fail_to_start):
    tracer, processor = set_up(_loader_factory=Loader())
    fail_to_start(2)
    tracer.start_span("a").end()
    assert not processor.force_flush(1_000)
    assert processor.force_flush(5_000)


def test_the_queue_writes_on_the_applications_thread_until_one_can_be_started(set_up, tmp_path, fail_to_start):
    tracer, processor = set_up(durability="queue", loader="off")
    fail_to_start(80)  # a start and an end each
    for number in range(40):
        tracer.start_span("a", attributes={"text": "x" * (2 << 20)}).end()
        if number % 8 == 7:  # counting reads them all
            assert count(tmp_path) == number + 1
    for _ in range(60):
        tracer.start_span("b").end()
    assert processor.force_flush(5_000)
    assert (count(tmp_path), processor.dropped) == (100, {})


def test_stop_asks_for_haste_before_its_time_is_up():
    go, hurried = threading.Event(), []

    def hurry():
        hurried.append(time.monotonic())
        go.set()

    worker = Worker("test", lambda inbox: (inbox.get(), go.wait(20)))
    worker.send(Receipt(0))
    started = time.monotonic()
    assert worker.stop(1.0, hurry)
    assert 0.9 - HURRY_S < hurried[0] - started < 1.0


def test_stop_does_not_hurry_who_is_done():
    worker = Worker("test", answers)
    receipt = Receipt(5)
    worker.send(receipt)
    assert receipt.wait()
    assert worker.stop(5, lambda: pytest.fail("nobody had to hurry"))
    assert worker.stop(5)


@pytest.mark.fault(9)
@pytest.mark.parametrize("kind", [ValueError, SystemExit, KeyboardInterrupt])
def test_a_body_that_raises_is_called_again(kind, monkeypatch, caplog):
    monkeypatch.setattr("otel_runlog.door.worker.time.sleep", lambda seconds: None)
    calls = []

    def body(inbox):
        calls.append(True)
        if len(calls) < 3:
            raise kind
        answers(inbox)

    worker = Worker("test", body)
    receipt = Receipt(5)
    worker.send(receipt)
    assert receipt.wait()
    assert worker.stop(5)
    assert caplog.text.count("the thread test goes on after an error") == 2


@pytest.mark.fault(5)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_has_a_thread_of_its_own():
    worker = Worker("test", answers)
    worker.send(Receipt(5))
    if (pid := os.fork()) == 0:
        worker.after_fork()
        receipt = Receipt(5)
        os._exit(0 if worker.send(receipt) and receipt.wait() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert worker.stop(5)
