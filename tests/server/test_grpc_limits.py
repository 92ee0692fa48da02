"""What gRPC clients may take: calls that stop in the middle, and more than can be read at once."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from doors import MIB, TRACE_METHOD, Doors, doors, request_of, span

from otel_runlog.errors import ServerStartError
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.budget import Budget
from otel_runlog.server.counters import Counters
from otel_runlog.server.grpc_door import GrpcDoor
from otel_runlog.server.guard import Guard
from otel_runlog.server.intake import Intake


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Doors]:
    with doors(tmp_path / "journal") as open_doors:
        yield open_doors


def never(released: threading.Event) -> Iterator[bytes]:
    """A message that does not come."""
    released.wait(30)
    yield b""


@pytest.mark.fault(30)
def test_a_call_whose_message_does_not_come_is_ended_and_others_are_served(tmp_path: Path) -> None:
    released = threading.Event()
    with doors(tmp_path, grpc_options={"message_timeout_s": 0.3}) as served, served.channel() as channel:
        hanging = [channel.stream_unary(TRACE_METHOD).future(never(released)) for _ in range(3)]
        assert served.call(request_of(span())) == b""
        assert [call.code() for call in hanging] == [grpc.StatusCode.CANCELLED] * 3
        released.set()


@pytest.mark.fault(29, 30)
def test_who_gets_no_turn_to_read_is_told_to_come_again(tmp_path: Path) -> None:
    released = threading.Event()
    with doors(tmp_path, grpc_options={"readers": 1, "read_wait_s": 0.2}) as served, served.channel() as channel:
        hanging = channel.stream_unary(TRACE_METHOD).future(never(released))
        time.sleep(0.1)  # it has its turn
        error = served.refused_call(request_of(span()))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "google.rpc.retryinfo-bin" in dict(error.trailing_metadata())
        released.set()
        assert hanging.result() == b""


@pytest.mark.fault(30)
def test_a_slow_message_gives_its_turn_back(tmp_path: Path) -> None:
    released = threading.Event()
    with doors(tmp_path, grpc_options={"readers": 1}) as served, served.channel() as channel:
        slow = [channel.stream_unary(TRACE_METHOD).future(never(released)) for _ in range(2)]
        time.sleep(0.1)  # they are there
        assert served.call(request_of(span())) == b""
        released.set()
        assert [one.result() for one in slow] == [b"", b""]


@pytest.mark.fault(29)
def test_calls_beyond_those_that_may_wait_are_told_to_come_again(tmp_path: Path) -> None:
    gate, options = Gate(), {"threads": 2, "most_waiting": 2}
    with (
        doors(tmp_path, journal=gate, grpc_options=options) as served,
        served.channel() as channel,
        ThreadPoolExecutor(20) as clients,
    ):
        call = channel.unary_unary(TRACE_METHOD)
        asked = [clients.submit(_code, call) for _ in range(20)]
        while sum(one.done() for one in asked) < 10:
            time.sleep(0.01)
        gate.opened.set()
        codes = [one.result() for one in asked]
    assert set(codes) == {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    assert codes.count(grpc.StatusCode.OK) == gate.taken


def _code(call: grpc.UnaryUnaryMultiCallable) -> grpc.StatusCode:
    try:
        return call.with_call(request_of(span()), timeout=30)[1].code()
    except grpc.RpcError as error:
        return error.code()


class Gate:
    """A disk that stands still until it is opened."""

    def __init__(self) -> None:
        self.opened = threading.Event()
        self.taken = 0
        self._lock = threading.Lock()

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        assert self.opened.wait(30)
        with self._lock:
            self.taken += 1


@pytest.mark.fault(29)
def test_messages_beyond_the_budget_are_told_to_come_again(tmp_path: Path) -> None:
    gate = Gate()
    how = {"memory_bytes": 64 * MIB, "max_bytes": 8 * MIB, "grpc_options": {"readers": 2}}
    with doors(tmp_path, journal=gate, **how) as served, served.channel() as channel:
        call = channel.unary_unary(TRACE_METHOD)
        body = request_of(span(name="x" * (8 * MIB - 100)))
        first = call.future(body, timeout=30)
        while not served.budget.used_bytes:
            time.sleep(0.01)
        with pytest.raises(grpc.RpcError) as refused:
            call(body, timeout=30)
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
        assert "bytes for requests are in use" in refused.value.details()
        gate.opened.set()
        assert first.result() == b""
        assert served.budget.used_bytes == 0


def test_a_call_without_a_message_is_malformed(served: Doors) -> None:
    with served.channel() as channel, pytest.raises(grpc.RpcError) as refused:
        channel.stream_unary(TRACE_METHOD)(iter(()))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_client_that_goes_away_leaves_nothing_behind(served: Doors) -> None:
    with served.channel() as channel:
        hanging = channel.stream_unary(TRACE_METHOD).future(never(threading.Event()))
        time.sleep(0.05)
        hanging.cancel()
    assert served.call(request_of(span())) == b""


@pytest.mark.fault(31)
def test_a_gzip_bomb_is_refused_by_grpc(tmp_path: Path) -> None:
    body = request_of(span(name="x" * 20 * MIB))
    with doors(tmp_path, max_bytes=MIB) as served:
        error = served.refused_call(body, compression=grpc.Compression.Gzip)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_a_taken_address_is_said_in_one_sentence(served: Doors) -> None:
    intake = Intake(Gate(), Counters())
    door = GrpcDoor(served.grpc, intake, Guard(), Budget(MIB))
    with pytest.raises(ServerStartError, match=f"cannot serve gRPC on {served.grpc}"):
        door.start()
