"""What each instrumentation recorded of a real client replays from its spans alone, whole or streamed, either way."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

import pytest
from client_tracing import CONTENT, NEEDS_FRAMEWORKS, NEEDS_MORE_FRAMEWORKS, Projected, addresses
from provider import ScriptedProvider
from replay_loops import LOOPS, PYDANTIC_AI_LOOPS, SCRIPT
from restored import restored

from otel_runlog.captures.building import captures_of
from otel_runlog.captures.document import dumps, loads
from otel_runlog.replaying.session import replay_session
from otel_runlog.span import from_sdk

# Where only some frameworks are installed the whole would be run twice: CI has an environment with all of them.
pytest.importorskip("google.genai", reason=NEEDS_MORE_FRAMEWORKS)

pytestmark = [
    pytest.mark.frameworks,
    pytest.mark.filterwarnings("ignore:Support for class-based `config` is deprecated:DeprecationWarning"),
]

MAKERS = {
    ("chat", "openinference"): "openinference.instrumentation.openai:OpenAIInstrumentor",
    ("chat", "otel-genai"): "opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor",
    ("chat", "traceloop"): "opentelemetry.instrumentation.openai:OpenAIInstrumentor",
    ("responses", "openinference"): "openinference.instrumentation.openai:OpenAIInstrumentor",
    ("responses", "otel-genai"): "opentelemetry.instrumentation.genai.openai:OpenAIInstrumentor",
    ("responses", "traceloop"): "opentelemetry.instrumentation.openai:OpenAIInstrumentor",
    ("messages", "anthropic-sdk"): None,
    ("messages", "openinference"): "openinference.instrumentation.anthropic:AnthropicInstrumentor",
    ("messages", "traceloop"): "opentelemetry.instrumentation.anthropic:AnthropicInstrumentor",
    ("gemini", "otel-genai"): "opentelemetry.instrumentation.google_genai:GoogleGenAiSdkInstrumentor",
    ("gemini", "openinference"): "openinference.instrumentation.google_genai:GoogleGenAIInstrumentor",
    **dict.fromkeys(((api, "pydantic-ai") for api in LOOPS), None),
}
"""The API and who instruments its client; None: the client or the framework traces itself."""
CLIENTS = {
    "chat": "openai.resources.chat.completions",
    "responses": "openai.resources.responses",
    "messages": "anthropic.resources.messages",
    "gemini": "google.genai.models",
}
"""The module that instrumentations wrap; it is there before, so that their wrappers can be taken off."""
PYDANTIC_AI_MODULES = {"chat": "openai", "responses": "openai", "messages": "anthropic", "gemini": "google"}
APART = frozenset({"traceloop"})
"""Recorded in processes of their own: instrumented a second time in one, it adds each chunk of a stream twice."""


class Case(NamedTuple):
    """An API, who instruments it, the instrumentations, and the loop to run."""

    api: str
    maker: str
    instrumentors: list
    loop: Callable


@pytest.fixture(params=MAKERS, ids="-".join)
def case(request):
    return _case(*request.param)


def _case(api, maker):
    pytest.importorskip(CLIENTS[api], reason=NEEDS_FRAMEWORKS)
    if maker == "pydantic-ai":
        pytest.importorskip("pydantic_ai.models." + PYDANTIC_AI_MODULES[api], reason=NEEDS_FRAMEWORKS)
        return Case(api, maker, [], PYDANTIC_AI_LOOPS[api])
    return Case(api, maker, _instrumentors(MAKERS[api, maker]), LOOPS[api])


def _instrumentors(place):
    if place is None:
        return []
    module, _, name = place.partition(":")
    return [getattr(pytest.importorskip(module, reason=NEEDS_FRAMEWORKS), name)()]


@contextmanager
def provider_served(monkeypatch, script=SCRIPT):
    with ScriptedProvider(script) as provider, monkeypatch.context() as patch:
        for name, value in addresses(provider).items():
            patch.setenv(name, value)
        yield provider


@pytest.fixture(scope="module")
def recordings():
    """The captures that were made, by API, maker and way: each is replayed more than once."""
    return {}


@pytest.fixture
def recorded(case, monkeypatch, recordings):
    """Records the loop of the case, whole or streamed: the capture of its run, from spans only."""
    for name, value in CONTENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("ANTHROPIC_OPEN_TELEMETRY", "true" if case.maker == "anthropic-sdk" else "false")

    def record(*, stream):
        key = (case.api, case.maker, stream)
        if key not in recordings:
            record_case = _recorded_apart if case.maker in APART else _recorded
            recordings[key] = record_case(case, stream, monkeypatch)
        return recordings[key]

    return record


def _recorded(case, stream, monkeypatch):
    tracing = Projected(Path())
    own = case.maker == "pydantic-ai"
    native = _global_tracing(tracing.provider) if case.maker == "anthropic-sdk" else nullcontext()
    agent = nullcontext() if own else tracing.agent("forecaster")
    loop = partial(case.loop, tracer_provider=tracing.provider) if own else case.loop
    package = CLIENTS[case.api].partition(".")[0]
    traced = tracing.instrumented(*case.instrumentors)
    with provider_served(monkeypatch) as provider, restored(package), native, traced, agent:
        text = loop(stream=stream)
    assert (text, len(provider.served)) == (SCRIPT[-1].text, len(SCRIPT))
    [capture] = captures_of([from_sdk(span) for span in tracing._spans.get_finished_spans()])
    return capture


def _recorded_apart(case, stream, _monkeypatch):
    done = subprocess.run(
        [sys.executable, __file__, case.api, case.maker, "stream" * stream],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    return loads(done.stdout)


@contextmanager
def _global_tracing(provider):
    """The Anthropic client asks the global provider for its tracer."""
    trace = importlib.import_module("opentelemetry.trace")
    before = trace._TRACER_PROVIDER
    trace._TRACER_PROVIDER = provider
    try:
        yield
    finally:
        trace._TRACER_PROVIDER = before


@pytest.mark.parametrize(("recorded_as", "replayed_as"), list(product(("whole", "stream"), repeat=2)))
def test_spans_alone_replay_the_loop(case, recorded, recorded_as, replayed_as):
    capture = recorded(stream=recorded_as == "stream")
    assert [call.completeness for call in capture.llm_io] == ["full", "full"]

    with replay_session(capture) as session:
        assert case.loop(stream=replayed_as == "stream") == SCRIPT[-1].text

    assert (session.report.verdict, session.report.divergences) == ("identical", ())
    assert (session.report.served, session.report.not_reached) == (2, 0)


if __name__ == "__main__":
    api, maker, stream = sys.argv[1:]
    sys.stdout.buffer.write(dumps(_recorded(_case(api, maker), bool(stream), pytest.MonkeyPatch())))
