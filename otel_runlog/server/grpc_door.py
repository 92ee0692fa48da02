"""The gRPC side of the server: TraceService and LogsService of OTLP 1.11, requests as bytes.

A generated servicer answers a message it cannot parse with INTERNAL, which no exporter tries again, so the whole batch
is lost for one bad span; here bytes come in and bytes go out. The methods are registered as client-streaming, which is
the same on the wire, because only then does the handler run before the message is read: it can wait for its turn to
read, so that no more than `readers` messages of the largest size come in at once, and a call whose message does not
come can be ended. Compression (gzip, deflate) and the limit on its outcome are grpc's.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final, NoReturn

import grpc

from otel_runlog.errors import ServerStartError
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.answers import CODES, Answer, Outcome, RefusedError, export_response, trailers
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.intake import LARGE_BODY_BYTES, Intake
from otel_runlog.server.listening import listening_sockets
from otel_runlog.server.otlp_routes import NO_METRICS
from otel_runlog.server_config import host_and_port

SIGNALS: Final = {
    "/opentelemetry.proto.collector.trace.v1.TraceService/Export": Signal.TRACES,
    "/opentelemetry.proto.collector.logs.v1.LogsService/Export": Signal.LOGS,
}
METRICS: Final = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
THREADS: Final = 16
MOST_WAITING: Final = 256
STREAMS_PER_CONNECTION: Final = 256
LOOKAHEAD_BYTES: Final = 1 << 20
"""Of a message that is not read yet: as much as a connection of 80 Mbit/s and 100 ms has on its way."""
READ_WAIT_S: Final = 5.0
"""Half of what exporters give the whole."""
MESSAGE_TIMEOUT_S: Final = 10.0
"""As long as exporters give the whole."""
MEMORY_PER_READ_BYTE: Final = 8
"""A message is in memory three times while grpc hands it over, and those that were read before it are there too."""
SLOW_READ_S: Final = 1.0
_LOOK_EVERY_S: Final = 0.25
_MORE_TO_STOP_S: Final = 1.0
_ENDING_S: Final = 0.5

logger = logging.getLogger("otel_runlog")


class GrpcDoor:
    """Serves OTLP over gRPC.

    Args:
        bind: host:port; port 0 picks a free one.
        intake: what takes requests.
        guard: who may ask.
        budget: memory for requests.
        max_request_bytes: the largest message, decompressed.
        readers: messages that are read at once; None is as many of the largest as the memory has room for.
        threads: so many calls wait for one fdatasync together.
        most_waiting: calls that have no thread yet; more are told to come again, before their message is read.
        handlers: other services on the same port.
        read_wait_s: so long a call waits for its turn to read.
        message_timeout_s: so long may a message take.
    """

    def __init__(
        self,
        bind: str,
        intake: Intake,
        guard: Guard,
        budget: Budget,
        *,
        max_request_bytes: int = 64 << 20,
        readers: int | None = None,
        threads: int = THREADS,
        most_waiting: int = MOST_WAITING,
        handlers: Sequence[grpc.GenericRpcHandler] = (),
        read_wait_s: float = READ_WAIT_S,
        message_timeout_s: float = MESSAGE_TIMEOUT_S,
    ) -> None:
        self._bind = bind
        self._pool = _CountingPool(threads, most_waiting)
        self._refusing = ThreadPoolExecutor(1, "otel-runlog-grpc-refusing")
        most_readers = max(1, budget.memory_bytes // (MEMORY_PER_READ_BYTE * max_request_bytes))
        self._reading = _Reading(readers or most_readers, read_wait_s, message_timeout_s)
        otlp = _OtlpHandler(_Taking(intake, guard, budget, self._reading), self._pool, self._refusing)
        self._server = grpc.server(self._pool, handlers=(otlp, *handlers), options=_options(max_request_bytes))

    def start(self) -> str:
        """Listen; returns the host:port.

        Raises:
            ServerStartError: the address cannot be used.
        """
        try:
            _require_free(*host_and_port("grpc", self._bind))
            port = self._server.add_insecure_port(self._bind)
        except (OSError, RuntimeError) as error:
            raise ServerStartError(f"cannot serve gRPC on {self._bind}: {error}") from None
        self._server.start()
        self._reading.start()
        return f"{self._bind.rpartition(':')[0]}:{port}"

    def stop(self, timeout_s: float) -> bool:
        """Take no more calls, answer those that are there, and end; False where that took longer than `timeout_s`."""
        ended: bool = self._server.stop(timeout_s).wait(timeout_s + _MORE_TO_STOP_S)
        self._reading.stop()
        self._pool.shutdown(wait=False)
        self._refusing.shutdown(wait=False)
        return ended


def _require_free(host: str, port: int) -> None:
    """Raise OSError where nobody can listen there; grpc writes lines of its own to stderr before it says so."""
    for sock in listening_sockets(host, port):
        sock.close()


def _options(max_request_bytes: int) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", max_request_bytes),  # 4 MiB by default
        ("grpc.so_reuseport", 0),  # a second server must not share the port
        ("grpc.max_concurrent_streams", STREAMS_PER_CONNECTION),  # of a connection; more wait at the client
        ("grpc.http2.bdp_probe", 0),  # else so much more is taken in of messages that are not read yet
        ("grpc.http2.lookahead_bytes", LOOKAHEAD_BYTES),
        ("grpc.keepalive_time_ms", 60_000),  # finds clients that went away without a word
        ("grpc.keepalive_permit_without_calls", 1),
        ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 5_000),  # the Collector's clients ping every 10 s
    ]


class _CountingPool(ThreadPoolExecutor):
    """Knows how many calls have no thread yet."""

    def __init__(self, threads: int, most_waiting: int) -> None:
        super().__init__(threads, "otel-runlog-grpc")
        self._most_waiting = most_waiting
        self._waiting = 0
        self._count = threading.Lock()

    @property
    def is_full(self) -> bool:
        return self._waiting > self._most_waiting

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with self._count:
            self._waiting += 1
        return super().submit(self._begin, function, *args, **kwargs)

    def _begin(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        with self._count:
            self._waiting -= 1
        return function(*args, **kwargs)


class _Read:
    """A message on its way."""

    def __init__(self, context: grpc.ServicerContext) -> None:
        self.context = context
        self.began_s = time.monotonic()
        self.has_turn = True


class _Reading:
    """Turns to read a message, and an end to those whose message does not come.

    A message that comes slowly gives its turn back after a second: it cannot take much memory soon, and nobody is to
    wait for it.
    """

    def __init__(self, readers: int, wait_s: float, timeout_s: float) -> None:
        self._turns = threading.BoundedSemaphore(readers)
        self._wait_s = wait_s
        self._timeout_s = timeout_s
        self._reads: set[_Read] = set()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_after, name="otel-runlog-grpc-slow", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()

    @contextlib.contextmanager
    def message(self, messages: Iterator[bytes], context: grpc.ServicerContext) -> Iterator[bytes]:
        """The call's message; a large one keeps its turn as long as it is used.

        Raises:
            RefusedError: UNAVAILABLE, it was not its turn in time; MALFORMED, it has none.
            grpc.RpcError: the call ended.
        """
        if not self._turns.acquire(timeout=self._wait_s):
            raise RefusedError(Outcome.UNAVAILABLE, "too many requests are being read: try again in a moment")
        one = _Read(context)
        self._reads.add(one)
        try:
            body = self._next(messages, one)
            if len(body) <= LARGE_BODY_BYTES:
                self._give_back(one)
            yield body
        finally:
            self._give_back(one)

    def _next(self, messages: Iterator[bytes], one: _Read) -> bytes:
        try:
            return next(messages)
        except StopIteration:
            if _ends(one.context):
                raise RefusedError(GONE.outcome, GONE.message) from None
            raise RefusedError(Outcome.MALFORMED, "the call has no message") from None
        finally:
            self._reads.discard(one)

    def _give_back(self, one: _Read) -> None:
        with self._lock:
            had_turn, one.has_turn = one.has_turn, False
        if had_turn:
            self._turns.release()

    def _look_after(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            now_s = time.monotonic()
            for one in list(self._reads):
                if now_s - one.began_s > SLOW_READ_S:
                    self._give_back(one)
                if now_s - one.began_s > self._timeout_s:
                    one.context.cancel()


class _Taking:
    """Answers one call."""

    def __init__(self, intake: Intake, guard: Guard, budget: Budget, reading: _Reading) -> None:
        self._intake = intake
        self._guard = guard
        self._budget = budget
        self._reading = reading

    def export(self, signal: Signal, messages: Iterator[bytes], context: grpc.ServicerContext) -> bytes:
        """The response's bytes; raises what ends a call that is refused."""
        answer = self._answer(signal, messages, context)
        if answer.outcome is not Outcome.ACCEPTED:
            _refuse(answer, messages, context)
        return export_response(answer, signal, Encoding.PROTOBUF)

    def _answer(self, signal: Signal, messages: Iterator[bytes], context: grpc.ServicerContext) -> Answer:
        try:
            self._guard.check_metadata(context.invocation_metadata())
            with self._reading.message(messages, context) as body, self._budget.lease() as lease:
                lease.grow(len(body))
                return self._intake.take(signal, Encoding.PROTOBUF, body, "grpc")
        except RefusedError as refused:
            answer = refused.answer
        except Exception:
            if context.is_active():
                logger.exception("a call with %s failed", signal)
                return Answer(Outcome.UNAVAILABLE, "the server failed, its log says how")
            answer = GONE
        self._intake.refused(signal, "grpc", answer)
        return answer


