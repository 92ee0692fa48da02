"""Losses: counted, logged when they start and end, and told to the journal once it can be written again."""

import os

import pytest
from opentelemetry.sdk.trace import TracerProvider

from otel_runlog.door.loss_records import Loss, encode_losses
from otel_runlog.door.losses import MOST_TRACES, Losses
from otel_runlog.errors import JournalError
from otel_runlog.journal import JournalWriter, journal_folder, read_segment, segments
from otel_runlog.loader import Loader
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.processor import RunLogSpanProcessor
from otel_runlog.store.reader import StoreReader


def read(body):
    decoded = read_logs(body, Encoding.PROTOBUF)
    assert decoded.rejected == {}
    return decoded.records


def told(record):
    return record.trace_id, record.attributes["runlog.drop.reason"], record.attributes["runlog.drop.spans"]


def test_a_loss_is_a_log_record_of_its_trace():
    losses = [Loss("journal", 0xA1, 3), Loss("queue_full", None, 300)]
    first, second = read(encode_losses(losses, 1_795_910_400_000_000_000))
    assert (first.event_name, first.scope.name, first.severity_text) == (
        "runlog.spans_dropped",
        "otel_runlog",
        "WARN",
    )
    assert first.time_ns == first.observed_ns == 1_795_910_400_000_000_000
    assert told(first) == (f"{0xA1:032x}", "journal", 3)
    assert told(second) == (None, "queue_full", 300)


def test_losses_are_taken_once_and_may_be_given_back():
    losses = Losses()
    for trace_id in (1, 1, 2):
        losses.count("journal", trace_id=trace_id)
    losses.count("journal", 0, trace_id=3)
    taken = losses.take_unreported()
    assert taken == [Loss("journal", 1, 2), Loss("journal", 2, 1)]
    assert (losses.take_unreported(), losses.has_unreported) == ([], False)
    losses.give_back(taken)
    losses.count("journal", trace_id=1)
    assert losses.take_unreported() == [Loss("journal", 1, 3), Loss("journal", 2, 1)]


def test_beyond_so_many_traces_only_reasons_are_counted():
    losses = Losses()
    for trace_id in range(MOST_TRACES + 500):
        losses.count("journal", trace_id=trace_id)
    losses.count("journal", trace_id=0)
    taken = losses.take_unreported()
    assert len(taken) == MOST_TRACES + 1
    assert (taken[0], taken[-1]) == (Loss("journal", 0, 2), Loss("journal", None, 500))
    assert losses.by_reason == {"journal": MOST_TRACES + 501}


def test_a_forked_child_starts_from_zero():
    losses = Losses()
    losses.count("journal", trace_id=1)
    losses.count_value("redaction_failed")
    losses.after_fork()
    assert (losses.by_reason, losses.values_by_reason, losses.has_unreported, losses.losing) == ({}, {}, False, False)


def test_loss_is_logged_when_it_starts_and_ends_with_counts(caplog):
    losses = Losses()
    for _ in range(3):
        losses.count("journal", error=JournalError("no room"))
    losses.over()
    losses.over()
    losses.count("queue_full", 2)
    losses.at_end()
    losses.at_end()
    assert [record.getMessage() for record in caplog.records] == [
        "spans are being lost (journal): no room",
        "writing again after 3 lost spans; all in all: {'journal': 3}",
        "spans are being lost (queue_full): no further cause is known",
        "closing after 2 lost spans; all in all: {'journal': 3, 'queue_full': 2}",
    ]


def test_the_cause_of_a_loss_is_logged_without_what_a_span_may_hold(caplog):
    losses = Losses()
    try:
        {}["sk-secret"]
    except KeyError as error:
        losses.count("internal_error", error=error)
    assert "KeyError at " in caplog.text
    assert "sk-secret" not in caplog.text


# through the door


class Disk:
    """A journal that can be made to fail."""

    full = False

    def patch(self, monkeypatch):
        original = JournalWriter.append

        def append(writer, *record):
            if self.full:
                raise JournalError("the disk is full")
            original(writer, *record)

        monkeypatch.setattr(JournalWriter, "append", append)


@pytest.fixture
def disk(monkeypatch):
    made = Disk()
    made.patch(monkeypatch)
    return made


@pytest.fixture
def set_up(tmp_path):
    providers = []

    def make(**arguments):
        provider = TracerProvider(shutdown_on_exit=False)
        processor = RunLogSpanProcessor(tmp_path / "runs.duckdb", **{"loader": "off", **arguments})
        provider.add_span_processor(processor)
        providers.append(provider)
        return provider.get_tracer("t"), processor

    yield make
    for provider in providers:
        provider.shutdown()


