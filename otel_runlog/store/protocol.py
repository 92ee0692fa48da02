"""What every store of runs can do."""

from __future__ import annotations

from typing import Protocol

from otel_runlog.model import RunLog, RunLogQuery, Step


class RunLogStore(Protocol):
    """Keeps runs by their run_id. Runs that come back have their steps and agents."""

    def put(self, run: RunLog) -> None:
        """Keep a run; one of the same run_id is replaced. A replay (`replay_of`) is kept without cost."""

    def get(self, run_id: str) -> RunLog | None:
        """The run of that id; None where there is none."""

    def list(self, query: RunLogQuery | None = None) -> list[RunLog]:
        """The runs that a query selects, newest start first, those without a start last; all without a query."""

    def steps(self, run_id: str) -> tuple[Step, ...]:
        """The steps of a run by step_index; none where there is no such run."""

    def delete(self, run_id: str) -> bool:
        """Forget a run; False where there was none."""

    def close(self) -> None:
        """Let go of what the store holds. Closing twice is fine."""
