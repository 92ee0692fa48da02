"""Real clients against the scripted provider, looked at through both of the package's in-process paths.

Each test of this folder runs twice: over `project([...])` of its finished spans, and over the rows that
`RunLogSpanProcessor` brought into a DuckDB file. Both must tell the same.
"""

import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import Span

sys.path.append(str(Path(__file__).parents[1]))  # tests/, where provider.py is

from seen import SeenRun, projected_runs, stored_runs

NEEDS_FRAMEWORKS = "needs the extra `frameworks`: pip install 'otel-runlog[frameworks]'"


class Instrumentor(Protocol):
    """What the instrumentations of all three makers have in common."""

    def instrument(self, *, tracer_provider: TracerProvider) -> None: ...
    def uninstrument(self) -> None: ...


class Tracing:
    """The tracing of one test: its own tracer provider, and the runs that were seen through it."""

    def __init__(self) -> None:
        self.provider = TracerProvider()
        self._tracer = self.provider.get_tracer("agent-under-test")

    def runs(self) -> list[SeenRun]:
        raise NotImplementedError

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
        from otel_runlog.processor import RunLogSpanProcessor

        super().__init__()
        self._db = folder / "runs.duckdb"
        self.provider.add_span_processor(RunLogSpanProcessor(self._db))

    def runs(self) -> list[SeenRun]:
        assert self.provider.force_flush(10_000)
        self.provider.shutdown()
        return stored_runs(self._db)


@pytest.fixture(params=[Projected, Stored], ids=["projection", "store"])
def tracing(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Tracing]:
    one = request.param(tmp_path)
    yield one
    one.provider.shutdown()
