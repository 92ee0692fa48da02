"""Spans go on to backends: whatever these answer, every span is taken, or refused and counted; and nobody waits."""

import json
import logging
import threading
import time

import grpc
import pytest
from backends import GrpcBackend, HttpBackend, Reply, fails_at_random, partial_success
from forwarding import Counted, append, cursor, destination, forwarder, spans

from otel_runlog.door.loss_records import Loss, encode_losses
from otel_runlog.drop_event import EVENT
from otel_runlog.errors import ConfigError
from otel_runlog.journal import JournalWriter, journal_folder, segments
from otel_runlog.model import LogRecord, Scope
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward import Forwarder, cursor_names, pause, requests
from otel_runlog.server.forward import forwarder as forwarder_module
from otel_runlog.server.forward.forwarder import MOST_DIVISIONS, MOST_REFUSED_ALONE
from otel_runlog.server.forward.log_requests import encode_logs
from otel_runlog.server.forward.senders import HttpSender

RETRY_NOW = b"\x0a\x04\x10\x80\x89\x7a"
"""google.rpc.RetryInfo of 2 ms."""
KINDS = {
    "http": (
        HttpBackend,
        Reply(status=503, headers={"retry-after": "0"}, keeps=False),
        Reply(status=403, keeps=False),
        Reply(status=400, keeps=False),
    ),
    "grpc": (
        GrpcBackend,
        Reply(code=grpc.StatusCode.UNAVAILABLE, keeps=False),
        Reply(code=grpc.StatusCode.PERMISSION_DENIED, keeps=False),
        Reply(code=grpc.StatusCode.INVALID_ARGUMENT, keeps=False),
    ),
}


class Kind:
    def __init__(self, name):
        self.name = name
        self.backend, self.later, self.refused, self.bad = KINDS[name]


@pytest.fixture(params=KINDS)
def kind(request):
    return Kind(request.param)


@pytest.fixture(autouse=True)
def quick_retries(monkeypatch):
    monkeypatch.setattr(pause, "FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(pause, "LONGEST_RETRY_S", 0.1)


@pytest.fixture
def closing():
    """What is put in is closed, last first."""
    opened = []
    yield opened.append
    for one in reversed(opened):
        (one.stop(5.0) if isinstance(one, Forwarder) else one.close())


@pytest.fixture
def folder(tmp_path):
    return journal_folder(tmp_path / "runs.duckdb")


@pytest.fixture
def writer(folder, closing):
    made = JournalWriter(folder)
    closing(made)
    return made


def start(closing, folder, backend, count=None, **settings):
    closing(backend)
    made = forwarder(folder, backend.url, count, **settings)
    closing(made)
    return made


def ids(them):
    return {span.span_id: 1 for span in them}


@pytest.mark.parametrize("compression", ["gzip", "none"])
def test_spans_arrive_as_they_were_received(kind, folder, writer, closing, compression):
    them = spans(20)
    append(writer, them, per_record=5)
    backend, count = kind.backend(), Counted()
    start(closing, folder, backend, count, compression=compression, headers={"authorization": "Bearer t"})
    assert backend.wait_for(lambda: len(backend.span_ids()) == 20)
    assert backend.span_ids() == ids(them)
    assert backend.kept[0].body.startswith(encode_spans(them[:5]))
    assert backend.kept[0].headers["authorization"] == "Bearer t"


def test_records_of_one_span_make_one_request(kind, folder, writer, closing):
    append(writer, spans(100))
    backend = kind.backend()
    start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 100)
    assert len(backend.requests) == 1


def test_what_is_journalled_later_follows(kind, folder, writer, closing):
    backend, count = kind.backend(), Counted()
    made = start(closing, folder, backend, count)
    them = spans(6)
    for at in range(3):
        append(writer, them[2 * at : 2 * at + 2])
        made.notify()
        assert backend.wait_for(lambda at=at: len(backend.span_ids()) == 2 * at + 2)
    assert backend.span_ids() == ids(them)
    made.stop(5.0)
    assert count.total("forwarded", "there") == 6


