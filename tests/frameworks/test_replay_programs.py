"""Programs of six frameworks are recorded, and replay unmodified: no provider is there any more, and no key.

What asks another server than the replay would go through the proxy that these environments name, and is counted there.
"""

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from client_tracing import CONTENT, NEEDS_MORE_FRAMEWORKS, addresses
from otlp_sink import otlp_sink, written
from provider import ScriptedProvider
from tool_loop import SCRIPT

from otel_runlog import DuckDBRunLogStore
from otel_runlog.loader import Loader

# Where only some frameworks are installed the whole would be run twice: CI has an environment with all of them.
pytest.importorskip("google.genai", reason=NEEDS_MORE_FRAMEWORKS)

HERE = Path(__file__).parent
PROGRAMS = {
    "langgraph": "langchain.agents",
    "openai_agents": "agents",
    "pydantic_ai": "pydantic_ai",
    "anthropic": "anthropic",
    "google_genai": "google.genai",
}
"""Programs of the folder `programs`, each `<name>_adder.py`, and the module that it needs."""

pytestmark = pytest.mark.frameworks


def run(command, **environment):
    settings = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONPATH": _python_path()}
    return subprocess.run(command, env=settings | environment, capture_output=True, text=True, timeout=100, check=False)


def _python_path():
    return os.pathsep.join([str(HERE / "programs"), str(HERE.parents[1])])


class Proxy:
    """A proxy that answers nobody, and counts who came."""

    def __init__(self):
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)

    @property
    def environment(self):
        url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        return dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"), url)

    def was_asked(self):
        try:
            self._listener.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    def close(self):
        self._listener.close()


@pytest.fixture
def proxy():
    one = Proxy()
    yield one
    one.close()


def replay(db, command, **environment):
    """The command of CONTRACT, in an environment without keys and addresses."""
    start = [sys.executable, "-m", "otel_runlog", "replay", "last", "--db", str(db), "--json", "--"]
    return run([*start, *command], **environment)


def kept(db):
    with DuckDBRunLogStore(db) as store:
        return store.list()


@pytest.fixture(params=PROGRAMS)
def program(request):
    pytest.importorskip(PROGRAMS[request.param], reason=NEEDS_MORE_FRAMEWORKS)
    return [sys.executable, str(HERE / "programs" / f"{request.param}_adder.py")]


@pytest.mark.parametrize(("recorded_as", "replayed_as"), [("whole", "stream"), ("stream", "whole")])
def test_a_python_program_replays_unmodified(program, tmp_path, proxy, recorded_as, replayed_as):
    db = tmp_path / "runs.duckdb"
    own = CONTENT | {"OTEL_RUNLOG_DB": str(db)}
    with ScriptedProvider(SCRIPT) as provider:
        recorded = run([*program, recorded_as], **own, **addresses(provider))
    assert (recorded.stdout, len(provider.served)) == ("It is 84.\n", 3), recorded.stderr

    replayed = replay(db, [*program, replayed_as], **own, **proxy.environment)

    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.splitlines()[0] == "It is 84."
    assert '"verdict":"identical"' in replayed.stdout.replace(" ", "").splitlines()[-1]
    assert not proxy.was_asked()
    replay_run, original = kept(db)
    assert (replay_run.replay_of, original.replay_of) == (original.run_id, None)
    assert (replay_run.llm_calls, replay_run.cost_estimate.usd) == (3, 0)


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
@pytest.mark.skipif(not (HERE / "node" / "node_modules" / "ai").exists(), reason="needs npm packages")
@pytest.mark.parametrize(
    ("api", "recorded_as", "replayed_as"), [("chat", "generate", "stream"), ("responses", "stream", "generate")]
)
def test_a_node_program_replays_unmodified(tmp_path, api, recorded_as, replayed_as):
    db = tmp_path / "runs.duckdb"
    command = ["node", str(HERE / "node" / "adder.mjs"), api]
    with otlp_sink() as (url, requests):
        with ScriptedProvider(SCRIPT) as provider:
            recorded = run([*command, recorded_as, "json"], OTLP_URL=url, **addresses(provider))
        assert recorded.stdout == "It is 84.", recorded.stderr
        Loader(db).ingest(written(requests, tmp_path))

        replayed = replay(db, [*command, replayed_as, "json"], OTLP_URL=url)

    assert replayed.returncode == 0, replayed.stderr
    assert replayed.stdout.startswith("It is 84.")
