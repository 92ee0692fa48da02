"""Requests out of files and folders, whatever wrote them."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
import zstandard
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from otel_runlog.errors import OtlpError
from otel_runlog.otlp import files
from otel_runlog.otlp.files import BadInput, OtlpSpans, RawRequest, iter_requests, read_otlp
from otel_runlog.otlp.wire import Encoding, Signal

DATA = Path(__file__).parents[1] / "data" / "otlp"
TRACES_PB = (DATA / "claude-code.traces.pb").read_bytes()
TRACES_JSON = (DATA / "claude-code.traces.json").read_bytes()
LOGS_PB = (DATA / "claude-code.logs.pb").read_bytes()
LOGS_JSON = (DATA / "claude-code.logs.json").read_bytes()
METRICS_JSON = b'{"resourceMetrics":[{"scopeMetrics":[]}]}\n'


def metrics_pb(kind: str = "gauge") -> bytes:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="process.cpu.time", unit="s")
    getattr(metric, kind).data_points.add()
    return request.SerializeToString()


def write(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def requests(path: Path) -> list[RawRequest]:
    found = list(iter_requests(path))
    assert [item for item in found if isinstance(item, BadInput)] == []
    return found


def test_lines_of_mixed_signals_as_the_collector_writes_them(tmp_path):
    path = write(tmp_path / "export.jsonl", TRACES_JSON + b"\n" + LOGS_JSON + METRICS_JSON)
    found = requests(path)
    assert [(item.signal, item.where) for item in found] == [
        (Signal.TRACES, f"{path}:1"),
        (Signal.LOGS, f"{path}:3"),
        (Signal.METRICS, f"{path}:4"),
    ]
    assert [item.body for item in found] == [TRACES_JSON.strip(), LOGS_JSON.strip(), METRICS_JSON.strip()]
    assert {item.encoding for item in found} == {Encoding.JSON}


def test_the_end_offset_is_where_the_next_request_may_start(tmp_path):
    content = TRACES_JSON + LOGS_JSON
    offsets = [item.end_offset for item in requests(write(tmp_path / "a.jsonl", content))]
    assert offsets == [len(TRACES_JSON), len(content)]


@pytest.mark.parametrize(
    ("body", "signal"),
    [
        (TRACES_PB, Signal.TRACES),
        (LOGS_PB, Signal.LOGS),
        *((metrics_pb(kind), Signal.METRICS) for kind in ("gauge", "sum", "histogram", "summary")),
    ],
)
@pytest.mark.parametrize(
    "pack", [bytes, gzip.compress, zstandard.ZstdCompressor().compress], ids=["plain", "gzip", "zstd"]
)
def test_protobuf_bodies_are_told_apart_by_their_fields(tmp_path, body, signal, pack):
    path = write(tmp_path / "body.bin", pack(body))
    assert requests(path) == [RawRequest(signal, Encoding.PROTOBUF, body, str(path), len(body))]


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_one_body_over_many_lines(tmp_path, bom):
    body = bom + json.dumps(json.loads(TRACES_JSON), indent=2).encode()
    path = write(tmp_path / "pretty.json", body)
    assert requests(path) == [RawRequest(Signal.TRACES, Encoding.JSON, body, str(path), len(body))]
    assert len(read_otlp(path)) == 2


def test_compressed_lines_of_several_gzip_members_and_zstd_frames(tmp_path):
    zstd = zstandard.ZstdCompressor()
    write(tmp_path / "a", gzip.compress(TRACES_JSON) + gzip.compress(LOGS_JSON))
    write(tmp_path / "b", zstd.compress(TRACES_JSON) + zstd.compress(LOGS_JSON))
    found = requests(tmp_path)
    assert [item.signal for item in found] == [Signal.TRACES, Signal.LOGS] * 2
    assert found[1].end_offset == len(TRACES_JSON + LOGS_JSON)


def test_a_folder_is_read_in_order_without_hidden_files(tmp_path):
    for name in ("b/2.json", "b/1.json", "a.json", ".hidden.json", ".git/x.json"):
        write(tmp_path / name, TRACES_JSON)
    assert [item.where for item in requests(tmp_path)] == [
        f"{tmp_path}/{n}:1" for n in ("a.json", "b/1.json", "b/2.json")
    ]


def test_a_bad_line_is_named_and_the_rest_read(tmp_path):
    lines = [b'{"resourceSpans": [', TRACES_JSON.strip(), b"oops", b'{"a": 1}', b"[]", LOGS_JSON.strip()]
    path = write(tmp_path / "a.jsonl", b"\n".join(lines))
    found = list(iter_requests(path))
    bad = [item for item in found if isinstance(item, BadInput)]
    assert [item.signal for item in found if isinstance(item, RawRequest)] == [Signal.TRACES, Signal.LOGS]
    assert [item.where for item in bad] == [f"{path}:{line}" for line in (1, 3, 4, 5)]
    assert "Expecting value" in bad[0].reason
    assert bad[2].reason == "no resourceSpans, resourceLogs or resourceMetrics in this JSON object"
    assert bad[3].reason == "no OTLP/JSON: a request is an object, this is an array"


def test_an_overlong_line_is_named_and_the_rest_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_REQUEST_BYTES", 5000)
    path = write(tmp_path / "a.jsonl", TRACES_JSON + b'{"x":"' + b"y" * 20_000 + b'"}\n' + LOGS_JSON)
    kinds = [item.signal if isinstance(item, RawRequest) else item for item in iter_requests(path)]
    assert kinds == [Signal.TRACES, BadInput(f"{path}:2", "a line longer than 5000 bytes"), Signal.LOGS]


def test_inflating_stops_at_the_limit(tmp_path):
    bomb = gzip.compress(TRACES_JSON + b'{"x":"' + bytes(10 << 20))
    path = write(tmp_path / "bomb.gz", bomb)
    first, second = iter_requests(path, max_bytes=1 << 20)
    assert isinstance(first, RawRequest)
    assert second == BadInput(f"{path}:2", "more than 1048576 bytes once decompressed; the rest was not read")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_cut_compressed_files_are_named(tmp_path, pack):
    write(tmp_path / "cut", pack(TRACES_PB)[:-200])
    [bad] = iter_requests(tmp_path / "cut")
    assert isinstance(bad, BadInput)
    assert bad.where == str(tmp_path / "cut")


def test_what_was_read_before_a_gzip_file_breaks_off_is_kept(tmp_path):
    path = write(tmp_path / "a.gz", gzip.compress(TRACES_JSON) + gzip.compress(LOGS_JSON)[:40])
    first, second = iter_requests(path)
    assert first.signal is Signal.TRACES
    assert second == BadInput(f"{path}:2", "broken compressed data: it ends too early")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"# notes\n", "neither OTLP/JSON nor OTLP protobuf"),
        (b"\x0a\x05\x0a", "no OTLP protobuf: field 1 at byte 2 reaches beyond its message"),
        (b"\x0a\x00", "no span, log record or metric can be told in this protobuf body"),
    ],
)
def test_a_file_of_something_else_is_named(tmp_path, content, reason):
    path = write(tmp_path / "x", content)
    assert list(iter_requests(path)) == [BadInput(str(path), reason)]


@pytest.mark.parametrize("content", [b"", b"\n\n"])
def test_an_empty_file_holds_nothing(tmp_path, content):
    assert list(iter_requests(write(tmp_path / "x", content))) == []


def test_a_missing_path_is_named(tmp_path):
    assert list(iter_requests(tmp_path / "x")) == [BadInput(f"{tmp_path}/x", "no such file or folder")]
    with pytest.raises(OtlpError, match="x: no such file or folder"):
        read_otlp(tmp_path / "x")


def test_all_spans_and_logs_of_a_folder(tmp_path):
    bad_span = b'{"resourceSpans":[{"scopeSpans":[{"spans":[{}]}]}]}\n'
    write(tmp_path / "a.jsonl", TRACES_JSON + LOGS_JSON + METRICS_JSON + bad_span)
    write(tmp_path / "b.pb", TRACES_PB)
    write(tmp_path / "c.md", b"# notes")
    read = read_otlp(tmp_path)
    assert isinstance(read, OtlpSpans)
    assert [span.name for span in read] == ["claude_code.llm_request", "claude_code.interaction"] * 2
    assert (len(read.logs), read.rejected, read.metrics_requests) == (3, {"bad_trace_id": 1}, 1)
    assert [item.where for item in read.bad] == [f"{tmp_path}/c.md"]


def test_garbage_after_a_gzip_member_is_named_and_zeros_are_not(tmp_path):
    write(tmp_path / "garbage", gzip.compress(TRACES_JSON) + b"garbage")
    write(tmp_path / "zeros", gzip.compress(TRACES_JSON) + bytes(3000))
    traces, bad, more_traces = iter_requests(tmp_path)
    assert isinstance(traces, RawRequest)
    assert (bad.where, bad.reason[:22]) == (f"{tmp_path}/garbage:2", "broken compressed data")
    assert isinstance(more_traces, RawRequest)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.ZstdCompressor().compress], ids=["gzip", "zstd"])
def test_long_compressed_files_come_out_whole(tmp_path, pack):
    lines = [b'{"resourceSpans":[],"x":"%d"}' % n for n in range(20_000)]
    found = requests(write(tmp_path / "a", pack(b"\n".join(lines))))
    assert [item.body for item in found] == lines


def test_links_to_folders_and_pipes_are_not_followed(tmp_path):
    write(tmp_path / "a.json", TRACES_JSON)
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    found = list(iter_requests(tmp_path))
    assert [item.where for item in found] == [f"{tmp_path}/a.json:1", f"{tmp_path}/pipe"]
    assert found[1].reason == "neither a file nor a folder"


def test_a_metric_named_like_an_id_is_still_a_metric(tmp_path):
    request = ExportMetricsServiceRequest()
    metric = (
        request.resource_metrics.add().scope_metrics.add().metrics.add(name="process.cpu.time", description="cpu time")
    )
    metric.sum.data_points.add()
    [found] = requests(write(tmp_path / "m", request.SerializeToString()))
    assert found.signal is Signal.METRICS


def test_a_body_that_breaks_off_after_its_first_block_is_named(tmp_path):
    path = write(tmp_path / "x", TRACES_PB + TRACES_PB[:-10])
    read = read_otlp(path)
    assert (len(read), [item.where for item in read.bad]) == (0, [str(path)])
