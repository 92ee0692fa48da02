"""A replay costs nothing in any view of the store, however it came there and whatever is asked of it afterwards."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from otel_runlog.loader import Loader
from otel_runlog.model import AgentUsage, Attributes, Cost, CostStatus, RunLog, Span, Step, StepKind, Usage, utc
from otel_runlog.pricing import PriceTable
from otel_runlog.reprice import reprice
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.testing import START_NS, TraceBuilder

PRICE = '[[model]]\nmatch = "m"\ninput = "{}"\noutput = "{}"\n'
REPLAY: Attributes = {"runlog.run.id": "again", "runlog.replay_of": "first"}


@pytest.fixture
def prices(tmp_path: Path) -> Callable[[int], PriceTable]:
    """A table with that price for a million tokens."""

    def priced(usd: int) -> PriceTable:
        path = tmp_path / f"{usd}.toml"
        path.write_text(f'name = "acme"\nversion = "{usd}"\n{PRICE.format(usd, usd)}')
        return PriceTable.load([path], base=None)

    return priced


def run_of_two_agents(name: str, *, resource: Attributes | None = None, ended: bool = True) -> list[Span]:
    t = TraceBuilder(name, resource=resource)
    boss = t.agent("boss", {"session.id": "s1"})
    t.chat("m", {"gen_ai.usage.cost": 0.5}, parent=boss, input_tokens=1000, output_tokens=100)
    helper = t.agent("helper", {"gen_ai.usage.cost": 0.25}, parent=boss)
    t.chat("m", parent=helper, input_tokens=500, output_tokens=50)
    t.tool("search", {"gen_ai.usage.cost": 0.125}, parent=boss)
    if not ended:
        boss.ended_ns, boss.start_record = None, True
    return t.spans


def load(db: Path, prices: PriceTable, *spans: Span) -> None:
    loader = Loader(db, prices=prices)
    with loader.open() as writer:
        assembler = loader.assembler(writer)
        assembler.add_spans("test", START_NS, spans, {})
        loader.commit(writer, assembler, [])


def put_replay(db: Path, status: CostStatus) -> None:
    cost = Cost(Decimal(1), status, "acme", "1", Decimal(1), Decimal(1))
    step = Step("7a" * 16, "51" * 8, StepKind.LLM, step_index=1, call_index=1, model="m", response_model="m",
                started_ns=START_NS, ended_ns=START_NS, usage=Usage(10, 1), cost=cost, counted=True)  # fmt: skip
    agents = (AgentUsage("boss", own_cost_usd=Decimal(1), inclusive_cost_usd=Decimal(1)),)
    with DuckDBRunLogStore(db) as store:
        run = RunLog(
            "put", "boss", utc(START_NS), steps=(step,), tokens=Usage(10, 1), cost_estimate=cost, agents=agents
        )
        run.session_id, run.replay_of, run.unpriced_calls, run.unpriced_models = "s1", "first", 1, ("m",)
        store.put(run)


def sums(db: Path) -> dict[str, Decimal | int | None]:
    """Every amount of money, over every view that has one; and the tokens of those that say what models cost."""
    with duckdb.connect(str(db), read_only=True) as store:
        columns = store.execute(
            "select table_name, column_name from information_schema.columns join (select table_name from "
            "information_schema.tables where table_type = 'VIEW') using (table_name) where data_type like 'DECIMAL%' "
            "or (table_name in ('models', 'sessions') and column_name like '%tokens')"
        ).fetchall()
        asked = sorted(f"sum({view}.{column}) from {view}" for view, column in columns)
        return {one: store.execute(f"select {one}").fetchall()[0][0] or 0 for one in asked}


def test_every_amount_in_every_view_is_the_same_with_a_replay_and_without(
    tmp_path: Path, prices: Callable[[int], PriceTable]
) -> None:
    alone, beside = tmp_path / "alone.duckdb", tmp_path / "beside.duckdb"
    for db in (alone, beside):
        load(db, prices(1), *run_of_two_agents("one"))
    load(beside, prices(1), *run_of_two_agents("two", resource=REPLAY))
    load(beside, prices(1), *run_of_two_agents("three", resource={"runlog.replay_of": "first"}, ended=False))
    put_replay(beside, CostStatus.ESTIMATED)
    with duckdb.connect(str(beside), read_only=True) as store:
        replays = store.execute(
            "select run_id, cost_usd, cost_status, status from runs where replay_of = 'first'"
        ).fetchall()
    assert sorted(row[1:] for row in replays) == [
        (Decimal(0), "replayed", "completed"),
        (Decimal(0), "replayed", "completed"),
        (Decimal(0), "replayed", "incomplete"),
    ]
    before = sums(alone)
    assert before["sum(runs.cost_usd) from runs"] == Decimal("0.62555")
    assert {one.partition(" from ")[2] for one in before} == {
        *("agents", "cost_changes", "llm_calls", "models", "runs", "sessions", "steps", "tool_calls"),
    }
    assert sums(beside) == before
    for db in (alone, beside):
        reprice(db, prices(2))
    assert sums(alone) != before
    assert sums(beside) == sums(alone)


@pytest.mark.parametrize("status", [CostStatus.REPORTED, CostStatus.UNPRICED, CostStatus.REPLAYED])
def test_a_replay_that_is_put_has_no_cost_whatever_it_says(tmp_path: Path, status: CostStatus) -> None:
    put_replay(tmp_path / "runs.duckdb", status)
    with DuckDBRunLogStore(tmp_path / "runs.duckdb") as store:
        [run] = store.list()
        assert run.cost_estimate == Cost(Decimal(0), CostStatus.REPLAYED)
        assert (run.steps[0].cost, run.unpriced_calls, run.unpriced_models) == (Cost(), 0, ())
        assert store.sql("from sessions").fetchall() == store.sql("from models").fetchall() == []
