"""What HTTP clients may take: bytes, time and connections; what is refused is refused early."""

from __future__ import annotations

import gzip
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path

import pytest
from doors import MIB, PROTOBUF, Doors, doors, request_of, span

from otel_runlog.errors import ConfigError, ServerStartError
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.routes import Request, Response, Route

HEAD = "POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
SHORT = {"header_timeout_s": 0.4, "body_timeout_s": 0.4}


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Doors]:
    with doors(tmp_path / "journal") as open_doors:
        yield open_doors


def connected(served: Doors) -> socket.socket:
    host, _, port = served.http.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=10)


def answer_to(served: Doors, *sent: bytes) -> bytes:
    """All that comes back until the server closes or is silent with a whole answer."""
    with closing(connected(served)) as raw:
        for piece in sent:
            raw.sendall(piece)
        return raw.recv(65536)


@pytest.mark.fault(28)
def test_too_large_is_said_before_the_body_is_sent(served: Doors) -> None:
    head = f"{HEAD}Content-Length: {70 * MIB}\r\n\r\n".encode()
    assert answer_to(served, head).startswith(b"HTTP/1.1 413 ")


@pytest.mark.fault(28)
def test_who_expects_to_be_asked_is_not_asked_for_a_body_that_is_too_large(served: Doors) -> None:
    head = f"{HEAD}Content-Length: {70 * MIB}\r\nExpect: 100-continue\r\n\r\n".encode()
    assert answer_to(served, head).startswith(b"HTTP/1.1 413 ")
    body = request_of(span())
    head = f"{HEAD}Content-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n".encode()
    with closing(connected(served)) as raw:
        raw.sendall(head)
        assert raw.recv(65536).startswith(b"HTTP/1.1 100 ")
        raw.sendall(body)
        assert raw.recv(65536).startswith(b"HTTP/1.1 200 ")


@pytest.mark.fault(28)
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_sent_all_the_same_is_thrown_away_and_answered(served: Doors, chunked: bool) -> None:
    body = bytes(MIB)
    sent = iter([body] * 70) if chunked else body * 70
    reply = served.request("POST", "/v1/traces", sent, {"Content-Type": PROTOBUF})
    assert reply.status == 413
    assert f"more than {64 * MIB} bytes in one request" in reply.rpc_status.message
    assert served.budget.used_bytes == 0


@pytest.mark.fault(28)
def test_large_bodies_within_the_limit_are_taken(served: Doors) -> None:
    for size in (3 * MIB, 10 * MIB, 63 * MIB):
        assert served.post(request_of(span(name="x" * size))).status == 200
    assert [len(record.body) // MIB for record in served.records()] == [3, 10, 63]


@pytest.mark.fault(31)
def test_a_gzip_bomb_is_413(served: Doors) -> None:
    bomb = gzip.compress(bytes(100 * MIB), 1)
    reply = served.post(bomb, Content_Encoding="gzip")
    assert reply.status == 413
    assert "once decompressed" in reply.rpc_status.message


@pytest.mark.fault(29)
def test_overload_is_503_before_the_body_is_read(tmp_path: Path) -> None:
    with doors(tmp_path, memory_bytes=32 * MIB) as served:  # 8 MiB for requests, 4 MiB of bodies
        with closing(connected(served)) as slow:
            slow.sendall(f"{HEAD}Content-Length: {3 * MIB}\r\n\r\n".encode() + bytes(2 * MIB))
            wait_until(lambda: served.budget.used_bytes >= 4 * MIB)
            refused = answer_to(served, f"{HEAD}Content-Length: {3 * MIB}\r\n\r\n".encode())
            assert refused.startswith(b"HTTP/1.1 503 ")
            assert b"Retry-After: 1\r\n" in refused
            assert served.post(request_of(span())).status == 200  # there is room for small ones
        wait_until(lambda: served.budget.used_bytes == 0)
        assert served.post(request_of(span(name="x" * 3 * MIB))).status == 200


@pytest.mark.fault(29)
def test_overload_is_503_as_a_chunked_body_grows(tmp_path: Path) -> None:
    with doors(tmp_path, memory_bytes=32 * MIB) as served, closing(connected(served)) as slow:
        slow.sendall(f"{HEAD}Content-Length: {3 * MIB}\r\n\r\n".encode() + bytes(2 * MIB))
        wait_until(lambda: served.budget.used_bytes >= 4 * MIB)
        reply = served.request("POST", "/v1/traces", iter([bytes(MIB)] * 3), {"Content-Type": PROTOBUF})
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")


@pytest.mark.fault(29)
def test_eight_of_the_largest_at_once_stay_within_the_budget(tmp_path: Path) -> None:
    journal = Watching()
    with doors(tmp_path, journal=journal, memory_bytes=64 * MIB, max_bytes=8 * MIB) as served:
        journal.budget = served.budget
        body = request_of(span(name="x" * (8 * MIB - 100)))
        statuses: list[int] = []
        threads = [threading.Thread(target=lambda: statuses.append(served.post(body).status)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert set(statuses) <= {200, 503}
        assert 200 in statuses
        assert journal.most_bytes <= served.budget.limit_bytes
        assert served.budget.used_bytes == 0


class Watching:
    """A journal that looks at the budget."""

    budget: Budget
    most_bytes = 0

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        self.most_bytes = max(self.most_bytes, self.budget.used_bytes)
        time.sleep(0.05)


def test_one_request_is_let_in_however_small_the_budget(tmp_path: Path) -> None:
    with doors(tmp_path, memory_bytes=4 * MIB) as served:
        assert served.post(request_of(span(name="x" * 5 * MIB))).status == 200
        assert served.call(request_of(span(name="x" * 5 * MIB))) == b""


@pytest.mark.fault(30)
@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /v1/tra",
        f"{HEAD}".encode(),
        f"{HEAD}Content-Length: 100\r\n\r\nabc".encode(),
        f"{HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nab".encode(),
    ],
    ids=["nothing", "half a line", "half a head", "half a body", "half a chunk"],
)
def test_who_stops_in_the_middle_is_cut_off(tmp_path: Path, sent: bytes) -> None:
    with doors(tmp_path, http_options=SHORT) as served, closing(connected(served)) as slow:
        slow.sendall(sent)
        assert served.post(request_of(span())).status == 200  # others are served meanwhile
        assert slow.recv(1) == b""


@pytest.mark.fault(30)
def test_who_sends_a_byte_now_and_then_is_cut_off(tmp_path: Path) -> None:
    with doors(tmp_path, http_options=SHORT) as served, closing(connected(served)) as slow:
        slow.settimeout(0.05)
        for _ in range(100):
            with suppress(TimeoutError):
                slow.sendall(b"X")
                assert slow.recv(1) == b""
                return
        raise AssertionError("it was never cut off")


@pytest.mark.fault(30)
def test_hundreds_of_idle_connections_hold_up_nobody(served: Doors) -> None:
    idle = [connected(served) for _ in range(400)]
    try:
        assert served.post(request_of(span())).status == 200
        assert served.call(request_of(span())) == b""
    finally:
        for one in idle:
            one.close()


@pytest.mark.fault(24)
@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
        b"GET\r\n\r\n",
        f"{HEAD}Content-Length: -1\r\n\r\n".encode(),
        f"{HEAD}Content-Length: 5, 6\r\n\r\nabcde".encode(),
        f"{HEAD}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".encode(),
        f"{HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n".encode(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"X" * 70_000,
    ],
)
def test_broken_http_is_400_or_cut_off(served: Doors, sent: bytes) -> None:
    try:
        answer = answer_to(served, sent)
    except ConnectionResetError:
        answer = b""
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
    assert served.post(request_of(span())).status == 200


