"""A scripted LLM provider on loopback: the real clients' wire formats, known usage, no network, stdlib only.

`ScriptedProvider([Answer(...), ...])` answers one model request with one scripted answer, in order, and records what it
served. It speaks OpenAI Chat Completions and Responses, Anthropic Messages and Gemini generateContent, as JSON and as
server-sent events. Token counts of an `Answer` are the project's normal form (input with cache, output with reasoning);
the provider writes them as each API does.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import NamedTuple, Self
from uuid import uuid4

from provider_anthropic import messages_events, messages_json
from provider_gemini import generate_events, generate_json
from provider_openai import chat_events, chat_json, responses_events, responses_json
from provider_script import Answer, Event, Json, Served, ToolCall

__all__ = ["Answer", "ScriptedProvider", "Served", "ToolCall"]


class _Api(NamedTuple):
    id_prefix: str
    as_json: Callable[[Served], Json]
    as_events: Callable[[Served], Iterator[Event]]


_GENERATE = "/v1beta/models/generateContent"
_APIS = {
    "/v1/chat/completions": _Api("chatcmpl", chat_json, chat_events),
    "/v1/responses": _Api("resp", responses_json, responses_events),
    "/v1/messages": _Api("msg", messages_json, messages_events),
    _GENERATE: _Api("gen", generate_json, generate_events),
}
_GEMINI_PATH = re.compile(r"/v1(?:beta)?/models/(?P<model>[^/:]+):(?P<method>generateContent|streamGenerateContent)")


def _read_request(path: str, request: Json) -> tuple[str, Json]:
    """The API asked and the request. Gemini says model and stream in its path: here they join the request."""
    path = path.partition("?")[0]
    if (found := _GEMINI_PATH.fullmatch(path)) is None:
        return path, request
    return _GENERATE, {"model": found["model"], "stream": found["method"] == "streamGenerateContent", **request}


def _usage_sent(path: str, request: Json) -> bool:
    if path != "/v1/chat/completions" or not request.get("stream"):
        return True
    return bool((request.get("stream_options") or {}).get("include_usage"))


def _encode_event(event: Event) -> bytes:
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data)
    return (f"event: {name}\n" if name else "").encode() + f"data: {text}\n\n".encode()


class _Handler(BaseHTTPRequestHandler):
    server: "_Server"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        path, request = _read_request(self.path, body)
        if path not in _APIS:
            self._refuse(404, f"no such endpoint: {path}")
            return
        served = self.server.provider.serve(path, request)
        if served is None:
            self._refuse(400, "the script has no answer left")
        elif served.answer.error_status is not None:
            self._refuse(served.answer.error_status, "refused as scripted")
        else:
            self._answer(served)

    def _answer(self, served: Served) -> None:
        api = _APIS[served.path]
        if served.streaming:
            self._send(200, "text/event-stream", b"".join(map(_encode_event, api.as_events(served))))
        else:
            self._send(200, "application/json", json.dumps(api.as_json(served)).encode())

    def _refuse(self, status: int, message: str) -> None:
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": message, "code": "scripted"}}
        self._send(status, "application/json", json.dumps(body).encode())

    def _send(self, status: int, content_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("x-should-retry", "false")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Silence: what was served is in `ScriptedProvider.served`."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, provider: "ScriptedProvider") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = provider


@dataclass
class ScriptedProvider:
    """A provider that gives the scripted answers in order; a context manager that listens on 127.0.0.1.

    `served` is what it served, in order. `url` is the base for Anthropic and Gemini clients,
    `openai_url` the one for OpenAI's.
    """

    script: Sequence[Answer]
    served: list[Served] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._lock = Lock()
        self._series = uuid4().hex[:8]  # no two providers answer with one id: clients and tracers join by it
        self._server = _Server(self)
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def openai_url(self) -> str:
        return f"{self.url}/v1"

    def serve(self, path: str, request: Json) -> Served | None:
        """Take the next answer of the script for this request; None when the script is over."""
        with self._lock:
            number = len(self.served)
            if number >= len(self.script):
                return None
            response_id = f"{_APIS[path].id_prefix}_{self._series}_{number + 1:04}"
            served = Served(path, request, self.script[number], response_id, _usage_sent(path, request))
            self.served.append(served)
            return served

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