def test_start_records_and_records_of_lost_spans_stay(kind, folder, writer, closing):
    them = spans(2)
    writer.append(Signal.STARTS, Encoding.PROTOBUF, 1, encode_spans(them[:1]))
    writer.append(Signal.LOGS, Encoding.PROTOBUF, 2, encode_losses([Loss("queue_full", None, 3)], 1))
    told = LogRecord(time_ns=5, event_name="runlog.other", body=f"no {EVENT}", scope=Scope("s", "1"))
    writer.append(Signal.LOGS, Encoding.PROTOBUF, 3, encode_logs([told]))
    append(writer, them)
    backend = kind.backend()
    start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.requests) == 2)
    assert backend.span_ids() == ids(them)
    assert [record.event_name for record in backend.log_records()] == ["runlog.other"]


def test_signals_that_are_not_wanted_are_passed_over(kind, folder, writer, closing):
    writer.append(Signal.LOGS, Encoding.PROTOBUF, 3, encode_logs([LogRecord(time_ns=5, body="no")]))
    append(writer, spans(1))
    backend = kind.backend()
    start(closing, folder, backend, signals=("traces",))
    assert backend.wait_for(lambda: len(backend.kept) == 1)
    assert backend.kept[0].signal is Signal.TRACES


def test_json_goes_as_json_over_http_and_as_protobuf_over_grpc(kind, folder, writer, closing):
    them = spans(4)
    append(writer, them, per_record=2, encoding=Encoding.JSON)
    log = {
        "resourceLogs": [
            {"scopeLogs": [{"logRecords": [{"timeUnixNano": "5", "eventName": "e", "body": {"stringValue": "é"}}]}]}
        ]
    }
    writer.append(Signal.LOGS, Encoding.JSON, 3, json.dumps(log).encode())
    backend = kind.backend()
    start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.log_records()) == 1)
    assert backend.span_ids() == ids(them)
    assert [(record.event_name, record.body) for record in backend.log_records()] == [("e", "é")]
    assert {r.encoding for r in backend.kept} == {Encoding.JSON if kind.name == "http" else Encoding.PROTOBUF}


@pytest.mark.fault(9)
def test_an_outage_costs_nothing_and_is_told_once_when_it_begins_and_ends(kind, folder, writer, closing, caplog):
    caplog.set_level(logging.WARNING, "otel_runlog")
    them = spans(3)
    append(writer, them)
    backend, count = kind.backend(lambda request: kind.later), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.refused) >= 4)
    assert made.reached().error
    backend.answer = lambda request: Reply()
    assert backend.wait_for(lambda: len(backend.span_ids()) == 3)
    made.stop(5.0)
    assert backend.span_ids() == ids(them)
    assert made.reached().error is None
    assert count.total("forward_retries", "there") >= 4
    told = [record.getMessage() for record in caplog.records]
    assert len([t for t in told if "takes nothing" in t]) == 1
    assert len([t for t in told if "takes requests again" in t]) == 1


@pytest.mark.fault(9)
def test_a_backend_that_is_not_there_yet_gets_all_when_it_is(kind, folder, writer, closing):
    them = spans(3)
    append(writer, them)
    gone = kind.backend()
    gone.close()
    closing(forwarder(folder, gone.url))
    time.sleep(0.2)
    backend = kind.backend(port=gone.port)
    closing(backend)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 3)


@pytest.mark.fault(9)
def test_a_dead_and_a_slow_backend_hold_up_neither_another_one_nor_the_journal(kind, folder, writer, closing):
    them = spans(50)
    dead = kind.backend(lambda request: kind.later)
    slow = kind.backend(lambda request: Reply(delay_s=1.5))
    good = kind.backend()
    for name, backend in (("dead", dead), ("slow", slow), ("good", good)):
        start(closing, folder, backend, name=name)
    began = time.monotonic()
    append(writer, them)
    assert good.wait_for(lambda: len(good.span_ids()) == 50)
    assert time.monotonic() - began < 1.4


