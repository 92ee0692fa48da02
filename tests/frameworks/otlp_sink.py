"""An OTLP/HTTP endpoint on loopback that keeps the request bodies it gets, for clients in other languages."""

import gzip
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple

from otel_runlog.model import Span
from otel_runlog.otlp.decode import read_traces
from otel_runlog.otlp.wire import Encoding

ENCODINGS = {"application/json": Encoding.JSON, "application/x-protobuf": Encoding.PROTOBUF}


class Request(NamedTuple):
    """One export request: what its content type says, and its body without compression."""

    encoding: Encoding
    body: bytes


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: "_Server"

    def do_POST(self) -> None:
        content_type = self.headers.get_content_type()
        body = self._body()
        if self.headers["Content-Encoding"] == "gzip":
            body = gzip.decompress(body)
        self.server.requests.append(Request(ENCODINGS[content_type], body))
        answer = b"{}" if ENCODINGS[content_type] is Encoding.JSON else b""
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _body(self) -> bytes:
        """The body, in one piece or, as Node's exporters send it, in chunks."""
        if self.headers["Transfer-Encoding"] == "chunked":
            return b"".join(self._chunks())
        return self.rfile.read(int(self.headers["Content-Length"]))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def log_message(self, *args: object) -> None:
        """Silence."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Request] = []


@contextmanager
def otlp_sink() -> Iterator[tuple[str, list[Request]]]:
    """The URL that takes traces, and the list that its requests go to."""
    server = _Server()
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1/traces", server.requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def spans_of(requests: Iterable[Request]) -> list[Span]:
    """The spans of all requests; none is rejected."""
    decoded = [read_traces(request.body, request.encoding) for request in requests]
    assert [one.rejected for one in decoded] == [{}] * len(decoded)
    return [span for one in decoded for span in one.spans]


def written(requests: Iterable[Request], folder: Path) -> list[Path]:
    """The requests as files that `ingest` reads: JSON lines, or one binary request a file."""
    return [_write(number, request, folder) for number, request in enumerate(requests)]


def _write(number: int, request: Request, folder: Path) -> Path:
    path = folder / f"{number}.{'jsonl' if request.encoding is Encoding.JSON else 'otlp'}"
    path.write_bytes(request.body)
    return path
