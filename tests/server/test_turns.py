"""Who has the store next."""

import threading
from contextlib import ExitStack

import pytest

from otel_runlog.errors import StoreLockedError
from otel_runlog.server.turns import StoreTurns

SOON_S = 5.0


@pytest.fixture
def turns():
    return StoreTurns()


class Waiting:
    """A thread that asks for a turn and keeps it until it is let go."""

    def __init__(self, turn):
        self.has_it, self.let_go = threading.Event(), threading.Event()
        self.thread = threading.Thread(target=self._body, args=(turn,), daemon=True)
        self.thread.start()

    def _body(self, turn):
        with turn:
            self.has_it.set()
            self.let_go.wait()

    def end(self):
        self.let_go.set()
        self.thread.join()


def is_waited_for(turns, number):
    """Whether so many stand in the queue, as soon as they do."""
    with turns._changed:
        return turns._changed.wait_for(lambda: len(turns._waiting) == number, 0.01)


def queued(turns, turn, number):
    waiting = Waiting(turn)
    while not is_waited_for(turns, number):
        pass
    return waiting


def test_readers_share_a_turn(turns):
    with turns.reading(), turns.reading():
        pass


@pytest.mark.parametrize("held", ["reading", "writing"])
def test_a_turn_that_writes_is_had_alone(turns, held):
    with getattr(turns, held)(), pytest.raises(StoreLockedError, match="no turn left within 0 s"), turns.writing(0.0):
        pass
    with turns.writing(0.0):
        pass


def test_readers_do_not_starve_a_turn_that_waits(turns):
    with ExitStack() as reading:
        reading.enter_context(turns.reading())
        writer = queued(turns, turns.writing(), 1)
        late = queued(turns, turns.reading(), 2)
        assert [writer.has_it.is_set(), late.has_it.is_set()] == [False, False]
    assert writer.has_it.wait(SOON_S)
    assert not late.has_it.is_set()
    writer.end()
    assert late.has_it.wait(SOON_S)
    late.end()


def test_turns_do_not_starve_a_reader_that_waits(turns):
    with ExitStack() as writing:
        writing.enter_context(turns.writing())
        reader = queued(turns, turns.reading(), 1)
        next_writer = queued(turns, turns.writing(), 2)
    assert reader.has_it.wait(SOON_S)
    assert not next_writer.has_it.is_set()
    reader.end()
    assert next_writer.has_it.wait(SOON_S)
    next_writer.end()


def test_who_gives_up_waiting_lets_those_behind_go_on(turns):
    with turns.reading():
        with pytest.raises(StoreLockedError), turns.writing(0.0):
            pass
        with turns.reading(0.0):
            pass


def test_a_turn_ends_with_an_error_too(turns):
    with pytest.raises(ZeroDivisionError), turns.writing():
        raise ZeroDivisionError
    with turns.writing(0.0):
        pass


def test_who_waits_to_read_is_told_that_reading_is_over_and_writing_goes_on(turns):
    with turns.writing():
        told = []
        thread = threading.Thread(target=lambda: told.append(refusal_of(turns)))
        thread.start()
        while not is_waited_for(turns, 1):
            pass
        turns.end_reading()
        thread.join(SOON_S)
        assert told == ["the server ends: ask again when it is back"]
    with turns.writing(0.0):
        pass


def refusal_of(turns):
    with pytest.raises(StoreLockedError) as refused, turns.reading():
        pass
    return str(refused.value)
