"""The Vercel AI SDK, which checks each field of an answer, runs a whole loop of tools on the answers."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from answering import answering

from otel_runlog.conversation import CallError, CallPart, LlmAnswer, ResultPart, Role, TextPart, ThinkingPart
from otel_runlog.model import Usage

NODE = Path(__file__).parents[1] / "frameworks" / "node"

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.skipif(shutil.which("node") is None, reason="needs node"),
    pytest.mark.skipif(
        not (NODE / "node_modules" / "ai").exists(),
        reason="needs npm packages: npm ci --ignore-scripts --prefix tests/frameworks/node",
    ),
]

ANSWERS = [
    LlmAnswer(parts=(ThinkingPart("Sum first."), CallPart("add", {"a": 19, "b": 23}, "call_a")), usage=Usage(10, 5)),
    LlmAnswer(parts=(CallPart("double", {"a": 42}),)),
    LlmAnswer(parts=(TextPart("It is 84."),), usage=Usage(10, 5)),
]


def adder(url: str, api: str, call: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["node", "adder.mjs", api, call, "json"],
        cwd=NODE,
        env={"PATH": os.environ["PATH"], "OPENAI_BASE_URL": f"{url}/v1", "OTLP_URL": f"{url}/telemetry"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.parametrize("call", ["generate", "stream"])
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_ai_sdk_runs_its_loop_on_the_answers_and_repeats_them(api, call):
    with answering(*ANSWERS) as server:
        done = adder(server.url, api, call)
    assert (done.returncode, done.stdout, done.stderr) == (0, "It is 84.", "")
    last = server.asked[-1].request
    parts = [part for turn in last.turns if turn.role is not Role.USER for part in turn.parts]
    assert [(p.name, p.arguments) for p in parts if isinstance(p, CallPart)] == [
        ("add", {"a": 19, "b": 23}),
        ("double", {"a": 42}),
    ]
    assert [p.value for p in parts if isinstance(p, ResultPart)] == [42, 84]
    # Thoughts are named by their item in Responses, which keeps them, and are no part of a chat.
    assert [p.text for p in parts if isinstance(p, ThinkingPart)] == (["Sum first."] if api == "responses" else [])


@pytest.mark.parametrize("api", ["chat", "responses"])
def test_the_ai_sdk_tells_a_refusal_in_its_words(api):
    with answering(CallError("replay_divergence", "step 1 differs", 400)) as server:
        done = adder(server.url, api, "generate")
    assert (done.stdout, done.stderr.strip()) == ("", "step 1 differs")
    assert len(server.asked) == 1
