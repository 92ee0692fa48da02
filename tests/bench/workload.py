"""The spans that the benchmark works on: agent runs of 16 spans with text of CPython's own sources, the same each time.

A run is 1 invoke_agent, 8 chat and 7 execute_tool spans of some 22 attributes; chat spans carry 2 to 4 KB of input and
0.3 to 0.9 KB of output messages, tools 0.2 to 0.9 KB of results: 3.2 KB a span as protobuf. Text is cut from random
places, so it repeats less than the prompts of real agents do and compresses worse.
"""

from __future__ import annotations

import hashlib
import importlib.util
import random
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource
from opentelemetry.proto.trace.v1 import trace_pb2

SPANS_PER_RUN = 16
SPANS_PER_REQUEST = 512
START_NS = 1_795_910_400_000_000_000
"""2026-11-29T00:00:00Z."""
SECOND_NS, MS = 1_000_000_000, 1_000_000
SCOPE, SCOPE_VERSION = "opentelemetry.instrumentation.genai.openai", "1.3b0"
SOURCES = ("argparse", "asyncio.base_events", "datetime", "difflib", "email.message", "http.client", "inspect")
MORE_SOURCES = ("logging", "mailbox", "pickle", "pydoc", "subprocess", "tarfile", "threading", "typing", "zipfile")
MODELS = (("openai", "gpt-4o-mini"), ("anthropic", "claude-sonnet-4-5"), ("google", "gemini-2.5-flash"))
RESOURCE: dict[str, Value] = {
    "service.name": "checkout-agent",
    "service.version": "4.2.0",
    "deployment.environment.name": "staging",
    "telemetry.sdk.language": "python",
    "telemetry.sdk.name": "opentelemetry",
    "host.name": "worker-7",
}
INTERNAL, CLIENT = 1, 3
CHAT, TOOL, AGENT = "chat", "execute_tool", "invoke_agent"

Value = str | bool | int | float | list[str]


class MadeSpan(msgspec.Struct):
    """A span of the workload, of which every encoding is made."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes
    name: str
    kind: int
    started_ns: int
    ended_ns: int
    attributes: dict[str, Value]


@cache
def _text() -> str:
    specs = (importlib.util.find_spec(name) for name in SOURCES + MORE_SOURCES)
    return "".join(Path(s.origin).read_text(encoding="utf-8") for s in specs if s is not None and s.origin)


class Workload:
    """Spans in the order in which they end, of as many runs as are asked for."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._runs = 0

    def spans(self, number: int) -> list[MadeSpan]:
        """The next spans; whole runs, so as many as `number` rounded up to 16."""
        found: list[MadeSpan] = []
        while len(found) < number:
            found += self._run()
        return found

    def chat_attributes(self) -> dict[str, Value]:
        """The attributes of one chat span."""
        return self._chat("", self._random.choice(MODELS), 0)

    def agent_attributes(self) -> dict[str, Value]:
        """What an invoke_agent span has at its start."""
        return self._agent("conv-1", MODELS[0])

    def _run(self) -> list[MadeSpan]:
        self._runs += 1
        name = hashlib.sha256(f"run {self._runs} {self._random.random()}".encode()).digest()
        session, model = f"conv-{self._runs // 4}", self._random.choice(MODELS)
        start_ns = START_NS + self._runs * SECOND_NS
        root = MadeSpan(
            name[:16], name[16:24], b"", "invoke_agent planner", INTERNAL, start_ns, start_ns + SECOND_NS, {}
        )
        root.attributes = self._agent(session, model)
        return [*(self._child(root, i, session, model) for i in range(SPANS_PER_RUN - 1)), root]

    def _child(self, root: MadeSpan, i: int, session: str, model: tuple[str, str]) -> MadeSpan:
        span_id = hashlib.sha256(root.span_id + bytes([i])).digest()[:8]
        started_ns = root.started_ns + (i * 60 + 10) * MS
        tool = i % 2 == 1
        name, kind = ("execute_tool search_docs", INTERNAL) if tool else (f"chat {model[1]}", CLIENT)
        attributes = self._tool(session, i) if tool else self._chat(session, model, i)
        ended_ns = started_ns + self._random.randrange(5, 55) * MS
        return MadeSpan(root.trace_id, span_id, root.span_id, name, kind, started_ns, ended_ns, attributes)

    def words(self, fewest: int, most: int) -> str:
        """A piece of the text, of so many characters."""
        text, length = _text(), self._random.randrange(fewest, most)
        at = self._random.randrange(len(text) - length)
        return text[at : at + length]

    def _id(self) -> str:
        return f"{self._random.getrandbits(96):024x}"

    def _everywhere(self, session: str) -> dict[str, Value]:
        return {
            "gen_ai.agent.name": "planner",
            "gen_ai.agent.id": "agent-planner-1",
            "gen_ai.conversation.id": session,
            "user.id": "user-4711",
            "thread.id": 140_245_512_345,
        }

    def _chat(self, session: str, model: tuple[str, str], i: int) -> dict[str, Value]:
        tokens = self._random.randrange(600, 1_400)
        return {
            "gen_ai.operation.name": CHAT,
            "gen_ai.provider.name": model[0],
            "gen_ai.request.model": model[1],
            "gen_ai.response.model": model[1],
            "gen_ai.response.id": f"chatcmpl-{self._id()}",
            "gen_ai.request.temperature": 0.2,
            "gen_ai.request.max_tokens": 2_048,
            "gen_ai.request.stream": False,
            "gen_ai.output.type": "text",
            "gen_ai.response.finish_reasons": ["tool_calls" if i < SPANS_PER_RUN - 2 else "stop"],
            "gen_ai.usage.input_tokens": tokens,
            "gen_ai.usage.output_tokens": self._random.randrange(80, 240),
            "gen_ai.usage.cache_read.input_tokens": tokens // 2,
            "server.address": "api.example.com",
            "server.port": 443,
            "gen_ai.input.messages": _messages(
                ("system", "user", "assistant"), [self.words(700, 1_400) for _ in "abc"]
            ),
            "gen_ai.output.messages": _messages(("assistant",), [self.words(300, 900)]),
            **self._everywhere(session),
        }

    def _tool(self, session: str, i: int) -> dict[str, Value]:
        arguments = {"query": self.words(40, 120), "limit": 10, "section": i}
        return {
            "gen_ai.operation.name": TOOL,
            "gen_ai.tool.name": "search_docs",
            "gen_ai.tool.type": "function",
            "gen_ai.tool.description": "Search the documentation and return the passages that fit best",
            "gen_ai.tool.call.id": f"call_{self._id()}",
            "gen_ai.tool.call.arguments": msgspec.json.encode(arguments).decode(),
            "gen_ai.tool.call.result": self.words(200, 900),
            "code.function.name": "search_docs",
            "code.file.path": "/srv/app/tools/search.py",
            "code.line.number": 118,
            "app.release": "2026-11-28.3",
            "app.region": "eu-central-1",
            "app.tenant": "tenant-12",
            "app.retry": False,
            "app.attempt": 1,
            **self._everywhere(session),
        }

    def _agent(self, session: str, model: tuple[str, str]) -> dict[str, Value]:
        return {
            "gen_ai.operation.name": AGENT,
            "gen_ai.provider.name": model[0],
            "gen_ai.request.model": model[1],
            "gen_ai.agent.description": "Plans, searches and answers",
            "app.release": "2026-11-28.3",
            "app.region": "eu-central-1",
            **self._everywhere(session),
        }


