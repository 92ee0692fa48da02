"""Agent -> Collector -> otel-runlog -> Collector -> file, span by span, each stopped and killed on the way."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from otelcol import BACKEND, CONFIGS, Collector, Process, RunLogServer, free_address, until
from sent import Agent, Ids, Received, Told, over_grpc, over_http, run, send_log_record

pytestmark = pytest.mark.collector


@pytest.fixture
def running() -> Iterator[Callable[[Process], None]]:
    """Starts processes of which none is left when the test ends."""
    with ExitStack() as stack:
        yield lambda process: stack.enter_context(process.running())


def interrupt(process: Process) -> None:
    """Stopped, away for a moment, back; then killed, away, back."""
    for how, exit_code in ((signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)):
        time.sleep(0.4)
        assert process.end(how) == exit_code
        time.sleep(0.4)
        process.start()
    time.sleep(0.4)


def arrived(agent: Agent, found: Callable[[], dict[Ids, Told]]) -> None:
    """Wait until every span of the agent is there."""
    expected = set(agent.spans())
    until(f"the last of {len(expected)} spans", lambda: expected <= set(found()))


class TestGateway:
    """Agents -> Collector -> otel-runlog."""

    @pytest.mark.fault(18)
    @pytest.mark.parametrize("away", ["collector", "server"])
    def test_no_span_is_lost_or_stored_twice_when_one_of_them_is_away(
        self, away: str, otelcol: Path, running: Callable[[Process], None], tmp_path: Path
    ) -> None:
        server = RunLogServer(tmp_path / "server", tmp_path / "runs.duckdb")
        collector = Collector(otelcol, CONFIGS / "gateway.yaml", tmp_path / "col", {"RUNLOG_GRPC": server.grpc})
        running(server)
        running(collector)
        agent = over_grpc(collector.grpc)
        with agent.at_work():
            interrupt({"collector": collector, "server": server}[away])
        arrived(agent, server.spans)
        assert server.spans() == agent.spans()

    def test_the_queue_keeps_what_was_answered_while_the_server_is_down_and_the_collector_is_killed(
        self, otelcol: Path, running: Callable[[Process], None], tmp_path: Path
    ) -> None:
        server = RunLogServer(tmp_path / "server", tmp_path / "runs.duckdb")
        collector = Collector(otelcol, CONFIGS / "gateway.yaml", tmp_path / "col", {"RUNLOG_GRPC": server.grpc})
        running(collector)
        agent = over_http(collector.http)
        for number in range(20):
            run(agent.tracer, number)
        agent.provider.shutdown()
        assert collector.metric("otelcol_exporter_queue_size") > 0
        assert collector.metric("otelcol_exporter_enqueue_failed_spans") == 0
        collector.end(signal.SIGKILL)
        collector.start()
        running(server)
        arrived(agent, server.spans)
        assert server.spans() == agent.spans()


class TestProcessor:
    """Agents -> Collector -> otel-runlog -> the same Collector -> backend."""

    @pytest.mark.parametrize("away", ["nobody", "collector", "server"])
    def test_the_backend_gets_every_span_with_what_runlog_knows(
        self, away: str, otelcol: Path, running: Callable[[Process], None], tmp_path: Path
    ) -> None:
        archive = tmp_path / "archive.jsonl"
        backend = Collector(otelcol, BACKEND, tmp_path / "backend", {"ARCHIVE": str(archive)})
        grpc = free_address()
        environ = {"RUNLOG_GRPC": grpc, "BACKEND": backend.grpc}
        collector = Collector(otelcol, CONFIGS / "processor.yaml", tmp_path / "col", environ)
        forward = f'{{ url = "grpc://{collector.back}", enrich = true }}'
        server = RunLogServer(tmp_path / "server", tmp_path / "runs.duckdb", forward, grpc)
        for process in (backend, server, collector):
            running(process)
        agent = over_http(collector.http)
        with agent.at_work():
            if away == "nobody":
                time.sleep(0.4)
            else:
                interrupt({"collector": collector, "server": server}[away])
        arrived(agent, lambda: Received(archive).spans)
        received = Received(archive)
        assert lost_on_the_way(agent, received.spans) == {}
        assert {ids for ids, (_, attributes) in received.spans.items() if "runlog.run.id" not in attributes} == set()
        assert server.spans() == agent.spans()
        if away == "nobody":
            assert received.twice() == []


class TestFanOut:
    """otel-runlog -> Collector -> backends."""

    def test_a_backend_that_is_down_holds_up_no_other_and_gets_it_all_later(
        self, otelcol: Path, running: Callable[[Process], None], tmp_path: Path
    ) -> None:
        archive, late = tmp_path / "archive.jsonl", tmp_path / "late.jsonl"
        backend = Collector(otelcol, BACKEND, tmp_path / "backend", {"ARCHIVE": str(late)})
        environ = {"ARCHIVE": str(archive), "FIRST_BACKEND": backend.grpc, "SECOND_BACKEND": f"http://{backend.http}"}
        collector = Collector(otelcol, CONFIGS / "fan-out.yaml", tmp_path / "col", environ)
        server = RunLogServer(tmp_path / "server", tmp_path / "runs.duckdb", f"grpc://{collector.grpc}")
        for process in (server, collector):
            running(process)
        agent = over_grpc(server.grpc)
        with agent.at_work():
            interrupt(collector)
        arrived(agent, lambda: Received(archive).spans)
        assert Received(archive).spans == agent.spans()
        assert not late.exists()
        running(backend)
        until("every span, from both queues", lambda: min(Received(late).times.values(), default=0) >= 2)
        arrived(agent, lambda: Received(late).spans)
        assert Received(late).spans == agent.spans()


class TestTailSampling:
    """Every span to otel-runlog, a sample to the backend."""

    def test_runs_are_exact_and_the_backend_gets_whole_traces_of_what_failed(
        self, otelcol: Path, running: Callable[[Process], None], tmp_path: Path
    ) -> None:
        archive = tmp_path / "archive.jsonl"
        backend = Collector(otelcol, BACKEND, tmp_path / "backend", {"ARCHIVE": str(archive)})
        server = RunLogServer(tmp_path / "server", tmp_path / "runs.duckdb")
        environ = {"RUNLOG_GRPC": server.grpc, "BACKEND": backend.grpc, "SAMPLING_WAIT": "1s", "SAMPLING_PERCENT": "0"}
        collector = Collector(otelcol, CONFIGS / "tail-sampling.yaml", tmp_path / "col", environ)
        for process in (backend, server, collector):
            running(process)
        agent = over_grpc(collector.grpc)
        for number in range(40):
            run(agent.tracer, number, failed=number % 10 == 0)
        agent.provider.shutdown()
        arrived(agent, server.spans)
        assert server.sql(
            "select status, count(*) as n, sum(llm_calls) as calls from runs group by all order by 1"
        ) == [
            {"status": "completed", "n": 36, "calls": 72},
            {"status": "failed", "n": 4, "calls": 8},
        ]
        until("four traces of four spans", lambda: len(Received(archive).spans) == 16)
        assert {trace for trace, _ in Received(archive).spans} == {trace for trace, _ in agent.failed()}


class TestDevelopment:
    """Whatever speaks OTLP -> Collector -> otel-runlog."""

    def test_spans_and_log_records_are_in_the_store_whichever_protocol_they_came_by(
        self, otelcol: Path, running: Callable[[Process], None], tmp_path: Path
    ) -> None:
        server = RunLogServer(tmp_path / "server", tmp_path / "runs.duckdb")
        collector = Collector(otelcol, CONFIGS / "dev.yaml", tmp_path / "col", {"RUNLOG_GRPC": server.grpc})
        running(server)
        running(collector)
        agents = [over_grpc(collector.grpc), over_http(collector.http)]
        for agent in agents:
            run(agent.tracer, 1)
            agent.provider.shutdown()
            arrived(agent, server.spans)
        assert server.spans() == agents[0].spans() | agents[1].spans()
        send_log_record(collector.http, "hello")
        until("the log record", lambda: server.sql("select count(*) as records from logs") == [{"records": 1}])


def lost_on_the_way(agent: Agent, received: dict[Ids, Told]) -> dict[Ids, dict[str, Any]]:
    """What of the agent's names and attributes is missing or other in what was received; enrichment only adds."""
    lost = {}
    for ids, (name, attributes) in agent.spans().items():
        got_name, got = received[ids]
        other = {key: value for key, value in attributes.items() if got.get(key) != value}
        if other or got_name != name:
            lost[ids] = {"name": got_name, **other}
    return lost
