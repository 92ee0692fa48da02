"""Case 24: a server, a reader, an agent with the in-process door and a second server, all on one store."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from serving import agent_spans, serving, until

from otel_runlog.store.reader import StoreReader

AGENT = """
import sys
from opentelemetry.sdk.trace import TracerProvider
from otel_runlog import RunLogSpanProcessor
processor = RunLogSpanProcessor(sys.argv[1])
provider = TracerProvider()
provider.add_span_processor(processor)
tracer = provider.get_tracer("agent")
for line in sys.stdin:
    for _ in range(int(line)):
        with tracer.start_as_current_span("invoke_agent a", attributes={"gen_ai.operation.name": "invoke_agent"}):
            pass
    print(sum(processor.dropped.values()), flush=True)
"""


def asked(db: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "otel_runlog", *arguments, "--db", str(db)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def runs(db: Path) -> int:
    done = asked(db, "sql", "SELECT count(*) AS runs FROM runs", "--format", "json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)[0]["runs"])


def test_all_of_them_on_one_store_lose_nothing_and_the_next_takes_over(tmp_path: Path) -> None:
    db = tmp_path / "runs.duckdb"
    command = [sys.executable, "-c", AGENT, str(db)]
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as agent,
        serving(db) as server,
    ):
        assert agent.stdin is not None
        assert agent.stdout is not None

        def emit(number: int) -> None:
            assert agent.stdin is not None
            assert agent.stdout is not None
            agent.stdin.write(f"{number}\n")
            agent.stdin.flush()
            assert agent.stdout.readline() == "0\n", "the agent lost spans"

        emit(20)
        server.exporter("http").export(agent_spans(5))
        until(lambda: runs(db) == 25)
        second = asked(db, "serve", "--grpc", "127.0.0.1:0", "--http", "127.0.0.1:0")
        assert second.returncode == 2
        server.exporter("grpc").export(agent_spans(5))
        server.kill()
        emit(20)
        until(lambda: runs(db) == 50)
        with serving(db) as next_server:
            emit(20)
            next_server.exporter("grpc").export(agent_spans(5))
            until(lambda: runs(db) == 75)
            next_server.end()
        agent.stdin.close()
        assert agent.wait(30) == 0
    assert runs(db) == 75
    with StoreReader(db) as reader:
        columns = "received, stored + duplicate + superseded AS kept, conflict, dropped"
        [(received, kept, conflict, dropped)] = reader.query(f"SELECT {columns} FROM books").rows
    assert (received, conflict) == (kept, 0)
    assert set(json.loads(str(dropped))) <= {"journal_no_footer"}
