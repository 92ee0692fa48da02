"""Repricing gives stored calls the cost that today's tables say, once, with an audit of every change."""

import datetime as dt
from decimal import Decimal
from unittest import mock

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from models_of_steps import assert_models_are_their_steps

from otel_runlog.assemble import Assembler
from otel_runlog.model import Cost, CostStatus, RunLog, Step, StepKind, Usage, UsageSource
from otel_runlog.pricing import PriceTable
from otel_runlog.reprice import reprice
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.repricing import RepricingStore
from otel_runlog.store.writer import StoreWriter
from otel_runlog.testing import TraceBuilder
from otel_runlog.traces import Traces

DAY_NS = 86_400_000_000_000
NOV_1 = 1_793_491_200_000_000_000
"""2026-11-01T00:00:00Z."""


def table(tmp_path, text, name="acme", version="1"):
    path = tmp_path / f"{name}-{version}.toml"
    path.write_text(f'name = "{name}"\nversion = "{version}"\n{text}')
    return PriceTable.load([path], base=None)


def entry(match, input_usd, output_usd, more=""):
    return f'[[model]]\nmatch = "{match}"\n{more}\ninput = "{input_usd}"\noutput = "{output_usd}"\n'


def load(db, spans, prices):
    """As the loader does."""
    with StoreWriter(db) as writer:
        assembler = Assembler(writer, Traces(), prices)
        assembler.add_spans("test", 1, spans, {})
        writer.append(assembler.batch())


def rows(db, sql):
    with StoreReader(db) as reader:
        return reader.query(sql).rows


def dump(db):
    """All that counts, audit and versions aside."""
    with StoreReader(db) as reader:
        assert_models_are_their_steps(reader)
    return {
        "runs": rows(db, "select * exclude (version) from runs order by all"),
        **{view: rows(db, f"select * from {view} order by all") for view in ("steps", "agents", "models", "spans")},
    }


@pytest.fixture
def db(tmp_path):
    return tmp_path / "runs.duckdb"


def november(db, prices):
    """Case 22: runs on 1, 10 and 20 November with m-new, 1,000 and 100 tokens."""
    for day in (1, 10, 20):
        trace = TraceBuilder(f"day {day}", start_ns=NOV_1 + (day - 1) * DAY_NS)
        agent = trace.agent("planner")
        trace.chat("m-new", parent=agent, input_tokens=1000, output_tokens=100)
        load(db, trace.spans, prices)


FROM_5, FROM_15 = "from = 2026-11-05", "from = 2026-11-15"


def test_each_day_is_priced_by_the_rates_of_the_day_and_a_what_if_changes_nothing(db, tmp_path):
    """Case 22: a price added and changed later (langfuse#12184, langwatch#2914, bifrost#836)."""
    november(db, table(tmp_path, entry("m-old", 1, 1)))
    before = dump(db)
    assert {row[0] for row in rows(db, "select cost_status from steps where kind = 'llm'")} == {"unpriced"}
    later = table(tmp_path, entry("m-new", 1, 2, FROM_5) + entry("m-new", 2, 4, FROM_15), version="2026-11")
    report = reprice(db, later)
    assert (report.steps, report.changed, report.runs_changed) == (3, 2, 2)
    costs = rows(db, "select cost_usd, cost_status, price_table, price_version from llm_calls order by started_ns")
    assert costs == [
        (None, "unpriced", None, None),
        (Decimal("0.0012"), "estimated", "acme", "2026-11"),
        (Decimal("0.0024"), "estimated", "acme", "2026-11"),
    ]
    runs = rows(db, "select cost_usd, cost_status, unpriced_calls, unpriced_models from runs order by started_at")
    assert runs == [
        (None, "unpriced", 1, ["m-new"]),
        (Decimal("0.0012"), "estimated", 0, []),
        (Decimal("0.0024"), "estimated", 0, []),
    ]
    repriced, file = dump(db), db.read_bytes()
    found = []
    reprice(db, table(tmp_path, entry("m-new", 10, 20), "what-if"), dry_run=True, on_batch=lambda c, _: found.extend(c))
    assert [change.cost_after for change in found] == [Decimal("0.012")] * 3
    assert [change.cost_before for change in found] == [None, Decimal("0.0012"), Decimal("0.0024")]
    assert (dump(db), db.read_bytes()) == (repriced, file)
    assert reprice(db, later).changed == 0
    assert db.read_bytes() == file
    assert rows(db, "select * from spans order by all") == before["spans"]
    tokens = "select input_tokens, output_tokens, step_index, call_index from steps order by all"
    assert rows(db, tokens) == [(1000, 100, 2, 1)] * 3 + [(None, None, 1, None)] * 3


