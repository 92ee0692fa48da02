"""The in-process door through a real TracerProvider: what is written, what is answered, what never reaches the app."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time

import pytest
from opentelemetry import baggage, trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from otel_runlog.errors import ConfigError
from otel_runlog.journal import journal_folder, read_segment, segments
from otel_runlog.model import RunLog
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.wire import Signal
from otel_runlog.processor import RunLogSpanExporter, RunLogSpanProcessor


class Report:
    def __init__(self, finished=(), held_by=None):
        self.finished = list(finished)
        self.held_by = held_by


class FakeLoader:
    """Stands for otel_runlog.loader.Loader; remembers its turns."""

    def __init__(self, report=None, error=None, block=None):
        self.turns = 0
        self.threads = set()
        self.report, self.error, self.block = report or Report(), error, block
        self.turned = threading.Event()

    def __call__(self, db):
        self.db = db
        return self

    def turn(self, timeout_s=0.0, *, limit_s=None):
        self.turns += 1
        self.threads.add(threading.current_thread())
        if self.block is not None:
            self.block.wait(20)
        self.turned.set()
        if self.error is not None:
            raise self.error
        return self.report


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


@pytest.fixture
def provider():
    made = TracerProvider(shutdown_on_exit=False)
    yield made
    made.shutdown()


def added(provider, db, **arguments):
    arguments.setdefault("loader", "off")
    processor = RunLogSpanProcessor(db, **arguments)
    provider.add_span_processor(processor)
    return processor


def records(db):
    return [record for segment in segments(journal_folder(db)) for record in read_segment(segment.path).records]


def spans(db, signal=Signal.TRACES):
    found = [read_traces(record.body, record.encoding).spans for record in records(db) if record.signal is signal]
    return [span for batch in found for span in batch]


def names(db, signal=Signal.TRACES):
    return [span.name for span in spans(db, signal)]


def remote_parent():
    context = SpanContext(trace_id=0xA1, span_id=0xB2, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(context))


# what is written


@pytest.mark.parametrize("durability", ["process", "power"])
def test_a_span_is_in_the_journal_when_end_returns(provider, db, durability):
    added(provider, db, durability=durability)
    before = time.time_ns()
    span = provider.get_tracer("t").start_span("work", attributes={"gen_ai.request.model": "m", "n": 3})
    span.end()
    (found,) = spans(db)
    assert (found.name, found.attributes) == ("work", {"gen_ai.request.model": "m", "n": 3})
    assert found.span_id == format(span.get_span_context().span_id, "016x")
    assert before <= records(db)[-1].received_ns <= time.time_ns()


def test_queue_writes_at_the_latest_on_flush(provider, db):
    processor = added(provider, db, durability="queue")
    for number in range(500):
        provider.get_tracer("t").start_span(f"s{number}").end()
    assert processor.force_flush(5_000)
    assert names(db) == [f"s{number}" for number in range(500)]


def test_what_does_not_fit_in_the_queue_waits_for_the_disk(provider, db):
    processor = added(provider, db, durability="queue")
    processor._door._queue._most_bytes = 10_000
    for _ in range(20):
        provider.get_tracer("t").start_span("large", attributes={"text": "x" * 20_000}).end()
    assert processor.force_flush(5_000)
    assert (names(db), processor.dropped) == (["large"] * 20, {})


def test_starts_are_written_for_local_roots_and_agents_only(provider, db):
    added(provider, db)
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("root"):
        with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}):
            pass
        with tracer.start_as_current_span("sub", attributes={"gen_ai.operation.name": "invoke_agent"}):
            pass
        with tracer.start_as_current_span("oi", attributes={"openinference.span.kind": "AGENT"}):
            pass
    with tracer.start_as_current_span("server", context=remote_parent()):
        pass
    assert names(db, Signal.STARTS) == ["root", "sub", "oi", "server"]
    assert [span.ended_ns for span in spans(db, Signal.STARTS)] == [None] * 4
    assert names(db) == ["chat", "sub", "oi", "root", "server"]


def test_a_start_and_its_end_are_the_same_span(provider, db):
    added(provider, db)
    provider.get_tracer("t").start_span("root", attributes={"a": 1}).end()
    (start,), (end,) = spans(db, Signal.STARTS), spans(db)
    assert (start.trace_id, start.span_id, start.started_ns) == (end.trace_id, end.span_id, end.started_ns)


def test_unsampled_spans_are_not_written(db):
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    added(provider, db)
    provider.get_tracer("t").start_span("root").end()
    assert records(db) == []


def test_labels_are_put_on_local_roots(provider, db):
    added(provider, db, labels={"team": "blue"})
    tracer = provider.get_tracer("t")
    with tracer.start_as_current_span("root"), tracer.start_as_current_span("child"):
        pass
    assert [span.attributes for span in spans(db)] == [{}, {"runlog.label.team": "blue"}]
    assert spans(db, Signal.STARTS)[0].attributes == {"runlog.label.team": "blue"}


def test_the_run_id_in_baggage_is_copied_and_what_the_span_has_stays(provider, db):
    added(provider, db)
    context = baggage.set_baggage("runlog.run.id", "run-1")
    context = baggage.set_baggage("runlog.label.task", "W2", context)
    context = baggage.set_baggage("session.id", "s1", context)
    context = baggage.set_baggage("theirs", "x", context)
    context = baggage.set_baggage("runlog.huge", "x" * 1_000, context)
    provider.get_tracer("t").start_span("a", context=context, attributes={"session.id": "own"}).end()
    assert spans(db)[0].attributes == {"runlog.run.id": "run-1", "runlog.label.task": "W2", "session.id": "own"}


def test_session_baggage_without_a_run_is_somebody_elses(provider, db):
    added(provider, db)
    provider.get_tracer("t").start_span("a", context=baggage.set_baggage("session.id", "browser")).end()
    assert spans(db)[0].attributes == {}


def test_the_journal_is_private(provider, db):
    added(provider, db)
    provider.get_tracer("t").start_span("a").end()
    (segment,) = segments(journal_folder(db))
    assert stat.S_IMODE(segment.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(segment.path.parent.stat().st_mode) == 0o700


def test_a_relative_path_does_not_move_with_the_process(provider, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    added(provider, "runs.duckdb")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    provider.get_tracer("t").start_span("a").end()
    assert names(tmp_path / "runs.duckdb") == ["a"]


# added more than once


@pytest.mark.parametrize("times", [2, 29])
def test_the_same_processor_added_again_counts_once_and_warns_once(provider, db, caplog, times):
    processor = added(provider, db)
    for _ in range(times - 1):
        provider.add_span_processor(processor)
    for name in ("a", "b"):
        provider.get_tracer("t").start_span(name).end()
    assert (names(db), names(db, Signal.STARTS)) == (["a", "b"], ["a", "b"])
    assert [record.levelname for record in caplog.records if record.name == "otel_runlog"] == ["WARNING"]
    assert processor.dropped == {}


def test_several_processors_and_exporters_on_one_store_count_once_and_warn_once(provider, db, caplog):
    for _ in range(5):
        added(provider, db)
    exporter = RunLogSpanExporter(db, loader="off")
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    provider.add_span_processor(BatchSpanProcessor(exporter))
    for name in ("a", "b"):
        provider.get_tracer("t").start_span(name).end()
    assert provider.force_flush(5_000)
    assert sorted(names(db)) == ["a", "b"]
    assert len([record for record in caplog.records if record.name == "otel_runlog"]) == 1


def test_two_stores_both_get_every_span(provider, tmp_path, caplog):
    for name in ("one", "two"):
        added(provider, tmp_path / name)
    provider.get_tracer("t").start_span("a").end()
    assert [names(tmp_path / name) for name in ("one", "two")] == [["a"], ["a"]]
    assert caplog.records == []


# never hurt the host


@pytest.mark.parametrize("where", ["missing/runs.duckdb", "file/runs.duckdb", "with\0nul"])
def test_an_unusable_path_is_logged_once_and_counted(provider, tmp_path, caplog, where):
    (tmp_path / "file").write_text("not a folder")
    processor = added(provider, str(tmp_path / where), loader="thread", _loader_factory=FakeLoader())
    for _ in range(10):
        provider.get_tracer("t").start_span("a").end()
    assert processor.dropped == {"journal": 10}
    assert not processor.force_flush()
    assert len([record for record in caplog.records if record.name == "otel_runlog"]) == 1


def test_flush_is_false_before_any_span_where_the_path_cannot_be_used(provider, tmp_path):
    assert not added(provider, tmp_path / "missing" / "runs.duckdb").force_flush()


def test_loss_is_logged_when_it_ends_and_flush_is_true_again(provider, tmp_path, caplog):
    db = tmp_path / "later" / "runs.duckdb"
    processor = added(provider, db)
    provider.get_tracer("t").start_span("a").end()
    assert not processor.force_flush()
    db.parent.mkdir()
    provider.get_tracer("t").start_span("b").end()
    assert processor.force_flush()
    assert names(db) == ["b"]
    assert "writing again after 1 lost spans" in caplog.records[-1].getMessage()


def test_a_bug_of_ours_never_reaches_the_application(provider, db, monkeypatch):
    processor = added(provider, db)
    monkeypatch.setattr("otel_runlog.otlp.encode.SpanEncoder.encode_span", _fails)
    with provider.get_tracer("t").start_as_current_span("a"):
        answer = 42
    assert (answer, processor.dropped) == (42, {"internal_error": 1})
    assert not processor.force_flush()


def _fails(*arguments, **named):
    raise RecursionError("a bug")


def test_an_interrupt_passes_through(provider, db, monkeypatch):
    added(provider, db)
    span = provider.get_tracer("t").start_span("a")
    monkeypatch.setattr("otel_runlog.otlp.encode.SpanEncoder.encode_span", _interrupted)
    with pytest.raises(KeyboardInterrupt):
        span.end()


def _interrupted(*arguments, **named):
    signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize(
    "wrong",
    [
        {"db": None},
        {"db": ":memory:"},
        {"durability": "disk"},
        {"loader": "process"},
        {"content": "some"},
        {"redact": "x"},
        {"on_run": 3},
        {"labels": {"a": 1}},
        {"capture": object()},
    ],
)
def test_a_wrong_argument_raises(db, wrong):
    with pytest.raises(ConfigError):
        RunLogSpanProcessor(**{"db": db, **wrong})


def test_an_unknown_argument_raises(db):
    with pytest.raises(TypeError):
        RunLogSpanProcessor(db, durabilty="power")


@pytest.mark.parametrize("variable", ["OTEL_RUNLOG_DISABLED", "OTEL_SDK_DISABLED"])
def test_the_environment_switches_it_off(db, monkeypatch, variable):
    monkeypatch.setenv(variable, "true")
    processor = RunLogSpanProcessor(db)
    span = trace.NonRecordingSpan(SpanContext(1, 2, is_remote=False))
    processor.on_start(span)
    processor.on_end(span)
    assert processor.force_flush()
    processor.shutdown()
    assert not journal_folder(db).exists()
    exporter = RunLogSpanExporter(db)
    assert exporter.export([span]) is SpanExportResult.SUCCESS
    assert exporter.force_flush()
    exporter.shutdown()


def test_limits_that_cut_model_calls_are_logged(db, caplog, monkeypatch):
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "20")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "1000")
    RunLogSpanProcessor(db, loader="off", provider=TracerProvider(shutdown_on_exit=False))
    messages = [record.getMessage() for record in caplog.records]
    assert ["20 attributes" in messages[0], "1000 characters" in messages[1]] == [True, True]


def test_redaction_runs_before_the_journal_for_starts_too_and_its_failures_are_counted(provider, db, caplog):
    def redact(key, text):
        if text == "breaks":
            raise ValueError(text)
        return text.replace("sk-1", "***")

    processor = added(provider, db, redact=redact, content="off")
    attributes = {"a": "sk-1", "b": "breaks", "gen_ai.input.messages": "prompt"}
    provider.get_tracer("t").start_span("call sk-1", attributes=attributes).end()
    whole = b"".join(segment.path.read_bytes() for segment in segments(journal_folder(db)))
    assert [secret for secret in (b"sk-1", b"breaks", b"prompt") if secret in whole] == []
    assert [span.attributes for span in spans(db, Signal.STARTS) + spans(db)] == [{"a": "***"}, {"a": "***"}]
    assert (processor.dropped, processor.left_out) == ({}, {"redaction_failed": 2})
    assert processor.force_flush()
    assert len(caplog.records) == 1


# loading


def test_nothing_is_loaded_on_the_applications_thread(provider, db):
    loader = FakeLoader()
    processor = added(provider, db, loader="thread", _loader_factory=loader)
    provider.get_tracer("t").start_span("root").end()
    assert processor.force_flush(5_000)
    assert loader.db == db
    assert loader.turns >= 1
    assert threading.main_thread() not in loader.threads


def test_no_thread_starts_before_the_first_span(provider, db):
    before = threading.enumerate()
    loader = FakeLoader()
    processor = added(provider, db, loader="thread", _loader_factory=loader)
    assert processor.force_flush()
    assert (loader.turns, set(threading.enumerate()) - set(before)) == (0, set())


def test_a_root_that_ends_is_loaded_without_a_flush(provider, db):
    loader = FakeLoader()
    added(provider, db, loader="thread", _loader_factory=loader)
    provider.get_tracer("t").start_span("root").end()
    assert loader.turned.wait(5)


def test_finished_runs_reach_on_run_and_its_errors_stay_inside(provider, db, caplog):
    runs, seen = [RunLog(run_id="r1"), RunLog(run_id="r2")], []

    def on_run(run):
        seen.append(run.run_id)
        raise ValueError("the user's bug")

    processor = added(
        provider, db, loader="thread", on_run=on_run, _loader_factory=FakeLoader(report=Report(finished=runs))
    )
    provider.get_tracer("t").start_span("root").end()
    assert processor.force_flush(5_000)
    assert seen == ["r1", "r2"]
    assert "on_run failed for run r1" in caplog.text


def test_on_run_may_flush_and_shut_down(provider, db):
    answers = []

    def on_run(run):
        answers.append(processor.force_flush(10_000))
        processor.shutdown()

    report = Report(finished=[RunLog(run_id="r1")])
    processor = added(provider, db, loader="thread", on_run=on_run, _loader_factory=FakeLoader(report=report))
    provider.get_tracer("t").start_span("root").end()
    started = time.monotonic()
    assert processor.force_flush(5_000)
    assert (len(answers), time.monotonic() - started < 4) == (1, True)


def test_flush_is_true_once_journaled_where_another_process_holds_the_store(provider, db, caplog):
    loader = FakeLoader(report=Report(held_by="PID 4711"))
    processor = added(provider, db, loader="thread", _loader_factory=loader)
    provider.get_tracer("t").start_span("root").end()
    assert processor.force_flush(5_000)
    assert processor.force_flush(5_000)
    assert [record.getMessage() for record in caplog.records if "PID 4711" in record.getMessage()] != []
    assert len(caplog.records) == 1


def test_flush_is_false_where_the_store_cannot_be_written(provider, db, caplog):
    loader = FakeLoader(error=RuntimeError("disk is gone"))
    processor = added(provider, db, loader="thread", _loader_factory=loader)
    provider.get_tracer("t").start_span("root").end()
    assert not processor.force_flush(5_000)
    assert "disk is gone" in caplog.text
    loader.error = None
    assert processor.force_flush(5_000)


def test_flush_keeps_its_timeout(provider, db):
    block = threading.Event()
    processor = added(provider, db, loader="thread", _loader_factory=FakeLoader(block=block))
    provider.get_tracer("t").start_span("root").end()
    started = time.monotonic()
    assert not processor.force_flush(200)
    assert time.monotonic() - started < 1
    block.set()


def test_shutdown_gives_up_after_its_limit_and_only_once(provider, db):
    block = threading.Event()
    processor = added(provider, db, loader="thread", _loader_factory=FakeLoader(block=block))
    provider.get_tracer("t").start_span("root").end()
    processor._door.config = _with_exit_limit(processor._door.config, 0.6)  # half of it for a turn to begin
    started = time.monotonic()
    processor.shutdown()
    processor.shutdown()
    assert 0.5 < time.monotonic() - started < 1.5
    block.set()


def _with_exit_limit(config, seconds):
    fields = {name: getattr(config, name) for name in config.__struct_fields__}
    return type(config)(**{**fields, "exit_load_s": seconds})


def test_shutdown_closes_the_segment_and_a_later_span_is_still_kept(provider, db):
    before = threading.enumerate()
    loader = FakeLoader()
    processor = added(provider, db, loader="thread", _loader_factory=loader)
    provider.get_tracer("t").start_span("a").end()
    processor.shutdown()
    processor.shutdown()
    assert set(threading.enumerate()) - set(before) == set()
    (segment,) = segments(journal_folder(db))
    assert (segment.living, read_segment(segment.path).damage) == (False, ())
    provider.get_tracer("t").start_span("b").end()
    assert processor.force_flush(5_000)
    assert names(db) == ["a", "b"]


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_waits_a_moment_for_a_turn_and_goes_on(provider, db):
    block = threading.Event()
    loader = FakeLoader(block=block)
    added(provider, db, loader="thread", _loader_factory=loader)
    provider.get_tracer("t").start_span("root").end()
    while not loader.turns:
        time.sleep(0.01)
    started = time.monotonic()
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    waited = time.monotonic() - started
    os.waitpid(pid, 0)
    block.set()
    assert 0.04 < waited < 1


@pytest.mark.parametrize("durability", ["process", "queue"])
def test_spans_are_kept_where_no_thread_can_be_started(provider, db, monkeypatch, durability):
    processor = added(provider, db, durability=durability, loader="thread", _loader_factory=FakeLoader())
    monkeypatch.setattr(threading.Thread, "start", _no_more_threads)
    provider.get_tracer("t").start_span("a").end()
    started = time.monotonic()
    assert not processor.force_flush(5_000)
    assert (names(db), time.monotonic() - started < 1) == (["a"], True)


def _no_more_threads(thread):
    raise RuntimeError("can't start new thread at interpreter shutdown")


# exporter


def test_the_exporter_writes_what_a_pipeline_gives_it(provider, db):
    provider.add_span_processor(BatchSpanProcessor(RunLogSpanExporter(db, loader="off")))
    for number in range(600):
        provider.get_tracer("t").start_span(f"s{number}").end()
    assert provider.force_flush(5_000)
    assert names(db) == [f"s{number}" for number in range(600)]


def test_the_exporter_says_failure_where_a_span_was_lost(tmp_path, provider):
    exporter = RunLogSpanExporter(tmp_path / "missing" / "runs.duckdb", loader="off")
    span = provider.get_tracer("t").start_span("a")
    span.end()
    assert exporter.export([span]) is SpanExportResult.FAILURE
    assert not exporter.force_flush()


def test_the_entry_point_takes_the_store_from_the_environment(tmp_path):
    script = "from opentelemetry import trace; trace.get_tracer('t').start_span('auto').end()"
    environment = {**os.environ, "OTEL_TRACES_EXPORTER": "runlog", "OTEL_RUNLOG_DB": str(tmp_path / "e.duckdb")}
    environment |= {"OTEL_RUNLOG_LOADER": "off", "OTEL_METRICS_EXPORTER": "none", "OTEL_LOGS_EXPORTER": "none"}
    configure = "from opentelemetry.sdk._configuration import _OTelSDKConfigurator as C; C().configure(); "
    subprocess.run([sys.executable, "-c", configure + script], check=True, env=environment, timeout=30)
    assert names(tmp_path / "e.duckdb") == ["auto"]


def test_importing_the_processor_imports_no_store():
    script = "import sys, otel_runlog.processor; print(sorted({'duckdb', 'grpc', 'genai_prices'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=30)
    assert done.stdout.strip() == "[]"