@pytest.mark.fault(9)
def test_what_is_refused_is_dropped_counted_and_told_at_its_start_and_end(kind, folder, writer, closing, caplog):
    caplog.set_level(logging.WARNING, "otel_runlog")
    them = spans(8)
    append(writer, them[:5])
    backend, count = kind.backend(lambda request: kind.refused), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.requests) == 1)
    backend.answer = lambda request: Reply()
    append(writer, them[5:])
    made.notify()
    assert backend.wait_for(lambda: len(backend.span_ids()) == 3)
    made.stop(5.0)
    reason = "http_403" if kind.name == "http" else "grpc_permission_denied"
    assert count.dropped() == {reason: 5}
    assert made.reached().dropped == {reason: 5}
    told = [record.getMessage() for record in caplog.records]
    assert len([t for t in told if "loses spans" in t]) == 1
    assert len([t for t in told if f"lacks 5 ({reason})" in t]) == 1


@pytest.mark.fault(23)
def test_of_joined_records_a_bad_one_costs_itself_alone(kind, folder, writer, closing):
    them = spans(6)
    append(writer, them)
    poison = them[3].span_id
    backend, count = kind.backend(lambda r: kind.bad if poison in r.span_ids else Reply()), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 5)
    made.stop(5.0)
    assert backend.span_ids() == ids(them[:3] + them[4:])
    assert sum(count.dropped().values()) == 1


@pytest.mark.fault(23)
@pytest.mark.parametrize("encoding", list(Encoding))
def test_of_a_request_of_512_spans_a_bad_one_costs_itself_alone(kind, folder, writer, closing, encoding):
    them = spans(512)
    append(writer, them, per_record=512, encoding=encoding)
    poison = them[300].span_id
    backend, count = kind.backend(lambda r: kind.bad if poison in r.span_ids else Reply()), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 511)
    made.stop(5.0)
    assert backend.span_ids() == ids(them[:300] + them[301:])
    assert sum(count.dropped().values()) == 1
    assert count.total("forwarded") == 511


@pytest.mark.fault(23)
def test_a_bad_span_in_the_first_of_several_requests_costs_itself_alone(kind, folder, writer, closing):
    them = spans(40)
    append(writer, them, per_record=10)
    poison = them[3].span_id
    backend, count = kind.backend(lambda r: kind.bad if poison in r.span_ids else Reply()), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 39)
    made.stop(5.0)
    assert sum(count.dropped().values()) == 1


@pytest.mark.fault(28)
def test_a_request_that_is_too_large_for_a_backend_arrives_in_parts(kind, folder, writer, closing):
    them = spans(100)
    append(writer, them, per_record=100)
    too_large = Reply(status=413, code=grpc.StatusCode.RESOURCE_EXHAUSTED, keeps=False)
    backend, count = kind.backend(lambda r: too_large if len(r.body) > 8000 else Reply()), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 100)
    made.stop(5.0)
    assert backend.span_ids() == ids(them)
    assert count.dropped() == {}
    read = [span for request in backend.kept for span in read_traces(request.body, request.encoding).spans]
    assert sorted(read, key=lambda span: span.started_ns) == them


def test_a_backend_that_refuses_everything_is_asked_little_more_than_once_for_each(kind, folder, writer, closing):
    backend, count = kind.backend(lambda request: kind.bad), Counted()
    made = start(closing, folder, backend, count)
    for number in range(3):
        append(writer, spans(512, f"request {number}"), per_record=512)
        made.notify()
        assert backend.wait_for(lambda number=number: count.total("forward_dropped") == 512 * (number + 1))
    made.stop(5.0)
    assert len(backend.requests) <= 1 + 2 * MOST_DIVISIONS + 2