def test_every_change_is_audited_with_both_tables(db, tmp_path):
    november(db, table(tmp_path, entry("m-new", 1, 2), version="old"))
    reprice(db, table(tmp_path, entry("m-new", 2, 4), "new", "7"), since=dt.datetime(2026, 11, 20, tzinfo=dt.UTC))
    audit = "select * exclude (repriced_at, run_id, trace_id, span_id) from cost_changes"
    one, two = Decimal("0.0012"), Decimal("0.0024")
    assert rows(db, audit) == [("m-new", one, two, one, two, "estimated", "estimated", "acme", "old", "new", "7")]
    assert rows(db, "select count(*) from cost_changes join steps using (run_id, trace_id, span_id)") == [(1,)]
    assert rows(db, "select repriced_at > now() - interval 1 hour from cost_changes") == [(True,)]


def test_a_reported_cost_stays_and_the_estimate_beside_it_follows(db, tmp_path):
    trace = TraceBuilder()
    trace.chat("m-new", {"gen_ai.usage.cost": 0.5}, input_tokens=1000, output_tokens=100)
    load(db, trace.spans, table(tmp_path, ""))
    found = []
    report = reprice(db, table(tmp_path, entry("m-new", 1, 2)), on_batch=lambda changes, _: found.extend(changes))
    assert (report.changed, found) == (1, [])
    expected = [(Decimal("0.5"), Decimal("0.0012"), "reported", "acme")]
    assert rows(db, "select cost_usd, estimated_cost_usd, cost_status, price_table from steps") == expected
    assert rows(db, "select cost_usd, estimated_cost_usd, cost_status, price_table from runs") == expected


def test_replays_cost_nothing_whatever_the_prices(db, tmp_path):
    step = Step("7a" * 16, "51" * 8, StepKind.LLM, step_index=1, model="m-new", response_model="m-new",
                usage=Usage(1000, 100), usage_source=UsageSource.SPAN, counted=True)  # fmt: skip
    cost = Cost(Decimal(0), CostStatus.REPLAYED)
    with DuckDBRunLogStore(db) as store:
        store.put(RunLog("a1" * 16, steps=(step,), tokens=Usage(1000, 100), cost_estimate=cost, replay_of="b2" * 16))
    assert reprice(db, table(tmp_path, entry("m-new", 1, 2))) == reprice(db, table(tmp_path, ""))
    assert rows(db, "select cost_usd, cost_status from runs") == [(Decimal(0), "replayed")]


def test_an_open_run_is_priced_where_it_stands(db, tmp_path):
    trace = TraceBuilder()
    trace.chat("m-new", parent="99" * 8, input_tokens=1000, output_tokens=100)
    load(db, trace.spans, table(tmp_path, ""))
    assert rows(db, "select cost_status, version from runs") == [("unpriced", 1)]
    reprice(db, table(tmp_path, entry("m-new", 1, 2)))
    assert rows(db, "select cost_usd, cost_status, version from runs") == [(Decimal("0.0012"), "estimated", 1)]
    assert rows(db, "select own_cost_usd, inclusive_cost_usd from agents") == [(Decimal("0.0012"), Decimal("0.0012"))]
    assert reprice(db, table(tmp_path, entry("m-new", 1, 2))).changed == 0


def test_an_estimate_that_no_table_makes_any_more_stays_with_its_table(db, tmp_path):
    november(db, table(tmp_path, entry("m-new", 1, 2), version="old"))
    report = reprice(db, table(tmp_path, entry("m-other", 1, 2), version="new"))
    assert (report.kept, report.changed) == (3, 0)
    assert rows(db, "select distinct cost_usd, price_version from llm_calls") == [(Decimal("0.0012"), "old")]


def test_a_call_below_a_step_that_reports_the_cost_gets_none_besides(db, tmp_path):
    trace = TraceBuilder()
    agent = trace.agent("planner", {"gen_ai.usage.cost": 0.5})
    trace.chat("m-new", parent=agent, input_tokens=1000, output_tokens=100)
    load(db, trace.spans, table(tmp_path, ""))
    report = reprice(db, table(tmp_path, entry("m-new", 1, 2)))
    assert (report.covered, report.changed) == (1, 0)
    assert rows(db, "select cost_usd from runs") == [(Decimal("0.5"),)]


def test_only_steps_since_a_time_are_priced_again(db, tmp_path):
    november(db, table(tmp_path, entry("m-new", 1, 2)))
    report = reprice(db, table(tmp_path, entry("m-new", 2, 4)), since=dt.datetime(2026, 11, 10, tzinfo=dt.UTC))
    assert (report.steps, report.changed) == (2, 2)
    assert rows(db, "select cost_usd from llm_calls order by started_ns") == [
        (Decimal("0.0012"),), (Decimal("0.0024"),), (Decimal("0.0024"),)
    ]  # fmt: skip


