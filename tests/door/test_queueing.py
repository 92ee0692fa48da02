"""The queue of durability `queue`: bounded in bytes, written in order."""

import sys
import threading
import time

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.trace import SpanContext, Status, StatusCode

from otel_runlog.door.queueing import STALLED_S, SpanQueue
from otel_runlog.otlp.wire import Signal
from otel_runlog.span_copy import CopiedSpan
from otel_runlog.span_weight import SPAN_BYTES, UNKNOWN_BYTES, VALUE_BYTES, weigh

ENDED = Signal.TRACES


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
    waiting = make_queue(lambda signal, span, received_ns: written.append((span.name, received_ns)))
    for number in range(100):
        assert waiting.put(ENDED, make_span(f"s{number}"), number)
    assert waiting.flush(5)
    assert written == [(f"s{number}", number) for number in range(100)]


@pytest.mark.fault(14)
def test_what_does_not_fit_waits_and_is_refused_only_where_nothing_is_written(make_queue):
    go = threading.Event()
    waiting = make_queue(lambda signal, span, received_ns: go.wait(20), 3 * weigh(make_span()))
    started = time.monotonic()
    assert [waiting.put(ENDED, make_span(), 0) for _ in range(4)] == [True, True, True, False]
    assert STALLED_S < time.monotonic() - started < 3 * STALLED_S
    started, span = time.monotonic(), make_span()
    assert [waiting.put(ENDED, span, 0) for _ in range(1_000)] == [False] * 1_000
    assert time.monotonic() - started < STALLED_S
    assert not waiting.flush(0.05)
    go.set()
    assert waiting.flush(5)
    assert waiting.put(ENDED, make_span(), 0)


def test_one_span_is_taken_however_large(make_queue):
    written = []
    waiting = make_queue(lambda signal, span, received_ns: written.append(span.name), 10)
    for name in ("a", "b", "c"):
        assert waiting.put(ENDED, make_span(name, text="x" * 1_000), 0)
    assert waiting.flush(5)
    assert written == ["a", "b", "c"]


def test_a_span_that_ends_in_the_queues_own_thread_is_written_there(make_queue):
    written = []

    def write(signal, span, received_ns):
        written.append(span.name)
        if span.name == "outer":
            assert waiting.put(ENDED, make_span("inner"), 0)

    waiting = make_queue(write, SPAN_BYTES)
    assert waiting.put(ENDED, make_span("outer"), 0)
    assert waiting.flush(5)
    assert written == ["outer", "inner"]


def test_text_counts_in_full_wherever_it_is():
    bare = weigh(make_span(""))
    assert SPAN_BYTES < bare < SPAN_BYTES + 10
    for span in (
        make_span("x" * 1000),
        make_span("", text="x" * 1000),
        make_span("", texts=("a" * 300, "b" * 700)),
        make_span("", map={"a": {"b": "x" * 1000}}),
        make_span("", data=b"x" * 1000),
    ):
        assert bare + 1000 < weigh(span) < bare + 1030
    failed = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("")
    failed.set_status(Status(StatusCode.ERROR, "e" * 1000))
    assert bare + 1000 <= weigh(failed) < bare + 1010


@pytest.mark.parametrize(
    "value",
    ["\U0001f600" + "x" * 1000, tuple(range(300)), tuple(range(1000, 1300)), (0.5,) * 300],
    ids=["emoji", "small", "large", "floats"],
)
def test_memory_is_told_within_a_factor_of_twelve(value):
    items = value if isinstance(value, tuple) else ()
    in_memory = sys.getsizeof(value) + sum(sys.getsizeof(item) for item in items if item not in range(257))
    told = weigh(make_span("", value=value)) - weigh(make_span(""))
    assert in_memory / 12 < told < in_memory + VALUE_BYTES


def test_what_is_no_attribute_is_weighed_value_by_value():
    class Foreign(str):
        __slots__ = ()

        def __len__(self):
            raise RuntimeError

    surrogate = weigh(CopiedSpan(make_span(""), attributes={"text": "\ud83e" * 1000}))
    assert surrogate == SPAN_BYTES + VALUE_BYTES + 4 * 1000
    foreign = weigh(CopiedSpan(make_span(""), attributes={"object": object(), "text": Foreign("x" * 1000)}))
    assert foreign == SPAN_BYTES + 2 * VALUE_BYTES + 1000
    large = weigh(CopiedSpan(make_span(""), attributes={"n": 2**70, "map": {"a": ("b" * 1000, 1)}}))
    assert large == SPAN_BYTES + 5 * VALUE_BYTES + 1000
    assert weigh(CopiedSpan(make_span(""), attributes=7)) == UNKNOWN_BYTES


def test_nesting_of_any_depth_can_be_weighed():
    value = "x" * 10
    for _ in range(5_000):
        value = (value,)
    span = CopiedSpan(make_span(""), attributes={"deep": value})
    assert weigh(span) == SPAN_BYTES + 5_001 * VALUE_BYTES + 10


def test_events_weigh_too():
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("s")
    span.add_event("e", {"text": "x" * 500})
    span.add_link(SpanContext(1, 2, is_remote=False), {"why": "y" * 30})
    assert 3 * SPAN_BYTES + 530 < weigh(span) < 3 * SPAN_BYTES + 580


def test_stop_writes_what_waits(make_queue):
    written = []
    waiting = make_queue(lambda signal, span, received_ns: written.append(span.name))
    waiting.put(ENDED, make_span("a"), 0)
    assert waiting.stop(5)
    assert written == ["a"]
    assert waiting.stop(0)


def test_nothing_is_lost_on_a_slow_disk(make_queue):
    written = []

    def write(signal, span, received_ns):
        time.sleep(0.01)
        written.append(span.name)

    waiting = make_queue(write, 4 * SPAN_BYTES)
    names = [f"s{number}" for number in range(40)]
    assert [waiting.put(ENDED, make_span(name), 0) for name in names] == [True] * 40
    assert waiting.flush(5)
    assert written == names


def test_a_write_that_raises_gives_its_room_back(make_queue, monkeypatch):
    monkeypatch.setattr("otel_runlog.door.worker.time.sleep", lambda seconds: None)

    def write(signal, span, received_ns):
        raise SystemExit("a bug")

    waiting = make_queue(write, 2 * SPAN_BYTES)
    for _ in range(10):
        assert waiting.put(ENDED, make_span(), 0)
        assert waiting.flush(5)
