"""Reading the store: runs with their steps, a run by its name, and plain SQL."""

from __future__ import annotations

import datetime as dt
import os
from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, TypeAlias, cast, get_args

import duckdb
import msgspec

from otel_runlog.errors import ConfigError, RunNotFoundError
from otel_runlog.model import AgentUsage, RunLog, RunLogQuery, Step
from otel_runlog.store import details, plain_json, rows
from otel_runlog.store.connection import OpenStore, open_for_read
from otel_runlog.store.details import Preview, Session
from otel_runlog.store.said import asking_error, signals_told

RunOrder: TypeAlias = Literal["started", "cost", "tokens", "duration", "errors"]
"""What runs are sorted by, the largest first."""

SHORTEST_PREFIX = 4
_SHOWN_CANDIDATES = 5
_FIRST, _LAST = dt.datetime(1678, 1, 1, tzinfo=dt.UTC), dt.datetime(2262, 1, 1, tzinfo=dt.UTC)
_LOOKED_AT = 4
"""So many versions are looked at for a run of the newest: some no longer count, some are not asked for."""


class Result(msgspec.Struct, frozen=True):
    """The answer to a query: names and DuckDB types of the columns, and the rows."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    rows: list[tuple[object, ...]]


class StoreReader(OpenStore):
    """A reader of a store, beside other readers; no process can write until it is closed.

    Errors of opening are those of `open_for_read`.
    """

    def __init__(self, path: str | os.PathLike[str], timeout_s: float = 2.0) -> None:
        self._store = open_for_read(path, timeout_s)

    def runs(
        self, query: RunLogQuery | None = None, *, order: RunOrder = "started", with_steps: bool = False
    ) -> list[RunLog]:
        """The runs that a query selects, without steps and agents unless asked for.

        Raises:
            ConfigError: there is no such order, or limit or offset is negative.
        """
        query = query or RunLogQuery()
        _check(query, order)
        return self._runs(_conditions(query) | {"sort": order}, with_steps=with_steps)

    def run(self, run_id: str) -> RunLog:
        """The run of that id, or the one that it was renamed to, with its steps and agents.

        Raises:
            RunNotFoundError: there is no such run.
        """
        for record in self._store.records("run_by_id", {"run_id": run_id}):
            return rows.unpack_run(record, self._steps_of_run(record), self._agents_of_run(record))
        for heir, is_exact in self._store.rows("run_id_by_prefix", {"name": run_id}):
            if is_exact:
                return self.run(str(heir))
        raise RunNotFoundError(f"no run has the id {run_id!r}")

    def steps(self, run_id: str) -> list[Step]:
        """The steps of a run in order; none where there is no such run."""
        return self._steps_of([run_id])[run_id]

    def find(self, name: str) -> str:
        """The id of the run that a name means: `last`, a whole id, or a unique prefix of 4 or more characters.

        Raises:
            RunNotFoundError: no run, or more than one, goes by that name.
        """
        if name == "last":
            return self._last()
        return picked_id(name, self._store.rows("run_id_by_prefix", {"name": name}))

    def previews(self, run_ids: Sequence[str]) -> dict[str, Preview]:
        """The previews of runs by run id."""
        return details.previews_of_runs(self._store, run_ids)

    def parents(self, run_id: str) -> details.Parents:
        """The parent span id of each span in the run's traces that has one."""
        return details.parents_of_run(self._store, run_id)

    def sessions(self) -> list[Session]:
        """All sessions, the newest first."""
        return details.list_sessions(self._store)

    def query(self, sql: str) -> Result:
        """The answer to any SQL over the views; the store is open read-only.

        Raises:
            StoreDamagedError: the file cannot be read any more.
            StoreInterruptedError: a signal handler raised meanwhile.
            StoreError: the statement cannot be run; the reason is DuckDB's.
        """
        try:
            with signals_told(self._store.path):
                cursor = self._store.duck.execute(sql)
                description = cursor.description or []
                return Result(
                    columns=tuple(str(column[0]) for column in description),
                    types=tuple(str(column[1]) for column in description),
                    rows=cursor.fetchall() if description else [],
                )
        except duckdb.Error as error:
            raise asking_error(self._store.path, error) from error

    def _last(self) -> str:
        for run in self.runs(RunLogQuery(limit=1)):
            return run.run_id
        raise RunNotFoundError(f"{self._store.path} has no runs yet")

    def _runs(self, parameters: dict[str, object], *, with_steps: bool) -> list[RunLog]:
        records = self._records(parameters)
        run_ids = [str(record["run_id"]) for record in records] if with_steps else []
        steps, agents = self._steps_of(run_ids), self._agents_of(run_ids)
        return [rows.unpack_run(r, steps[str(r["run_id"])], agents[str(r["run_id"])]) for r in records]

    def _records(self, parameters: dict[str, object]) -> list[dict[str, object]]:
        """The rows of the runs: a few of them are looked for among the newest first, then by their ids and time."""
        limit, offset = cast("int | None", parameters["limit"]), cast("int", parameters["offset"])
        if limit is not None and parameters["sort"] == "started":
            [(from_ns,)] = self._store.rows("newest_start", {"runs": _LOOKED_AT * (limit + offset) + _LOOKED_AT})
            records = self._store.records("list_runs", parameters | {"from_ns": from_ns})
            if len(records) == limit:
                return records
        if limit is not None:
            parameters = parameters | self._picked(parameters)
        return self._store.records("list_runs", parameters)

    def _picked(self, parameters: dict[str, object]) -> dict[str, object]:
        """Conditions that select the same runs by their ids and the time in which they are."""
        conditions = {name: value for name, value in parameters.items() if name != "from_ns"}
        picked = cast("list[tuple[str, int | None]]", self._store.rows("pick_runs", conditions))
        starts = [started_ns for _, started_ns in picked]
        from_ns = None if None in starts else min(starts, default=None)  # type: ignore[type-var]  # no None in them
        return {"run_ids": [run_id for run_id, _ in picked], "from_ns": from_ns, "limit": None, "offset": 0}

    def _steps_of_run(self, run: rows.Record) -> list[Step]:
        """The steps of one run, looked for in its time.

        A first step that is not there started before its run did; among steps whose start nobody knows that cannot be
        seen.
        """
        run_id, bounds = str(run["run_id"]), {name: run[name] for name in ("run_id", "started_ns", "last_ns")}
        steps = [rows.unpack_step(record) for record in self._store.records("steps_of_run", bounds)]
        is_whole = steps and steps[0].step_index == 1 and all(step.started_ns is not None for step in steps)
        return steps if is_whole else self._steps_of([run_id])[run_id]

    def _steps_of(self, run_ids: Sequence[str]) -> defaultdict[str, list[Step]]:
        steps: defaultdict[str, list[Step]] = defaultdict(list)
        if run_ids:
            for record in self._store.records("steps_of_runs", {"run_ids": list(run_ids)}):
                steps[str(record["run_id"])].append(rows.unpack_step(record))
        return steps

    def _agents_of_run(self, run: rows.Record) -> list[AgentUsage]:
        bounds = {name: run[name] for name in ("run_id", "started_ns")}
        return [rows.unpack_agent(record) for record in self._store.records("agents_of_run", bounds)]

    def _agents_of(self, run_ids: Sequence[str]) -> defaultdict[str, list[AgentUsage]]:
        agents: defaultdict[str, list[AgentUsage]] = defaultdict(list)
        if run_ids:
            for record in self._store.records("agents_of_runs", {"run_ids": list(run_ids)}):
                agents[str(record["run_id"])].append(rows.unpack_agent(record))
        return agents


