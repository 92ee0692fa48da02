"""What `reprice` reads and writes: the steps that make the cost of runs, and new versions of the runs that changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any, cast

import duckdb
import msgspec

from otel_runlog.model import Cost
from otel_runlog.store.connection import OpenStore, open_for_read, open_for_write
from otel_runlog.store.said import using_error

STEPS_PER_BATCH = 49_152
"""So many steps, about, are in memory and in a transaction at once; a run is never divided."""
RUNS_PER_BATCH = 8_192


class RunKey(msgspec.Struct, frozen=True):
    """A run as it now counts. `at_ns` is its start, 0 where nobody knows; `missing` its calls without usage."""

    is_open: bool
    run_id: str
    version: int
    at_ns: int
    step_count: int | None
    missing: int
    notes: list[str] | None


class CostedStep(msgspec.Struct, gc=False):
    """A counted step that has a cost, or could have one. Amounts are texts of 12 decimals, as the store holds them.

    `cost` is the same as a Cost, once somebody asked.

    What is made of hundreds of thousands of rows is kept from the garbage collector: there are no cycles in it.
    """

    is_open: bool
    row: int
    run_id: str
    span_id: str
    kind: str
    agent: str | None
    provider: str | None
    model: str | None
    response_model: str | None
    request_model: str | None
    service_tier: str | None
    started_ns: int | None
    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None
    reasoning_tokens: int | None
    cache_write_5m_tokens: int | None
    cache_write_1h_tokens: int | None
    usage_source: str | None
    cost_usd: str | None
    reported_usd: str | None
    estimated_usd: str | None
    cost_status: str
    price_table: str | None
    price_version: str | None
    notes: list[str] | None
    cost: Cost | None = None


class AgentRow(msgspec.Struct):
    """An agent of a run; the first of a run is the root's."""

    is_open: bool
    row: int
    run_id: str
    agent: str
    parent_agent: str | None
    depth: int
    position: int


class StepChange(msgspec.Struct, gc=False):
    """What a step's cost is now. The fields are the columns of `repriced_steps`."""

    is_open: bool
    step_row: int
    cost_usd: str | None
    estimated_cost_usd: str | None
    cost_status: str
    price_table: str | None
    price_version: str | None
    notes: list[str] | None


class RunChange(msgspec.Struct):
    """The cost of a run of which steps changed. The fields are the columns of `repriced_runs`."""

    is_open: bool
    run_id: str
    version: int
    cost_usd: str | None
    estimated_cost_usd: str | None
    cost_status: str
    price_table: str | None
    price_version: str | None
    unpriced_calls: int
    unpriced_models: list[str] | None
    notes: list[str] | None


class AgentChange(msgspec.Struct):
    """The costs of an agent of such a run. The fields are the columns of `repriced_agents`."""

    is_open: bool
    agent_row: int
    own_cost_usd: str | None
    inclusive_cost_usd: str | None


class ModelDayChange(msgspec.Struct):
    """The cost of a closed run's calls of one day and model. The fields are the columns of `repriced_models`."""

    run_id: str
    version: int
    day: int | None
    provider: str | None
    model: str | None
    cost_usd: str | None
    unpriced_calls: int


class RepricedBatch(msgspec.Struct):
    """What is written together."""

    steps: list[StepChange] = []
    runs: list[RunChange] = []
    agents: list[AgentChange] = []
    models: list[ModelDayChange] = []


_WRITES = (
    "reprice_closed_steps",
    "reprice_closed_runs",
    "reprice_closed_agents",
    "reprice_closed_models",
    "reprice_superseded",
    "reprice_open_steps",
    "reprice_open_runs",
    "reprice_open_agents",
)
"""Closed runs get a new version (DESIGN rule 4); the rows of open ones are replaced by each load turn anyway."""


class RepricingStore(OpenStore):
    """A store open for a turn of repricing: beside other readers, or, to `write`, alone. Errors: `open_for_write`'s."""

    def __init__(self, path: str | os.PathLike[str], timeout_s: float, *, write: bool) -> None:
        self._store = (open_for_write if write else open_for_read)(path, timeout_s)

    def next_runs(self, after: tuple[int, str], since_ns: int | None) -> list[RunKey]:
        """The runs that follow (start, run_id), as many as are dealt with at once; none at the end."""
        at_ns, run_id = after
        rows = self._store.rows(
            "reprice_next_runs", {"at_ns": at_ns, "run_id": run_id, "since_ns": since_ns, "limit": RUNS_PER_BATCH}
        )
        found = [RunKey(*cast("tuple[Any, ...]", row)) for row in rows]
        return list(_up_to(STEPS_PER_BATCH, found))

    def steps_of(self, runs: Sequence[RunKey]) -> list[CostedStep]:
        """The counted steps of these runs that have a cost or could have one, run by run."""
        rows = self._store.rows("reprice_steps", _wanted(runs))
        return [CostedStep(*cast("tuple[Any, ...]", row)) for row in rows]

    def agents_of(self, runs: Sequence[RunKey]) -> list[AgentRow]:
        """The agents of these runs."""
        rows = self._store.rows("reprice_agents", _wanted(runs))
        return [AgentRow(*cast("tuple[Any, ...]", row)) for row in rows]

    def write(self, batch: RepricedBatch, repriced_ns: int) -> None:
        """Write what changed and the audit of it, all or nothing.

        Raises:
            StoreError: DuckDB refuses, a full disk for instance; the reason is its own.
        """
        try:
            with self._store.transaction():
                self._store.rows("reprice_tables")
                self._append("repriced_steps", StepChange, batch.steps)
                self._append("repriced_runs", RunChange, batch.runs)
                self._append("repriced_agents", AgentChange, batch.agents)
                self._append("repriced_models", ModelDayChange, batch.models)
                self._store.rows("reprice_changes", {"repriced_ns": repriced_ns})
                for query in _WRITES:
                    self._store.rows(query)
        except duckdb.Error as error:
            raise using_error(self._store.path, error) from error

    def _append(self, table: str, kind: type[msgspec.Struct], items: Iterable[msgspec.Struct]) -> None:
        self._store.append(table, kind.__struct_fields__, map(msgspec.structs.astuple, items))


def _up_to(steps: int, runs: Iterable[RunKey]) -> Iterable[RunKey]:
    """The first runs that have so many steps together, and one at least."""
    for run in runs:
        yield run
        steps -= run.step_count or 1
        if steps <= 0:
            return


def _wanted(runs: Sequence[RunKey]) -> dict[str, object]:
    return {
        "run_ids": [run.run_id for run in runs],
        "versions": [run.version for run in runs],
        "opens": [run.is_open for run in runs],
    }
