"""Tables, columns and model say the same; a field without a column would be lost in silence."""

import msgspec
import pytest

from otel_runlog.model import AgentUsage, Cost, LogRecord, RunLog, Scope, Span, Step, Usage
from otel_runlog.scores import Score
from otel_runlog.store import columns
from otel_runlog.store.writer import StoreWriter

TABLES = {
    "stored_spans": columns.SPANS,
    "open_spans": columns.SPANS,
    "stored_logs": columns.LOGS,
    "stored_scores": columns.SCORES,
    "closed_runs": columns.RUNS,
    "open_runs": columns.RUNS,
    "closed_steps": columns.STEPS,
    "open_steps": columns.STEPS,
    "closed_agents": columns.AGENTS,
    "open_agents": columns.AGENTS,
}


@pytest.mark.parametrize("table", sorted(TABLES))
def test_a_table_has_the_registered_columns_in_their_order(db, table):
    with StoreWriter(db) as writer:
        described = writer._store.duck.table(table).columns
    kept_apart = ["touched_ns"] if table == "open_runs" else []
    assert described == [column.name for column in TABLES[table]] + kept_apart


def fields(struct, prefix, nested=()):
    """The paths of a struct's fields, those of the nested structs under their own name."""
    for field in struct.__struct_fields__:
        if field not in nested:
            yield f"{prefix}.{field}"


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (columns.STEPS, {*fields(Step, "step", ("usage", "cost", "run_id")), "run_id"}),
        (columns.STEPS, {*fields(Usage, "step.usage"), *fields(Cost, "step.cost")}),
        (columns.RUNS, {*fields(RunLog, "run", ("steps", "agents", "tokens", "cost_estimate"))}),
        (columns.RUNS, {*fields(Usage, "run.tokens"), *fields(Cost, "cost")}),
        (columns.AGENTS, {*fields(AgentUsage, "agent", ("own", "inclusive"))}),
        (columns.AGENTS, {*fields(Usage, "agent.own"), *fields(Usage, "agent.inclusive")}),
        (columns.SPANS, {*fields(Span, "span", ("scope", "resource")), "span.resource.attributes"}),
        (columns.SCORES, set(Score.__struct_fields__)),
        (columns.SPANS, {*fields(Scope, "span.scope")}),
        (columns.LOGS, {*fields(LogRecord, "record", ("scope", "resource")), *fields(Scope, "record.scope")}),
    ],
)
def test_every_field_has_a_column(table, expected):
    assert expected - {column.path for column in table} == set()


def test_runs_and_steps_keep_no_field_of_unknown_kind():
    nested = {
        name
        for name, kind in msgspec.structs.asdict(Step("t", "s", kind="llm")).items()
        if isinstance(kind, msgspec.Struct)
    }
    assert nested == {"usage", "cost"}
