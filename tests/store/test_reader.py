"""Runs are found by what a person types; SQL is answered with names and types."""

import datetime as dt
from decimal import Decimal

import pytest

from otel_runlog.errors import ConfigError, RunNotFoundError, StoreError
from otel_runlog.model import Cost, CostStatus, RunLog, RunLogQuery, RunStatus, Usage
from otel_runlog.store.batch import Batch, RunVersion
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.reader import StoreReader
from otel_runlog.store.writer import StoreWriter

NOON = dt.datetime(2026, 11, 5, 12, tzinfo=dt.UTC)


def seconds(number):
    return NOON + dt.timedelta(seconds=number)


@pytest.fixture
def reader(db):
    runs = [
        RunLog("aaaa1" + "0" * 27, started_at=seconds(1), finished_at=seconds(9), error_count=1),
        RunLog("aaaa2" + "0" * 27, started_at=seconds(3), finished_at=seconds(4), tokens=Usage(5, 5), error_count=2),
        RunLog("bbbb" + "0" * 28, started_at=seconds(2), cost_estimate=Cost(Decimal("0.5"), CostStatus.ESTIMATED)),
        RunLog("aaaa1"),
        RunLog("n_1%"),
    ]
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run) for run in runs]))
        writer.append(Batch(aliases=[("cccc" + "0" * 28, "dddd" + "0" * 28), ("dddd" + "0" * 28, "bbbb" + "0" * 28)]))
    with StoreReader(db) as reader:
        yield reader


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("last", "aaaa2"),
        ("bbbb", "bbbb"),
        ("aaaa2", "aaaa2"),
        ("aaaa1", "aaaa1"),
        ("cccc", "bbbb"),
        ("dddd" + "0" * 28, "bbbb"),
        ("n_1%", "n_1%"),
    ],
)
def test_a_run_is_found_by_a_name_that_means_one_run(reader, name, expected):
    assert reader.find(name).rstrip("0") == expected


def test_an_exact_id_is_found_although_it_begins_others(reader):
    assert reader.find("aaaa1") == "aaaa1"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("aaaa", r"3 runs have an id that starts with 'aaaa' \(aaaa1, aaaa10+, aaaa20+\): write more of it"),
        ("zzzz", r"no run has an id that starts with 'zzzz'"),
        ("bbb", r"no run has the id 'bbb', and a prefix takes 4 characters or more"),
        ("%%%%", r"no run has an id that starts with '%%%%'"),
        ("' or 1=1 --", r"no run has an id that starts with"),
    ],
)
def test_a_name_that_means_no_run_or_several_is_refused(reader, name, message):
    with pytest.raises(RunNotFoundError, match=message):
        reader.find(name)


def test_an_empty_store_has_no_last_run(db):
    StoreWriter(db).close()
    with StoreReader(db) as reader, pytest.raises(RunNotFoundError, match="has no runs yet"):
        reader.find("last")


def test_a_renamed_run_is_got_by_its_old_names(reader, db):
    reader.close()
    store = DuckDBRunLogStore(db)
    assert store.get("cccc" + "0" * 28) == store.get("bbbb" + "0" * 28) != None  # noqa: E711 - both sides are compared
    assert store.get("cccc") is None


@pytest.mark.parametrize(
    ("order", "expected"),
    [("started", "aaaa2"), ("cost", "bbbb"), ("tokens", "aaaa2"), ("duration", "aaaa1"), ("errors", "aaaa2")],
)
def test_runs_are_sorted_by_what_is_asked_for(reader, order, expected):
    assert reader.runs(order=order)[0].run_id.rstrip("0") == expected


def test_an_unknown_order_is_refused_with_the_known_ones(reader):
    with pytest.raises(ConfigError, match=r"'name': choose one of started, cost, tokens, duration, errors"):
        reader.runs(order="name")


def test_a_negative_limit_is_refused(reader):
    with pytest.raises(ConfigError, match="limit -1"):
        reader.runs(RunLogQuery(limit=-1))


