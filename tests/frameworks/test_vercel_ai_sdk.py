"""The Vercel AI SDK in Node, exporting over OTLP/HTTP: decoded and projected, and ingested as files into a store."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from otlp_sink import Request, otlp_sink, spans_of, written
from provider import Answer, ScriptedProvider
from seen_runs import SeenRun, Tokens, projected_runs, served_by_openai, stored_runs
from tool_loop import SCRIPT

from otel_runlog.loader import Loader
from otel_runlog.otlp.wire import Encoding

NODE = Path(__file__).parent / "node"
APIS = ["chat", "responses"]
CALLS = ["generate", "stream"]

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
    pytest.mark.skipif(
        not (NODE / "node_modules" / "ai").exists(),
        reason="needs npm packages: npm ci --ignore-scripts --prefix tests/frameworks/node",
    ),
]


def run_node(provider: ScriptedProvider, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", "adder.mjs", *arguments],
        cwd=NODE,
        env={"PATH": os.environ["PATH"], "OPENAI_BASE_URL": provider.openai_url, "OTLP_URL": url},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def the_run(requests: list[Request], folder: Path) -> SeenRun:
    """The one run of these requests, the same whether projected or read back from a store that ingested them."""
    db = folder / "runs.duckdb"
    report = Loader(db).ingest(written(requests, folder))
    spans = spans_of(requests)
    assert (report.stored, report.bad) == (len(spans), [])
    [projected], [stored] = projected_runs(spans), stored_runs(db)
    assert stored == projected
    return stored


@pytest.mark.parametrize("encoding", list(Encoding))
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("api", APIS)
def test_a_tool_loop_is_one_run_as_served(tmp_path, api, call, encoding):
    with ScriptedProvider(SCRIPT) as provider, otlp_sink() as (url, requests):
        done = run_node(provider, url, api, call, encoding)
    assert (done.returncode, done.stdout) == (0, "It is 84."), done.stderr

    assert {request.encoding for request in requests} == {encoding}
    run = the_run(requests, tmp_path)
    assert (run.facts.agent, run.facts.status, run.facts.session_id) == ("adder", "completed", "conv-7")
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (3, 2, 0)
    # The root repeats the sum; only Responses also says that nothing was written to the cache.
    writes = {"chat": None, "responses": 0}[api]
    assert run.tokens == Tokens(2_571, 107, 1_664, writes, 29)
    served = [served_by_openai(one)._replace(cache_write_tokens=writes) for one in provider.served]
    assert [one.tokens for one in run.model_calls()] == served
    assert [(tool.tool_name, tool.tool_call_id) for tool in run.tool_calls()] == [
        ("add", "call_a"),
        ("double", "call_b"),
    ]
    assert {one.facts.agent for one in run.calls} == {"adder"}


@pytest.mark.parametrize("call", CALLS)
def test_a_refused_call_fails_the_run_and_keeps_what_was_served(tmp_path, call):
    with ScriptedProvider([SCRIPT[0], Answer(error_status=400)]) as provider, otlp_sink() as (url, requests):
        done = run_node(provider, url, "chat", call, "json")
    assert "refused as scripted" in done.stderr

    run = the_run(requests, tmp_path)
    assert (run.facts.agent, run.facts.status) == ("adder", "failed")
    assert [one.facts.status for one in run.model_calls()] == ["completed", "failed"]
    assert run.tokens == served_by_openai(provider.served[0])
