"""Which runs of a store are replays, by what their telemetry says, and which is the last that is none."""

from __future__ import annotations

from pathlib import Path

import pytest
from journalled import write

from otel_runlog import DuckDBRunLogStore
from otel_runlog.errors import RunNotFoundError
from otel_runlog.loader import Loader
from otel_runlog.model import Resource
from otel_runlog.store.replays import last_recorded, telemetry_run
from otel_runlog.testing import START_NS, TraceBuilder

REPLAY_ID = "9" * 32
RECORDED_ID = "5" * 32
DAY_NS = 86_400 * 10**9


def traced(name: str, calls: int, *, replay: bool, run_id: str | None = None, start_ns: int = START_NS) -> TraceBuilder:
    trace = TraceBuilder(name, start_ns=start_ns)
    if replay:
        trace.resource = Resource({"runlog.replay_of": RECORDED_ID, "runlog.run.id": REPLAY_ID})
    agent = trace.agent(name, {"runlog.run.id": run_id} if run_id else None)
    for _ in range(calls):
        trace.chat("m-1", parent=agent)
    return trace


def load(db: Path, *traces: TraceBuilder) -> None:
    write(db, [span for trace in traces for span in trace.spans])
    Loader(db).turn(2.0)


def test_what_a_replayed_program_recorded_itself_is_found_by_its_resource(db: Path) -> None:
    load(db, traced("other", 3, replay=False), traced("replayed", 1, replay=True))
    assert telemetry_run(db, REPLAY_ID, START_NS) == REPLAY_ID
    assert telemetry_run(db, "8" * 32, START_NS) is None
    assert telemetry_run(db, REPLAY_ID, START_NS + DAY_NS) is None


def test_of_several_runs_with_ids_of_their_own_it_is_the_largest(db: Path) -> None:
    load(db, traced("small", 1, replay=True, run_id="a" * 32), traced("large", 2, replay=True, run_id="b" * 32))
    assert telemetry_run(db, REPLAY_ID, START_NS) == "b" * 32


def test_the_last_recorded_run_is_no_replay(db: Path) -> None:
    first = traced("first", 1, replay=False, run_id="a" * 32)
    later = traced("later", 1, replay=True, start_ns=START_NS + DAY_NS)
    load(db, first, later)
    store = DuckDBRunLogStore(db)
    assert [run.replay_of for run in store.list()] == [RECORDED_ID, None]
    assert last_recorded(db) == "a" * 32


def test_a_store_of_replays_alone_has_none(db: Path) -> None:
    load(db, traced("replayed", 1, replay=True))
    with pytest.raises(RunNotFoundError, match="has no runs yet that are no replays"):
        last_recorded(db)
