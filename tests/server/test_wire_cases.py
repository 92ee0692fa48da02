"""Public bug reports of other receivers as requests with right answers, from the wire to the store."""

from __future__ import annotations

import gzip
import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest
from doors import JSON, MIB, Doors, doors, json_request, json_span, request_of, span
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from protobuf_bytes import field

from otel_runlog.doctor import examine
from otel_runlog.journal import journal_folder
from otel_runlog.loader import Loader
from otel_runlog.store.health import Book
from otel_runlog.store.reader import StoreReader

T0_NS = 1_793_880_000_000_000_000


@pytest.fixture
def db(tmp_path: Path) -> Path:
    return tmp_path / "runs.duckdb"


@contextmanager
def served(db: Path) -> Iterator[Doors]:
    with doors(journal_folder(db)) as open_doors:
        yield open_doors


def rows(db: Path, sql: str) -> list[tuple[Any, ...]]:
    """After all that is pending was loaded."""
    Loader(db).turn()
    with StoreReader(db) as store:
        return [tuple(row) for row in store.query(sql).rows]


def book(db: Path) -> Book:
    [found] = [one for one in examine(db).books if one.source == "journal"]
    return found


CHAT: dict[str, str | int] = {
    "gen_ai.operation.name": "chat",
    "gen_ai.provider.name": "acme",
    "gen_ai.request.model": "m-std",
    "gen_ai.usage.input_tokens": 100,
}


def chat(number: int, *, ended_ns: int = T0_NS + 1_000_000, **more: str | int) -> bytes:
    attributes = CHAT | {key.replace("__", "."): value for key, value in more.items()}
    pairs = [KeyValue(key=key, value=_value(value)) for key, value in attributes.items()]
    return span(number, kind=3, attributes=pairs, start_time_unix_nano=T0_NS, end_time_unix_nano=ended_ns)


def _value(value: str | int) -> AnyValue:
    return AnyValue(string_value=value) if isinstance(value, str) else AnyValue(int_value=value)


def json_chat(number: int, output_tokens: int) -> dict[str, Any]:
    attributes = [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in (CHAT | {"gen_ai.usage.output_tokens": output_tokens}).items()
    ]
    times = {"startTimeUnixNano": str(T0_NS), "endTimeUnixNano": str(T0_NS + 1_000_000)}
    return json_span(number, kind=3, attributes=attributes, **times)


CALLS = "select input_tokens, output_tokens from llm_calls"


