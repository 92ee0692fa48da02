"""The whole way, with real processes: what on_end returned for is in the store, once, however the process ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from otel_runlog.loader import Loader
from otel_runlog.store.reader import StoreReader

AGENT = """
    import os, signal, sys, time, multiprocessing
    from opentelemetry.sdk.trace import TracerProvider
    from otel_runlog import RunLogSpanProcessor

    db = sys.argv[1]
    provider = TracerProvider()
    processor = RunLogSpanProcessor(db)
    provider.add_span_processor(processor)
    tracer = provider.get_tracer("whole")

    def run(calls, end=True):
        # One agent run; with end=False its root stays open.
        root = tracer.start_span("invoke_agent a", attributes={
            "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"})
        from opentelemetry import trace
        with trace.use_span(root, end_on_exit=end):
            for i in range(calls):
                with tracer.start_as_current_span("chat m", attributes={
                    "gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini",
                    "gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1}):
                    pass
"""


def agent(tmp_path: Path, body: str, *, expect: int = 0) -> None:
    """Run the agent script with `body` at its end in a process of its own."""
    script = tmp_path / "agent.py"
    script.write_text(textwrap.dedent(AGENT) + textwrap.dedent(body))
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "runs.duckdb")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == expect, done.stderr


def facts(tmp_path: Path) -> dict[str, int]:
    """What the store says after whatever is left was loaded; the books must balance."""
    db = tmp_path / "runs.duckdb"
    report = Loader(db).turn(5.0)
    assert report.held_by is None
    assert report.damaged == []
    with StoreReader(db) as reader:
        runs = reader.runs()
        books = reader.query("select received, stored, duplicate, conflict, superseded from books").rows
        ids = reader.query("select count(*), count(distinct (trace_id, span_id)) from spans").rows[0]
    received, *rest = (sum(int(str(row[i])) for row in books) for i in range(5))
    assert received == sum(rest)
    assert ids[0] == ids[1]
    return {
        "runs": len(runs),
        "completed": sum(r.status == "completed" for r in runs),
        "running": sum(r.status == "running" for r in runs),
        "calls": sum(r.llm_calls for r in runs),
        "input_tokens": sum(r.tokens.input_tokens or 0 for r in runs),
    }


@pytest.mark.fault(1, 3)
def test_kill_9_after_a_burst_loses_nothing_that_ended(tmp_path: Path) -> None:
    agent(
        tmp_path,
        """
        run(400)
        run(600, end=False)
        os.kill(os.getpid(), signal.SIGKILL)
        """,
        expect=-signal.SIGKILL,
    )
    assert facts(tmp_path) == {"runs": 2, "completed": 1, "running": 1, "calls": 1000, "input_tokens": 10000}


@pytest.mark.fault(4)
@pytest.mark.parametrize("leave", ["pass", "os._exit(0)", "sys.exit(0)", "processor.force_flush(); os._exit(0)"])
def test_a_process_that_leaves_in_its_own_way_leaves_its_runs(tmp_path: Path, leave: str) -> None:
    agent(tmp_path, f"\nrun(20)\n{leave}\n")
    assert facts(tmp_path) == {"runs": 1, "completed": 1, "running": 0, "calls": 20, "input_tokens": 200}


@pytest.mark.fault(6)
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing_children_keep_theirs_apart_and_whole(tmp_path: Path, method: str) -> None:
    agent(
        tmp_path,
        f"""
        if __name__ == "__main__":
            run(5)
            context = multiprocessing.get_context("{method}")
            children = [context.Process(target=run, args=(7,)) for _ in range(3)]
            for child in children:
                child.start()
            for child in children:
                child.join()
            run(5)
        """,
    )
    assert facts(tmp_path) == {"runs": 5, "completed": 5, "running": 0, "calls": 31, "input_tokens": 310}


@pytest.mark.fault(51)
def test_two_living_processes_on_one_file_take_turns(tmp_path: Path) -> None:
    script = tmp_path / "agent.py"
    body = "\nfor _ in range(12):\n    run(5)\n    time.sleep(0.05)\n"
    script.write_text(textwrap.dedent(AGENT) + body)
    command = [sys.executable, str(script), str(tmp_path / "runs.duckdb")]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    for process in both:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert facts(tmp_path) == {"runs": 24, "completed": 24, "running": 0, "calls": 120, "input_tokens": 1200}


def test_a_processor_added_29_times_counts_once_and_warns_once(tmp_path: Path) -> None:
    agent(
        tmp_path,
        """
        import logging
        lines = []
        class Keep(logging.Handler):
            def emit(self, record): lines.append(record.getMessage())
        logging.getLogger("otel_runlog").addHandler(Keep())
        for i in range(28):
            provider.add_span_processor(processor if i % 2 else RunLogSpanProcessor(db))
        run(10)
        assert processor.force_flush(10_000)
        assert len(lines) == 1, lines
        """,
    )
    assert facts(tmp_path) == {"runs": 1, "completed": 1, "running": 0, "calls": 10, "input_tokens": 100}
