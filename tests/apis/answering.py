"""A server on loopback that answers each request with the next of the given answers, in the API that was asked."""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

from otel_runlog import apis
from otel_runlog.conversation import CallError, LlmAnswer


class Answering(NamedTuple):
    """Where the server listens, and what it was asked so far."""

    url: str
    asked: list[apis.Asked]


@contextmanager
def answering(*answers: LlmAnswer | CallError) -> Iterator[Answering]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _handler(answers, asked := [])) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield Answering(f"http://127.0.0.1:{server.server_port}", asked)
        finally:
            server.shutdown()
            thread.join()


def _handler(answers: Sequence[LlmAnswer | CallError], asked: list[apis.Asked]) -> type[BaseHTTPRequestHandler]:
    served: dict[str, LlmAnswer] = {}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            content = self._content()
            api = apis.find(self.path)
            if api is None:  # telemetry of the client's
                self._send(200, "application/json", b"{}")
                return
            body = json.loads(content)
            asked.append(api.parse(self.path, body, recall=served.get))
            answer = answers[len(asked) - 1]
            if isinstance(answer, CallError):
                status = apis.error_status(answer)
                self._send(
                    status, "application/json", apis.encoded(api.error(status, answer.type, answer.message or ""))
                )
                return
            key = f"r_{len(asked)}"
            served[key] = answer
            if asked[-1].stream:
                self._send(200, "text/event-stream", b"".join(api.stream(answer, asked[-1], key)))
            else:
                self._send(200, "application/json", apis.encoded(api.render(answer, asked[-1], key)))

        def _content(self) -> bytes:
            if (length := self.headers["Content-Length"]) is not None:
                return self.rfile.read(int(length))
            content = b""  # in chunks, each after its size, to an empty one
            while size := int(self.rfile.readline(), 16):
                content += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
            return content

        def _send(self, status: int, content_type: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("x-should-retry", "false")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Silence."""

    return Handler
