"""The telemetry behind runs, as it was stored: spans, start records and log records of traces."""

from __future__ import annotations

from collections.abc import Iterable

from otel_runlog.store import rows
from otel_runlog.store.batch import StoredLog, StoredSpan
from otel_runlog.store.connection import StoreConnection


def spans_of(store: StoreConnection, trace_ids: Iterable[str]) -> list[StoredSpan]:
    """The stored spans and the start records of the traces. Errors are those of `StoreConnection.rows`, as below."""
    wanted = named(trace_ids)
    [(first_ns, last_ns)] = store.rows("times_of_traces", wanted)
    found = store.records("spans_of_traces", wanted | {"first_ns": first_ns, "last_ns": last_ns})
    return [rows.unpack_span(record) for record in found]


def logs_of(store: StoreConnection, trace_ids: Iterable[str]) -> list[StoredLog]:
    """The log records of the traces."""
    return [rows.unpack_log(record) for record in store.records("logs_of_traces", named(trace_ids))]


def traces_of_runs(store: StoreConnection, run_ids: Iterable[str]) -> set[str]:
    """The traces that the runs and their steps come from."""
    found = store.rows("traces_of_runs", {"run_ids": sorted(set(run_ids))})
    return {str(trace_id) for (trace_id,) in found}


def named(trace_ids: Iterable[str]) -> dict[str, object]:
    """The parameter of queries that look for traces."""
    return {"trace_ids": sorted(set(trace_ids))}