def _conditions(query: RunLogQuery) -> dict[str, object]:
    return {
        "run_ids": None,
        "from_ns": None,
        "agent": query.agent,
        "status": query.status,
        "session_id": query.session_id,
        "labels": plain_json.dumps(dict(query.labels)) if query.labels else None,
        "since": _within_ns(query.since),
        "until": _within_ns(query.until),
        "sort": "started",
        "limit": query.limit,
        "offset": query.offset,
    }


def _within_ns(at: dt.datetime | None) -> dt.datetime | None:
    """A time that nanoseconds in 64 bits hold, as those of the store: before the first and after the last is no run."""
    return at if at is None or at.tzinfo is None else min(max(at, _FIRST), _LAST)


def _check(query: RunLogQuery, order: str) -> None:
    if order not in get_args(RunOrder):
        raise ConfigError(f"runs cannot be sorted by {order!r}: choose one of {', '.join(get_args(RunOrder))}")
    if (query.limit or 0) < 0 or query.offset < 0:
        raise ConfigError(f"limit {query.limit} and offset {query.offset} must not be negative")


def picked_id(name: str, found: Sequence[tuple[object, ...]]) -> str:
    """The run that a name means, of (run_id, whether that is exact) of all that it may mean.

    Raises:
        RunNotFoundError: there is none, or more than one.
    """
    exact = [str(run_id) for run_id, is_exact in found if is_exact]
    if exact:
        return exact[0]
    if len(name) < SHORTEST_PREFIX:
        raise RunNotFoundError(f"no run has the id {name!r}, and a prefix takes {SHORTEST_PREFIX} characters or more")
    return _only(name, sorted({str(run_id) for run_id, _ in found}))


def _only(name: str, candidates: list[str]) -> str:
    if not candidates:
        raise RunNotFoundError(f"no run has an id that starts with {name!r}")
    if len(candidates) > 1:
        shown = ", ".join(candidates[:_SHOWN_CANDIDATES]) + (", ..." if len(candidates) > _SHOWN_CANDIDATES else "")
        raise RunNotFoundError(
            f"{len(candidates)} runs have an id that starts with {name!r} ({shown}): write more of it"
        )
    return candidates[0]
