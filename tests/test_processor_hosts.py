"""Hosts are never hurt: whatever our code, callbacks and attributes do, the application never sees it."""

import contextlib
import signal
import threading

import hostile
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from otel_runlog.journal import JournalWriter, journal_folder, read_segment, segments
from otel_runlog.model import RunLog
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.encode import SpanEncoder
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.processor import RunLogSpanExporter, RunLogSpanProcessor


class Report:
    held_by = None

    def __init__(self, finished=()):
        self.finished = list(finished)


class Loader:
    """Fails as told, then reports a run."""

    def __init__(self, *errors):
        self.errors = list(errors)
        self.turned = threading.Event()

    def __call__(self, db):
        return self

    def turn(self, timeout_s=0.0, *, limit_s=None):
        if self.errors:
            raise self.errors.pop(0)
        self.turned.set()
        return Report([RunLog(run_id="r1"), RunLog(run_id="r2")])


def spans(db):
    records = [record for segment in segments(journal_folder(db)) for record in read_segment(segment.path).records]
    bodies = [record.body for record in records if record.signal is Signal.TRACES]
    return [span for body in bodies for span in read_traces(body, Encoding.PROTOBUF).spans]


def work(provider):
    """What the application does, and what it sees of it."""
    with provider.get_tracer("app").start_as_current_span("root") as root:
        with contextlib.suppress(LookupError), provider.get_tracer("app").start_as_current_span("failing"):
            raise LookupError("the application's own")
        root.set_attribute("prompt", "text")
        answer = 42
    return answer, root.status.status_code, root.name


@pytest.fixture
def host():
    """An application with processors before and after ours; says what they saw."""
    made = []

    def make(db, **arguments):
        provider, before, after = TracerProvider(shutdown_on_exit=False), InMemorySpanExporter(), InMemorySpanExporter()
        provider.add_span_processor(SimpleSpanProcessor(before))
        processor = RunLogSpanProcessor(db, **{"loader": "off", **arguments})
        provider.add_span_processor(processor)
        provider.add_span_processor(SimpleSpanProcessor(after))
        made.append(provider)
        return provider, processor, (before, after)

    yield make
    for provider in made:
        provider.shutdown()


def others_saw(others):
    return [[span.name for span in exporter.get_finished_spans()] for exporter in others]


UNHURT = (42, StatusCode.UNSET, "root")
WHOLE = [["failing", "root"]] * 2


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.mark.fault(9, 56)
@pytest.mark.parametrize("kind", hostile.BASE_EXCEPTIONS)
@pytest.mark.parametrize("durability", ["process", "queue"])
def test_a_redactor_that_raises_costs_values_only(host, db, kind, durability):
    def redact(key, text):
        raise kind("sk-secret")

    provider, processor, others = host(db, redact=redact, durability=durability)
    assert (work(provider), others_saw(others)) == (UNHURT, WHOLE)
    assert processor.force_flush(5_000)
    assert [(span.name, span.attributes) for span in spans(db)] == [("", {}), ("", {})]
    assert (processor.dropped, set(processor.left_out)) == ({}, {"redaction_failed"})


@pytest.mark.fault(10)
@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt, hostile.Given])
@pytest.mark.parametrize("durability", ["process", "queue"])
@pytest.mark.parametrize(
    "where",
    [
        "otel_runlog.otlp.encode.SpanEncoder.encode_span",
        "otel_runlog.journal.JournalWriter.append",
        "otel_runlog.door.door.Door.end",
        "otel_runlog.door.door.Door.start",
        "otel_runlog.door.door.Door.is_written_twice",
        "otel_runlog.door.door.Door.flush",
        "otel_runlog.door.door.Door.close",
        "otel_runlog.door.queueing.SpanQueue.put",
        "otel_runlog.door.loading.Loading.notify",
        "otel_runlog.processor._copy_baggage",
        "otel_runlog.processor.amended",
        "otel_runlog.processor.note_start",
    ],
)
def test_a_bug_of_ours_stays_with_us(host, db, monkeypatch, *, kind, where, durability):
    def bug(*arguments, **named):
        raise kind("a bug")

    provider, processor, others = host(db, durability=durability, loader="thread", _loader_factory=Loader())
    monkeypatch.setattr(where, bug)
    assert (work(provider), others_saw(others)) == (UNHURT, WHOLE)
    provider.force_flush(2_000)
    monkeypatch.undo()
    provider.get_tracer("app").start_span("later").end()
    processor.force_flush(5_000)
    kept = len(spans(db)) + sum(processor.dropped.values())
    assert kept == 3
    assert "later" in [span.name for span in spans(db)]