def test_notes_on_the_price_follow_on_the_step_and_the_run(db, tmp_path):
    trace = TraceBuilder()
    writes = {"gen_ai.usage.cache_creation.input_tokens": 500, "gen_ai.response.service_tier": "flex"}
    trace.chat("m-new", writes, input_tokens=1000, output_tokens=100)
    load(db, trace.spans, table(tmp_path, entry("m-new", 1, 2)))
    [(before,)] = rows(db, "select notes from runs")
    assert [note.split(":")[0] for note in before] == ["service_tier_unknown"]
    tiers = 'cache_write_5m = "3"\ncache_write_1h = "6"\n[model.service_tier]\nflex = "0.5"\n'
    prices = table(tmp_path, entry("m-new", 1, 2) + tiers)
    reprice(db, prices)
    for view in ("runs", "steps"):
        [(notes,)] = rows(db, f"select notes from {view}")
        assert [note.split(":")[0] for note in notes] == ["cache_ttl_assumed"]
    assert reprice(db, prices).changed == 0


MODELS = st.sampled_from(["m-a", "m-b", "m-none"])
CALLS = st.lists(
    st.tuples(MODELS, st.integers(0, 5000), st.integers(0, 500), st.booleans(), st.sampled_from([None, 0.25])),
    min_size=1,
    max_size=5,
)


@settings(
    max_examples=4,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(runs=st.lists(CALLS, min_size=1, max_size=4))
def test_a_repriced_store_is_one_loaded_with_those_prices(runs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    old = table(folder, entry("m-b", 1, 1), version="old")
    new = table(folder, entry("m-a", 1, 2, FROM_5) + entry("m-b", 3, 4), version="new")
    for number, calls in enumerate(runs):
        trace = TraceBuilder(f"trace {number}", start_ns=NOV_1 + number * 2 * DAY_NS)
        root = trace.agent("planner")
        helper = trace.agent("helper", parent=root)
        for model, read, written, below, cost in calls:
            trace.chat(model, {} if cost is None else {"gen_ai.usage.cost": cost}, input_tokens=read,
                       output_tokens=written, parent=helper if below else root)  # fmt: skip
        load(folder / "repriced.duckdb", trace.spans, old)
        load(folder / "loaded.duckdb", trace.spans, new)
    reprice(folder / "repriced.duckdb", new)
    assert _unversioned(dump(folder / "repriced.duckdb")) == _unversioned(dump(folder / "loaded.duckdb"))
    assert reprice(folder / "repriced.duckdb", new).changed == 0


def _unversioned(dumped):
    """Estimates that come out the same keep the table that made them."""
    return {view: [[v for v in row if v not in ("old", "new")] for row in found] for view, found in dumped.items()}


def test_stopped_in_the_middle_it_goes_on_with_the_rest(db, tmp_path, monkeypatch):
    november(db, table(tmp_path, ""))
    monkeypatch.setattr("otel_runlog.store.repricing.RUNS_PER_BATCH", 1)
    prices = table(tmp_path, entry("m-new", 1, 2))

    def stop_after_two(_changes, report):
        if report.runs == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        reprice(db, prices, on_batch=stop_after_two)
    assert rows(db, "select count(*) from cost_changes") == [(2,)]
    assert reprice(db, prices).changed == 1
    assert rows(db, "select count(*), sum(cost_usd) from runs") == [(3, Decimal("0.0036"))]


def test_what_cannot_be_written_leaves_the_batch_out(db, tmp_path, monkeypatch):
    november(db, table(tmp_path, ""))
    before = dump(db)
    monkeypatch.setattr("otel_runlog.store.repricing._WRITES", ("reprice_closed_steps", "no_such_query"))
    with pytest.raises(FileNotFoundError):
        reprice(db, table(tmp_path, entry("m-new", 1, 2)))
    assert dump(db) == before


def test_old_versions_stay_in_the_tables(db, tmp_path):
    november(db, table(tmp_path, ""))
    reprice(db, table(tmp_path, entry("m-new", 1, 2)))
    with duckdb.connect(db, read_only=True) as plain:
        assert plain.execute("select version, count(*) from closed_steps group by all order by all").fetchall() == [
            (1, 6), (2, 6)
        ]  # fmt: skip


def test_a_turn_ends_with_what_it_writes_and_goes_on_where_nothing_changes(db, tmp_path, monkeypatch):
    november(db, table(tmp_path, ""))
    monkeypatch.setattr("otel_runlog.store.repricing.RUNS_PER_BATCH", 1)
    monkeypatch.setattr("otel_runlog.reprice.TURN_S", 60)
    opened = mock.Mock(wraps=RepricingStore)
    monkeypatch.setattr("otel_runlog.reprice.RepricingStore", opened)
    prices = table(tmp_path, entry("m-new", 1, 2))
    for dry_run, turns in [(True, 1), (False, 4), (False, 1)]:  # 3 runs, and a look whether there are more
        opened.reset_mock()
        reprice(db, prices, dry_run=dry_run)
        assert opened.call_count == turns
