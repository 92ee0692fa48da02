"""A scripted LLM provider on loopback: the real clients' wire formats, known usage, no network, stdlib only.

`ScriptedProvider([Answer(...), ...])` answers one model request with one scripted answer, in order, and records what it
served. It speaks OpenAI Chat Completions and Responses and Anthropic Messages, as JSON and as server-sent events
(Responses as JSON only). Token counts of an `Answer` are the project's normal form (input with cache, output with
reasoning); the provider writes them as each API does.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from types import TracebackType
from typing import Any, Self
from uuid import uuid4

Json = dict[str, Any]
Event = tuple[str | None, Json | str]
"""One server-sent event: its name (Anthropic) or None (OpenAI), and its data."""


@dataclass(frozen=True)
class ToolCall:
    """A tool the model asks for."""

    name: str
    arguments: Json
    id: str = "call_1"


@dataclass(frozen=True)
class Answer:
    """What the model says, and what that cost in tokens. `error_status` makes it a refusal that costs none."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0
    error_status: int | None = None

    @property
    def uncached_input_tokens(self) -> int:
        return self.input_tokens - self.cache_read_tokens - self.cache_write_tokens


@dataclass(frozen=True)
class Served:
    """One request and its answer. `usage_sent` is False for an OpenAI stream that was not asked to include usage."""

    path: str
    request: Json
    answer: Answer
    response_id: str
    usage_sent: bool

    @property
    def model(self) -> str:
        """The dated model that answers, as providers name it: never just the alias that was asked for."""
        return f"{self.request['model']}-2026-03-15"

    @property
    def streaming(self) -> bool:
        return bool(self.request.get("stream"))


# --- OpenAI Chat Completions


def _chat_usage(answer: Answer) -> Json:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
    }


def _chat_tool_call(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _chat_finish(answer: Answer) -> str:
    return "tool_calls" if answer.tool_calls else "stop"


def _chat_json(served: Served) -> Json:
    answer = served.answer
    message: Json = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.tool_calls:
        message["tool_calls"] = [_chat_tool_call(call) for call in answer.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(answer), "logprobs": None}
    return {
        "id": served.response_id,
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": served.model,
        "choices": [choice],
        "usage": _chat_usage(answer),
    }


def _chat_deltas(answer: Answer) -> Iterator[tuple[Json, str | None]]:
    yield {"role": "assistant", "content": ""}, None
    half = len(answer.text) // 2
    for part in filter(None, (answer.text[:half], answer.text[half:])):
        yield {"content": part}, None
    for index, call in enumerate(answer.tool_calls):
        yield {"tool_calls": [{"index": index, **_chat_tool_call(call)}]}, None
    yield {}, _chat_finish(answer)


def _chat_events(served: Served) -> Iterator[Event]:
    head = {
        "id": served.response_id,
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": served.model,
    }
    # OpenAI sends `usage: null` on each chunk of a stream that includes usage, and no such key otherwise.
    pending = {"usage": None} if served.usage_sent else {}
    for delta, finish in _chat_deltas(served.answer):
        yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **pending}
    if served.usage_sent:
        yield None, {**head, "choices": [], "usage": _chat_usage(served.answer)}
    yield None, "[DONE]"


# --- OpenAI Responses


def _responses_output(served: Served) -> list[Json]:
    answer = served.answer
    items: list[Json] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content})
    for call in answer.tool_calls:
        item = {"id": f"fc_{call.id}", "type": "function_call", "status": "completed", "call_id": call.id}
        items.append({**item, "name": call.name, "arguments": json.dumps(call.arguments)})
    return items


def _responses_usage(answer: Answer) -> Json:
    cached = {"cached_tokens": answer.cache_read_tokens, "cache_write_tokens": answer.cache_write_tokens}
    return {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": cached,
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }


def _responses_json(served: Served) -> Json:
    return {
        "id": served.response_id,
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": served.model,
        "output": _responses_output(served),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": served.request.get("tools", []),
        "usage": _responses_usage(served.answer),
    }


# --- Anthropic Messages


def _messages_usage(answer: Answer) -> Json:
    writes = {"ephemeral_5m_input_tokens": answer.cache_write_tokens, "ephemeral_1h_input_tokens": 0}
    return {
        "input_tokens": answer.uncached_input_tokens,
        "cache_creation_input_tokens": answer.cache_write_tokens,
        "cache_read_input_tokens": answer.cache_read_tokens,
        "cache_creation": writes,
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"thinking_tokens": answer.reasoning_tokens},
        "service_tier": "standard",
    }


def _messages_blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in answer.tool_calls
    ]


def _messages_json(served: Served) -> Json:
    return {
        "id": served.response_id,
        "type": "message",
        "role": "assistant",
        "model": served.model,
        "content": _messages_blocks(served.answer),
        "stop_reason": "tool_use" if served.answer.tool_calls else "end_turn",
        "stop_sequence": None,
        "usage": _messages_usage(served.answer),
    }


def _block_events(index: int, block: Json) -> Iterator[Event]:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        partial = json.dumps(block["input"])
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": partial}
    for name, rest in (("start", {"content_block": empty}), ("delta", {"delta": delta}), ("stop", {})):
        yield f"content_block_{name}", {"type": f"content_block_{name}", "index": index, **rest}


def _messages_events(served: Served) -> Iterator[Event]:
    whole = _messages_json(served)
    # The first event knows the input and one token of output; the last one's counts are cumulative, not to be added.
    opening = {**whole["usage"], "output_tokens": 1, "output_tokens_details": None}
    message = {**whole, "content": [], "stop_reason": None, "usage": opening}
    yield "message_start", {"type": "message_start", "message": message}
    for index, block in enumerate(whole["content"]):
        yield from _block_events(index, block)
    closing = {key: value for key, value in whole["usage"].items() if key not in ("cache_creation", "service_tier")}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": closing}
    yield "message_stop", {"type": "message_stop"}


# --- the server

_APIS = {
    "/v1/chat/completions": ("chatcmpl", _chat_json, _chat_events),
    "/v1/responses": ("resp", _responses_json, None),
    "/v1/messages": ("msg", _messages_json, _messages_events),
}


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
        path = self.path.partition("?")[0]
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
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
        _, as_json, as_events = _APIS[served.path]
        if not served.streaming:
            self._send(200, "application/json", json.dumps(as_json(served)).encode())
        elif as_events is None:
            self._refuse(400, f"{served.path} does not stream here")
        else:
            self._send(200, "text/event-stream", b"".join(map(_encode_event, as_events(served))))

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

    `served` is what it served, in order. `url` is the base for Anthropic clients, `openai_url` the one for OpenAI's.
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
            response_id = f"{_APIS[path][0]}_{self._series}_{number + 1:04}"
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
