"""A Pydantic AI agent with a tool, alone and over an instrumented client."""

import asyncio

import pytest
from client_tracing import NEEDS_FRAMEWORKS, Tracing
from provider import Answer, ScriptedProvider, ToolCall
from seen_runs import Tokens, served_by_openai

openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
pydantic_ai = pytest.importorskip("pydantic_ai", reason=NEEDS_FRAMEWORKS)
capabilities = pytest.importorskip("pydantic_ai.capabilities", reason=NEEDS_FRAMEWORKS)
models = pytest.importorskip("pydantic_ai.models.openai", reason=NEEDS_FRAMEWORKS)
providers = pytest.importorskip("pydantic_ai.providers.openai", reason=NEEDS_FRAMEWORKS)
instrumented = pytest.importorskip("pydantic_ai.models.instrumented", reason=NEEDS_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.openai", reason=NEEDS_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

SCRIPT = [
    Answer(
        "",
        (ToolCall("add", {"a": 19, "b": 23}, id="call_a"),),
        input_tokens=811,
        output_tokens=47,
        cache_read_tokens=384,
        reasoning_tokens=17,
    ),
    Answer("It is 42.", input_tokens=907, output_tokens=29, cache_read_tokens=768, reasoning_tokens=5),
]
APIS = pytest.mark.parametrize("api", [models.OpenAIChatModel, models.OpenAIResponsesModel], ids=["chat", "responses"])


def adder(api, client, tracing):
    model = api("gpt-5", provider=providers.OpenAIProvider(openai_client=client))
    traced = capabilities.Instrumentation(
        settings=instrumented.InstrumentationSettings(tracer_provider=tracing.provider)
    )
    agent = pydantic_ai.Agent(model, name="adder", capabilities=[traced])

    @agent.tool_plain
    def add(a: int, b: int) -> int:
        return a + b

    return agent


async def ask(provider, api, tracing, **options):
    async with openai.AsyncOpenAI(base_url=provider.openai_url, api_key="unused", max_retries=0) as client:
        return (await adder(api, client, tracing).run("19 + 23?", **options)).output


@APIS
def test_an_agent_with_a_tool_is_one_run_as_served(tracing: Tracing, api):
    with ScriptedProvider(SCRIPT) as provider:
        assert asyncio.run(ask(provider, api, tracing, conversation_id="conv-7")) == "It is 42."

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.session_id) == ("adder", "completed", "conv-7")
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (2, 1, 0)
    assert run.tokens == Tokens(1_718, 76, 1_152, None, 22)
    assert [call.tokens for call in run.model_calls()] == [served_by_openai(one) for one in provider.served]
    assert [(tool.tool_name, tool.tool_call_id) for tool in run.tool_calls()] == [("add", "call_a")]
    assert [call.facts.kind for call in run.calls] == ["llm", "tool", "llm"]


@APIS
def test_an_instrumented_client_below_the_agent_adds_nothing(tracing: Tracing, api):
    with tracing.instrumented(openinference.OpenAIInstrumentor()), ScriptedProvider(SCRIPT) as provider:
        asyncio.run(ask(provider, api, tracing))

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.llm_calls, run.facts.tool_calls) == ("adder", 2, 1)
    assert run.tokens[:3] == (1_718, 76, 1_152)
    assert run.tokens.reasoning_tokens == 22


def test_a_session_of_two_runs_keeps_them_apart(tracing: Tracing):
    with ScriptedProvider(SCRIPT * 2) as provider:
        for _ in range(2):
            asyncio.run(ask(provider, models.OpenAIChatModel, tracing, conversation_id="conv-8"))

    runs = tracing.runs()
    assert [run.facts.session_id for run in runs] == ["conv-8", "conv-8"]
    assert [run.tokens.input_tokens for run in runs] == [1_718, 1_718]
    assert len({run.facts.run_id for run in runs}) == 2
