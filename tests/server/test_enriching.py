"""Spans go on with their run, kind, tokens and cost once their run is closed, or with what is known after a while."""

import json
import time
from collections import Counter

import pytest
from backends import GrpcBackend, HttpBackend
from forwarding import Counted, append, destination
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otel_runlog.journal import JournalWriter, cursors, journal_folder, segments
from otel_runlog.loader import Loader
from otel_runlog.model import LogRecord
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward import cursor_names, forwarder, forwarders_for
from otel_runlog.server.forward.log_requests import encode_logs
from otel_runlog.server.forward.span_wire import span_keys, with_attributes
from otel_runlog.server.turns import StoreTurns
from otel_runlog.store.reader import StoreReader
from otel_runlog.testing import TraceBuilder

PATIENT_S = 60.0


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch):
    monkeypatch.setitem(forwarder._RESTS_S, forwarder._Step.NOT_READY, 0.05)


class Setup:
    """A store, its journal, a backend and the forwarders to it."""

    def __init__(self, tmp_path, backend, **settings):
        self.db = tmp_path / "runs.duckdb"
        self.folder = journal_folder(self.db)
        self.writer = JournalWriter(self.folder)
        self.backend = backend
        self.count = Counted()
        self.turns = StoreTurns()
        self.destination = destination(backend.url, **{"enrich": True, "enrich_wait_s": PATIENT_S, **settings})
        self.begin()

    def begin(self):
        cursors.configured(self.folder, cursor_names([self.destination]))
        self.forwarders = forwarders_for(self.destination, self.db, self.turns, self.count, lambda: None)
        for one in self.forwarders:
            one.start()

    def load(self):
        with self.turns.writing():
            return Loader(self.db).turn(2.0)

    def spans(self):
        return {s.span_id: s for r in self.backend.kept if r.signal is Signal.TRACES for s in read(r)}

    def stop(self):
        for one in self.forwarders:
            assert one.stop(5.0)

    def close(self):
        self.stop()
        self.writer.close()
        self.backend.close()


def read(request):
    return read_traces(request.body, request.encoding).spans


@pytest.fixture
def setup(tmp_path):
    made = []

    def make(backend=HttpBackend, **settings):
        made.append(Setup(tmp_path, backend(), **settings))
        return made[-1]

    yield make
    for one in made:
        one.close()


def a_run(name="a run"):
    """A root, a model call of an emitter that leaves cached tokens out of its input, and a span that is no step."""
    trace = TraceBuilder(name)
    root = trace.agent("planner")
    said = {"gen_ai.usage.input_tokens": 1000, "gen_ai.usage.cache_read.input_tokens": 200}
    trace.chat("gpt-4o-mini", said, parent=root, input_tokens=1000, output_tokens=50)
    trace.span("GET /", parent=root)
    return trace.spans


@pytest.mark.parametrize("backend", [HttpBackend, GrpcBackend])
def test_spans_of_a_closed_run_go_on_with_what_the_store_knows(setup, backend):
    s, (root, call, plain) = setup(backend), a_run()
    append(s.writer, [call, plain, root])
    assert s.load().spans == 3
    assert s.backend.wait_for(lambda: len(s.spans()) == 3)
    with StoreReader(s.db) as reader:
        [run] = reader.runs(with_steps=True)
    sent = s.spans()
    got = sent[call.span_id].attributes
    assert got["runlog.run.id"] == sent[root.span_id].attributes["runlog.run.id"] == run.run_id
    assert (got["runlog.step.kind"], sent[root.span_id].attributes["runlog.step.kind"]) == ("llm", "agent")
    assert got["runlog.cost_usd"] == pytest.approx(float(run.cost_estimate.usd))
    assert got["gen_ai.usage.output_tokens"] == 50
    assert got["gen_ai.usage.input_tokens"] == run.tokens.input_tokens
    assert got["gen_ai.usage.cache_read.input_tokens"] == 200
    assert got["gen_ai.request.model"] == call.attributes["gen_ai.request.model"]
    assert sent[plain.span_id].attributes == plain.attributes
    assert "runlog.cost_usd" not in sent[root.span_id].attributes


def test_an_attribute_never_stands_twice_on_a_span(setup):
    s, them = setup(), a_run()
    them[1].attributes["runlog.cost_usd"] = 7.0
    append(s.writer, them)
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 3)
    request = ExportTraceServiceRequest.FromString(b"".join(r.body for r in s.backend.kept))
    for block in request.resource_spans:
        for scope in block.scope_spans:
            for span in scope.spans:
                assert set(Counter(pair.key for pair in span.attributes).values()) <= {1}


