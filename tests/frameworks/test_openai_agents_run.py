"""openai-agents runs with a handoff and with an agent as a tool, under each maker's instrumentation."""

import asyncio
from contextlib import contextmanager

import pytest
from client_tracing import NEEDS_FRAMEWORKS, NEEDS_MORE_FRAMEWORKS, Tracing
from provider import Answer, ScriptedProvider, ToolCall
from seen_runs import SeenRun, Tokens, served_by_openai
from tool_loop import QUESTION, SCRIPT, add, double

openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
genai = pytest.importorskip("opentelemetry.instrumentation.genai.openai", reason=NEEDS_FRAMEWORKS)
agents = pytest.importorskip("agents", reason=NEEDS_MORE_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.openai_agents", reason=NEEDS_MORE_FRAMEWORKS)
traceloop = pytest.importorskip("opentelemetry.instrumentation.openai_agents", reason=NEEDS_MORE_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

MAKERS = {
    "openinference": openinference.OpenAIAgentsInstrumentor,
    "traceloop": traceloop.OpenAIAgentsInstrumentor,
}
WORKFLOW = {"openinference": "sums", "traceloop": "Agent Workflow"}
"""What each calls the root of a run with a handoff: OpenInference the workflow's name, Traceloop always the same."""


def asked(name: str, **arguments: str) -> Answer:
    """The first answer of a run: the model hands over to the adder."""
    call = ToolCall(name, arguments, id="call_h")
    return Answer("", (call,), input_tokens=701, output_tokens=21, cache_read_tokens=128, reasoning_tokens=3)


HANDOFF = [asked("transfer_to_adder"), *SCRIPT]
AS_TOOL = [
    asked("ask_adder", input=QUESTION),
    *SCRIPT,
    Answer("The adder says 84.", input_tokens=1_009, output_tokens=37, cache_read_tokens=896, reasoning_tokens=6),
]


@pytest.fixture(autouse=True)
def no_upload():
    """Takes out the processor that would send traces to OpenAI, and after the test the instrumentation's."""
    agents.set_trace_processors([])
    yield
    agents.set_trace_processors([])


def adder(model):
    tools = [agents.function_tool(add), agents.function_tool(double)]
    return agents.Agent("adder", model=model, tools=tools, handoff_description="adds")


def handing_over(model):
    return agents.Agent("triage", model=model, handoffs=[adder(model)])


def asking_a_tool(model):
    return agents.Agent("triage", model=model, tools=[adder(model).as_tool("ask_adder", "adds")])


@contextmanager
def serving(script, tracing, *makers):
    with ScriptedProvider(script) as provider, tracing.instrumented(*(make() for make in makers)):
        yield provider


async def ask(provider, make_agent, *, api=agents.OpenAIResponsesModel, streamed=False):
    async with openai.AsyncOpenAI(base_url=provider.openai_url, api_key="unused", max_retries=0) as client:
        agent = make_agent(api("gpt-5", openai_client=client))
        config = agents.RunConfig(workflow_name="sums")
        if not streamed:
            return (await agents.Runner.run(agent, QUESTION, run_config=config)).final_output
        result = agents.Runner.run_streamed(agent, QUESTION, run_config=config)
        async for _ in result.stream_events():
            pass
        return result.final_output


def without_cache_writes(run: SeenRun) -> list[Tokens]:
    """The calls' tokens; only OpenInference passes on that nothing was written to the cache."""
    assert {call.tokens.cache_write_tokens for call in run.model_calls()} <= {0, None}
    return [call.tokens._replace(cache_write_tokens=None) for call in run.model_calls()]


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("maker", MAKERS)
def test_a_handoff_is_one_run_of_both_agents_as_served(tracing: Tracing, maker, streamed):
    with serving(HANDOFF, tracing, MAKERS[maker]) as provider:
        assert asyncio.run(ask(provider, handing_over, streamed=streamed)) == "It is 84."

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.complete) == (WORKFLOW[maker], "completed", True)
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (4, 2, 0)
    # The handoff itself is no tool, though the model asks for it as one.
    assert [(call.facts.agent, call.facts.tool_name) for call in run.calls] == [
        ("triage", None),
        ("adder", None),
        ("adder", "add"),
        ("adder", None),
        ("adder", "double"),
        ("adder", None),
    ]
    assert run.tokens._replace(cache_write_tokens=None) == Tokens(3_272, 128, 1_792, None, 32)
    assert without_cache_writes(run) == [served_by_openai(one) for one in provider.served]


@pytest.mark.parametrize("maker", MAKERS)
def test_an_agent_as_a_tool_is_a_sub_agent_of_one_run(tracing: Tracing, maker):
    with serving(AS_TOOL, tracing, MAKERS[maker]) as provider:
        assert asyncio.run(ask(provider, asking_a_tool)) == "The adder says 84."

    [run] = tracing.runs()
    assert (run.facts.status, run.facts.llm_calls, run.facts.tool_calls) == ("completed", 5, 3)
    assert [call.facts.agent for call in run.model_calls()] == ["triage", "adder", "adder", "adder", "triage"]
    assert [(tool.agent, tool.tool_name) for tool in run.tool_calls()] == [
        ("triage", "ask_adder"),
        ("adder", "add"),
        ("adder", "double"),
    ]
    assert without_cache_writes(run) == [served_by_openai(one) for one in provider.served]


@pytest.mark.parametrize("maker", MAKERS)
def test_an_instrumented_client_below_adds_nothing(tracing: Tracing, maker):
    with serving(HANDOFF, tracing, MAKERS[maker], genai.OpenAIInstrumentor) as provider:
        asyncio.run(ask(provider, handing_over))

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.tool_calls) == (4, 2)
    assert without_cache_writes(run) == [served_by_openai(one) for one in provider.served]


def test_chat_completions_under_traceloop_have_no_usage_unless_the_client_is_instrumented(tracing: Tracing):
    with serving(HANDOFF, tracing, MAKERS["traceloop"]) as provider:
        asyncio.run(ask(provider, handing_over, api=agents.OpenAIChatCompletionsModel))

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.usage_missing_calls, run.tokens) == (4, 4, Tokens())
    assert "usage_missing" in run.warnings


def test_the_clients_spans_bring_the_usage_that_the_agents_spans_lack(tracing: Tracing):
    with serving(HANDOFF, tracing, MAKERS["traceloop"], genai.OpenAIInstrumentor) as provider:
        asyncio.run(ask(provider, handing_over, api=agents.OpenAIChatCompletionsModel))

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.usage_missing_calls) == (4, 0)
    assert run.tokens == served_by_openai(*provider.served)
    assert [call.facts.agent for call in run.model_calls()] == ["triage", "adder", "adder", "adder"]


@pytest.mark.parametrize("maker", MAKERS)
def test_a_refused_call_fails_the_run(tracing: Tracing, maker):
    script = [*HANDOFF[:2], Answer(error_status=400)]
    with serving(script, tracing, MAKERS[maker]) as provider, pytest.raises(openai.BadRequestError):
        asyncio.run(ask(provider, handing_over))

    [run] = tracing.runs()
    assert (run.facts.status, run.facts.usage_missing_calls) == ("failed", 0)
    assert [call.facts.status for call in run.model_calls()] == ["completed", "completed", "failed"]
    assert run.tokens._replace(cache_write_tokens=None) == served_by_openai(*provider.served[:2])
