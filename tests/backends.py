"""Backends that spans are forwarded to: a real HTTP server and a real gRPC server, which answer as they are told."""

from __future__ import annotations

import gzip
import http.server
import random
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent import futures

import grpc
import msgspec

from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.wire import Encoding, Signal

GRPC_SERVICES = {
    Signal.TRACES: "opentelemetry.proto.collector.trace.v1.TraceService",
    Signal.LOGS: "opentelemetry.proto.collector.logs.v1.LogsService",
}


class Request(msgspec.Struct):
    """What came in."""

    signal: Signal
    encoding: Encoding
    body: bytes
    headers: dict[str, str]
    path: str = ""

    @property
    def span_ids(self) -> list[str]:
        return [span.span_id for span in read_traces(self.body, self.encoding).spans]


class Reply(msgspec.Struct):
    """What is answered: an HTTP status, or a gRPC code. `keeps`: whether what came counts as stored."""

    status: int = 200
    code: grpc.StatusCode = grpc.StatusCode.OK
    details: str = ""
    body: bytes = b""
    headers: dict[str, str] = {}
    trailers: tuple[tuple[str, bytes], ...] = ()
    delay_s: float = 0.0
    drip_s: float = 0.0
    keeps: bool = True


Answering = Callable[[Request], Reply]
OK = Reply()


def partial_success(rejected: int, message: str = "bad spans") -> bytes:
    """The body of an answer that says so, in protobuf."""
    inner = b"\x08" + bytes([rejected]) + b"\x12" + bytes([len(message)]) + message.encode()
    return b"\x0a" + bytes([len(inner)]) + inner


class Backend:
    """Keeps what it said it keeps; `answer` may be replaced while it runs."""

    def __init__(self, answer: Answering = lambda request: OK) -> None:
        self.answer = answer
        self.requests: list[Request] = []
        self.kept: list[Request] = []
        self.refused: list[Request] = []
        self.changed = threading.Condition()

    def take(self, request: Request) -> Reply:
        reply = self.answer(request)
        if reply.delay_s:
            time.sleep(reply.delay_s)
        with self.changed:
            self.requests.append(request)
            (self.kept if reply.keeps else self.refused).append(request)
            self.changed.notify_all()
        return reply

    def span_ids(self) -> Counter[str]:
        """How often each span was kept."""
        with self.changed:
            return Counter(i for r in self.kept if r.signal is Signal.TRACES for i in r.span_ids)

    def log_records(self) -> list:
        with self.changed:
            kept = [read_logs(r.body, r.encoding).records for r in self.kept if r.signal is Signal.LOGS]
            return [record for records in kept for record in records]

    def wait_for(self, condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
        """Whether it holds within that time; looked at with every request."""
        deadline = time.monotonic() + timeout_s
        with self.changed:
            while not condition():
                if time.monotonic() >= deadline:
                    return False
                self.changed.wait(0.05)
            return True


class HttpBackend(Backend):
    """OTLP/HTTP on a free port of loopback, or a given one."""

    def __init__(self, answer: Answering = lambda request: OK, port: int = 0, tls: object = None) -> None:
        super().__init__(answer)
        backend = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers.get("content-encoding") == "gzip":
                    body = gzip.decompress(body)
                is_json = self.headers["content-type"] == "application/json"
                request = Request(
                    Signal.LOGS if self.path.endswith("/v1/logs") else Signal.TRACES,
                    Encoding.JSON if is_json else Encoding.PROTOBUF,
                    body,
                    {key.lower(): value for key, value in self.headers.items()},
                    self.path,
                )
                reply = backend.take(request)
                self.send_response(reply.status)
                headers = {"content-type": self.headers["content-type"], **reply.headers}
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("content-length", str(len(reply.body)))
                self.end_headers()
                try:
                    for at in range(0, len(reply.body), 1 if reply.drip_s else 1 << 30):
                        self.wfile.write(reply.body[at : at + 1] if reply.drip_s else reply.body)
                        time.sleep(reply.drip_s)
                except OSError:
                    self.close_connection = True

            def log_message(self, *args: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.port = self._server.server_address[1]
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class GrpcBackend(Backend):
    """OTLP/gRPC on a free port of loopback, or a given one."""

    def __init__(self, answer: Answering = lambda request: OK, port: int = 0, credentials: object = None) -> None:
        super().__init__(answer)
        self._server = grpc.server(
            futures.ThreadPoolExecutor(4),
            options=[("grpc.max_receive_message_length", 64 << 20), ("grpc.so_reuseport", 0)],
        )
        for signal, service in GRPC_SERVICES.items():
            method = grpc.unary_unary_rpc_method_handler(self._handler(signal))
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))
        if credentials is None:
            self.port = self._server.add_insecure_port(f"127.0.0.1:{port}")
        else:
            self.port = self._server.add_secure_port(f"127.0.0.1:{port}", credentials)
        self.url = f"grpc{'s' if credentials else ''}://127.0.0.1:{self.port}"
        self._server.start()

    def _handler(self, signal: Signal) -> Callable[[bytes, grpc.ServicerContext], bytes]:
        def export(body: bytes, context: grpc.ServicerContext) -> bytes:
            headers = dict(context.invocation_metadata())
            reply = self.take(Request(signal, Encoding.PROTOBUF, body, headers))
            if reply.trailers:
                context.set_trailing_metadata(reply.trailers)
            if reply.code is not grpc.StatusCode.OK:
                context.abort(reply.code, reply.details)
            return reply.body

        return export

    def close(self) -> None:
        self._server.stop(None).wait()


def fails_at_random(seed: int, later: Reply, refused: Reply, odds: float = 0.3) -> Answering:
    """The way of the Collector's CheckConsumeContract: permanent and temporary errors at random."""
    chance = random.Random(seed)

    def answer(request: Request) -> Reply:
        drawn = chance.random()
        return later if drawn < odds else refused if drawn < 1.5 * odds else OK

    return answer
