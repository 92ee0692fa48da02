"""When the loader's thread takes its turns, and what a flush is told."""

import queue
import threading
import time

import pytest

from otel_runlog.door.loading import LONGEST_TURN_S, Loading


class Report:
    def __init__(self, held_by=None):
        self.finished = []
        self.held_by = held_by


class Turns:
    """A loader whose turns the test sees, and answers one by one where `answers` is given."""

    def __init__(self):
        self.asked = queue.Queue()
        self.answers = queue.Queue()
        self.automatic = True
        self.made = 0

    def __call__(self):
        self.made += 1
        return self

    def turn(self, timeout_s=0.0, *, limit_s=None):
        self.asked.put((timeout_s, limit_s))
        answer = Report() if self.automatic else self.answers.get(timeout=10)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def turns():
    return Turns()


@pytest.fixture
def make():
    made = []

    def make(turns, every_s=60.0):
        made.append(Loading(turns, lambda runs: None, every_s))
        return made[-1]

    yield make
    for loading in made:
        loading.stop(5)


def test_nothing_pending_is_flushed_without_a_thread(make, turns):
    loading = make(turns)
    assert loading.flush(0.0)
    assert turns.made == 0


def test_an_urgent_record_is_loaded_soon_and_many_in_one_turn(make, turns):
    loading = make(turns)
    for _ in range(100):
        loading.notify(urgent=True)
    assert turns.asked.get(timeout=5) == (0.0, LONGEST_TURN_S)
    assert loading.stop(5)
    assert turns.asked.empty()


def test_a_record_waits_for_the_interval_unless_it_is_urgent(make, turns):
    loading = make(turns)
    loading.notify(urgent=False)
    with pytest.raises(queue.Empty):
        turns.asked.get(timeout=0.3)
    loading.notify(urgent=True)
    turns.asked.get(timeout=5)


def test_a_record_is_loaded_after_the_interval(make, turns):
    loading = make(turns, every_s=0.2)
    loading.notify(urgent=False)
    turns.asked.get(timeout=5)


def test_a_flush_does_not_wait_for_the_interval(make, turns):
    loading = make(turns)
    loading.notify(urgent=False)
    assert loading.flush(5)
    assert loading.flush(5)
    assert turns.asked.qsize() == 1


def test_a_flush_waits_for_what_came_during_a_turn(make, turns):
    loading = make(turns)
    turns.automatic = False
    loading.notify(urgent=True)
    turns.asked.get(timeout=5)
    loading.notify(urgent=False)  # after the turn began: it may not be in it
    answer = []
    thread = threading.Thread(target=lambda: answer.append(loading.flush(5)))
    thread.start()
    turns.answers.put(Report())
    turns.asked.get(timeout=5)
    turns.answers.put(Report())
    thread.join(5)
    assert answer == [True]


def test_a_flush_that_is_waited_for_no_longer_gets_no_turn_of_its_own(make, turns):
    loading = make(turns)
    turns.automatic = False
    loading.notify(urgent=True)
    turns.asked.get(timeout=5)
    assert not loading.flush(0.05)  # a turn goes on
    turns.answers.put(Report())
    turns.automatic = True
    assert turns.asked.get(timeout=5) == (0.0, LONGEST_TURN_S)


def test_a_failed_turn_is_tried_again_with_a_new_loader(make, turns):
    loading = make(turns, every_s=0.1)
    turns.automatic = False
    loading.notify(urgent=True)
    turns.answers.put(RuntimeError("no"))
    turns.asked.get(timeout=5)
    turns.answers.put(Report())
    turns.asked.get(timeout=5)  # without a further record
    assert turns.made == 2


def test_a_held_store_is_tried_again_with_the_same_loader(make, turns):
    loading = make(turns, every_s=0.1)
    turns.automatic = False
    loading.notify(urgent=True)
    turns.answers.put(Report(held_by="PID 1"))
    turns.asked.get(timeout=5)
    turns.answers.put(Report())
    turns.asked.get(timeout=5)
    assert turns.made == 1


def test_a_turn_that_used_its_time_up_may_have_left_something(make, turns):
    loading = make(turns)
    turns.automatic = False
    loading.notify(urgent=False)
    answer = []
    thread = threading.Thread(target=lambda: answer.append(loading.flush(0.2)))
    thread.start()
    _, limit_s = turns.asked.get(timeout=5)
    thread.join(5)
    turns.answers.put(Report())
    assert 0 < limit_s <= 0.2
    assert answer == [False]


def test_a_stopped_thread_starts_again_with_the_next_record(make, turns):
    loading = make(turns)
    loading.notify(urgent=False)
    assert loading.flush(5)
    assert loading.stop(5)
    assert loading.stop(5)
    loading.notify(urgent=False)
    assert loading.flush(5)
    assert turns.made == 2


def test_the_thread_outlives_a_bug(make, turns, monkeypatch, caplog):
    loading = make(turns)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    broken = [SystemExit("a bug")]
    original = loading._wait
    monkeypatch.setattr(loading, "_wait", lambda *a: original(*a) if not broken else _raise(broken.pop()))
    loading.notify(urgent=True)
    while broken:
        pass
    assert loading.flush(5)
    assert "goes on after an error" in caplog.text


def _raise(error):
    raise error
