"""The tracing of one test of a real client, and the two in-process paths from its spans to runs."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span
from provider import ScriptedProvider
from seen_runs import SeenRun, projected_runs, stored_runs

from otel_runlog import RunLogSpanProcessor

NEEDS_FRAMEWORKS = "needs the extra `frameworks`: pip install 'otel-runlog[frameworks]'"
NEEDS_MORE_FRAMEWORKS = "needs the extra `frameworks-more`: pip install 'otel-runlog[frameworks,frameworks-more]'"

CONTENT = {
    "OTEL_SEMCONV_STABILITY_OPT_IN": "gen_ai_latest_experimental",
    "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY",
    "ANTHROPIC_OPEN_TELEMETRY_TRACES_CONTENT_MODE": "content",
}
"""Settings by which instrumentations record what was asked and answered."""


def addresses(provider: ScriptedProvider) -> dict[str, str]:
    """The environment by which clients find a scripted provider, and the keys that they want."""
    keys = {"OPENAI_API_KEY": "unused", "ANTHROPIC_API_KEY": "unused", "GEMINI_API_KEY": "unused"}
    urls = {
        "OPENAI_BASE_URL": provider.openai_url,
        "ANTHROPIC_BASE_URL": provider.url,
        "GOOGLE_GEMINI_BASE_URL": provider.url,
    }
    return keys | urls


class Instrumentor(Protocol):
    """What the instrumentations of all three makers have in common."""

    def instrument(self, *, tracer_provider: TracerProvider) -> None: ...
    def uninstrument(self) -> None: ...


class Tracing(ABC):
    """The tracing of one test: its own tracer provider, and the runs that were seen through it."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self._tracer = self.provider.get_tracer("agent-under-test")

    @abstractmethod
    def runs(self) -> list[SeenRun]:
        """The runs of all that ended so far."""

    def agent(self, name: str) -> AbstractContextManager[Span]:
        attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
        return self._tracer.start_as_current_span(f"invoke_agent {name}", attributes=attributes)

    def tool(self, name: str, call_id: str) -> AbstractContextManager[Span]:
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
        return self._tracer.start_as_current_span(f"execute_tool {name}", attributes=attributes)

    @contextmanager
    def instrumented(self, *instrumentors: Instrumentor) -> Iterator[None]:
        for instrumentor in instrumentors:
            instrumentor.instrument(tracer_provider=self.provider)
        try:
            yield
        finally:
            for instrumentor in reversed(instrumentors):
                instrumentor.uninstrument()


class Projected(Tracing):
    """Runs come from the pure projection of the finished spans."""

    def __init__(self, _folder: Path) -> None:
        super().__init__()
        self._spans = InMemorySpanExporter()
        self.provider.add_span_processor(SimpleSpanProcessor(self._spans))

    def runs(self) -> list[SeenRun]:
        return projected_runs(self._spans.get_finished_spans())


class Stored(Tracing):
    """Runs come from the DuckDB file that the span processor filled."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._db = folder / "runs.duckdb"
        self.provider.add_span_processor(RunLogSpanProcessor(self._db))

    def runs(self) -> list[SeenRun]:
        assert self.provider.force_flush(10_000)
        self.provider.shutdown()
        return stored_runs(self._db)
