"""A small store to ask questions of, and statements that somebody hostile would ask."""

import datetime as dt
from decimal import Decimal

from otel_runlog.model import AgentUsage, Cost, CostStatus, RunLog, RunStatus, Step, StepKind, Usage, UsageSource
from otel_runlog.store.duckdb_store import DuckDBRunLogStore

NOON = dt.datetime(2026, 11, 5, 12, 0, 0, tzinfo=dt.UTC)
NOON_NS = 1_793_880_000_000_000_000
PLANNER, CHAT = "a1" * 16, "b2" * 16
TRACE, ROOT_SPAN, CALL_SPAN = "7a" * 16, "50" * 8, "51" * 8

REFUSED = (
    "insert into runs_closed select * from runs_closed",
    "delete from run_aliases",
    "update meta set value = 'x'",
    "truncate run_aliases",
    "merge into run_aliases a using run_aliases b on a.old_run_id = b.old_run_id when matched then delete",
    "create table t (a int)",
    "create or replace view runs as select 1",
    "create temp table t (a int)",
    "drop table run_aliases",
    "alter table run_aliases add column x int",
    "with x as (delete from run_aliases returning *) select * from x",
    "with x as (insert into run_aliases values ('a', 'b') returning *) from x",
    "with x as (update run_aliases set run_id = 'x' returning *) from x",
    "explain analyze delete from run_aliases",
    "explain analyze insert into run_aliases values ('a', 'b')",
    "copy (select 1) to '{folder}/out.csv'",
    "copy runs to '{folder}/out.parquet'",
    "with x as (copy (select 1) to '{folder}/out.csv') from x",
    "copy run_aliases from '/etc/passwd'",
    "copy from database store to memory",
    "export database '{folder}/out'",
    "import database '{folder}/out'",
    "attach '{folder}/other.duckdb'",
    "attach '{db}' as again",
    "attach '{db}' as again (read_only)",
    "detach store",
    "use memory",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('{db}')",
    "select * from read_csv('/etc/passwd')",
    "select * from read_json('/proc/self/environ')",
    "select * from read_parquet('{folder}/*.parquet')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from glob('/etc/*')",
    "from '/etc/passwd'",
    "from 'https://example.com/x.csv'",
    "select * from duckdb_secrets(), read_text('/etc/hostname')",
    "select * from query('copy (select 1) to ''{folder}/out.csv''')",
    "select * from query_table('/etc/passwd')",
    "create secret s (type s3)",
    "set threads = 8",
    "set memory_limit = '20GB'",
    "set enable_external_access = true",
    "set temp_directory = '{folder}'",
    "set log_query_path = '{folder}/log'",
    "reset memory_limit",
    "pragma enable_profiling",
    "pragma profile_output='{folder}/profile'",
    "call enable_logging(storage = 'file', storage_path = '{folder}/log')",
    "call pragma_database_list()",
    "load '{folder}/x.duckdb_extension'",
    "install httpfs",
    "checkpoint",
    "force checkpoint",
    "vacuum",
    "prepare p as select 1",
    "execute p",
    "begin",
    "commit",
    "rollback",
    "select 1; select 2",
    "commit; delete from run_aliases",
    "",
    "-- nothing",
    "selec 1",
    "from a_python_variable",
    "select * from no_such_table",
    "select getenv('HOME')",
)

HARMLESS = (
    "select 1",
    "from runs",
    "values (1), (2)",
    "show tables",
    "describe runs",
    "summarize select 1 as one",
    "explain from runs",
    "explain analyze from runs",
    "with x as (select 1) from x",
    "select * from query('select 1')",
    "select count(*) from duckdb_settings()",
    "select agent, count(*) over (partition by agent) from runs",
)


def make_store(path):
    """Two runs, one of them with a step, an agent and odd texts."""
    store = DuckDBRunLogStore(path)
    for run in (planner(), RunLog(CHAT, agent="chat", started_at=NOON - dt.timedelta(days=1), session_id="s2")):
        store.put(run)
    return path


def planner():
    usage = Usage(12_345, 678, cache_read_tokens=8_000)
    step = Step(
        TRACE,
        CALL_SPAN,
        StepKind.LLM,
        "chat",
        run_id=PLANNER,
        step_index=1,
        call_index=1,
        parent_span_id=ROOT_SPAN,
        model="m-std",
        started_ns=NOON_NS,
        ended_ns=NOON_NS + 1_500_000_000,
        usage=usage,
        usage_source=UsageSource.SPAN,
        cost=Cost(Decimal("0.0123"), CostStatus.ESTIMATED, "acme", "2026-11", estimated_usd=Decimal("0.0123")),
        counted=True,
        params={"temperature": 0.5, "stop": ["a", b"\x00\xff"], "n": 2**62},
    )
    return RunLog(
        PLANNER,
        agent="planner",
        started_at=NOON,
        finished_at=NOON + dt.timedelta(seconds=65),
        status=RunStatus.FAILED,
        steps=(step,),
        tokens=usage,
        cost_estimate=Cost(Decimal("0.0123"), CostStatus.ESTIMATED, "acme", "2026-11"),
        session_id="s1' or 1=1 --",
        trace_id=TRACE,
        step_count=1,
        llm_calls=1,
        labels={"task": "W2-71"},
        attributes={"note": "käse \x1b[31m", "deep": {"a": [1, None, 1.5]}},
        agents=(AgentUsage("planner", None, 0, 1, usage, Decimal("0.0123"), usage, Decimal("0.0123")),),
        warnings=("usage_missing: one",),
    )
