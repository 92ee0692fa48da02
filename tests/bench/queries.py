"""What answers take from a large store, and what maintenance does: wall time of queries, CPU time of repricing."""

from __future__ import annotations

import hashlib
import itertools
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from otel_runlog.maintenance import compact
from otel_runlog.model import RunLogQuery
from otel_runlog.pricing import PriceTable
from otel_runlog.reprice import reprice
from otel_runlog.store.batch import CallSearch
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

from .made_store import make_store
from .measure import Sample, Scale, Timer, Variant, interleaved
from .report import Line
from .workload import SECOND_NS, SPANS_PER_RUN

SECTION = "queries"
MODELS, LATEST, ONE_RUN, LOOKUPS = (
    "models by day",
    "latest 50 runs",
    "one run with its steps",
    "a commit's look-ups of 128 new traces",
)
PLAIN_MODELS, PLAIN_LATEST, PLAIN_RUN, PLAIN_LOOKUP = (
    "same aggregate, plain table",
    "50 newest rows, plain table",
    "its steps, plain table",
    "one scan of trace ids",
)
FIGURES: tuple[tuple[str, str, float | None], ...] = (
    (MODELS, PLAIN_MODELS, 100),
    (LATEST, PLAIN_LATEST, 50),
    (ONE_RUN, PLAIN_RUN, 20),
    (LOOKUPS, PLAIN_LOOKUP, None),
)
"""Name, floor and goal in milliseconds at 5 million steps (issue `Small and fast`)."""
REPRICE, COMPACT, COPY = "reprice, every run changes", "compact after it", "copy of the steps, plain table"
REPRICE_GOAL_US = 30
"""1 million steps in 30 s."""
FLOORS = {
    PLAIN_MODELS: """
        SELECT CAST(make_timestamp(started_ns // 1000) AS DATE) AS day, provider, model, count(*), sum(input_tokens),
            sum(output_tokens), sum(cost_usd), quantile_cont(ended_ns - started_ns, [0.5, 0.95])
        FROM closed_steps WHERE kind = 'llm' GROUP BY ALL""",
    PLAIN_LATEST: "SELECT * FROM closed_runs ORDER BY started_ns DESC LIMIT 50",
    PLAIN_RUN: "SELECT * FROM closed_steps WHERE run_id = $run_id",
    PLAIN_LOOKUP: "SELECT count(*) FROM stored_spans WHERE trace_id = $run_id",
}
PRICES = """
name = "bench"
version = "1"
[[model]]
match = "*"
input = "0.2"
output = "0.7"
cache_read = "0.1"
"""


def lines(scale: Scale) -> list[Line]:
    """The section's figures."""
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        answers = _Answers(Path(folder) / "runs.duckdb", scale.steps_stored)
        samples = interleaved(answers.variants(), scale.repeats, clock=time.perf_counter, warm_up=scale.warm_up)
        answers.close()
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        upkeep = _Upkeep(Path(folder), scale.steps_repriced)
        kept = interleaved(upkeep.variants(), scale.repeats_end_to_end, warm_up=False)
    return [*_answer_lines(samples), *_upkeep_lines(kept, scale.steps_repriced)]