def test_where_each_record_is_refused_the_rest_is_not_tried_one_by_one(kind, folder, writer, closing):
    append(writer, spans(300))
    backend, count = kind.backend(lambda request: kind.bad), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: count.total("forward_dropped") == 300)
    made.stop(5.0)
    assert len(backend.requests) == 1 + MOST_REFUSED_ALONE


@pytest.mark.fault(10)
def test_a_record_that_nobody_foresaw_costs_itself_alone(folder, writer, closing, monkeypatch, caplog):
    monkeypatch.setitem(forwarder_module._RESTS_S, forwarder_module._Step.NOT_READY, 0.01)
    them = spans(6)
    poison = encode_spans(them[2:3])
    made_of = requests.request_of

    def fails(records, **how):
        if any(record.body == poison for record in records):
            raise ZeroDivisionError
        return made_of(records, **how)

    monkeypatch.setattr(requests, "request_of", fails)
    append(writer, them)
    backend, count = HttpBackend(), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 5)
    made.stop(5.0)
    assert count.dropped() == {"unsendable": 1}
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.fault(9)
def test_a_sender_that_raises_is_a_backend_that_does_not_answer(folder, writer, closing, monkeypatch):
    them = spans(2)
    append(writer, them)
    send, raised = HttpSender.send, []

    def raises_once(self, *request):
        if not raised:
            raised.append(1)
            raise ValueError("anything")
        return send(self, *request)

    monkeypatch.setattr(HttpSender, "send", raises_once)
    backend = HttpBackend()
    start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 2)


@pytest.mark.fault(45)
def test_an_answer_that_drips_is_not_waited_for_longer_than_its_time(folder, writer, closing):
    """Its status said that the request was taken."""
    append(writer, spans(1))
    backend, count = HttpBackend(lambda request: Reply(body=b"x" * 200, drip_s=0.05)), Counted()
    start(closing, folder, backend, count, timeout_s=0.5)
    began = time.monotonic()
    assert backend.wait_for(lambda: count.total("forwarded") == 1)
    assert time.monotonic() - began < 5.0


def test_a_note_after_the_end_starts_nothing(folder, writer, closing):
    backend = HttpBackend()
    made = start(closing, folder, backend)
    assert made.stop(5.0)
    append(writer, spans(1))
    made.notify()
    time.sleep(0.3)
    assert backend.requests == []


@pytest.mark.fault(45)
@pytest.mark.parametrize("status", [301, 302, 303, 304, 307, 308])
def test_a_redirect_is_a_failure_and_never_followed(folder, writer, closing, status):
    append(writer, spans(2))
    elsewhere = HttpBackend()
    closing(elsewhere)
    reply = Reply(status=status, headers={"location": elsewhere.url + "/v1/traces"}, keeps=False)
    backend, count = HttpBackend(lambda request: reply), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.requests) == 1)
    made.stop(5.0)
    assert elsewhere.requests == []
    assert count.dropped() == {f"http_{status}": 2}
    assert count.total("forwarded") == 0


@pytest.mark.fault(45)
@pytest.mark.parametrize("reply_body", [b"\0" * (5 << 20), b"\x0a" + b"\xff" * 20, b"no protobuf"])
def test_a_huge_or_illegible_answer_is_a_success_that_says_nothing(kind, folder, writer, closing, reply_body):
    them = spans(2)
    append(writer, them)
    backend, count = kind.backend(lambda request: Reply(body=reply_body)), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.kept) == 1)
    append(writer, spans(1, "more"))
    made.notify()
    assert backend.wait_for(lambda: len(backend.kept) == 2)
    made.stop(5.0)
    assert count.total("forwarded", "there") == 3
    assert len(backend.requests) == 2


def test_partial_success_is_read_and_counted(kind, folder, writer, closing):
    append(writer, spans(5))
    backend, count = kind.backend(lambda request: Reply(body=partial_success(2))), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.requests) == 1)
    made.stop(5.0)
    assert len(backend.requests) == 1
    assert (count.total("forwarded"), count.dropped()) == (3, {"rejected": 2})