@pytest.mark.fault(19)
def test_the_same_batch_twice_and_over_both_doors_and_encodings(db: Path) -> None:
    body = request_of(chat(1, gen_ai__usage__output_tokens=9))
    with served(db) as there:
        assert [there.post(body).status for _ in range(2)] == [200, 200]
        assert there.call(body) == b""
        assert there.post(json_request(json_chat(1, 9)), content_type=JSON).body == b"{}"
        threads = [threading.Thread(target=there.post, args=(body,)) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert rows(db, CALLS) == [(100, 9)]
    assert rows(db, "select input_tokens, output_tokens, llm_calls from runs") == [(100, 9, 1)]
    assert (book(db).received, book(db).stored, book(db).duplicate) == (6, 1, 5)


@pytest.mark.fault(20)
@pytest.mark.parametrize("order", [1, -1])
def test_a_fuller_second_copy_counts_in_either_order(db: Path, order: int) -> None:
    first = request_of(chat(1, gen_ai__usage__output_tokens=9))
    later = T0_NS + 2_000_000
    fuller = chat(1, ended_ns=later, gen_ai__usage__output_tokens=159, gen_ai__response__finish_reasons="tool_use")
    with served(db) as there:
        assert [there.post(body).status for body in (first, request_of(fuller))[::order]] == [200, 200]
    assert rows(db, CALLS) == [(100, 159)]
    assert rows(db, "select input_tokens, output_tokens, llm_calls from runs") == [(100, 159, 1)]


@pytest.mark.fault(22, 26)
def test_edges_of_otlp_json(db: Path) -> None:
    trace_id, span_id = "0af7651916cd43dd8448eb211c80319c", "b7ad6b716920333{}"
    good = [
        json_span(traceId=trace_id, spanId=span_id.format(1)),
        json_span(traceId=trace_id.upper(), spanId=span_id.format(2).upper()),
        json_span(traceId=trace_id, spanId=span_id.format(3), startTimeUnixNano=str(T0_NS), kind=3),
        json_span(traceId=trace_id, spanId=span_id.format(4), startTimeUnixNano=T0_NS, kind="SPAN_KIND_CLIENT"),
        json_span(traceId=trace_id, spanId=span_id.format(5), whatever={"new": [1]}),
    ]
    base64_ids = json_span(traceId="CvdlGRbNQ92ESOshHIAxnA==", spanId="t61rcWkgMzE=")
    no_span_id = json_span(traceId=trace_id, spanId="0" * 16)
    protobuf = span(trace_id=bytes.fromhex(trace_id), span_id=bytes.fromhex(span_id.format(9)))
    with served(db) as there:
        for one in good:
            assert there.post(json_request(one), content_type="application/json; charset=utf-8").body == b"{}"
        body = gzip.compress(json_request(json_span(traceId=trace_id, spanId=span_id.format(6))))
        assert there.post(body, content_type=JSON, Content_Encoding="gzip").body == b"{}"
        assert there.post(b'{"resourceSpans":[]}', content_type=JSON).body == b"{}"
        two = [json_span(traceId=trace_id, spanId=span_id.format(n)) for n in (7, 8)]
        for bad in (base64_ids, no_span_id):
            reply = there.post(json_request(two[0], bad, two[1]), content_type=JSON)
            assert (reply.status, reply.json["partialSuccess"]["rejectedSpans"]) == (200, "1")
        assert there.post(request_of(protobuf)).status == 200
        reply = there.post(b'{"resourceLogs":[{"scopeLogs":[]}]}', content_type=JSON)
        assert reply.status == 400
        assert "logs request" in reply.json["message"]
    found = rows(db, "select distinct trace_id, span_id from spans order by span_id")
    assert found == [(trace_id, span_id.format(n)) for n in range(1, 10)]


@pytest.mark.fault(23)
def test_lone_surrogates_nuls_and_invalid_utf8(db: Path) -> None:
    poisoned = json_span(
        2,
        attributes=[
            {"key": "a", "value": {"stringValue": "x\ud83e"}},
            {"key": "k\ud83e", "value": {"stringValue": "y"}},
            {"key": "n", "value": {"stringValue": "nul \0 in it"}},
        ],
    )
    with served(db) as there:
        assert there.post(json_request(json_span(1), poisoned, json_span(3)), content_type=JSON).body == b"{}"
        assert there.post(request_of(span(4), span(5) + field(5, b"n\xff"), span(6))).body == b""
    names = rows(db, "select name from spans order by span_id")
    assert names == [("span 1",), ("span 2",), ("span 3",), ("span 4",), ("n�",), ("span 6",)]
    [(attributes,)] = rows(db, "select attributes from spans where name = 'span 2'")
    assert json.loads(attributes) == {"a": "x�", "k�": "y", "n": "nul \0 in it"}


@pytest.mark.fault(23)
def test_one_poison_span_in_512(db: Path) -> None:
    deep: bytes = field(1, b"deep")
    for _ in range(60):
        deep = field(5, field(1, deep))
    spans = [span(number) for number in range(1, 513)]
    spans[100] += field(9, field(1, b"k") + field(2, deep))
    with served(db) as there:
        partial = there.call(request_of(*spans))
    assert b"1 of 512 spans rejected" in partial
    assert rows(db, "select count(*) from spans") == [(511,)]
    assert sum(book(db).rejected.values()) == 1


@pytest.mark.fault(28, 31)
def test_one_huge_span_among_ten(db: Path) -> None:
    huge = chat(
        1, gen_ai__usage__output_tokens=1, gen_ai__input__messages='[{"role":"user","parts":[]}]' + " " * 6 * MIB
    ) + field(11, field(2, b"e" * 11 * MIB))
    assert Span.FromString(huge).events[0].name.startswith("eee")
    batch = [huge, *(chat(number, gen_ai__usage__output_tokens=1) for number in range(2, 11))]
    with served(db) as there:
        assert there.call(request_of(*batch[:5], batch[5])) == b""
        assert there.post(request_of(batch[0], *batch[6:])).status == 200
        too_large = request_of(span(name="x" * 70 * MIB))
        assert there.post(too_large).status == 413
        error = there.refused_call(too_large)
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert str(64 * MIB) in error.details()
        del too_large
    assert rows(db, "select count(*) from llm_calls") == [(10,)]


@pytest.mark.fault(24)
def test_broken_requests_are_told_so_and_never_that_the_server_failed(db: Path) -> None:
    """Over the wire a few hundred, as each has a connection; tests/otlp/test_scan.py has the rest."""
    rng = random.Random(24)
    log = LogRecord(time_unix_nano=1).SerializeToString()
    good = [request_of(chat(1), span(2)), request_of(log), json_request(json_span(1))]
    statuses, codes = set(), set()
    with served(db) as there:
        connection = there.connection()
        with there.channel() as channel:
            call = channel.unary_unary("/opentelemetry.proto.collector.trace.v1.TraceService/Export")
            for _ in range(400):
                body = _broken(rng, rng.choice(good))
                connection.request("POST", rng.choice(["/v1/traces", "/v1/logs"]), body, {"Content-Type": _type(rng)})
                answer = connection.getresponse()
                answer.read()
                statuses.add(answer.status)
                codes.add(call.future(body, timeout=20).code())
        connection.close()
        assert there.post(request_of(span(7))).status == 200
    assert statuses == {200, 400}
    assert codes == {grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT}
    assert "span 7" in {name for (name,) in rows(db, "select name from spans")}


def _type(rng: random.Random) -> str:
    return rng.choice(["application/x-protobuf", "application/json"])


def _broken(rng: random.Random, body: bytes) -> bytes:
    changed = bytearray(body)
    for _ in range(rng.randint(1, 4)):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    return rng.choice([bytes(changed), body[: rng.randrange(len(body))], rng.randbytes(rng.randrange(60))])
