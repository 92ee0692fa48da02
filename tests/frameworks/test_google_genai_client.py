"""The Gemini client under one and under two instrumentations."""

from contextlib import contextmanager

import pytest
from client_tracing import NEEDS_MORE_FRAMEWORKS, Tracing
from provider import ScriptedProvider
from seen_runs import Tokens, served_by_openai
from tool_loop import QUESTION, SCRIPT, add, double

genai = pytest.importorskip("google.genai", reason=NEEDS_MORE_FRAMEWORKS)
official = pytest.importorskip("opentelemetry.instrumentation.google_genai", reason=NEEDS_MORE_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.google_genai", reason=NEEDS_MORE_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

types = genai.types
MODEL = "gemini-2.5-pro"
MAKERS = {"otel-genai": official.GoogleGenAiSdkInstrumentor, "openinference": openinference.GoogleGenAIInstrumentor}
SINGLE = [pytest.param([name], id=name) for name in MAKERS]
EACH_AND_BOTH = [*SINGLE, pytest.param(list(MAKERS), id="both")]
DECLARED = [types.FunctionDeclaration.from_callable_with_api_option(callable=one) for one in (add, double)]
TOOLS = types.GenerateContentConfig(tools=[types.Tool(function_declarations=DECLARED)])
RUN_TOOLS = {"add": add, "double": double}


@pytest.fixture
def makers(request):
    return [MAKERS[name]() for name in request.param]


@contextmanager
def serving(script, tracing, makers):
    """A client under these instrumentations, and the provider that it asks."""
    with ScriptedProvider(script) as provider, tracing.instrumented(*makers):
        client = genai.Client(api_key="unused", http_options=types.HttpOptions(base_url=provider.url))
        yield client, provider
        client.close()


def whole(client, contents):
    return client.models.generate_content(model=MODEL, contents=contents, config=TOOLS).candidates[0].content.parts


def streamed(client, contents):
    chunks = client.models.generate_content_stream(model=MODEL, contents=contents, config=TOOLS)
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts]


def run_tool_loop(tracing, client, generate):
    contents = [types.Content(role="user", parts=[types.Part(text=QUESTION)])]
    with tracing.agent("adder"):
        while True:
            parts = generate(client, contents)
            contents.append(types.Content(role="model", parts=parts))
            calls = [part.function_call for part in parts if part.function_call]
            if not calls:
                return "".join(part.text or "" for part in parts)
            contents.append(types.Content(role="user", parts=[run_tool(tracing, call) for call in calls]))


def run_tool(tracing, call):
    with tracing.tool(call.name, call.id):
        return types.Part.from_function_response(name=call.name, response={"result": RUN_TOOLS[call.name](**call.args)})


@pytest.mark.parametrize("generate", [whole, streamed])
@pytest.mark.parametrize("makers", EACH_AND_BOTH, indirect=True)
def test_a_tool_loop_is_one_run_as_served(tracing: Tracing, makers, generate):
    with serving(SCRIPT, tracing, makers) as (client, provider):
        assert run_tool_loop(tracing, client, generate) == "It is 84."

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.complete) == ("adder", "completed", True)
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (3, 2, 0)
    # Gemini's candidates leave the thoughts out: served are 30, 24 and 24 candidates' tokens.
    assert run.tokens == Tokens(2_571, 107, 1_664, None, 29)
    assert [call.tokens for call in run.model_calls()] == [served_by_openai(one) for one in provider.served]
    assert [call.facts.model for call in run.model_calls()] == [f"{MODEL}-2026-03-15"] * 3
    assert [tool.tool_name for tool in run.tool_calls()] == ["add", "double"]


@pytest.mark.filterwarnings("ignore:Direct use of automatic function calling")
@pytest.mark.parametrize("makers", EACH_AND_BOTH, indirect=True)
def test_automatic_function_calling_says_that_only_the_last_calls_usage_is_known(tracing: Tracing, makers):
    automatic = types.GenerateContentConfig(tools=[add, double])
    with serving(SCRIPT, tracing, makers) as (client, provider), tracing.agent("adder"):
        answer = client.models.generate_content(model=MODEL, contents=QUESTION, config=automatic)

    [run] = tracing.runs()
    assert (answer.text, len(provider.served)) == ("It is 84.", 3)
    # Both makers have one span for the whole loop.
    assert (run.facts.llm_calls, run.facts.usage_missing_calls) == (1, 1)
    assert run.tokens == served_by_openai(provider.served[2])
    assert "usage_partial" in run.warnings
