"""What a test looks at: runs and their counted steps, the same whichever way they were made.

Field names are columns of the SQL views `runs` and `steps`, and attributes of RunLog and Step.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple, Self

import duckdb
from opentelemetry.sdk.trace import ReadableSpan
from provider import Served

from otel_runlog import RunLog, Usage, project
from otel_runlog.model import Span
from otel_runlog.span import from_sdk


class Tokens(NamedTuple):
    """Token counters in the normal form: input with cache, output with reasoning; None is unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    @classmethod
    def of(cls, usage: Usage) -> Self:
        return cls(*(getattr(usage, name) for name in cls._fields))


def served_by_openai(*served: Served) -> Tokens:
    """The sum of what was served. Chat Completions knows no cache writes, so that counter stays unknown."""
    return served_by_anthropic(*served)._replace(cache_write_tokens=None)


def served_by_anthropic(*served: Served) -> Tokens:
    """The sum of what was served."""
    return Tokens(*(sum(getattr(one.answer, name) for one in served) for name in Tokens._fields))


class CallFacts(NamedTuple):
    kind: str
    agent: str | None
    status: str
    model: str | None
    tool_name: str | None
    tool_call_id: str | None


class RunFacts(NamedTuple):
    run_id: str
    agent: str | None
    status: str
    session_id: str | None
    step_count: int
    llm_calls: int
    tool_calls: int
    usage_missing_calls: int
    complete: bool


class SeenCall(NamedTuple):
    """A counted step."""

    facts: CallFacts
    tokens: Tokens


class SeenRun(NamedTuple):
    """A run and its counted steps in order."""

    facts: RunFacts
    tokens: Tokens
    calls: tuple[SeenCall, ...]
    warnings: frozenset[str]

    def model_calls(self) -> list[SeenCall]:
        return [call for call in self.calls if call.facts.kind == "llm"]

    def tool_calls(self) -> list[CallFacts]:
        return [call.facts for call in self.calls if call.facts.kind == "tool"]


def _codes(warnings: Iterable[str]) -> frozenset[str]:
    return frozenset(warning.partition(":")[0] for warning in warnings)


def _seen(run: RunLog) -> SeenRun:
    facts = RunFacts(*(getattr(run, name) for name in RunFacts._fields))
    calls = (
        SeenCall(CallFacts(*(getattr(step, name) for name in CallFacts._fields)), Tokens.of(step.usage))
        for step in run.steps
        if step.counted
    )
    return SeenRun(facts, Tokens.of(run.tokens), tuple(calls), _codes(run.warnings))


def projected_runs(spans: Iterable[Span | ReadableSpan]) -> list[SeenRun]:
    """The runs that the pure projection makes of spans, read from OTLP or finished in process."""
    neutral = [span if isinstance(span, Span) else from_sdk(span) for span in spans]
    return [_seen(run) for run in project(neutral)]


def stored_runs(db: Path) -> list[SeenRun]:
    """The runs that stand in a store, read by plain DuckDB."""
    with duckdb.connect(db, read_only=True) as connection:
        runs = connection.execute(_select("runs", RunFacts, "warnings") + " ORDER BY started_at").fetchall()
        return [_seen_row(connection, row) for row in runs]


def _seen_row(connection: duckdb.DuckDBPyConnection, row: tuple) -> SeenRun:
    facts, tokens, warnings = _split(row, RunFacts)
    query = _select("steps", CallFacts, "step_index") + " WHERE counted AND run_id = ? ORDER BY step_index"
    steps = connection.execute(query, [facts.run_id]).fetchall()
    calls = (SeenCall(*_split(step, CallFacts)[:2]) for step in steps)
    return SeenRun(facts, tokens, tuple(calls), _codes(warnings))


def _select(view: str, facts: type[NamedTuple], last: str) -> str:
    return f"SELECT {', '.join((*facts._fields, *Tokens._fields, last))} FROM {view}"


def _split(row: tuple, facts: type[NamedTuple]) -> tuple:
    width = len(facts._fields)
    return facts(*row[:width]), Tokens(*row[width:-1]), row[-1]