def test_a_query_answers_with_names_types_and_rows(reader):
    result = reader.query("select 1 as one, 'a' as two, cast(0.5 as decimal(18,12)) as usd")
    assert result.columns == ("one", "two", "usd")
    assert result.types == ("INTEGER", "VARCHAR", "DECIMAL(18,12)")
    assert result.rows == [(1, "a", Decimal("0.5"))]


@pytest.mark.parametrize("sql", ["selec 1", "delete from meta", "create table x (a int)", "from no_such_view"])
def test_a_statement_that_fails_or_writes_is_refused(reader, sql):
    with pytest.raises(StoreError):
        reader.query(sql)


def test_times_are_utc(reader):
    [(started_at,)] = reader.query("select max(started_at) from runs").rows
    assert started_at.utcoffset() == dt.timedelta(0)
    assert started_at == seconds(3)


def test_sql_of_the_store_is_a_relation_that_lets_go_of_the_file(reader, db):
    reader.close()
    relation = DuckDBRunLogStore(db).sql("select run_id from runs where run_id = ?", ["aaaa1"])
    StoreWriter(db).close()
    assert relation.columns == ["run_id"]
    assert relation.fetchall() == [("aaaa1",)]


@pytest.mark.parametrize("sql", ["", "selec 1", "delete from meta"])
def test_sql_of_the_store_without_rows_is_refused(reader, db, sql):
    reader.close()
    with pytest.raises(StoreError):
        DuckDBRunLogStore(db).sql(sql)
    StoreWriter(db).close()


def test_steps_that_began_before_their_run_are_found_too(db, run, step):
    """A run is read in its own time; clocks of two machines may differ."""
    noon_ns = int(NOON.timestamp()) * 10**9
    early = step(span_id="61" * 8, step_index=1, started_ns=noon_ns - 5_000_000_000)
    timeless = step(span_id="62" * 8, step_index=2, started_ns=None)
    late = step(span_id="63" * 8, step_index=3)
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run(steps=(early, timeless, late)), last_ns=noon_ns + 10_000_000_000)]))
    with StoreReader(db) as reader:
        assert [found.span_id for found in reader.run("a1" * 16).steps] == ["61" * 8, "62" * 8, "63" * 8]


def test_a_step_before_its_run_is_found_where_another_has_no_start(db, run, step):
    timeless = step(span_id="61" * 8, step_index=1, started_ns=None)
    early = step(span_id="62" * 8, step_index=2, started_ns=1_000)
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run(steps=(timeless, early)), last_ns=2_000)]))
    with StoreReader(db) as reader:
        assert [found.span_id for found in reader.run("a1" * 16).steps] == ["61" * 8, "62" * 8]


@pytest.mark.parametrize(("status", "per_run"), [(None, 1), ("failed", 2)])
def test_pages_of_runs_are_what_one_list_of_all_is_cut_into(db, status, per_run):
    """Versions that no longer count, runs that are open and runs without a start stand between them."""
    runs = [
        RunLog(
            f"run-{number:02}",
            started_at=seconds(number % 17) if number % 9 else None,
            status=(RunStatus.FAILED, RunStatus.COMPLETED)[number % per_run],
        )
        for number in range(60)
    ]
    again = [RunVersion(run, version) for run in runs[40:50] for version in range(2, 9)]
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run) for run in runs[:50]], open=[RunVersion(run) for run in runs[50:]]))
        writer.append(Batch(closed=again, superseded=[(item.run.run_id, item.version - 1) for item in again]))
    with StoreReader(db) as reader:
        whole = [run.run_id for run in reader.runs(RunLogQuery(status=status, limit=None))]
        pages = [reader.runs(RunLogQuery(status=status, limit=7, offset=at)) for at in range(0, len(whole) + 7, 7)]
    assert len(whole) == 60 // per_run
    assert [run.run_id for page in pages for run in page] == whole
