"""`otel-runlog serve` as a process: what it says, what commands see of it, and how it ends."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest
from click.testing import Result
from opentelemetry.sdk.trace.export import SpanExportResult
from serving import Served, agent_spans, serving, token_of, until

from otel_runlog.cli.serve import SETTINGS
from otel_runlog.server.address import find
from otel_runlog.server.messages import run_of
from otel_runlog.server.pb.runlog.v1 import runlog_pb2 as pb
from otel_runlog.server_config import ServerConfig, SqlConfig
from otel_runlog.store.reader import StoreReader

PROMISED_END_S = 5.0


def otel_runlog(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otel_runlog", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("protocol", ["grpc", "http"])
def test_what_an_exporter_sends_is_a_run_that_commands_find_through_the_server(
    tmp_path: Path, call: Callable[..., Result], protocol: str
) -> None:
    db = tmp_path / "runs.duckdb"
    with serving(db) as served:
        assert served.exporter(protocol).export(agent_spans(2)) is SpanExportResult.SUCCESS
        done = call("runs", "--db", db, "--format", "json")
        assert done.exit_code == 0, done.stderr
        assert [run["agent"] for run in json.loads(done.stdout)] == ["planner", "planner"]
        code, took_s = served.end()
    assert code == 0
    assert took_s < PROMISED_END_S * 3
    with StoreReader(db) as reader:
        assert reader.query("select received, stored from books").rows == [(4, 4)]
    assert not list(Path(f"{db}.journal").glob("*.seg")), "all was loaded, so the segments are gone"


def test_the_first_line_says_where_and_never_the_token(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb") as served:
        assert served.grpc.startswith("127.0.0.1:")
        assert served.http.startswith("127.0.0.1:")
        assert served.pid == served.process.pid
        served.end(signal.SIGINT)
        assert served.process.stdout is not None
        assert served.process.stdout.read() == ""


def test_it_ends_once_however_often_it_is_told(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb") as served:
        deadline = time.monotonic() + 30
        while served.process.poll() is None and time.monotonic() < deadline:  # also while a handler runs
            served.process.send_signal(signal.SIGTERM)
            served.process.send_signal(signal.SIGINT)
        assert served.process.returncode == 0


def test_it_needs_no_output(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    serve = f"exec {sys.executable} -m otel_runlog serve --db {db} --grpc 127.0.0.1:0 --http 127.0.0.1:0 >&-"
    with subprocess.Popen(["bash", "-c", serve], stderr=subprocess.PIPE) as process:
        until(lambda: find(db) is not None)
        process.terminate()
        assert process.communicate() == (None, b"")
    assert process.returncode == 0


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that others get in the way of."""
    with serving(tmp_path_factory.mktemp("shared") / "runs.duckdb") as served:
        yield served


