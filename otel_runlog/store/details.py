"""What a person asks of a run beyond its RunLog: the parents of its spans, its previews, its sessions."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias, cast

import msgspec

from otel_runlog.store import statements
from otel_runlog.store.connection import StoreConnection, open_for_read

Parents: TypeAlias = dict[tuple[str, str], str]
"""The parent span id of each (trace_id, span_id)."""


class Session(msgspec.Struct, frozen=True):
    """A row of the view `sessions`."""

    session_id: str
    user_id: str | None
    run_count: int
    started_at: dt.datetime | None
    finished_at: dt.datetime | None
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: Decimal | None
    cost_status: str


class Preview(msgspec.Struct, frozen=True):
    """The beginnings of what a run was asked and what it answered."""

    input: str | None = None
    output: str | None = None


def parents_of_run(store: StoreConnection, run_id: str) -> Parents:
    """The parent span ids in the run's traces. Errors are those of `StoreConnection.rows`."""
    traces: dict[str, object] = {"trace_ids": [t for (t,) in store.rows("traces_of_runs", {"run_ids": [run_id]})]}
    [(first_ns, last_ns)] = store.rows("times_of_traces", traces)
    rows = store.rows("parents_of_traces", traces | {"first_ns": first_ns, "last_ns": last_ns})
    return {(str(trace_id), str(span_id)): str(parent) for trace_id, span_id, parent in rows}


def previews_of_runs(store: StoreConnection, run_ids: Sequence[str]) -> dict[str, Preview]:
    """The previews of runs by run id. Errors are those of `StoreConnection.rows`."""
    rows = store.rows("previews_of_runs", {"run_ids": list(run_ids)})
    return {str(run_id): Preview(*cast("tuple[Any, Any]", previews)) for run_id, *previews in rows}


def list_sessions(store: StoreConnection) -> list[Session]:
    """All sessions, the newest first. Errors are those of `StoreConnection.rows`."""
    return [Session(**cast("dict[str, Any]", record)) for record in store.records("list_sessions")]


def provider_of_model(path: str | os.PathLike[str], model: str, timeout_s: float = 0.0) -> str | None:
    """The provider that most of a model's calls name, None where there are none. Errors are `open_for_read`'s."""
    with open_for_read(path, timeout_s) as store:
        rows = store.rows("provider_of_model", {"model": model})
    return str(rows[0][0]) if rows else None


def demo_query() -> str:
    """The SQL that the demo asks: tokens and cost by agent."""
    return statements.query("demo_agents")