def _messages(roles: tuple[str, ...], texts: list[str]) -> str:
    made = [
        {"role": role, "parts": [{"type": "text", "content": text}]} for role, text in zip(roles, texts, strict=True)
    ]
    return msgspec.json.encode(made).decode()


def requests(spans: list[MadeSpan]) -> Iterator[list[MadeSpan]]:
    """The spans of each request."""
    for at in range(0, len(spans), SPANS_PER_REQUEST):
        yield spans[at : at + SPANS_PER_REQUEST]


def protobuf_body(spans: list[MadeSpan]) -> bytes:
    """An ExportTraceServiceRequest, made by the generated classes of opentelemetry-proto."""
    request = ExportTraceServiceRequest()
    block = request.resource_spans.add()
    _add_attributes(block.resource, RESOURCE)
    scope_block = block.scope_spans.add()
    scope_block.scope.name, scope_block.scope.version = SCOPE, SCOPE_VERSION
    for span in spans:
        _fill(scope_block.spans.add(), span)
    body: bytes = request.SerializeToString()
    return body


def _fill(message: trace_pb2.Span, span: MadeSpan) -> None:
    message.trace_id, message.span_id, message.parent_span_id = span.trace_id, span.span_id, span.parent_id
    message.name, message.flags = span.name, 0x101
    message.kind = span.kind  # type: ignore[assignment]  # the enum's number
    message.start_time_unix_nano, message.end_time_unix_nano = span.started_ns, span.ended_ns
    _add_attributes(message, span.attributes)


def _add_attributes(owner: trace_pb2.Span | Resource, attributes: dict[str, Value]) -> None:
    for key, value in attributes.items():
        pair = owner.attributes.add()
        pair.key = key
        _set_value(pair.value, value)


def _set_value(any_value: AnyValue, value: Value) -> None:
    if isinstance(value, list):
        for inner in value:
            _set_value(any_value.array_value.values.add(), inner)
    elif isinstance(value, str):
        any_value.string_value = value
    elif isinstance(value, bool):
        any_value.bool_value = value
    elif isinstance(value, int):
        any_value.int_value = value
    else:
        any_value.double_value = value


def json_body(spans: list[MadeSpan]) -> bytes:
    """The same request as OTLP/JSON on one line."""
    scope = {"name": SCOPE, "version": SCOPE_VERSION}
    scope_spans = [{"scope": scope, "spans": [_json(span) for span in spans]}]
    return msgspec.json.encode(
        {"resourceSpans": [{"resource": {"attributes": _json_pairs(RESOURCE)}, "scopeSpans": scope_spans}]}
    )


def _json(span: MadeSpan) -> dict[str, object]:
    return {
        "traceId": span.trace_id.hex(),
        "spanId": span.span_id.hex(),
        "parentSpanId": span.parent_id.hex(),
        "flags": 0x101,
        "name": span.name,
        "kind": span.kind,
        "startTimeUnixNano": str(span.started_ns),
        "endTimeUnixNano": str(span.ended_ns),
        "attributes": _json_pairs(span.attributes),
        "status": {},
    }


def _json_pairs(attributes: dict[str, Value]) -> list[dict[str, object]]:
    return [{"key": key, "value": _json_value(value)} for key, value in attributes.items()]


def _json_value(value: Value) -> dict[str, object]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [_json_value(v) for v in value]}}
    if isinstance(value, str):
        return {"stringValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"intValue": str(value)} if isinstance(value, int) else {"doubleValue": value}
