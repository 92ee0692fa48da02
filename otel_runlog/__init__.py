"""What one run of an agent did, cost, and why it failed: OpenTelemetry spans to runs in DuckDB.

    provider.add_span_processor(otel_runlog.RunLogSpanProcessor("runs.duckdb"))
    runs = otel_runlog.project(otel_runlog.read_otlp("traces.jsonl"))

The public names and nothing else. Each is imported when it is first used, so that `import otel_runlog` in an agent
costs neither duckdb nor grpc nor the price data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_runlog.capture import Capture
    from otel_runlog.captures.keeping import gc_captures, load_capture, persist_capture
    from otel_runlog.captures.sink import CaptureSink
    from otel_runlog.errors import RatesError, RunLogError
    from otel_runlog.fingerprint import request_fingerprint
    from otel_runlog.loader import Loader
    from otel_runlog.model import (
        Cost,
        LlmIo,
        LogRecord,
        Message,
        RunLog,
        RunLogQuery,
        RunStatus,
        Span,
        Step,
        StepKind,
        StepStatus,
        Usage,
    )
    from otel_runlog.otlp.files import read_otlp
    from otel_runlog.pricing import PriceTable, Rates
    from otel_runlog.processor import RunLogSpanExporter, RunLogSpanProcessor
    from otel_runlog.replaying.divergence import DivergenceReport, ReplayMode, ReproVerdict, StepDivergence
    from otel_runlog.replaying.doors import LlmClient, ToolInvoker
    from otel_runlog.replaying.in_process import (
        ReplayLlmClient,
        replay,
        replay_async,
        replay_with_divergence,
        replay_with_divergence_async,
    )
    from otel_runlog.replaying.session import replay_session
    from otel_runlog.replaying.tools import replay_tool
    from otel_runlog.running import run
    from otel_runlog.runs import project, project_with_llm_io
    from otel_runlog.store.duckdb_store import DuckDBRunLogStore
    from otel_runlog.store.memory import InMemoryRunLogStore
    from otel_runlog.store.protocol import RunLogStore

_HOMES = {
    "Capture": "capture",
    "CaptureSink": "captures.sink",
    "Cost": "model",
    "DivergenceReport": "replaying.divergence",
    "DuckDBRunLogStore": "store.duckdb_store",
    "InMemoryRunLogStore": "store.memory",
    "LlmClient": "replaying.doors",
    "LlmIo": "model",
    "Loader": "loader",
    "LogRecord": "model",
    "Message": "model",
    "PriceTable": "pricing",
    "Rates": "pricing",
    "RatesError": "errors",
    "ReplayLlmClient": "replaying.in_process",
    "ReplayMode": "replaying.divergence",
    "ReproVerdict": "replaying.divergence",
    "RunLog": "model",
    "RunLogError": "errors",
    "RunLogQuery": "model",
    "RunLogSpanExporter": "processor",
    "RunLogSpanProcessor": "processor",
    "RunLogStore": "store.protocol",
    "RunStatus": "model",
    "Span": "model",
    "Step": "model",
    "StepDivergence": "replaying.divergence",
    "StepKind": "model",
    "StepStatus": "model",
    "ToolInvoker": "replaying.doors",
    "Usage": "model",
    "gc_captures": "captures.keeping",
    "load_capture": "captures.keeping",
    "persist_capture": "captures.keeping",
    "project": "runs",
    "project_with_llm_io": "runs",
    "read_otlp": "otlp.files",
    "replay": "replaying.in_process",
    "replay_async": "replaying.in_process",
    "replay_session": "replaying.session",
    "replay_tool": "replaying.tools",
    "replay_with_divergence": "replaying.in_process",
    "replay_with_divergence_async": "replaying.in_process",
    "request_fingerprint": "fingerprint",
    "run": "running",
}

__all__ = [
    "Capture",
    "CaptureSink",
    "Cost",
    "DivergenceReport",
    "DuckDBRunLogStore",
    "InMemoryRunLogStore",
    "LlmClient",
    "LlmIo",
    "Loader",
    "LogRecord",
    "Message",
    "PriceTable",
    "Rates",
    "RatesError",
    "ReplayLlmClient",
    "ReplayMode",
    "ReproVerdict",
    "RunLog",
    "RunLogError",
    "RunLogQuery",
    "RunLogSpanExporter",
    "RunLogSpanProcessor",
    "RunLogStore",
    "RunStatus",
    "Span",
    "Step",
    "StepDivergence",
    "StepKind",
    "StepStatus",
    "ToolInvoker",
    "Usage",
    "gc_captures",
    "load_capture",
    "persist_capture",
    "project",
    "project_with_llm_io",
    "read_otlp",
    "replay",
    "replay_async",
    "replay_session",
    "replay_tool",
    "replay_with_divergence",
    "replay_with_divergence_async",
    "request_fingerprint",
    "run",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'otel_runlog' has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(f"otel_runlog.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
