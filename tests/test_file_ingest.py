"""OTLP files into the store: once, from where it was left, and what cannot be read is named."""

from __future__ import annotations

import gc
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

from test_loader import PRICES, books, stored

from otel_runlog.ingest import IngestReport, rare_collections
from otel_runlog.loader import Loader
from otel_runlog.model import Span
from otel_runlog.otlp.export import encode_spans
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder


def trace(name: str = "one") -> TraceBuilder:
    t = TraceBuilder(name)
    t.chat("m-std", parent=t.agent("a"), input_tokens=100, output_tokens=10)
    return t


def line(spans: list[Span]) -> str:
    """One OTLP/JSON request in a line, as the Collector's file exporter writes it."""

    def one(span: Span) -> dict[str, object]:
        return {
            "traceId": span.trace_id,
            "spanId": span.span_id,
            "parentSpanId": span.parent_span_id or "",
            "name": span.name,
            "kind": span.kind,
            "flags": span.flags,
            "startTimeUnixNano": str(span.started_ns),
            "endTimeUnixNano": str(span.ended_ns),
            "attributes": [
                {"key": k, "value": {"intValue": str(v)} if isinstance(v, int) else {"stringValue": v}}
                for k, v in span.attributes.items()
            ],
        }

    service = {"attributes": [{"key": "service.name", "value": {"stringValue": "tests"}}]}
    scopes = [{"scope": {"name": "tests"}, "spans": [one(s) for s in spans]}]
    return json.dumps({"resourceSpans": [{"resource": service, "scopeSpans": scopes}]}) + "\n"


def test_files_and_folders_are_loaded_in_any_form(tmp_path: Path) -> None:
    given, db = tmp_path / "given", tmp_path / "runs.duckdb"
    (given / "deep").mkdir(parents=True)
    t, u, v = trace("one"), trace("two"), trace("three")
    (given / "a.jsonl").write_text("".join(line([s]) for s in t.spans))
    (given / "deep" / "b.pb").write_bytes(encode_spans(u.spans))
    (given / "c.jsonl.gz").write_bytes(gzip.compress(line(v.spans).encode()))
    (given / ".hidden").write_text("not looked at")
    report = Loader(db, prices=PRICES).ingest([given])
    assert (report.requests, report.spans, report.stored, report.runs, report.bad) == (4, 6, 6, 3, [])
    assert report.bytes_done == report.bytes_total > 0
    assert stored(db) == {r.run_id: r for r in project([*t.spans, *u.spans, *v.spans], prices=PRICES)}


def test_a_file_given_again_is_known_and_a_grown_one_adds_what_is_new(tmp_path: Path) -> None:
    db, file = tmp_path / "runs.duckdb", tmp_path / "a.jsonl"
    t = trace()
    file.write_text(line(t.spans[:1]))
    Loader(db, prices=PRICES).ingest([file])
    again = Loader(db, prices=PRICES).ingest([file])
    assert (again.spans, again.files_known) == (0, 1)
    file.write_text(line(t.spans[:1]) + line(t.spans[1:]))
    grown = Loader(db, prices=PRICES).ingest([file])
    assert (grown.spans, grown.stored, grown.duplicates) == (2, 1, 1)
    assert books(db)["received"] == 3


def test_what_cannot_be_read_is_named_by_line_and_the_rest_is_stored(tmp_path: Path) -> None:
    db, file = tmp_path / "runs.duckdb", tmp_path / "a.jsonl"
    t = trace()
    file.write_text(line(t.spans[:1]) + "{broken\n" + line(t.spans[1:]))
    report = Loader(db, prices=PRICES).ingest([file, tmp_path / "missing"])
    assert (report.stored, report.runs) == (2, 1)
    assert [str(b.where).rpartition("/")[2] for b in report.bad] == ["a.jsonl:2", "missing"]


def test_metrics_are_counted_as_skipped_and_logs_are_stored(tmp_path: Path) -> None:
    db, file = tmp_path / "runs.duckdb", tmp_path / "a.jsonl"
    log = {"resourceLogs": [{"scopeLogs": [{"logRecords": [{"timeUnixNano": "1", "body": {"stringValue": "x"}}]}]}]}
    file.write_text(json.dumps({"resourceMetrics": [{"scopeMetrics": []}]}) + "\n" + json.dumps(log) + "\n")
    report = Loader(db, prices=PRICES).ingest([file])
    assert (report.metrics_skipped, report.logs, report.spans) == (1, 1, 0)


def test_progress_is_told_after_every_commit(tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(line(trace().spans))
    told: list[IngestReport] = []
    report = Loader(tmp_path / "runs.duckdb", prices=PRICES).ingest([file], told.append)
    assert told == [report]


def test_own_prices_are_used(tmp_path: Path) -> None:
    db, file = tmp_path / "runs.duckdb", tmp_path / "a.jsonl"
    file.write_text(line(trace().spans))
    own = PriceTable.load([Path(__file__).parent / "pricing" / "data" / "cases.toml"], base=None)
    Loader(db, prices=own).ingest([file])
    [run] = stored(db).values()
    assert run.cost_estimate is not None
    assert str(run.cost_estimate.usd) == "0.000350000000"


def test_a_held_store_is_an_error_that_loads_nothing(tmp_path: Path) -> None:
    """DuckDB locks between processes, not within one: another process has to ask."""
    db, file = tmp_path / "runs.duckdb", tmp_path / "a.jsonl"
    file.write_text(line(trace().spans))
    code = "import sys; from otel_runlog.loader import Loader; Loader(sys.argv[1]).ingest([sys.argv[2]], timeout_s=0)"
    with Loader(db, prices=PRICES).open():
        asked = subprocess.run([sys.executable, "-c", code, db, file], capture_output=True, text=True, check=False)
    assert asked.stderr.splitlines()[-1].startswith("otel_runlog.errors.StoreLockedError")
    assert stored(db) == {}


def test_a_pipe_is_named_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    report = Loader(tmp_path / "runs.duckdb", prices=PRICES).ingest([tmp_path / "pipe"])
    assert [(bad.where, bad.reason) for bad in report.bad] == [(str(tmp_path / "pipe"), "neither a file nor a folder")]


def test_the_collector_runs_as_before_once_loading_is_over() -> None:
    before = gc.get_threshold()
    with rare_collections():
        assert gc.get_threshold()[0] > before[0]
        assert gc.get_freeze_count() > 0
    assert gc.get_threshold() == before
    assert gc.get_freeze_count() == 0
