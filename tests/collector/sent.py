"""An agent that sends spans with the SDK's own exporters, and what of them a file of OTLP/JSON lines holds."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpanExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Status, StatusCode, Tracer

Ids = tuple[str, str]
Told = tuple[str, dict[str, Any]]
"""Name and attributes."""

AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "planner", "app.scores": (0.5, 1.0)}
CHAT = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini"}
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "search", "app.cached": True}


class Agent:
    """Sends runs of four spans, through BatchSpanProcessor and an OTLP exporter, until told to stop."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._kept = InMemorySpanExporter()
        self.provider = TracerProvider(resource=Resource.create({"service.name": "planner"}), shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self._kept))
        self.provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=50))
        self.tracer = self.provider.get_tracer("agent")

    def spans(self) -> dict[Ids, Told]:
        """Name and attributes of every span that ended, by trace and span id."""
        return {_ids(span): (span.name, _plain(span.attributes or {})) for span in self._kept.get_finished_spans()}

    def failed(self) -> set[Ids]:
        """The spans that ended with an error."""
        return {_ids(span) for span in self._kept.get_finished_spans() if span.status.status_code is StatusCode.ERROR}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Runs one after another in a thread while the block lasts; then everything is flushed."""
        stop = threading.Event()

        def work() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                run(self.tracer, number)
                time.sleep(0.005)

        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()
            self.provider.shutdown()


def over_grpc(address: str) -> Agent:
    return Agent(GrpcSpanExporter(endpoint=f"http://{address}", insecure=True))


def over_http(address: str) -> Agent:
    return Agent(HttpSpanExporter(endpoint=f"http://{address}/v1/traces"))


def run(tracer: Tracer, number: int, *, failed: bool = False) -> None:
    """An agent with two model calls and a tool call."""
    with tracer.start_as_current_span("invoke_agent planner", attributes=AGENT) as root:
        for turn in (1, 2):
            usage = {"gen_ai.usage.input_tokens": 100 * turn, "gen_ai.usage.output_tokens": number}
            tracer.start_span("chat gpt-4o-mini", attributes={**CHAT, **usage}).end()
        tracer.start_span("execute_tool search", attributes=TOOL).end()
        if failed:
            root.set_status(Status(StatusCode.ERROR, "no answer"))


def send_log_record(address: str, body: str) -> None:
    """One log record, over HTTP and as JSON."""
    record = {"timeUnixNano": str(time.time_ns()), "body": {"stringValue": body}}
    request = json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}).encode()
    headers = {"content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"http://{address}/v1/logs", request, headers)).close()


class Received:
    """What a file of the Collector's file exporter holds.

    Attributes:
        spans: name and attributes by trace and span id.
        times: how often each of them came.
    """

    def __init__(self, path: Path) -> None:
        self.spans: dict[Ids, Told] = {}
        self.times: Counter[Ids] = Counter()
        for span in _spans(path):
            ids = (span["traceId"], span["spanId"])
            self.spans[ids] = (span["name"], {a["key"]: _value(a["value"]) for a in span.get("attributes", ())})
            self.times[ids] += 1

    def twice(self) -> list[Ids]:
        return [ids for ids, times in self.times.items() if times > 1]


def _spans(path: Path) -> Iterator[dict[str, Any]]:
    text = path.read_text("utf-8") if path.exists() else ""
    for request in _objects(text):
        for resource in request.get("resourceSpans", ()):
            for scope in resource["scopeSpans"]:
                yield from scope["spans"]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """One after the other, with or without a newline: the exporter writes that by itself, and a kill may lose it."""
    decoder = json.JSONDecoder()
    at = 0
    while at < len(text):
        try:
            found, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError:
            return  # it is being written
        yield found
        at += text[at : at + 1] == "\n"


def _value(value: Mapping[str, Any]) -> Any:
    (kind, content), *_ = value.items()
    if kind == "arrayValue":
        return [_value(item) for item in content.get("values", ())]
    return int(content) if kind == "intValue" else content


def _ids(span: ReadableSpan) -> Ids:
    assert span.context is not None
    return f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}"


def _plain(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: list(value) if isinstance(value, tuple) else value for key, value in attributes.items()}