def test_a_client_that_goes_away_before_its_answer_leaves_nothing_behind(tmp_path: Path) -> None:
    gate = threading.Event()

    def waits(_: Request) -> Response:
        gate.wait(10)
        return Response(200, bytes(MIB))

    route = Route(method="GET", path="/slow", handle=waits, is_open=True)
    with doors(tmp_path, routes=(route,)) as served:
        with closing(connected(served)) as raw:
            raw.sendall(b"GET /slow HTTP/1.1\r\nHost: localhost\r\n\r\n")
        gate.set()
        assert served.post(request_of(span())).status == 200


def test_what_is_under_way_is_answered_when_the_door_closes(tmp_path: Path) -> None:
    began, gate = threading.Event(), threading.Event()

    def waits(_: Request) -> Response:
        began.set()
        assert gate.wait(10)
        return Response(200, b"done")

    route = Route(method="GET", path="/slow", handle=waits, is_open=True)
    door = HttpDoor("127.0.0.1:0", (route,), Guard(), Budget(64 * MIB))
    served = Doors(tmp_path, door.start(), "", None, None)
    answers: list[bytes] = []
    asking = threading.Thread(target=lambda: answers.append(served.request("GET", "/slow").body))
    asking.start()
    assert began.wait(10)
    threading.Timer(0.2, gate.set).start()
    assert door.stop(5)
    asking.join(10)
    assert answers == [b"done"]


def test_a_taken_address_is_said_in_one_sentence(served: Doors) -> None:
    with pytest.raises(ServerStartError, match=f"cannot serve HTTP on {served.http}: .*in use"):
        HttpDoor(served.http, (), Guard(), Budget(MIB)).start()


@pytest.mark.parametrize("bind", ["4318", "localhost", "::1:4318", "x:y"])
def test_what_is_no_address_is_a_setting_that_cannot_be_used(bind: str) -> None:
    with pytest.raises(ConfigError, match="must be host:port"):
        HttpDoor(bind, (), Guard(), Budget(MIB))


def test_ipv6_is_served(tmp_path: Path) -> None:
    route = Route(method="GET", path="/", handle=lambda _: Response(200, b"six"), is_open=True)
    door = HttpDoor("[::1]:0", (route,), Guard(), Budget(MIB))
    try:
        address = door.start()
    except ServerStartError:
        pytest.skip("there is no IPv6 here")
    assert address.startswith("[::1]:")
    assert Doors(tmp_path, address, "", None, None).request("GET", "/").body == b"six"
    assert door.stop(5)


def wait_until(holds: object, timeout_s: float = 10) -> None:
    assert callable(holds)
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)
