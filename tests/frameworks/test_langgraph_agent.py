"""LangGraph agents (langchain's create_agent), under each maker's instrumentation and over an instrumented client."""

from contextlib import contextmanager

import pytest
from client_tracing import NEEDS_FRAMEWORKS, NEEDS_MORE_FRAMEWORKS, Tracing
from provider import Answer, ScriptedProvider, ToolCall
from restored import restored
from seen_runs import SeenRun, Tokens, served_by_openai
from tool_loop import QUESTION, SCRIPT, add, double

agents = pytest.importorskip("langchain.agents", reason=NEEDS_MORE_FRAMEWORKS)
langchain_openai = pytest.importorskip("langchain_openai", reason=NEEDS_MORE_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.langchain", reason=NEEDS_MORE_FRAMEWORKS)
traceloop = pytest.importorskip("opentelemetry.instrumentation.langchain", reason=NEEDS_MORE_FRAMEWORKS)
openinference_client = pytest.importorskip("openinference.instrumentation.openai", reason=NEEDS_FRAMEWORKS)
genai_client = pytest.importorskip("opentelemetry.instrumentation.genai.openai", reason=NEEDS_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

MAKERS = {"openinference": openinference.LangChainInstrumentor, "traceloop": traceloop.LangchainInstrumentor}
CLIENTS = {"openinference": openinference_client.OpenAIInstrumentor, "otel-genai": genai_client.OpenAIInstrumentor}
WRAPPED = ("langchain", "langchain_core", "langchain_openai", "langgraph", "openai")
APIS = {
    "chat": {},
    "chat stream": {"streaming": True, "stream_usage": True},
    "responses": {"use_responses_api": True},
    "responses stream": {"use_responses_api": True, "streaming": True},
}
ASK_ADDER = ToolCall("ask_adder", {"question": QUESTION}, id="call_h")
DELEGATION = [
    Answer("", (ASK_ADDER,), input_tokens=701, output_tokens=21, cache_read_tokens=128, reasoning_tokens=3),
    *SCRIPT,
    Answer("The adder says 84.", input_tokens=1_009, output_tokens=37, cache_read_tokens=896, reasoning_tokens=6),
]


@contextmanager
def serving(script, tracing, *makers, **options):
    """A chat model under these instrumentations, and the provider that it asks."""
    instrumented = tracing.instrumented(*(make() for make in makers))
    with ScriptedProvider(script) as provider, restored(*WRAPPED), instrumented:
        model = langchain_openai.ChatOpenAI(
            model="gpt-5", base_url=provider.openai_url, api_key="unused", max_retries=0, **options
        )
        yield model, provider


def ask(agent, question=QUESTION):
    state = {"messages": [("user", question)]}
    return agent.invoke(state, config={"configurable": {"thread_id": "conv-7"}})["messages"][-1].text


def triage_over_adder(model):
    """An agent whose one tool asks another agent."""
    adder = agents.create_agent(model, [add, double], name="adder")

    def ask_adder(question: str) -> str:
        """Ask the agent that can add."""
        return adder.invoke({"messages": [("user", question)]})["messages"][-1].text

    return agents.create_agent(model, [ask_adder], name="triage")


def told_by(maker: str, tokens: Tokens) -> Tokens:
    """What an instrumentation passes on of what was served: Traceloop 0.62 leaves reasoning out."""
    return tokens._replace(reasoning_tokens=None) if maker == "traceloop" else tokens


def without_cache_writes(run: SeenRun) -> list[Tokens]:
    """The calls' tokens; of a Responses call, whose usage knows cache writes, some say that there were none."""
    assert {call.tokens.cache_write_tokens for call in run.model_calls()} <= {0, None}
    return [call.tokens._replace(cache_write_tokens=None) for call in run.model_calls()]


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("maker", MAKERS)
def test_an_agent_with_tools_is_one_run_as_served(tracing: Tracing, maker, api):
    with serving(SCRIPT, tracing, MAKERS[maker], **APIS[api]) as (model, provider):
        assert ask(agents.create_agent(model, [add, double], name="adder")) == "It is 84."

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.session_id) == ("adder", "completed", "conv-7")
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (3, 2, 0)
    assert run.facts.complete
    assert run.tokens._replace(cache_write_tokens=None) == told_by(maker, Tokens(2_571, 107, 1_664, None, 29))
    assert without_cache_writes(run) == [told_by(maker, served_by_openai(one)) for one in provider.served]
    assert [(tool.tool_name, tool.tool_call_id) for tool in run.tool_calls()] == [
        ("add", "call_a"),
        ("double", "call_b"),
    ]
    assert [call.facts.kind for call in run.calls] == ["llm", "tool", "llm", "tool", "llm"]
    assert {call.facts.agent for call in run.calls} == {"adder"}


@pytest.mark.parametrize("client", CLIENTS)
@pytest.mark.parametrize("maker", MAKERS)
def test_an_instrumented_client_below_the_graph_adds_nothing(tracing: Tracing, maker, client):
    # OpenInference's LangChain spans are never current: there each of the client's spans is a trace of its own.
    with serving(SCRIPT, tracing, MAKERS[maker], CLIENTS[client]) as (model, provider):
        ask(agents.create_agent(model, [add, double], name="adder"))

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.llm_calls, run.facts.tool_calls) == ("adder", 3, 2)
    # What Traceloop leaves out the client's span knows.
    assert without_cache_writes(run) == [served_by_openai(one) for one in provider.served]


@pytest.mark.parametrize("maker", MAKERS)
def test_an_agent_asked_through_a_tool_is_a_sub_agent_of_one_run(tracing: Tracing, maker):
    with serving(DELEGATION, tracing, MAKERS[maker]) as (model, provider):
        assert ask(triage_over_adder(model)) == "The adder says 84."

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status) == ("triage", "completed")
    assert [(call.facts.kind, call.facts.agent) for call in run.calls] == [
        ("llm", "triage"),
        ("tool", "triage"),
        ("llm", "adder"),
        ("tool", "adder"),
        ("llm", "adder"),
        ("tool", "adder"),
        ("llm", "adder"),
        ("llm", "triage"),
    ]
    assert run.tokens == told_by(maker, served_by_openai(*provider.served))


@pytest.mark.parametrize("maker", MAKERS)
def test_a_refused_call_fails_the_run_and_keeps_what_was_served(tracing: Tracing, maker):
    script = [SCRIPT[0], Answer(error_status=400)]
    with serving(script, tracing, MAKERS[maker]) as (model, provider):
        agent = agents.create_agent(model, [add, double], name="adder")
        with pytest.raises(Exception, match="refused as scripted"):
            ask(agent)

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status) == ("adder", "failed")
    assert [call.facts.status for call in run.calls] == ["completed", "completed", "failed"]
    assert run.facts.usage_missing_calls == 0
    assert run.tokens == told_by(maker, served_by_openai(provider.served[0]))
