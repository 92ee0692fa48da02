"""What every RunLogStore does, in memory and in DuckDB alike."""

import datetime as dt
from decimal import Decimal

import msgspec
import pytest

from otel_runlog.model import Cost, CostStatus, RunLog, RunLogQuery, RunStatus
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.memory import InMemoryRunLogStore
from otel_runlog.store.protocol import RunLogStore

DAY_1 = dt.datetime(2026, 11, 1, tzinfo=dt.UTC)
DAY_2 = dt.datetime(2026, 11, 2, tzinfo=dt.UTC)
DAY_3 = dt.datetime(2026, 11, 3, tzinfo=dt.UTC)


STORES = ("memory", "duckdb")


def make_store(kind, folder) -> RunLogStore:
    return InMemoryRunLogStore() if kind == "memory" else DuckDBRunLogStore(folder / "runs.duckdb")


@pytest.fixture(params=STORES)
def store(request, tmp_path):
    return make_store(request.param, tmp_path)


@pytest.fixture(scope="module", params=STORES)
def four_runs(request, tmp_path_factory):
    """Runs on three days, put in another order, and one without a start."""
    store = make_store(request.param, tmp_path_factory.mktemp("four"))
    store.put(RunLog("2" * 32, agent="planner", started_at=DAY_2, session_id="s1", labels={"team": "red", "k": "v"}))
    store.put(RunLog("0" * 32, labels={"team": "green"}))
    store.put(RunLog("3" * 32, agent="coder", started_at=DAY_3, status=RunStatus.FAILED))
    store.put(RunLog("1" * 32, agent="planner", started_at=DAY_1, labels={"team": "blue"}))
    return store


def ids(runs):
    return [run.run_id[0] for run in runs]


def test_a_run_with_every_field_comes_back_equal(store, run):
    store.put(run())
    assert store.get("a1" * 16) == run()


def test_a_replay_comes_back_without_cost(store, run):
    store.put(run(replay_of="b2" * 16))
    kept = store.get("a1" * 16)
    steps = tuple(msgspec.structs.replace(step, cost=Cost()) for step in run().steps)
    agents = tuple(msgspec.structs.replace(agent, own_cost_usd=None, inclusive_cost_usd=None) for agent in run().agents)
    cost = Cost(Decimal(0), CostStatus.REPLAYED)
    assert kept == run(
        replay_of="b2" * 16, steps=steps, agents=agents, cost_estimate=cost, unpriced_calls=0, unpriced_models=()
    )


def test_a_run_with_only_an_id_comes_back_equal(store):
    store.put(RunLog("a1" * 16))
    assert store.get("a1" * 16) == RunLog("a1" * 16)


def test_an_unknown_run_is_none(store):
    assert store.get("a1" * 16) is None
    assert store.steps("a1" * 16) == ()


def test_putting_the_same_id_replaces_the_run(store, run, step):
    store.put(run())
    store.put(run(agent="other", steps=(step(name="only"),), agents=()))
    assert store.get("a1" * 16) == run(agent="other", steps=(step(name="only"),), agents=())
    assert len(store.list()) == 1


def test_what_is_put_is_a_copy(store, run):
    mine = run()
    store.put(mine)
    mine.labels["task"] = "changed"
    assert store.get("a1" * 16) == run()


def test_steps_come_in_the_order_of_their_index(store, run):
    store.put(run())
    assert [s.step_index for s in store.steps("a1" * 16)] == [1, 2]
    assert store.steps("a1" * 16) == run().steps


def test_a_deleted_run_is_gone_and_can_come_back(store, run):
    store.put(run())
    assert store.delete("a1" * 16) is True
    assert store.get("a1" * 16) is None
    assert store.list() == []
    assert store.delete("a1" * 16) is False
    store.put(run())
    assert store.get("a1" * 16) == run()


def test_listed_runs_are_whole(store, run):
    store.put(run())
    assert store.list() == [run()]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (None, ["3", "2", "1", "0"]),
        (RunLogQuery(agent="planner"), ["2", "1"]),
        (RunLogQuery(status="failed"), ["3"]),
        (RunLogQuery(status=RunStatus.COMPLETED), ["2", "1", "0"]),
        (RunLogQuery(session_id="s1"), ["2"]),
        (RunLogQuery(labels={"team": "red"}), ["2"]),
        (RunLogQuery(labels={"team": "red", "k": "other"}), []),
        (RunLogQuery(labels={"absent": "x"}), []),
        (RunLogQuery(since=DAY_2), ["3", "2"]),
        (RunLogQuery(until=DAY_2), ["1"]),
        (RunLogQuery(agent="planner", since=DAY_2), ["2"]),
        (RunLogQuery(since=dt.datetime.min.replace(tzinfo=dt.UTC)), ["3", "2", "1"]),
        (RunLogQuery(until=dt.datetime.max.replace(tzinfo=dt.UTC)), ["3", "2", "1"]),
        (RunLogQuery(limit=2), ["3", "2"]),
        (RunLogQuery(limit=1, offset=1), ["2"]),
        (RunLogQuery(offset=2), ["1", "0"]),
        (RunLogQuery(limit=0), []),
    ],
)
def test_a_query_selects_the_runs_that_fulfil_all_its_conditions_newest_first(four_runs, query, expected):
    assert ids(four_runs.list(query)) == expected


@pytest.mark.parametrize("label", ["$.x", "/x", 'a"b', "a.b", "", "ü", "' or 1=1 --"])
def test_labels_are_matched_by_their_exact_name(store, label):
    store.put(RunLog("1" * 32, labels={label: "yes"}))
    store.put(RunLog("2" * 32, labels={"x": "yes"}))
    assert ids(store.list(RunLogQuery(labels={label: "yes"}))) == ["1"]
    assert ids(store.list(RunLogQuery(labels={label: "no"}))) == []


def test_the_store_is_a_context_manager_and_closing_twice_is_fine(store):
    with store as same:
        assert same is store
    store.close()