def test_spans_wait_until_their_run_is_closed(setup):
    s, (root, call, plain) = setup(), a_run()
    append(s.writer, [call, plain])
    s.load()
    time.sleep(0.4)
    assert s.backend.requests == []
    append(s.writer, [root])
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 3)
    assert s.spans()[call.span_id].attributes["runlog.run.id"] == s.spans()[root.span_id].attributes["runlog.run.id"]


def test_spans_that_are_not_loaded_wait(setup):
    s, them = setup(), a_run()
    append(s.writer, them[:1])
    s.load()
    append(s.writer, [trace_span := TraceBuilder("other").span("GET /")])
    assert s.backend.wait_for(lambda: len(s.spans()) == 1)
    time.sleep(0.3)
    assert trace_span.span_id not in s.spans()
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 2)


def test_after_a_while_a_span_goes_on_with_what_is_known(setup):
    s, (_, call, _) = setup(enrich_wait_s=0.5), a_run()
    append(s.writer, [call])
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 1)
    assert s.spans()[call.span_id].attributes["runlog.step.kind"] == "llm"


@pytest.mark.fault(54)
def test_a_clock_that_is_set_back_holds_no_span_up(setup):
    s, (_, call, _) = setup(enrich_wait_s=0.5), a_run()
    an_hour_ahead_ns = time.time_ns() + 3600 * 10**9
    s.writer.append(Signal.TRACES, Encoding.PROTOBUF, an_hour_ahead_ns, encode_spans([call]))
    assert s.backend.wait_for(lambda: len(s.spans()) == 1)


def test_without_a_store_a_span_goes_on_as_it_was_received(setup):
    s, (_, call, _) = setup(enrich_wait_s=0.2), a_run()
    append(s.writer, [call])
    assert s.backend.wait_for(lambda: len(s.spans()) == 1)
    assert s.spans()[call.span_id].attributes == call.attributes


def test_what_has_waited_long_enough_does_not_take_along_what_has_just_come(setup):
    s, (_, call, plain) = setup(), a_run()
    record = encode_spans([call])
    s.writer.append(Signal.TRACES, Encoding.PROTOBUF, time.time_ns() - int(2 * PATIENT_S * 1e9), record)
    append(s.writer, [plain])
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 1)
    time.sleep(0.3)
    assert set(s.spans()) == {call.span_id}


def test_json_is_enriched_too(setup):
    s, them = setup(), a_run()
    append(s.writer, them, per_record=3, encoding=Encoding.JSON)
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 3)
    assert s.spans()[them[1].span_id].attributes["runlog.step.kind"] == "llm"


def finished(s):
    """What was told of finished runs, in either form, by run id and version."""
    logs = [log.attributes for log in s.backend.log_records() if log.event_name == "runlog.run"]
    spans = [span.attributes for r in s.backend.kept if r.signal is Signal.TRACES for span in read(r)]
    found = [a for a in (*logs, *spans) if "runlog.run.version" in a]
    return [(a["runlog.run.id"], a["runlog.run.version"]) for a in found]


@pytest.mark.parametrize("form", ["logs", "spans"])
def test_a_finished_run_is_told_once(setup, form):
    s, them = setup(enrich=False, runs=form), a_run()
    append(s.writer, them[1:])
    s.load()
    assert s.backend.wait_for(lambda: len(s.spans()) == 2)
    assert finished(s) == []
    append(s.writer, them[:1])
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 1)
    append(s.writer, them)  # again, all duplicates
    s.load()
    append(s.writer, a_run("another"))
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 2)
    with StoreReader(s.db) as reader:
        assert Counter(finished(s)) == {(run.run_id, 1): 1 for run in reader.runs()}


def test_a_run_says_what_it_was(setup):
    s, them = setup(enrich=False, runs="logs"), a_run()
    append(s.writer, them)
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 1)
    with StoreReader(s.db) as reader:
        [run] = reader.runs()
    [told] = [log for log in s.backend.log_records() if log.event_name == "runlog.run"]
    assert (told.trace_id, told.span_id) == (run.trace_id, run.root_span_id)
    assert told.attributes == {
        "runlog.run.id": run.run_id,
        "runlog.run.version": 1,
        "runlog.run.agent": "planner",
        "runlog.run.status": "completed",
        "runlog.run.duration_ms": run.duration_ms,
        "runlog.run.steps": 1,
        "runlog.run.llm_calls": 1,
        "runlog.run.tool_calls": 0,
        "runlog.run.errors": 0,
        "runlog.run.input_tokens": run.tokens.input_tokens,
        "runlog.run.output_tokens": 50,
        "runlog.run.cache_read_tokens": 200,
        "runlog.run.cost_usd": pytest.approx(float(run.cost_estimate.usd)),
        "runlog.run.cost_status": "estimated",
        "runlog.run.complete": True,
    }
    assert told.resource.attributes == {"service.name": "tests"}


