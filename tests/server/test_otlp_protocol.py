"""OTLP 1.11 over both doors, MUST by MUST, with a raw client."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
import zstandard
from doors import (
    JSON,
    LOGS_METHOD,
    PROTOBUF,
    TRACE_METHOD,
    Doors,
    Reply,
    doors,
    field,
    json_request,
    json_span,
    request_of,
    span,
)
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceResponse
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse
from opentelemetry.proto.logs.v1 import logs_pb2

from otel_runlog.errors import JournalError
from otel_runlog.otlp.scan import ScanLimits
from otel_runlog.otlp.wire import Encoding, Signal

MALFORMED = [b"\x0a\x05abc", b"\xff\xff", b"<html></html>", request_of(span())[:-3]]
LOG = logs_pb2.LogRecord(time_unix_nano=1, severity_number=9).SerializeToString()


class FailingJournal:
    """A disk that takes nothing."""

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        raise JournalError("no space left on device")


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    with doors(tmp_path_factory.mktemp("journal"), max_bytes=1 << 20, limits=ScanLimits(max_items=50)) as open_doors:
        yield open_doors


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Doors]:
    with doors(tmp_path / "journal") as open_doors:
        yield open_doors


@pytest.mark.parametrize(
    ("body", "content_type", "answer"),
    [
        (request_of(span()), PROTOBUF, b""),
        (json_request(json_span()), JSON, b"{}"),
        (json_request(json_span()), "application/json; charset=utf-8", b"{}"),
        (json_request(json_span()), "Application/JSON", b"{}"),
    ],
)
def test_success_is_200_with_an_empty_response_in_the_requests_type(
    served: Doors, body: bytes, content_type: str, answer: bytes
) -> None:
    reply = served.post(body, content_type=content_type)
    assert (reply.status, reply.body) == (200, answer)
    assert reply.headers["content-type"] == content_type.partition(";")[0].lower()


def test_success_over_grpc_leaves_partial_success_unset(served: Doors) -> None:
    response = ExportTraceServiceResponse.FromString(served.call(request_of(span())))
    assert not response.HasField("partial_success")


def test_logs_have_a_path_and_a_service_of_their_own(fresh: Doors) -> None:
    assert fresh.post(request_of(LOG), "/v1/logs").status == 200
    body = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "5"}]}]}]}
    assert fresh.post(json.dumps(body), "/v1/logs", JSON).body == b"{}"
    response = ExportLogsServiceResponse.FromString(fresh.call(request_of(LOG), LOGS_METHOD))
    assert not response.HasField("partial_success")
    assert [log.time_ns for log in fresh.logs()] == [1, 5, 1]


@pytest.mark.fault(25)
@pytest.mark.parametrize("body", [b"", field(1, b""), request_of()])
def test_an_empty_request_is_a_success_and_nothing_is_journalled(fresh: Doors, body: bytes) -> None:
    assert fresh.post(body).status == 200
    assert fresh.post(body, "/v1/logs").status == 200
    assert fresh.call(body) == b""
    assert fresh.call(body, LOGS_METHOD) == b""
    assert fresh.records() == []


@pytest.mark.fault(25)
def test_an_empty_json_request_is_a_success(served: Doors) -> None:
    for body in (b"{}", b'{"resourceSpans": []}', b'{"resourceSpans":[{"scopeSpans":[]}]}'):
        assert (served.post(body, content_type=JSON).status, served.post(body, content_type=JSON).body) == (200, b"{}")


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "GZIP": gzip.compress,
    "deflate": zlib.compress,
    "zstd": zstandard.compress,
    "identity": bytes,
}


@pytest.mark.fault(27)
@pytest.mark.parametrize("encoding", COMPRESSIONS)
def test_compressed_bodies(fresh: Doors, encoding: str) -> None:
    compress = COMPRESSIONS[encoding]
    assert fresh.post(compress(request_of(span(1))), Content_Encoding=encoding).status == 200
    body = compress(json_request(json_span(2)))
    assert fresh.post(body, content_type=JSON, Content_Encoding=encoding).body == b"{}"
    assert [one.name for one in fresh.spans()] == ["span 1", "span 2"]


@pytest.mark.parametrize(
    "compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip, grpc.Compression.Deflate]
)
def test_compressed_calls(fresh: Doors, compression: grpc.Compression) -> None:
    body = request_of(span(1, name="x" * 5_000))
    assert fresh.call(body, compression=compression) == b""
    assert [len(one.name) for one in fresh.spans()] == [5_000]


@pytest.mark.fault(22)
@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"trace_id": b""}, "bad_trace_id"),
        ({"trace_id": bytes(16)}, "bad_trace_id"),
        ({"trace_id": b"x" * 15}, "bad_trace_id"),
        ({"span_id": b"x" * 9}, "bad_span_id"),
        ({"span_id": bytes(8)}, "bad_span_id"),
    ],
)
def test_a_bad_span_is_a_partial_success_and_its_neighbours_are_kept(
    fresh: Doors, bad: dict[str, bytes], reason: str
) -> None:
    body = request_of(span(1), span(2, **bad), span(3))
    for answer in (fresh.post(body).body, fresh.call(body)):
        partial = ExportTraceServiceResponse.FromString(answer).partial_success
        assert partial.rejected_spans == 1
        assert partial.error_message.startswith(f"1 of 3 spans rejected: 1 {reason} (a ")
    assert [one.name for one in fresh.spans()] == ["span 1", "span 3"] * 2


@pytest.mark.fault(22)
def test_a_partial_success_in_json(fresh: Doors) -> None:
    reply = fresh.post(json_request(json_span(1), json_span(2, spanId="0" * 16)), content_type=JSON)
    assert reply.status == 200
    assert reply.json["partialSuccess"]["rejectedSpans"] == "1"  # protobuf's JSON writes 64-bit integers as texts
    assert "bad_span_id" in reply.json["partialSuccess"]["errorMessage"]


@pytest.mark.fault(22)
def test_where_all_spans_are_bad_it_is_still_a_partial_success(served: Doors) -> None:
    reply = served.post(request_of(span(trace_id=b""), span(span_id=b"")))
    assert reply.status == 200
    partial = ExportTraceServiceResponse.FromString(reply.body).partial_success
    assert partial.rejected_spans == 2
    assert "bad_trace_id" in partial.error_message
    assert "bad_span_id" in partial.error_message


def test_a_log_record_that_cannot_be_read_is_a_partial_success(fresh: Doors) -> None:
    reply = fresh.post(request_of(LOG, LOG + b"\x0a\xff"), "/v1/logs")
    assert reply.status == 200
    assert ExportLogsServiceResponse.FromString(reply.body).partial_success.rejected_log_records == 1
    assert len(fresh.logs()) == 1


@pytest.mark.fault(24)
@pytest.mark.parametrize("body", MALFORMED)
def test_bad_data_is_400_with_a_status_in_the_requests_type(served: Doors, body: bytes) -> None:
    reply = served.post(body)
    assert (reply.status, reply.headers["content-type"]) == (400, PROTOBUF)
    assert reply.rpc_status.code == grpc.StatusCode.INVALID_ARGUMENT.value[0]
    assert reply.rpc_status.message
    assert "retry-after" not in reply.headers


@pytest.mark.fault(24)
@pytest.mark.parametrize("body", MALFORMED)
def test_bad_data_is_invalid_argument(served: Doors, body: bytes) -> None:
    error = served.refused_call(body)
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    trailers = dict(error.trailing_metadata())
    assert Status.FromString(trailers["grpc-status-details-bin"]).code == 3
    assert "google.rpc.retryinfo-bin" not in trailers


@pytest.mark.fault(24)
@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\x0a\x00", b'{"resource_spans": []}', b'"' + b"x" * 99])
def test_bad_json_is_400_with_a_status_in_json(served: Doors, body: bytes) -> None:
    reply = served.post(body, content_type=JSON)
    assert (reply.status, reply.headers["content-type"]) == (400, JSON)
    assert reply.json["code"] == 3
    assert reply.json["message"]


@pytest.mark.parametrize(
    ("body", "path", "method", "message"),
    [
        (request_of(LOG), "/v1/traces", TRACE_METHOD, "this is a logs request, not traces: its place is /v1/logs"),
        (request_of(span()), "/v1/logs", LOGS_METHOD, "this is a traces request, not logs: its place is /v1/traces"),
    ],
)
def test_a_request_of_another_signal_is_told_so(
    served: Doors, body: bytes, path: str, method: str, message: str
) -> None:
    assert served.post(body, path).rpc_status.message == message
    error = served.refused_call(body, method)
    assert (error.code(), error.details()) == (grpc.StatusCode.INVALID_ARGUMENT, message)


def test_a_json_request_of_another_signal_is_told_so(served: Doors) -> None:
    reply = served.post(b'{"resourceLogs": [{}]}', content_type=JSON)
    assert reply.status == 400
    assert "this is a logs request, not traces" in reply.json["message"]


@pytest.mark.fault(27)
@pytest.mark.parametrize(
    "content_type", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "", "json"]
)
def test_other_content_types_are_415(fresh: Doors, content_type: str | None) -> None:
    reply = fresh.post(json_request(json_span()), content_type=content_type)
    assert reply.status == 415
    assert "application/json, application/x-protobuf" in reply.rpc_status.message
    assert fresh.records() == []


@pytest.mark.fault(27)
@pytest.mark.parametrize("encoding", ["br", "gzip, gzip", "snappy", "lz4"])
def test_other_content_encodings_are_415_in_the_requests_type(served: Doors, encoding: str) -> None:
    reply = served.post(request_of(span()), Content_Encoding=encoding)
    assert (reply.status, reply.headers["content-type"]) == (415, PROTOBUF)
    assert reply.headers["accept-encoding"] == "identity, gzip, x-gzip, deflate, zstd"


@pytest.mark.fault(27)
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "zstd"])
def test_a_body_that_is_not_as_its_encoding_says_is_400(served: Doors, encoding: str) -> None:
    broken = [request_of(span()), COMPRESSIONS[encoding](request_of(span()))[:-2], b""]
    for body in broken:
        reply = served.post(body, Content_Encoding=encoding)
        assert reply.status == 400, body
        assert reply.rpc_status.message.startswith(f"broken {encoding} data")


@pytest.mark.fault(27)
def test_a_body_compressed_twice_is_400(served: Doors) -> None:
    body = gzip.compress(gzip.compress(request_of(span())))
    assert served.post(body, Content_Encoding="gzip").status == 400


@pytest.mark.fault(28)
@pytest.mark.parametrize("how", ["plain", "chunked", "gzip", "deflate", "zstd"])
def test_a_body_over_the_limit_is_413_before_and_after_it_is_decompressed(served: Doors, how: str) -> None:
    body = request_of(span(name="x" * (1 << 20)))
    headers = {"Content-Encoding": how} if how in COMPRESSIONS else {}
    sent: object = COMPRESSIONS[how](body) if how in COMPRESSIONS else body
    if how == "chunked":
        sent = iter([body[:600_000], body[600_000:]])
    reply = served.request("POST", "/v1/traces", sent, {"Content-Type": PROTOBUF, **headers})
    assert reply.status == 413
    assert reply.rpc_status.code == grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]
    assert "1048576" in reply.rpc_status.message
    assert "--max-request" in reply.rpc_status.message
    assert "retry-after" not in reply.headers


@pytest.mark.fault(28)
@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_a_message_over_the_limit_is_resource_exhausted_and_not_to_be_retried(
    served: Doors, compression: grpc.Compression
) -> None:
    error = served.refused_call(request_of(span(name="x" * (1 << 20))), compression=compression)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "1048576" in error.details()
    assert "google.rpc.retryinfo-bin" not in dict(error.trailing_metadata())


@pytest.mark.fault(32)
def test_a_request_over_the_span_cap_is_refused_whole(served: Doors) -> None:
    body = request_of(*[span(number) for number in range(1, 60)])
    reply = served.post(body)
    assert (reply.status, reply.rpc_status.code) == (413, 8)
    assert reply.rpc_status.message.startswith("more than 50 spans in one request")
    error = served.refused_call(body)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "google.rpc.retryinfo-bin" not in dict(error.trailing_metadata())


@pytest.mark.fault(29, 48)
def test_what_may_be_sent_again_says_so_in_every_form_that_is_read(tmp_path: Path) -> None:
    with doors(tmp_path / "journal", journal=FailingJournal()) as served:
        protobuf = served.post(request_of(span()))
        json_reply = served.post(json_request(json_span()), content_type=JSON)
        error = served.refused_call(request_of(span()))
    for reply in (protobuf, json_reply):
        assert (reply.status, reply.headers["retry-after"], reply.rpc_status.code) == (503, "1", 14)
    assert retry_delay_s(protobuf.rpc_status) == 1
    kind = "type.googleapis.com/google.rpc.RetryInfo"
    assert json_reply.json["details"] == [{"@type": kind, "retryDelay": "1s"}]
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    trailers = dict(error.trailing_metadata())
    assert RetryInfo.FromString(trailers["google.rpc.retryinfo-bin"]).retry_delay.seconds == 1
    assert retry_delay_s(Status.FromString(trailers["grpc-status-details-bin"])) == 1


def retry_delay_s(status: Status) -> int:
    info = RetryInfo()
    [detail] = status.details
    assert detail.Unpack(info)
    return info.retry_delay.seconds


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/traces", 405),
        ("HEAD", "/v1/traces", 405),
        ("PUT", "/v1/traces", 405),
        ("OPTIONS", "/v1/traces", 405),
        ("POST", "/v1/nothing", 404),
        ("POST", "/", 404),
        ("POST", "/v1/traces/", 404),
        ("GET", "/v1", 404),
    ],
)
def test_other_paths_and_methods(served: Doors, method: str, path: str, status: int) -> None:
    reply = served.request(method, path, headers={"Content-Type": PROTOBUF})
    assert reply.status == status
    assert reply.headers.get("allow") == ("POST" if status == 405 else None)
    assert method == "HEAD" or reply.rpc_status.message


def test_metrics_are_told_that_there_is_no_place_for_them(served: Doors) -> None:
    reply = served.post(b"\x0a\x00", "/v1/metrics")
    assert reply.status == 404  # which no exporter tries again
    assert "no metrics" in reply.rpc_status.message
    error = served.refused_call(b"", "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export")
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "no metrics" in error.details()


def test_an_unknown_service_is_unimplemented(served: Doors) -> None:
    assert served.refused_call(b"", "/some.Service/Method").code() is grpc.StatusCode.UNIMPLEMENTED


@pytest.mark.parametrize("call", [lambda d: d.post(request_of(span())).status, lambda d: d.call(request_of(span()))])
def test_nothing_is_acknowledged_before_the_journal_has_it(tmp_path: Path, call: Callable[[Doors], object]) -> None:
    journal = GatedJournal()
    with doors(tmp_path / "journal", journal=journal) as served:
        answers: list[object] = []
        thread = threading.Thread(target=lambda: answers.append(call(served)))
        thread.start()
        assert journal.asked.wait(10)
        assert answers == []
        journal.gate.set()
        thread.join(10)
        assert len(answers) == 1


class GatedJournal:
    """A disk that takes as long as it is told."""

    def __init__(self) -> None:
        self.asked, self.gate = threading.Event(), threading.Event()

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        self.asked.set()
        assert self.gate.wait(10)


def test_many_requests_on_one_connection(fresh: Doors) -> None:
    connection = fresh.connection()
    for number in range(1, 6):
        connection.request("POST", "/v1/traces", request_of(span(number)), {"Content-Type": PROTOBUF})
        answer = connection.getresponse()
        assert (answer.status, answer.read()) == (200, b"")
    connection.close()
    assert [one.name for one in fresh.spans()] == [f"span {number}" for number in range(1, 6)]


def test_a_chunked_body(fresh: Doors) -> None:
    body = request_of(span(1, name="x" * 200_000))
    pieces = iter([body[:1], body[1:70_000], body[70_000:]])
    assert fresh.request("POST", "/v1/traces", pieces, {"Content-Type": PROTOBUF}).status == 200
    assert [len(one.name) for one in fresh.spans()] == [200_000]


def test_the_connection_lives_on_after_a_refusal(served: Doors) -> None:
    connection = served.connection()
    for content_type, status in (("text/plain", 415), (PROTOBUF, 200), (PROTOBUF, 200)):
        connection.request("POST", "/v1/traces", request_of(span()), {"Content-Type": content_type})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
    connection.close()


def test_bytes_are_journalled_as_they_came(fresh: Doors) -> None:
    protobuf, text = request_of(span(), span(trace_id=b"")) + b"\x78\x01", json_request(json_span(), unknown=[1])
    fresh.post(protobuf)
    fresh.post(gzip.compress(text), content_type=JSON, Content_Encoding="gzip")
    fresh.call(protobuf)
    assert [(record.encoding, record.body) for record in fresh.records()] == [
        (Encoding.PROTOBUF, protobuf),
        (Encoding.JSON, text),
        (Encoding.PROTOBUF, protobuf),
    ]


def test_requests_are_counted_by_what_became_of_them(fresh: Doors) -> None:
    fresh.post(request_of(span(1), span(2)))
    fresh.call(request_of(span(3)))
    fresh.post(b"\xff")
    fresh.refused_call(b"\xff")
    counters = fresh.counters
    assert counters.total("received", "traces", "http") == 2
    assert counters.total("received", "traces", "grpc") == 1
    assert counters.total("requests", "traces", "http", "accepted") == 1
    assert counters.total("requests", "traces", "http", "malformed") == 1
    assert counters.total("requests", "traces", "grpc", "malformed") == 1
    assert counters.total("bytes") == sum(len(record.body) for record in fresh.records())


@pytest.mark.fault(28)
def test_requests_that_are_too_large_are_counted_and_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with doors(tmp_path / "journal", max_bytes=1 << 20) as small:
        large = request_of(span(name="x" * (2 << 20)))
        for _ in range(2):
            assert small.post(large).status == 413
            assert small.post(gzip.compress(large), Content_Encoding="gzip").status == 413
            small.refused_call(large)
        assert small.post(large, content_type="text/plain").status == 415
    counters = small.counters  # read once all is over: grpc answers what is too large before a handler knows of it
    assert counters.total("requests", "traces", "http", "too_large") == 4
    assert counters.total("requests", "traces", "http", "unsupported") == 1
    assert counters.total("requests", "traces", "grpc", "gone") == 2
    said = [record.message for record in caplog.records if record.name == "otel_runlog"]
    assert len(said) == 2
    assert all("--max-request" in one for one in said)


@pytest.mark.fault(26)
@pytest.mark.parametrize(
    "fields",
    [
        {"traceId": "0AF7651916CD43DD8448EB211C80319C", "spanId": "B7AD6B7169203331"},
        {"startTimeUnixNano": "1544712660000000000", "endTimeUnixNano": 1544712661000000000},
        {"kind": 3},
        {"kind": "SPAN_KIND_CLIENT"},
        {"somethingNew": {"deep": [1, {"x": None}]}, "snake_case": 1},
        {"attributes": [{"key": "n", "value": {"intValue": 5}}, {"key": "m", "value": {"intValue": "5"}}]},
        {"name": None, "events": None},
        {"status": {"code": "STATUS_CODE_ERROR"}},
    ],
)
def test_quirks_of_otlp_json_are_taken(served: Doors, fields: dict[str, object]) -> None:
    for lead in (b"", b"\xef\xbb\xbf"):
        reply: Reply = served.post(lead + json_request(json_span(9, **fields)), content_type=JSON)
        assert (reply.status, reply.body) == (200, b"{}")