class _Answers:
    """Questions to one large store that is open, as a server has it."""

    def __init__(self, db: Path, steps: int) -> None:
        make_store(db, steps)
        with StoreReader(db) as reader:
            [(self._run_id, self._from_ns)] = reader.query(
                f"SELECT run_id, started_ns FROM runs ORDER BY started_ns LIMIT 1 OFFSET {steps // SPANS_PER_RUN // 2}"
            ).rows
        self._db = db
        self._reader: StoreReader | None = None
        self._writer: StoreWriter | None = None
        self._plain: duckdb.DuckDBPyConnection | None = None

    def variants(self) -> dict[str, Variant]:
        return {
            **{name: self._asked(sql) for name, sql in FLOORS.items()},
            MODELS: self._read(lambda reader: reader.query("FROM models")),
            LATEST: self._read(lambda reader: reader.runs(RunLogQuery(limit=50))),
            ONE_RUN: self._read(lambda reader: reader.run(str(self._run_id))),
            LOOKUPS: self._look_up,
        }

    def close(self) -> None:
        for store in (self._reader, self._writer, self._plain):
            if store is not None:
                store.close()
        self._reader = self._writer = self._plain = None

    def _asked(self, sql: str) -> Variant:
        def run(timer: Timer) -> None:
            if self._plain is None:
                self.close()
                self._plain = duckdb.connect(self._db, read_only=True)
            given = {"run_id": self._run_id} if "$run_id" in sql else {}
            self._plain.execute(sql, given).fetchall()  # the first answer reads the disk
            with timer:
                self._plain.execute(sql, given).fetchall()

        return run

    def _read(self, ask: Callable[[StoreReader], object]) -> Variant:
        def run(timer: Timer) -> None:
            if self._reader is None:
                self.close()
                self._reader = StoreReader(self._db)
            ask(self._reader)
            with timer:
                ask(self._reader)

        return run

    def _look_up(self, timer: Timer) -> None:
        """What the loader asks of the store for a commit of traces that nobody has seen before."""
        if self._writer is None:
            self.close()
            self._writer = StoreWriter(self._db)
        new = [hashlib.md5(b"new %d" % number, usedforsecurity=False).hexdigest() for number in range(128)]
        ids = [f"resp-{name}" for name in new]
        until_ns = int(str(self._from_ns)) + 128 * SECOND_NS
        calls = CallSearch(new, ["a", "b"], int(str(self._from_ns)), until_ns, ids, [1, 2], failed=False, lone=False)
        with timer:
            self._writer.known_traces(new)
            self._writer.logged_traces(new)
            self._writer.calls_between(calls)


class _Upkeep:
    """Repricing and compaction, every time of a fresh copy."""

    def __init__(self, folder: Path, steps: int) -> None:
        self._made = folder / "made.duckdb"
        make_store(self._made, steps)
        self._copies = (folder / f"copy-{number}.duckdb" for number in itertools.count())
        (folder / "prices.toml").write_text(PRICES, encoding="utf-8")
        self._prices = PriceTable.load([folder / "prices.toml"], base=None)
        self._repriced = self._made

    def variants(self) -> dict[str, Variant]:
        return {COPY: self._copy, REPRICE: self._reprice, COMPACT: self._compact}

    def _new(self) -> Path:
        copy = next(self._copies)
        shutil.copy(self._made, copy)
        return copy

    def _copy(self, timer: Timer) -> None:
        db = self._new()
        with timer, duckdb.connect(db, config={"threads": 1}) as plain:
            plain.execute("INSERT INTO closed_steps FROM closed_steps")
        db.unlink()

    def _reprice(self, timer: Timer) -> None:
        self._repriced = self._new()
        with timer:
            report = reprice(self._repriced, self._prices)
        assert report.runs_changed == report.runs

    def _compact(self, timer: Timer) -> None:
        with timer:
            compact(self._repriced)
        self._repriced.unlink()


def _answer_lines(samples: dict[str, Sample]) -> list[Line]:
    return [
        Line(
            section=SECTION,
            figure=name,
            unit="ms",
            ours=samples[name].median_s * 1e3,
            best=samples[name].best_s * 1e3,
            floor_is=floor,
            floor=samples[floor].median_s * 1e3,
            target=goal,
            target_text=f"<= {goal:g}" if goal else "",
            cpu_s=samples[name].cpu_s,
        )
        for name, floor, goal in FIGURES
    ]


def _upkeep_lines(samples: dict[str, Sample], steps: int) -> list[Line]:
    return [
        Line(
            section=SECTION,
            figure=name,
            unit="us/step",
            ours=samples[name].us_each(steps),
            best=samples[name].best_us_each(steps),
            floor_is=COPY,
            floor=samples[COPY].us_each(steps),
            target=goal,
            target_text=f"<= {goal:g}" if goal else "",
            cpu_s=samples[name].cpu_s,
        )
        for name, goal in ((REPRICE, REPRICE_GOAL_US), (COMPACT, None))
    ]
