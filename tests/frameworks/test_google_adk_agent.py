"""A Google ADK agent, which traces itself, alone and over an instrumented Gemini client."""

import asyncio

import pytest
from client_tracing import NEEDS_MORE_FRAMEWORKS, Tracing
from provider import Answer, ScriptedProvider, ToolCall
from seen_runs import Tokens, served_by_openai
from tool_loop import QUESTION, SCRIPT, add, double

pytest.importorskip("google.adk", reason=NEEDS_MORE_FRAMEWORKS)
adk_agents = pytest.importorskip("google.adk.agents", reason=NEEDS_MORE_FRAMEWORKS)
run_config = pytest.importorskip("google.adk.agents.run_config", reason=NEEDS_MORE_FRAMEWORKS)
models = pytest.importorskip("google.adk.models.google_llm", reason=NEEDS_MORE_FRAMEWORKS)
runners = pytest.importorskip("google.adk.runners", reason=NEEDS_MORE_FRAMEWORKS)
adk_tracing = pytest.importorskip("google.adk.telemetry.tracing", reason=NEEDS_MORE_FRAMEWORKS)
types = pytest.importorskip("google.genai.types", reason=NEEDS_MORE_FRAMEWORKS)
official = pytest.importorskip("opentelemetry.instrumentation.google_genai", reason=NEEDS_MORE_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.google_genai", reason=NEEDS_MORE_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

CLIENTS = {
    "adk alone": [],
    "adk+otel-genai": [official.GoogleGenAiSdkInstrumentor],
    "adk+openinference": [openinference.GoogleGenAIInstrumentor],
}
MODES = {"whole": run_config.StreamingMode.NONE, "streamed": run_config.StreamingMode.SSE}
HAND_OVER = ToolCall("transfer_to_agent", {"agent_name": "adder"}, id="call_h")
TRANSFER = [
    Answer("", (HAND_OVER,), input_tokens=701, output_tokens=21, cache_read_tokens=128, reasoning_tokens=3),
    *SCRIPT,
]


@pytest.fixture(autouse=True)
def traced(tracing: Tracing, monkeypatch):
    """ADK takes its tracer from the global provider, once in a process: here each test gives it its own."""
    monkeypatch.setenv("GOOGLE_API_KEY", "unused")
    tracer = tracing.provider.get_tracer("gcp.vertex.agent")
    monkeypatch.setattr(adk_tracing.tracer, "_real_tracer", tracer)


def adder(provider):
    model = models.Gemini(model="gemini-2.5-pro", base_url=provider.url)
    return adk_agents.LlmAgent(name="adder", description="adds", model=model, tools=[add, double])


def triage(provider):
    model = models.Gemini(model="gemini-2.5-pro", base_url=provider.url)
    return adk_agents.LlmAgent(name="triage", model=model, sub_agents=[adder(provider)])


async def ask(agent, mode=MODES["whole"]):
    runner = runners.InMemoryRunner(agent, app_name="sums")
    await runner.session_service.create_session(app_name="sums", user_id="user-1", session_id="conv-7")
    question = types.Content(role="user", parts=[types.Part(text=QUESTION)])
    config = run_config.RunConfig(streaming_mode=mode)
    events = runner.run_async(user_id="user-1", session_id="conv-7", new_message=question, run_config=config)
    return [event.content.parts[0].text async for event in events if event.is_final_response()]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("makers", CLIENTS)
def test_an_agent_with_tools_is_one_run_as_served(tracing: Tracing, makers, mode):
    instrumented = tracing.instrumented(*(make() for make in CLIENTS[makers]))
    with ScriptedProvider(SCRIPT) as provider, instrumented:
        assert asyncio.run(ask(adder(provider), MODES[mode])) == ["It is 84."]

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.session_id) == ("adder", "completed", "conv-7")
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (3, 2, 0)
    assert run.tokens == Tokens(2_571, 107, 1_664, None, 29)
    assert [call.tokens for call in run.model_calls()] == [served_by_openai(one) for one in provider.served]
    assert [(tool.tool_name, tool.tool_call_id) for tool in run.tool_calls()] == [
        ("add", "call_a"),
        ("double", "call_b"),
    ]
    assert {call.facts.agent for call in run.calls} == {"adder"}


def test_a_transfer_to_a_sub_agent_stays_one_run(tracing: Tracing):
    with ScriptedProvider(TRANSFER) as provider:
        assert asyncio.run(ask(triage(provider))) == ["It is 84."]

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.llm_calls) == ("triage", "completed", 4)
    assert [call.facts.agent for call in run.model_calls()] == ["triage", "adder", "adder", "adder"]
    assert [tool.tool_name for tool in run.tool_calls()] == ["transfer_to_agent", "add", "double"]
    assert run.tokens == served_by_openai(*provider.served)