class _OtlpHandler(grpc.GenericRpcHandler):  # type: ignore[misc]  # grpc has no types
    """The methods of OTLP."""

    def __init__(self, taking: _Taking, pool: _CountingPool, refusing: ThreadPoolExecutor) -> None:
        self._pool = pool
        behaviours: dict[str, Callable[..., bytes]] = {
            method: partial(taking.export, signal) for method, signal in SIGNALS.items()
        }
        behaviours[METRICS] = partial(_refuse, NO_METRICS)
        self._methods = {method: grpc.stream_unary_rpc_method_handler(one) for method, one in behaviours.items()}
        self._busy = grpc.stream_unary_rpc_method_handler(_in(refusing, partial(_refuse, BUSY)))

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler | None:
        """What answers a call; called in grpc's own thread."""
        found = self._methods.get(handler_call_details.method)
        return self._busy if found is not None and self._pool.is_full else found


BUSY: Final = Answer(Outcome.UNAVAILABLE, "too many requests are waiting: try again in a moment")
GONE: Final = Answer(
    Outcome.GONE,
    "a call ended before its message had come: its client went away, or the message was larger than --max-request "
    "(max_request in the file), which grpc tells the client alone",
)


def _ends(context: grpc.ServicerContext) -> bool:
    """Whether a call is over, or just ending: where grpc refused the message, the handler may hear of that first."""
    ended = threading.Event()
    return not context.add_callback(ended.set) or ended.wait(_ENDING_S)


def _in(pool: ThreadPoolExecutor, behaviour: Callable[..., bytes]) -> Callable[..., bytes]:
    """Have grpc run a handler in another pool than all others."""
    behaviour.experimental_thread_pool = pool  # type: ignore[attr-defined]  # grpc's own name for it
    return behaviour


def _refuse(answer: Answer, _messages: Iterator[bytes], context: grpc.ServicerContext) -> NoReturn:
    """End a call with what it is told."""
    context.set_trailing_metadata(trailers(answer))
    context.abort(CODES[answer.outcome].grpc, answer.message)
    raise AssertionError("abort raises")
