"""Large stores for the section `queries`, made by DuckDB itself: a second for 50,000 steps."""

from __future__ import annotations

from pathlib import Path

import duckdb

from otel_runlog.store.connection import open_for_write

from .workload import SPANS_PER_RUN

RUNS_PER_COMMIT = 20_000


def make_store(db: Path, steps: int) -> None:
    """A store of so many steps, about: one version of each run, no content."""
    runs = steps // SPANS_PER_RUN
    statements = duckdb.extract_statements(Path(__file__).with_name("made_store.sql").read_text("utf-8"))
    with open_for_write(db) as store:
        for first in range(0, runs, RUNS_PER_COMMIT):
            bounds = {"from_run": first, "to_run": min(first + RUNS_PER_COMMIT, runs)}
            with store.transaction():
                for statement in statements:
                    known = {name: bounds[name] for name in statement.named_parameters}
                    store.duck.execute(statement, known)