@pytest.mark.fault(9)
@pytest.mark.parametrize("kind", hostile.BASE_EXCEPTIONS)
def test_a_loader_that_raises_is_tried_again_and_its_thread_lives(host, db, kind):
    loader = Loader(kind("a bug"), kind("again"))
    provider, processor, others = host(db, loader="thread", _loader_factory=loader)
    processor._door._loading._retry_s = 0.05
    assert (work(provider), others_saw(others)) == (UNHURT, WHOLE)
    assert not processor.force_flush(5_000) or not loader.errors
    assert loader.turned.wait(10)
    assert processor.force_flush(5_000)
    assert len(spans(db)) == 2


@pytest.mark.fault(9)
@pytest.mark.parametrize("kind", hostile.BASE_EXCEPTIONS)
def test_on_run_may_raise_anything_and_is_called_for_every_run(host, db, kind, caplog):
    seen = []

    def on_run(run):
        seen.append(run.run_id)
        raise kind("the application's bug")

    provider, processor, others = host(db, loader="thread", on_run=on_run, _loader_factory=Loader())
    assert (work(provider), others_saw(others)) == (UNHURT, WHOLE)
    assert processor.force_flush(5_000)
    assert seen[:2] == ["r1", "r2"]
    assert "on_run failed for run r1" in caplog.text


@pytest.mark.fault(9)
def test_shutdown_reaches_the_processors_after_ours(db, monkeypatch):
    class After(SpanProcessor):
        down = False

        def shutdown(self):
            self.down = True

    provider, after = TracerProvider(shutdown_on_exit=False), After()
    provider.add_span_processor(RunLogSpanProcessor(db, loader="off"))
    provider.add_span_processor(after)
    monkeypatch.setattr("otel_runlog.door.door.Door.close", lambda door: hostile._raises())
    provider.shutdown()
    assert after.down


@pytest.mark.fault(9)
@pytest.mark.parametrize("kind", hostile.BASE_EXCEPTIONS)
def test_the_exporter_answers_failure_and_never_raises(db, monkeypatch, kind):
    def bug(*arguments, **named):
        raise kind("a bug")

    exporter = RunLogSpanExporter(db, loader="off")
    span = TracerProvider(shutdown_on_exit=False).get_tracer("t").start_span("a")
    span.end()
    monkeypatch.setattr("otel_runlog.journal.JournalWriter.append", bug)
    assert exporter.export([span]) is SpanExportResult.FAILURE
    assert not exporter.force_flush()
    monkeypatch.setattr("otel_runlog.door.door.Door.close", bug)
    exporter.shutdown()


class Alarm:
    """Raises SIGINT in the thread that asks, once, after it was set."""

    armed = False

    def ring(self):
        if self.armed:
            self.armed = False
            signal.raise_signal(signal.SIGINT)

    def before(self, original):
        """`original`, with the alarm before it."""

        def call(*arguments, **named):
            self.ring()
            return original(*arguments, **named)

        return call


@pytest.mark.fault(9, 23)
def test_one_span_that_cannot_be_exported_costs_no_other(db, monkeypatch):
    exporter, tracer = RunLogSpanExporter(db, loader="off"), TracerProvider(shutdown_on_exit=False).get_tracer("t")
    batch = [tracer.start_span(f"s{number}") for number in range(512)]
    for span in batch:
        span.end()
    original = SpanEncoder.encode_span

    def encode(encoder, span, **arguments):
        if span.get_span_context().span_id == batch[7].get_span_context().span_id:
            raise SystemExit
        return original(encoder, span, **arguments)

    monkeypatch.setattr(SpanEncoder, "encode_span", encode)
    assert exporter.export(batch) is SpanExportResult.FAILURE
    assert [span.name for span in spans(db)] == [f"s{number}" for number in range(512) if number != 7]
    exporter.shutdown()


@pytest.mark.fault(4)
@pytest.mark.parametrize("where", ["redactor", "encoder", "journal"])
def test_a_signal_that_arrives_in_our_code_goes_on_and_costs_no_span(host, db, monkeypatch, where):
    alarm = Alarm()
    provider, processor, _ = host(db, redact=lambda key, text: (where == "redactor" and alarm.ring()) or text)
    if where == "encoder":
        monkeypatch.setattr(SpanEncoder, "encode_span", alarm.before(SpanEncoder.encode_span))
    if where == "journal":
        monkeypatch.setattr(JournalWriter, "append", alarm.before(JournalWriter.append))
    span = provider.get_tracer("app").start_span("a", attributes={"k": "v"})
    alarm.armed = True
    with pytest.raises(KeyboardInterrupt):
        span.end()
    assert [(span.name, span.attributes) for span in spans(db)] == [("a", {"k": "v"})]
    assert processor.dropped == {}