def test_a_late_span_makes_a_version_that_is_told_too(setup):
    s, (root, call, _) = setup(enrich=False, runs="logs"), a_run()
    append(s.writer, [root])
    s.load()
    append(s.writer, [call])
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) >= 1 and finished(s)[-1][1] == 2)
    assert len(set(finished(s))) == len(finished(s))


def test_a_forwarder_that_begins_again_tells_nothing_again(setup):
    s = setup(enrich=False, runs="spans")
    append(s.writer, a_run())
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 1)
    s.stop()
    s.begin()
    append(s.writer, a_run("another"))
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 2)
    assert len(set(finished(s))) == 2


def test_killed_after_the_answer_and_before_the_note_a_run_is_told_again_with_the_same_ids(setup):
    s = setup(enrich=False, runs="spans")
    append(s.writer, a_run())
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 1)
    s.stop()
    cursors.save(s.folder, "there.runs", cursors.Cursor())  # as it was before
    (s.folder / "cursors" / "there.runs.told").unlink()
    s.begin()
    assert s.backend.wait_for(lambda: len(finished(s)) == 2)
    assert len(set(finished(s))) == 1
    told = [span for r in s.backend.kept for span in read(r) if span.name == "runlog.run"]
    assert told[0] == told[1]


@pytest.mark.parametrize("encoding", list(Encoding))
def test_a_log_record_that_changes_a_run_has_it_told_again(setup, encoding):
    """A model call without usage, and the record that has it, which comes later."""
    s = setup(enrich=False, runs="spans", signals=("traces",))
    trace = TraceBuilder("told late")
    root = trace.agent("planner")
    call = trace.chat("gpt-4o-mini", parent=root)
    append(s.writer, trace.spans)
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 1)
    usage = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 7, "gen_ai.usage.output_tokens": 3}
    record = LogRecord(
        time_ns=call.ended_ns,
        trace_id=call.trace_id,
        span_id=call.span_id,
        event_name="gen_ai.client.inference.operation.details",
        attributes=usage,
    )
    body = encode_logs([record]) if encoding is Encoding.PROTOBUF else json_of(record)
    s.writer.append(Signal.LOGS, encoding, time.time_ns(), body)
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 2)
    assert [version for _, version in finished(s)] == [1, 2]


def json_of(record):
    pairs = [
        {"key": k, "value": {"stringValue" if isinstance(v, str) else "intValue": v}}
        for k, v in record.attributes.items()
    ]
    told = {
        "timeUnixNano": str(record.time_ns),
        "traceId": record.trace_id,
        "spanId": record.span_id,
        "eventName": record.event_name,
        "attributes": pairs,
    }
    return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [told]}]}]}).encode()


def test_a_segment_waits_for_the_runs_too(setup):
    s = setup(enrich=False, runs="logs")
    append(s.writer, a_run())
    s.writer.close()
    assert s.backend.wait_for(lambda: len(s.spans()) == 3)
    s.forwarders[0].stop(5.0)
    assert len(segments(s.folder)) == 1
    s.load()
    assert s.backend.wait_for(lambda: len(finished(s)) == 1)
    s.stop()
    s.load()
    assert segments(s.folder) == []


def test_spans_are_known_and_changed_on_the_wire_as_protobuf_reads_them():
    """Whatever else a request holds stays byte for byte."""
    them = [*a_run(), *a_run("two")]
    body = encode_spans(them)
    assert list(span_keys(body)) == [(span.trace_id, span.span_id, span.started_ns) for span in them]
    assert with_attributes(body, iter([])) == body
    added = {"runlog.run.id": "é", "n": -5, "f": 0.5, "b": True, "gen_ai.usage.input_tokens": 9}
    changed = read_traces(with_attributes(body, iter([added] * 6)), Encoding.PROTOBUF).spans
    for before, after in zip(them, changed, strict=True):
        assert after.attributes == before.attributes | added
        after.attributes = before.attributes
        assert after == before
