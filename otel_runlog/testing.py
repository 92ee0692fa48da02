"""Public test doubles: spans as instrumentations write them, without an SDK.

trace = TraceBuilder("one")
boss = trace.agent("boss")
trace.chat("gpt-4o-mini", parent=boss, input_tokens=1000, output_tokens=100)
runs = project(trace.spans)
"""

from __future__ import annotations

import hashlib

from otel_runlog.model import Attributes, AttrValue, Resource, Scope, Span

START_NS = 1_795_910_400_000_000_000
"""2026-11-29T00:00:00Z."""
MS = 1_000_000
CLIENT, INTERNAL = 3, 1
STATUS_ERROR = 2


class TraceBuilder:
    """Builds the spans of one trace in OTel GenAI words; each starts 1 ms after the one before it.

    `name` makes the trace id, so that equal names give equal ids; `resource` is what the process says beside its name.
    """

    def __init__(
        self,
        name: str = "trace",
        *,
        start_ns: int = START_NS,
        service: str = "tests",
        resource: Attributes | None = None,
    ) -> None:
        self.trace_id = hashlib.sha256(name.encode()).hexdigest()[:32]
        self.resource = Resource({"service.name": service, **(resource or {})})
        self.spans: list[Span] = []
        self._start_ns = start_ns

    def span(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        kind: int = INTERNAL,
        duration_ms: float = 1,
        start_ms: float | None = None,
        scope: str = "tests",
        failed: bool = False,
        flags: int = 0x101,
    ) -> Span:
        """Any span. `parent` is a span or a span id; `start_ms` counts from the trace's start."""
        number = len(self.spans)
        started_ns = self._start_ns + int((number if start_ms is None else start_ms) * MS)
        built = Span(
            trace_id=self.trace_id,
            span_id=hashlib.sha256(f"{self.trace_id}{number}".encode()).hexdigest()[:16],
            parent_span_id=parent.span_id if isinstance(parent, Span) else parent,
            name=name,
            kind=kind,
            started_ns=started_ns,
            ended_ns=started_ns + int(duration_ms * MS),
            status_code=STATUS_ERROR if failed else 0,
            attributes=attributes or {},
            scope=Scope(scope),
            resource=self.resource,
            flags=flags,
        )
        self.spans.append(built)
        return built

    def agent(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        duration_ms: float = 100,
        failed: bool = False,
    ) -> Span:
        """An `invoke_agent` span."""
        own: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        return self.span(
            f"invoke_agent {name}", own | (attributes or {}), parent=parent, duration_ms=duration_ms, failed=failed
        )

    def chat(
        self,
        model: str | None,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        provider: str | None = None,
        duration_ms: float = 1,
        start_ms: float | None = None,
        scope: str = "tests",
        failed: bool = False,
    ) -> Span:
        """A `chat` span of a client."""
        values: dict[str, AttrValue] = {
            "gen_ai.operation.name": "chat",
            "gen_ai.provider.name": provider,
            "gen_ai.request.model": model,
            "gen_ai.usage.input_tokens": input_tokens,
            "gen_ai.usage.output_tokens": output_tokens,
        }
        own: Attributes = {k: v for k, v in values.items() if v is not None}
        return self.span(
            f"chat {model}",
            own | (attributes or {}),
            parent=parent,
            kind=CLIENT,
            duration_ms=duration_ms,
            start_ms=start_ms,
            scope=scope,
            failed=failed,
        )

    def tool(
        self,
        name: str,
        attributes: Attributes | None = None,
        *,
        parent: Span | str | None = None,
        duration_ms: float = 1,
        failed: bool = False,
    ) -> Span:
        """An `execute_tool` span."""
        own: Attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name}
        return self.span(
            f"execute_tool {name}", own | (attributes or {}), parent=parent, duration_ms=duration_ms, failed=failed
        )
