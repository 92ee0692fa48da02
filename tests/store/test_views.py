"""The views are those of the contract: names, types, and what they add up to."""

import duckdb
import pytest

from otel_runlog.store.batch import Batch, RunVersion
from otel_runlog.store.writer import StoreWriter

CONTRACT = {
    "runs": {
        "VARCHAR": "run_id native_run_id trace_id root_span_id session_id user_id service service_version environment "
        "agent status status_message cost_status price_table price_version input output launch_id replay_of fork_of",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at",
        "DOUBLE": "duration_ms",
        "BIGINT": "step_count llm_calls tool_calls error_count input_tokens output_tokens cache_read_tokens "
        "cache_write_tokens reasoning_tokens total_tokens usage_missing_calls unpriced_calls fork_at",
        "DECIMAL(18,12)": "cost_usd estimated_cost_usd",
        "VARCHAR[]": "unpriced_models models tags warnings notes",
        "JSON": "labels attributes",
        "BOOLEAN": "complete",
    },
    "steps": {
        "VARCHAR": "run_id trace_id span_id parent_span_id kind name agent provider model request_model response_model "
        "response_id status error_type error_message usage_source cost_status price_table price_version service_tier "
        "duplicate_of tool_name tool_call_id finish_reason convention content",
        "BIGINT": "step_index call_index started_ns ended_ns input_tokens output_tokens cache_read_tokens "
        "cache_write_tokens reasoning_tokens",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at",
        "DOUBLE": "duration_ms time_to_first_token_ms",
        "BOOLEAN": "streaming counted",
        "DECIMAL(18,12)": "cost_usd reported_cost_usd estimated_cost_usd",
        "VARCHAR[]": "warnings notes",
        "JSON": "params",
    },
    "spans": {
        "VARCHAR": "trace_id span_id parent_span_id trace_state name kind status status_message scope_name "
        "scope_version service",
        "BIGINT": "flags started_ns ended_ns dropped_attributes_count dropped_events_count dropped_links_count",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at received_at",
        "JSON": "resource attributes events links",
    },
    "messages": {"VARCHAR": "run_id span_id direction role text content_id", "BIGINT": "position bytes"},
    "sessions": {
        "VARCHAR": "session_id user_id cost_status",
        "BIGINT": "run_count input_tokens output_tokens",
        "TIMESTAMP WITH TIME ZONE": "started_at finished_at",
        "DECIMAL(18,12)": "cost_usd",
    },
    "agents": {
        "VARCHAR": "run_id agent parent_agent",
        "BIGINT": "depth calls own_input_tokens own_output_tokens inclusive_input_tokens inclusive_output_tokens",
        "DECIMAL(18,12)": "own_cost_usd inclusive_cost_usd",
    },
    "models": {
        "DATE": "day",
        "VARCHAR": "provider model",
        "BIGINT": "calls failed_calls input_tokens output_tokens unpriced_calls",
        "DECIMAL(18,12)": "cost_usd",
        "DOUBLE": "p50_ms p95_ms",
    },
    "books": {
        "VARCHAR": "source",
        "BIGINT": "received stored duplicate conflict superseded id_reuse",
        "JSON": "rejected dropped",
    },
}
CONTRACT["llm_calls"] = CONTRACT["tool_calls"] = CONTRACT["steps"]
CONTRACT["logs"] = {"VARCHAR": "trace_id span_id event_name", "JSON": "body attributes"}


@pytest.mark.parametrize("view", sorted(CONTRACT))
def test_a_view_has_the_columns_of_the_contract(db, view):
    with StoreWriter(db):
        pass
    with duckdb.connect(db, read_only=True) as plain:
        shown = {name: kind for name, kind, *_ in plain.execute(f"describe {view}").fetchall()}
    expected = {name: kind for kind, names in CONTRACT[view].items() for name in names.split()}
    assert {name: shown.get(name) for name in expected} == expected


def test_runs_read_by_plain_duckdb_show_the_newest_version_only(db, run):
    with StoreWriter(db) as writer:
        writer.append(Batch(closed=[RunVersion(run(agent="first"))]))
        writer.append(Batch(closed=[RunVersion(run(agent="second"), version=2)], superseded=[("a1" * 16, 1)]))
    with duckdb.connect(db, read_only=True) as plain:
        assert plain.execute("select agent from runs").fetchall() == [("second",)]
        assert plain.execute("select count(*) from steps").fetchall() == [(2,)]
        assert plain.execute("select count(*) from agents").fetchall() == [(2,)]
