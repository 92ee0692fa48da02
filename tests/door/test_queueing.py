"""The queue of durability `queue`: bounded in bytes, written in order."""

import threading

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_runlog.door.queueing import SPAN_BYTES, VALUE_BYTES, SpanQueue, weigh


def make_span(name="s", **attributes):
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span(name, attributes=attributes)
    span.end()
    return span


@pytest.fixture
def make_queue():
    made = []

    def make(write, most_bytes=1 << 20):
        made.append(SpanQueue(write, most_bytes))
        return made[-1]

    yield make
    for waiting in made:
        waiting.stop(5)


def test_spans_are_written_in_order_with_their_times(make_queue):
    written = []
    waiting = make_queue(lambda span, received_ns: written.append((span.name, received_ns)))
    for number in range(100):
        assert waiting.put(make_span(f"s{number}"), number)
    assert waiting.flush(5)
    assert written == [(f"s{number}", number) for number in range(100)]


def test_what_does_not_fit_is_refused_until_there_is_room(make_queue):
    go = threading.Event()
    waiting = make_queue(lambda span, received_ns: go.wait(5), 3 * SPAN_BYTES)
    assert [waiting.put(make_span(), 0) for _ in range(4)] == [True, True, True, False]
    assert not waiting.flush(0.05)
    go.set()
    assert waiting.flush(5)
    assert waiting.put(make_span(), 0)


def test_text_counts_in_full_wherever_it_is():
    span = make_span(text="x" * 1000, number=1, texts=("a" * 10, "b" * 20))
    assert weigh(span) == SPAN_BYTES + 3 * VALUE_BYTES + 1000 + 2 * VALUE_BYTES + 30


def test_events_weigh_too():
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("s")
    span.add_event("e", {"text": "x" * 500})
    assert weigh(span) == 2 * SPAN_BYTES + VALUE_BYTES + 500


def test_stop_writes_what_waits(make_queue):
    written = []
    waiting = make_queue(lambda span, received_ns: written.append(span.name))
    waiting.put(make_span("a"), 0)
    assert waiting.stop(5)
    assert written == ["a"]
    assert waiting.stop(0)
