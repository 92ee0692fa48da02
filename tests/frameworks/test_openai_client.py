"""The OpenAI client under one and under two instrumentations."""

from contextlib import contextmanager
from itertools import combinations, permutations

import pytest
from client_tracing import NEEDS_FRAMEWORKS, Tracing
from provider import Answer, ScriptedProvider, ToolCall
from restored import restored
from seen_runs import Tokens, served_by_openai

openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
genai = pytest.importorskip("opentelemetry.instrumentation.genai.openai", reason=NEEDS_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.openai", reason=NEEDS_FRAMEWORKS)
traceloop = pytest.importorskip("opentelemetry.instrumentation.openai", reason=NEEDS_FRAMEWORKS)

pytestmark = [
    pytest.mark.frameworks,
    # Traceloop 0.62 declares its models so.
    pytest.mark.filterwarnings("ignore:Support for class-based `config` is deprecated:DeprecationWarning"),
]

MODEL = "gpt-5"
MAKERS = {
    "openinference": openinference.OpenAIInstrumentor,
    "otel-genai": genai.OpenAIInstrumentor,
    "traceloop": traceloop.OpenAIInstrumentor,
}
SINGLE = [pytest.param([name], id=name) for name in MAKERS]
STACKED = [pytest.param(list(pair), id="+".join(pair)) for pair in combinations(MAKERS, 2)]
EITHER_ORDER = [pytest.param(list(pair), id="+".join(pair)) for pair in permutations(MAKERS, 2)]
ASK_WEATHER = ToolCall("weather", {"city": "Oslo"}, id="call_a")
ASK_CLOCK = ToolCall("clock", {}, id="call_b")
TOOL_LOOP = [
    Answer("", (ASK_WEATHER,), input_tokens=1_013, output_tokens=57, cache_read_tokens=512, reasoning_tokens=21),
    Answer("", (ASK_CLOCK,), input_tokens=1_187, output_tokens=43, cache_read_tokens=1_024, reasoning_tokens=9),
    Answer("Rain at noon.", input_tokens=1_301, output_tokens=71, cache_read_tokens=1_152, reasoning_tokens=33),
]
USER = {"role": "user", "content": "Will it rain in Oslo?"}


@pytest.fixture
def makers(request):
    return [MAKERS[name]() for name in request.param]


@contextmanager
def serving(script, tracing, makers):
    """A client under these instrumentations, and the provider that it asks."""
    with ScriptedProvider(script) as provider:
        client = openai.OpenAI(base_url=provider.openai_url, api_key="unused", max_retries=0)
        with restored("openai"), tracing.instrumented(*makers), client:
            yield client, provider


def run_tool_loop(tracing, client):
    messages = [USER]
    with tracing.agent("forecaster"):
        while True:
            message = client.chat.completions.create(model=MODEL, messages=messages).choices[0].message
            messages.append(message.model_dump(exclude_none=True))
            for call in message.tool_calls or ():
                with tracing.tool(call.function.name, call.id):
                    messages.append({"role": "tool", "tool_call_id": call.id, "content": "12:00"})
            if not message.tool_calls:
                return


def stream(client, **options):
    with client.chat.completions.create(model=MODEL, messages=[USER], stream=True, **options) as chunks:
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


@pytest.mark.parametrize("makers", SINGLE + EITHER_ORDER, indirect=True)
def test_a_tool_loop_is_one_run_with_each_call_counted_once(tracing: Tracing, makers):
    with serving(TOOL_LOOP, tracing, makers) as (client, provider):
        run_tool_loop(tracing, client)

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status, run.facts.complete) == ("forecaster", "completed", True)
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (3, 2, 0)
    assert run.tokens == Tokens(3_501, 171, 2_688, None, 63)
    assert [call.tokens for call in run.model_calls()] == [served_by_openai(one) for one in provider.served]
    assert [(tool.tool_name, tool.tool_call_id) for tool in run.tool_calls()] == [
        ("weather", "call_a"),
        ("clock", "call_b"),
    ]
    assert {call.facts.agent for call in run.calls} == {"forecaster"}


@pytest.mark.parametrize("makers", STACKED, indirect=True)
def test_a_call_outside_every_agent_is_one_run_of_one_call(tracing: Tracing, makers):
    with serving(TOOL_LOOP[2:], tracing, makers) as (client, _):
        client.chat.completions.create(model=MODEL, messages=[USER])

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.step_count) == (1, 1)
    assert run.tokens == Tokens(1_301, 71, 1_152, None, 33)


