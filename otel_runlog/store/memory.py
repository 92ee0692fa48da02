"""A store of runs in memory, for tests and for programs that need no file."""

from __future__ import annotations

import copy
import datetime as dt

from otel_runlog.counting import free_of_cost
from otel_runlog.model import RunLog, RunLogQuery, Step
from otel_runlog.store.closing import Closes

_BEFORE_ALL = dt.datetime.min.replace(tzinfo=dt.UTC)


class InMemoryRunLogStore(Closes):
    """A `RunLogStore` that keeps copies of the runs put into it."""

    def __init__(self) -> None:
        self._runs: dict[str, RunLog] = {}

    def put(self, run: RunLog) -> None:
        """Keep a run; one of the same run_id is replaced. A replay is kept without cost."""
        self._runs[run.run_id] = copy.deepcopy(free_of_cost(run))

    def get(self, run_id: str) -> RunLog | None:
        """The run of that id; None where there is none."""
        return copy.deepcopy(self._runs.get(run_id))

    def list(self, query: RunLogQuery | None = None) -> list[RunLog]:
        """The runs that a query selects, newest start first."""
        query = query or RunLogQuery()
        found = sorted((run for run in self._runs.values() if _selects(query, run)), key=lambda run: run.run_id)
        found.sort(key=lambda run: run.started_at or _BEFORE_ALL, reverse=True)
        end = None if query.limit is None else query.offset + query.limit
        return copy.deepcopy(found[query.offset : end])

    def steps(self, run_id: str) -> tuple[Step, ...]:
        """The steps of a run by step_index; none where there is no such run."""
        run = self.get(run_id)
        return run.steps if run else ()

    def delete(self, run_id: str) -> bool:
        """Forget a run; False where there was none."""
        return self._runs.pop(run_id, None) is not None

    def close(self) -> None:
        """Forget everything."""
        self._runs.clear()


def _selects(query: RunLogQuery, run: RunLog) -> bool:
    return (
        query.agent in (None, run.agent)
        and query.status in (None, run.status)
        and query.session_id in (None, run.session_id)
        and (query.labels or {}).items() <= run.labels.items()
        and (query.since is None or (run.started_at is not None and run.started_at >= query.since))
        and (query.until is None or (run.started_at is not None and run.started_at < query.until))
    )
