"""What forwarding asks the store: how far segments are loaded, which traces are open, steps of spans, closed runs."""

from __future__ import annotations

import os
from collections.abc import Collection
from decimal import Decimal
from typing import TypeAlias, cast

import msgspec

from otel_runlog.store.connection import OpenStore, open_for_read

SpanKey: TypeAlias = tuple[str, str, int]
"""Trace id, span id and start in nanoseconds: what a span is known by."""


class SpanStep(msgspec.Struct, frozen=True):
    """What the store knows of a span that is a step. The cost is that of counted steps, so that a sum is the run's."""

    trace_id: str
    span_id: str
    started_ns: int
    run_id: str
    kind: str
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None


class ClosedRun(msgspec.Struct, frozen=True):
    """One version of a run that is over; the names are those of the view `runs`."""

    run_id: str
    version: int
    trace_id: str | None = None
    root_span_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    service: str | None = None
    service_version: str | None = None
    environment: str | None = None
    agent: str | None = None
    status: str = ""
    status_message: str | None = None
    started_ns: int | None = None
    finished_ns: int | None = None
    step_count: int | None = None
    llm_calls: int | None = None
    tool_calls: int | None = None
    error_count: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: Decimal | None = None
    cost_status: str | None = None
    complete: bool = True


class ForwardingReader(OpenStore):
    """A reader of a store for what is sent on. Errors of opening are those of `open_for_read`, of asking StoreError."""

    def __init__(self, path: str | os.PathLike[str], timeout_s: float = 0.0) -> None:
        self._store = open_for_read(path, timeout_s)

    def loaded(self, segments: Collection[str]) -> dict[str, tuple[int, bool]]:
        """Up to which byte each segment is loaded, and whether nothing will follow."""
        found = self._store.rows("forward_positions", {"segments": sorted(segments)})
        rows = cast("list[tuple[str, int, bool]]", found)
        return {segment: (offset, ended) for segment, offset, ended in rows}

    def open_traces(self, trace_ids: Collection[str]) -> set[str]:
        """Those of the traces that have a run which is not closed."""
        return {str(trace_id) for (trace_id,) in self._store.rows("forward_open", {"trace_ids": sorted(trace_ids)})}

    def steps(self, spans: Collection[SpanKey]) -> dict[SpanKey, SpanStep]:
        """The steps among the spans."""
        rows = self._store.rows("forward_steps", _of_traces({key[0] for key in spans}, [key[2] for key in spans]))
        steps = (SpanStep(*row) for row in rows)  # type: ignore[arg-type]  # the columns are its fields
        return {(step.trace_id, step.span_id, step.started_ns): step for step in steps}

    def closed_runs(self, trace_ids: Collection[str], started_ns: Collection[int]) -> list[ClosedRun]:
        """The closed runs of traces; of a run with several traces a step must have started within these times."""
        rows = self._store.rows("forward_runs", _of_traces(trace_ids, started_ns))
        return [ClosedRun(*row) for row in rows]  # type: ignore[arg-type]  # the columns are its fields


def _of_traces(trace_ids: Collection[str], started_ns: Collection[int]) -> dict[str, object]:
    return {
        "trace_ids": sorted(trace_ids),
        "from_ns": min(started_ns, default=0),
        "to_ns": max(started_ns, default=-1),
    }