def test_a_second_server_of_a_store_ends_with_one_sentence_and_the_first_goes_on(shared: Served) -> None:
    second = otel_runlog("serve", "--db", str(shared.db), "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
    assert second.returncode == 2
    assert (
        second.stderr
        == f"error: {shared.db} is served by process {shared.pid} already: ask that server, or stop it first\n"
    )
    assert shared.get("/healthz")[0] == 200


@pytest.mark.parametrize(("option", "other"), [("--http", "--grpc"), ("--grpc", "--http")])
def test_a_port_that_is_taken_ends_with_one_sentence(shared: Served, tmp_path: Path, option: str, other: str) -> None:
    bind = {"--http": shared.http, "--grpc": shared.grpc}[option]
    done = otel_runlog("serve", "--db", str(tmp_path / "b.duckdb"), option, bind, other, "127.0.0.1:0")
    assert done.returncode == 2
    assert bind in done.stderr
    assert done.stderr.count("\n") == 1


def test_it_does_not_forward_to_itself(tmp_path: Path) -> None:
    done = otel_runlog("serve", "--db", str(tmp_path / "a.duckdb"), "--forward", "http://localhost:4318")
    assert done.returncode == 2
    assert done.stderr.startswith("error: localhost:4318 is this server itself")


def test_a_host_that_is_none_ends_with_one_sentence(tmp_path: Path) -> None:
    store = ("--db", str(tmp_path / "a.duckdb"))
    done = otel_runlog("serve", *store, "--insecure", "--grpc", "127.0.0.1:0", "--http", "a..b:0")
    assert done.returncode == 2
    assert done.stderr == "error: cannot serve HTTP on a..b:0: 'a..b' cannot be the name of a host\n"


def test_the_address_that_is_listened_on_may_stand_in_host(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb", "--insecure", http="127.0.0.2:0", grpc="") as served:
        assert served.http.startswith("127.0.0.2:")
        assert served.get("/healthz")[0] == 200


@pytest.mark.fault(37)
def test_other_machines_are_served_only_with_a_token_or_on_demand(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    done = otel_runlog("serve", "--db", str(db), "--http", "0.0.0.0:0", "--grpc", "")
    assert done.returncode == 2
    assert done.stderr.startswith("error: http 0.0.0.0:0 can be reached from other machines: give --token-file FILE")
    token_file = tmp_path / "token"
    with serving(db, "--token-file", str(token_file), http="0.0.0.0:0", grpc="") as served:
        served.http = served.http.replace("0.0.0.0", "127.0.0.1")
        token = token_file.read_text().strip()
        assert token_file.stat().st_mode & 0o777 == 0o600
        assert served.get("/healthz")[0] == 200
        assert served.get("/metrics")[0] == 401
        assert served.post("/v1/traces", {})[0] == 401
        assert served.post("/v1/traces", {}, token)[0] == 200


def test_metrics_and_readiness_tell_what_happened(tmp_path: Path) -> None:
    with serving(tmp_path / "runs.duckdb") as served:
        spans = agent_spans(3)
        served.exporter("http").export(spans)
        served.exporter("grpc").export(spans)

        def status() -> dict[str, object]:
            return dict(json.loads(served.get("/readyz")[1]))

        until(lambda: status()["totals"]["stored"] == 6 and status()["totals"]["duplicate"] == 6)  # type: ignore[index]
        found = status()
        assert (found["ready"], found["rejected"], found["destinations"]) == (True, {}, [])
        until(lambda: status()["load_lag_s"] == 0.0)
        metrics = served.get("/metrics")[1].decode()
        lines = [line for line in metrics.splitlines() if line.startswith("runlog_runs_total")]
        assert len(lines) == 1
        assert lines[0].endswith(" 3.0")
        assert 'runlog_server_received_total{door="grpc"' in metrics
        token = token_of(served.db)
        assert served.post("/v1/sql", {"sql": "from runs"}, token)[0] == 200
        assert served.post("/v1/sql", {"sql": "from nowhere"}, token)[0] == 400
        assert 'outcome="StatementError"} 1.0' in served.get("/metrics")[1].decode()


def test_the_doctor_reads_what_the_server_says_of_itself(tmp_path: Path, call: Callable[..., Result]) -> None:
    db = tmp_path / "runs.duckdb"
    with serving(db, "--forward", "{url = 'http://127.0.0.1:9', name = 'nobody'}") as served:
        served.exporter("http").export(agent_spans(1))
        until(lambda: json.loads(served.get("/readyz")[1])["destinations"][0]["error"] is not None)
        done = call("doctor", "--db", db)
        assert done.exit_code == 0, done.stderr
        assert "server   ready, 2 spans and records in 1 requests" in done.stdout
        assert "forward  nobody: 0 sent, " in done.stdout
        done = call("doctor", "--db", db, "--format", "json")
        found = json.loads(done.stdout)
        assert (found["server"]["ready"], found["server"]["totals"]["received"]) == (True, 2)


def test_runs_are_served_over_grpc_to_programs_in_other_languages(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    with serving(db) as served, grpc.insecure_channel(served.grpc) as channel:
        served.exporter("grpc").export(agent_spans(2, calls=2))
        token = (("authorization", f"Bearer {token_of(db)}"),)
        list_runs = channel.unary_unary(
            "/runlog.v1.RunLogService/ListRuns", pb.ListRunsRequest.SerializeToString, pb.ListRunsResponse.FromString
        )
        get_run = channel.unary_unary(
            "/runlog.v1.RunLogService/GetRun", pb.GetRunRequest.SerializeToString, pb.GetRunResponse.FromString
        )
        found = list_runs(pb.ListRunsRequest(agent="planner", limit=1), metadata=token)
        assert [run.agent for run in found.runs] == ["planner"]
        assert list_runs(pb.ListRunsRequest(agent="nobody"), metadata=token) == pb.ListRunsResponse()
        run = run_of(get_run(pb.GetRunRequest(run_id="last"), metadata=token).run)
        with pytest.raises(grpc.RpcError) as no_token:
            list_runs(pb.ListRunsRequest())
        with pytest.raises(grpc.RpcError) as no_run:
            get_run(pb.GetRunRequest(run_id="ffffffff"), metadata=token)
        served.end()
    assert no_token.value.code() is grpc.StatusCode.UNAUTHENTICATED
    assert no_run.value.code() is grpc.StatusCode.NOT_FOUND
    with StoreReader(db) as reader:
        assert run == reader.run(run.run_id)
    assert len(run.steps) == 3


@pytest.mark.fault(17)
def test_what_was_acknowledged_before_a_kill_is_there_after_a_restart(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    sent = 0
    for _ in range(2):
        with serving(db) as served:
            for protocol in ("grpc", "http"):
                assert served.exporter(protocol).export(agent_spans(5)) is SpanExportResult.SUCCESS
                sent += 10
            served.kill()
    with serving(db) as served:
        served.end()
    with StoreReader(db) as reader:
        assert reader.query("select received, stored, duplicate from books").rows == [(sent, sent, 0)]


def test_settings_are_printed_and_wrong_ones_refused_before_anything_starts(tmp_path: Path) -> None:
    done = otel_runlog("serve", "--sql-time-s", "3", "--memory", "1GiB", "--forward", "http://b:1", "--print-config")
    assert done.returncode == 0
    assert 'memory = "1GiB"' in done.stdout
    assert "time_s = 3.0" in done.stdout
    file = tmp_path / "serve.toml"
    file.write_text("mermory = 1\n")
    done = otel_runlog("serve", "--config", str(file))
    assert (done.returncode, done.stderr) == (2, f"error: {file}: unknown field `mermory`\n")


def test_every_setting_is_an_option() -> None:
    keys = [f for f in ServerConfig.__struct_fields__ if f != "sql"]
    keys += [f"sql.{f}" for f in SqlConfig.__struct_fields__]
    assert sorted(setting.key for setting in SETTINGS) == sorted(keys)


def test_the_end_does_not_wait_for_a_batch_that_takes_long_and_nothing_of_it_is_lost(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    spans = agent_spans(60, calls=99)
    with serving(db) as served:
        exporter = served.exporter("http")
        for _ in range(3):
            assert exporter.export(spans) is SpanExportResult.SUCCESS
        code, took_s = served.end()
        assert code == 0
        assert took_s < PROMISED_END_S * 3
    assert otel_runlog("runs", "--db", str(db)).returncode == 0
    with StoreReader(db) as reader:
        assert reader.query("select received, stored, duplicate from books").rows == [(18_000, 6_000, 12_000)]