@pytest.mark.parametrize("makers", SINGLE + EITHER_ORDER, indirect=True)
def test_responses_calls_below_an_agent_are_counted_once(tracing: Tracing, makers):
    with serving(TOOL_LOOP, tracing, makers) as (client, provider), tracing.agent("responder"):
        for _ in TOOL_LOOP:
            client.responses.create(model=MODEL, input="Will it rain in Oslo?")

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.usage_missing_calls) == (3, 0)
    expected = [served_by_openai(one) for one in provider.served]
    # Only OpenInference also says that nothing was written to the cache.
    assert [call.tokens._replace(cache_write_tokens=None) for call in run.model_calls()] == expected


@pytest.mark.parametrize("makers", EITHER_ORDER, indirect=True)
def test_a_bare_responses_call_is_one_run_though_it_may_leave_two_traces(tracing: Tracing, makers):
    # Traceloop makes its span when the answer is there, so the other instrumentation's span is not its parent or child.
    with serving(TOOL_LOOP[2:], tracing, makers) as (client, _):
        client.responses.create(model=MODEL, input="Will it rain in Oslo?")

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.step_count) == (1, 1)
    assert run.tokens[:3] == (1_301, 71, 1_152)


@pytest.mark.parametrize("makers", SINGLE + STACKED, indirect=True)
def test_a_stream_that_includes_usage_counts_what_was_served(tracing: Tracing, makers):
    # No reasoning here: Traceloop 0.62 leaves it out of streams.
    script = [Answer("Rain at noon.", input_tokens=901, output_tokens=37, cache_read_tokens=256)]
    with serving(script, tracing, makers) as (client, _), tracing.agent("streamer"):
        assert stream(client, stream_options={"include_usage": True}) == "Rain at noon."

    [run] = tracing.runs()
    assert run.tokens[:3] == (901, 37, 256)
    assert (run.facts.llm_calls, run.facts.usage_missing_calls) == (1, 0)


@pytest.mark.parametrize("makers", SINGLE + STACKED, indirect=True)
def test_a_stream_without_usage_is_unknown_and_never_zero(tracing: Tracing, makers):
    script = [Answer("Rain at noon.", input_tokens=901, output_tokens=37)]
    with serving(script, tracing, makers) as (client, provider), tracing.agent("streamer"):
        stream(client)

    [run] = tracing.runs()
    assert not provider.served[0].usage_sent
    assert run.tokens == Tokens()
    assert [call.tokens for call in run.model_calls()] == [Tokens()]
    assert (run.facts.llm_calls, run.facts.usage_missing_calls, run.facts.status) == (1, 1, "completed")
    assert "usage_missing" in run.warnings


@pytest.mark.parametrize("makers", STACKED, indirect=True)
def test_one_stream_without_usage_leaves_the_sum_of_what_is_known(tracing: Tracing, makers):
    with serving(TOOL_LOOP, tracing, makers) as (client, provider), tracing.agent("streamer"):
        client.chat.completions.create(model=MODEL, messages=[USER])
        stream(client)
        client.chat.completions.create(model=MODEL, messages=[USER])

    [run] = tracing.runs()
    first, _, last = provider.served
    assert run.tokens == served_by_openai(first, last)
    assert (run.facts.llm_calls, run.facts.usage_missing_calls) == (3, 1)
    assert run.model_calls()[1].tokens == Tokens()


@pytest.mark.parametrize("makers", STACKED, indirect=True)
def test_a_refused_call_is_one_failed_call_that_lacks_no_usage(tracing: Tracing, makers):
    script = [Answer(error_status=429), TOOL_LOOP[2]]
    with serving(script, tracing, makers) as (client, provider), tracing.agent("patient"):
        with pytest.raises(openai.RateLimitError):
            client.chat.completions.create(model=MODEL, messages=[USER])
        client.chat.completions.create(model=MODEL, messages=[USER])

    [run] = tracing.runs()
    assert [call.facts.status for call in run.model_calls()] == ["failed", "completed"]
    assert (run.facts.status, run.facts.usage_missing_calls) == ("completed", 0)
    assert run.tokens == served_by_openai(provider.served[1])
