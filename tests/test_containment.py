"""What may leave our code for the application's: only what the application raised itself."""

import functools
import logging
import signal
import threading

import pytest

from otel_runlog.containment import LOGGER, OwnThread, contain, describe, is_applications, is_from_signal, warn
from otel_runlog.errors import JournalError

pytestmark = pytest.mark.fault(10)


class Given(BaseException):
    """A BaseException that is no Exception, such as a test runner or a greenlet throws."""


def raised(action, *arguments):
    try:
        action(*arguments)
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    return None


def throw(kind):
    raise kind


def throws_in_handler(number, frame):
    raise TimeoutError("the application's patience")


class Handler:
    def method(self, number, frame):
        raise SystemExit(3)

    def __call__(self, number, frame):
        raise SystemExit(4)


def leaves(more, number, frame):
    raise SystemExit(more)


@pytest.fixture
def alarm():
    """Sets a handler, and raises the signal when called."""
    before = signal.getsignal(signal.SIGALRM)

    def ring(handler):
        signal.signal(signal.SIGALRM, handler)
        signal.raise_signal(signal.SIGALRM)

    yield ring
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("kind", [ValueError, RecursionError, MemoryError, KeyboardInterrupt, SystemExit, Given])
def test_what_a_statement_of_ours_raises_stays_inside(kind):
    assert not is_applications(raised(throw, kind))
    assert contain(lambda: throw(kind), 7) == 7


def test_an_interrupt_that_arrives_is_the_applications():
    error = raised(signal.raise_signal, signal.SIGINT)
    assert isinstance(error, KeyboardInterrupt)
    assert is_applications(error)
    assert is_from_signal(error)
    with pytest.raises(KeyboardInterrupt):
        contain(lambda: signal.raise_signal(signal.SIGINT), None)


@pytest.mark.parametrize(
    "handler", [throws_in_handler, Handler().method, Handler(), functools.partial(leaves, 5), lambda *_: throw(OSError)]
)
def test_what_a_signal_handler_raises_is_the_applications(alarm, handler):
    assert is_from_signal(raised(alarm, handler))
    with pytest.raises((TimeoutError, SystemExit, OSError)):
        contain(lambda: alarm(handler), None)


def test_a_base_exception_thrown_in_from_outside_is_the_applications():
    def wait():
        yield

    waiting = wait()
    next(waiting)
    waiting_error = raised(waiting.throw, Given())
    assert is_applications(waiting_error)
    assert not is_from_signal(waiting_error)


def test_in_a_thread_of_ours_everything_is_ours(alarm):
    answers = []
    thread = OwnThread(target=lambda: answers.append(is_applications(raised(int.__call__, Given))))
    thread.start()
    thread.join(5)
    other = threading.Thread(target=lambda: answers.append(contain(lambda: throw(KeyboardInterrupt), "kept")))
    other.start()
    other.join(5)
    assert answers == [False, "kept"]


def test_logging_that_raises_hurts_nobody(monkeypatch):
    class Broken(logging.Handler):
        def emit(self, record):
            raise Given

    broken = Broken()
    LOGGER.addHandler(broken)
    try:
        warn("a %s", "warning")
    finally:
        LOGGER.removeHandler(broken)


def test_a_foreign_error_is_described_without_its_text():
    assert describe(JournalError("no room")) == "no room"
    described = describe(raised(lambda: {}["sk-secret"]))
    assert described.startswith("KeyError at ")
    assert "secret" not in described
    assert describe(ValueError("sk-secret")) == "ValueError"