def test_partial_success_is_read_in_json_too(folder, writer, closing):
    append(writer, spans(5), per_record=5, encoding=Encoding.JSON)
    answer = b'{"partialSuccess": {"rejectedSpans": "2", "errorMessage": "bad"}}'
    backend, count = HttpBackend(lambda request: Reply(body=answer)), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.requests) == 1)
    made.stop(5.0)
    assert (count.total("forwarded"), count.dropped()) == (3, {"rejected": 2})


def test_resource_exhausted_is_sent_again_only_with_retry_info(folder, writer, closing):
    append(writer, spans(1))
    exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
    busy = Reply(code=exhausted, trailers=(("google.rpc.retryinfo-bin", RETRY_NOW),), keeps=False)
    replies = [busy, busy, Reply(code=exhausted, keeps=False)]
    backend, count = GrpcBackend(lambda request: replies.pop(0)), Counted()
    made = start(closing, folder, backend, count)
    assert backend.wait_for(lambda: len(backend.requests) == 3)
    made.stop(5.0)
    assert count.dropped() == {"grpc_resource_exhausted": 1}
    assert count.total("forward_retries") == 2


@pytest.mark.parametrize("hint", ["header", "trailer", "details"])
def test_a_backend_s_hint_is_waited_for(folder, writer, closing, hint):
    one_second = b"\x0a\x02\x08\x01"
    details = b"\x1a" + bytes([len(GRPC_RETRY) + len(one_second) + 4]) + b"\x0a" + bytes([len(GRPC_RETRY)]) + GRPC_RETRY
    details += b"\x12" + bytes([len(one_second)]) + one_second
    replies = {
        "header": Reply(status=429, headers={"retry-after": "1"}, keeps=False),
        "trailer": Reply(
            code=grpc.StatusCode.UNAVAILABLE, trailers=(("google.rpc.retryinfo-bin", one_second),), keeps=False
        ),
        "details": Reply(
            code=grpc.StatusCode.UNAVAILABLE, trailers=(("grpc-status-details-bin", details),), keeps=False
        ),
    }
    append(writer, spans(1))
    times = []

    def answer(request):
        times.append(time.monotonic())
        return replies[hint] if len(times) == 1 else Reply()

    backend = (HttpBackend if hint == "header" else GrpcBackend)(answer)
    start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.kept) == 1)
    assert 0.95 <= times[1] - times[0] < 2.5


GRPC_RETRY = b"type.googleapis.com/google.rpc.RetryInfo"


@pytest.mark.fault(9)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_contract_of_receivers_under_random_errors(kind, folder, closing, seed):
    """Accepted + rejected == sent, none twice: four writers, temporary and permanent errors at random."""
    backend = kind.backend(fails_at_random(seed, kind.later, kind.bad))
    count = Counted()
    made = start(closing, folder, backend, count, request_bytes=6000)
    sent = [spans(60, f"writer {number}") for number in range(4)]

    def write(them):
        own = JournalWriter(folder, segment_bytes=8000)
        for at in range(0, 60, 3):
            append(own, them[at : at + 3], per_record=3)
            made.notify()
        own.close()

    threads = [threading.Thread(target=write, args=(them,)) for them in sent]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    everything = {span.span_id for them in sent for span in them}
    # what a refusal of one record alone dropped
    backend.wait_for(lambda: count.total("forwarded") + count.total("forward_dropped") == 240)
    made.stop(5.0)
    kept = backend.span_ids()
    assert set(kept.values()) == {1}
    assert set(kept) <= everything
    assert count.total("forwarded") == len(kept)
    assert len(kept) + count.total("forward_dropped") == 240
    assert 0 < count.total("forward_dropped") < 240