@pytest.mark.fault(9)
def test_a_timeout_by_signal_goes_on_through_our_code(host, db):
    def too_long(number, frame):
        raise TimeoutError("the application's patience")

    provider, _, _ = host(db, redact=lambda key, text: signal.raise_signal(signal.SIGALRM) or text)
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        with pytest.raises(TimeoutError, match="patience"):
            provider.get_tracer("app").start_span("a")
    finally:
        signal.signal(signal.SIGALRM, before)


# attributes


def emit(provider, name, key, value):
    """One span with what the SDK takes of a hostile attribute, and one that is known to be good.

    The SDK itself raises for some values, into the application's own call; that is none of ours.
    """
    span = provider.get_tracer("app").start_span(name, attributes={"good": 1})
    with contextlib.suppress(Exception, hostile.Given):
        span.set_attribute(key, value)
    with contextlib.suppress(Exception, hostile.Given):
        span.add_event("event", {key: value})
    with contextlib.suppress(Exception, hostile.Given):
        span.add_link(SpanContext(1, 2, is_remote=False), {key: value})
    with contextlib.suppress(Exception, hostile.Given):
        span.set_status(StatusCode.ERROR, value)
    span.end()


@pytest.mark.fault(23)
@pytest.mark.parametrize("number", range(hostile.HOW_MANY_ODD))
@pytest.mark.parametrize("arguments", [{}, {"redact": lambda key, text: text}, {"content": "hash"}])
def test_every_odd_attribute_costs_no_span(host, db, number, arguments):
    provider, processor, _ = host(db, **arguments)
    emit(provider, "odd", "gen_ai.input.messages", hostile.odd_values()[number])
    (found,) = spans(db)
    assert (found.name, found.attributes["good"], processor.dropped) == ("odd", 1, {})


@pytest.mark.fault(23)
@pytest.mark.parametrize("number", range(hostile.HOW_MANY_ODD))
@pytest.mark.parametrize(
    "arguments", [{}, {"redact": lambda key, text: text}, {"content": "off"}, {"durability": "queue"}]
)
def test_a_span_made_by_hand_of_odd_parts_is_kept_without_them(host, db, number, arguments):
    _, processor, _ = host(db, **arguments)
    odd = hostile.odd_values()[number]
    context = SpanContext(7, 8, is_remote=False, trace_flags=TraceFlags(1))
    made = ReadableSpan(
        name=odd,
        context=context,
        resource=Resource({}),
        attributes={"odd": odd, "good": 1, "in.list": [odd, 2]},
        events=[Event("fine", {"good": 1}, 5), Event(odd, {"odd": odd}, odd)],
        links=[Link(context, {"odd": odd}), Link(context, {"good": 1})],
        status=Status(StatusCode.OK),
        start_time=odd,
        end_time=odd,
    )
    processor.on_end(made)
    processor.force_flush(5_000)
    (found,) = spans(db)
    assert (found.trace_id, found.attributes["good"], processor.dropped) == (f"{7:032x}", 1, {})
    assert "fine" in [event.name for event in found.events]
    assert {"good": 1} in [link.attributes for link in found.links]


def fuzz(keys, values, db):
    provider = TracerProvider(shutdown_on_exit=False)
    processor = RunLogSpanProcessor(db, loader="off")
    provider.add_span_processor(processor)
    before = len(spans(db))
    for number, (key, value) in enumerate(zip(keys, values, strict=True)):
        emit(provider, f"s{number}", key, value)
    found = spans(db)[before:]
    assert [(span.name, span.attributes["good"]) for span in found] == [(f"s{n}", 1) for n in range(len(keys))]
    assert processor.dropped == {}
    provider.shutdown()


pairs = st.lists(st.tuples(hostile.text | st.integers() | st.none(), hostile.plain), min_size=1, max_size=8)


@pytest.mark.fault(23)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs)
def test_no_attribute_costs_a_span_or_the_applications_peace(tmp_path, found):
    fuzz([key if key != "good" else "bad" for key, _ in found], [value for _, value in found], tmp_path / "f.duckdb")


@pytest.mark.slow
@pytest.mark.fault(23)
@pytest.mark.timeout(900)
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pairs)
def test_no_attribute_of_very_many_does(tmp_path_factory, found):
    db = tmp_path_factory.mktemp("fuzz") / "f.duckdb"
    fuzz([key if key != "good" else "bad" for key, _ in found], [value for _, value in found], db)