def records(tmp_path, signal):
    folder = journal_folder(tmp_path / "runs.duckdb")
    return [r for s in segments(folder) for r in read_segment(s.path).records if r.signal is signal]


def drops(tmp_path):
    return [told(record) for r in records(tmp_path, Signal.LOGS) for record in read(r.body)]


def names(tmp_path):
    return [read_traces(r.body, r.encoding).spans[0].name for r in records(tmp_path, Signal.TRACES)]


def trace_id(span):
    return format(span.get_span_context().trace_id, "032x")


def end(span):
    span.end()
    return span


@pytest.mark.fault(14)
@pytest.mark.parametrize("durability", ["process", "queue", "power"])
@pytest.mark.parametrize("again", ["span", "flush", "close"])
def test_the_journal_is_told_once_it_can_be_written(set_up, disk, tmp_path, durability, again):
    tracer, processor = set_up(durability=durability)
    disk.full = True
    lost = [end(tracer.start_span(f"lost-{number}")) for number in range(3)]
    assert not processor.force_flush(5_000)
    disk.full = False
    if again == "span":
        tracer.start_span("kept").end()
        assert processor.force_flush(5_000)
    elif again == "flush":
        assert processor.force_flush(5_000)
    else:
        processor.shutdown()
    expected = [(trace_id(span), "journal", 1) for span in lost]
    assert drops(tmp_path) == expected
    processor.force_flush(5_000)
    processor.shutdown()
    assert drops(tmp_path) == expected
    assert names(tmp_path) == (["kept"] if again == "span" else [])


def test_spans_of_one_trace_are_one_record_and_a_bug_is_a_reason_of_its_own(set_up, disk, tmp_path, monkeypatch):
    tracer, processor = set_up()
    disk.full = True
    with tracer.start_as_current_span("root") as root:
        for number in range(5):
            tracer.start_span(f"child-{number}").end()
    disk.full = False
    with monkeypatch.context() as patch:
        patch.setattr("otel_runlog.otlp.encode.SpanEncoder.encode_span", lambda *a, **k: 1 / 0)
        bug = end(tracer.start_span("bug"))
    processor.shutdown()
    assert drops(tmp_path) == [(trace_id(root), "journal", 6), (trace_id(bug), "internal_error", 1)]
    assert processor.dropped == {"journal": 6, "internal_error": 1}


def test_what_cannot_be_told_yet_is_told_later(set_up, disk, tmp_path):
    tracer, processor = set_up()
    disk.full = True
    first = end(tracer.start_span("a"))
    assert not processor.force_flush(5_000)
    processor.shutdown()
    second = end(tracer.start_span("b"))
    disk.full = False
    processor.force_flush(5_000)
    assert drops(tmp_path) == [(trace_id(first), "journal", 1), (trace_id(second), "journal", 1)]


@pytest.mark.fault(9, 14)
def test_the_store_shows_what_was_lost_in_its_books_and_on_the_run(set_up, disk, tmp_path):
    tracer, processor = set_up()
    with tracer.start_as_current_span("root", attributes={"gen_ai.operation.name": "invoke_agent"}):
        tracer.start_span("kept").end()
        disk.full = True
        for _ in range(3):
            tracer.start_span("lost").end()
        disk.full = False
    processor.shutdown()
    Loader(tmp_path / "runs.duckdb").turn()
    with StoreReader(tmp_path / "runs.duckdb") as reader:
        columns = "received, stored, duplicate, conflict, superseded, dropped::varchar"
        (books,) = reader.query(f"select {columns} from books").rows
        (run,) = reader.query("select complete, warnings::varchar from runs").rows
    assert books == (6, 2, 0, 0, 1, '{"journal":3}')
    assert run[0] is False
    assert "spans_dropped" in run[1]


@pytest.mark.fault(5)
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_child_tells_nothing_of_its_parents_losses(set_up, disk, tmp_path):
    tracer, processor = set_up()
    disk.full = True
    lost = end(tracer.start_span("lost"))
    disk.full = False
    if (pid := os.fork()) == 0:
        code = 1
        try:
            tracer.start_span("child").end()
            processor.force_flush(5_000)
            code = 0 if processor.dropped == {} else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert drops(tmp_path) == []
    processor.force_flush(5_000)
    assert drops(tmp_path) == [(trace_id(lost), "journal", 1)]
    assert names(tmp_path) == ["child"]