def test_stopping_sends_what_is_pending_and_the_next_start_sends_nothing_twice(kind, folder, writer, closing):
    them = spans(30)
    backend = kind.backend()
    made = start(closing, folder, backend)
    append(writer, them)
    assert made.stop(5.0)
    assert backend.span_ids() == ids(them)
    again = forwarder(folder, backend.url)
    append(writer, spans(1, "more"))
    again.notify()
    assert backend.wait_for(lambda: len(backend.span_ids()) == 31)
    assert again.stop(5.0)
    assert set(backend.span_ids().values()) == {1}


def test_stopping_does_not_wait_for_a_backend_that_takes_nothing(kind, folder, writer, closing):
    append(writer, spans(3))
    backend = kind.backend(lambda request: kind.later)
    made = start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.requests) >= 1)
    began = time.monotonic()
    assert made.stop(5.0)
    assert time.monotonic() - began < 2.0
    assert made.pending_bytes() > 0
    assert cursor(folder) == {} or all(place["offset"] < 100 for place in cursor(folder).values())


def test_the_cursor_says_when_a_segment_was_sent_whole(kind, folder, writer, closing):
    append(writer, spans(3))
    writer.close()
    [segment] = segments(folder)
    backend = kind.backend()
    made = start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.span_ids()) == 3)
    assert made.stop(5.0)
    assert cursor(folder) == {segment.name: {"offset": segment.size_bytes, "sequence": 3, "ended": True}}
    assert made.pending_bytes() == 0


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("file:///etc/passwd", "beginning with"),
        ("ftp://host", "beginning with"),
        ("http://", "host"),
        ("http://user:secret@host:4318", "authorization"),
        ("grpc://host:4317/path", "no path"),
        ("http://host:99999", "port"),
    ],
)
@pytest.mark.fault(45)
def test_targets_that_are_none_are_refused_before_anything_starts(folder, url, wrong):
    with pytest.raises(ConfigError, match=wrong) as error:
        Forwarder(folder, destination(url), Counted())
    assert "secret" not in str(error.value)


def test_every_destination_has_cursors_of_its_own():
    twice = [destination("http://host:4318/a"), destination("http://host:4318/b")]
    with pytest.raises(ConfigError, match="'there'"):
        cursor_names(twice)
    with pytest.raises(ConfigError, match=r"'there\.runs'"):
        cursor_names([destination("grpc://host", runs="logs"), destination("grpc://host", name="there.runs")])
    unnamed = [destination("grpc://host", name=""), destination("http://[::1]:4318", name="", runs="spans")]
    assert cursor_names(unnamed) == ["host", "::1:4318", "::1:4318.runs"]


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("", "/v1/traces"),
        ("/", "/v1/traces"),
        ("/v1/traces", "/v1/traces"),
        ("/api/otel", "/api/otel/v1/traces"),
        ("/api/v1/traces?key=1", "/api/v1/traces?key=1"),
    ],
)
def test_v1_traces_is_added_unless_it_is_there(folder, writer, closing, url, path):
    append(writer, spans(1))
    backend = HttpBackend()
    closing(backend)
    closing(forwarder(folder, backend.url + url))
    assert backend.wait_for(lambda: len(backend.requests) == 1)
    assert backend.requests[0].path == path


@pytest.mark.fault(45)
def test_the_environment_gives_neither_a_proxy_nor_a_password(kind, folder, writer, closing, monkeypatch):
    proxy = HttpBackend()
    closing(proxy)
    for name in ("http_proxy", "https_proxy", "all_proxy", "grpc_proxy"):
        monkeypatch.setenv(name, proxy.url)
    (folder.parent / ".netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("HOME", str(folder.parent))
    monkeypatch.setenv("NETRC", str(folder.parent / ".netrc"))
    append(writer, spans(1))
    backend = kind.backend()
    start(closing, folder, backend)
    assert backend.wait_for(lambda: len(backend.kept) == 1)
    assert proxy.requests == []
    assert "authorization" not in backend.kept[0].headers
