"""The Anthropic client, which since 2.x traces itself, alone and beside OpenInference's instrumentation of it."""

from contextlib import contextmanager

import pytest
from client_tracing import NEEDS_FRAMEWORKS, Tracing
from provider import Answer, ScriptedProvider, ToolCall
from seen_runs import Tokens, served_by_anthropic

anthropic = pytest.importorskip("anthropic", "2.0", reason=NEEDS_FRAMEWORKS)
openinference = pytest.importorskip("openinference.instrumentation.anthropic", reason=NEEDS_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

SEARCH = ToolCall("search", {"query": "otel"}, id="toolu_1")
FIRST = Answer(
    "Let me look.",
    (SEARCH,),
    input_tokens=2_431,
    output_tokens=83,
    cache_read_tokens=1_024,
    cache_write_tokens=640,
    reasoning_tokens=19,
)
SECOND = Answer(
    "Found it.",
    input_tokens=3_107,
    output_tokens=59,
    cache_read_tokens=1_664,
    cache_write_tokens=448,
    reasoning_tokens=11,
)
REQUEST = {"model": "claude-sonnet-5", "max_tokens": 200, "messages": [{"role": "user", "content": "What is otel?"}]}


@contextmanager
def serving(script, tracing, makers, **open_telemetry):
    """A client that traces itself under these instrumentations, and the provider that it asks."""
    own = {"tracer_provider": tracing.provider, **open_telemetry}
    with ScriptedProvider(script) as provider:
        client = anthropic.Anthropic(base_url=provider.url, api_key="unused", max_retries=0, open_telemetry=own)
        with tracing.instrumented(*(make() for make in makers)), client:
            yield client, provider


def stream(client):
    with client.messages.stream(**REQUEST) as events:
        return events.get_final_message()


def create_then_stream(client):
    client.messages.create(**REQUEST)
    stream(client)


def leave_after_one_event(client):
    with client.messages.stream(**REQUEST) as events:
        next(iter(events))


BESIDE = pytest.mark.parametrize(
    "makers", [[], [openinference.AnthropicInstrumentor]], ids=["sdk alone", "sdk+openinference"]
)


@BESIDE
def test_create_and_stream_are_counted_once_below_an_agent(tracing: Tracing, makers):
    # The SDK's span is nested in OpenInference's for create() and beside it for stream().
    with serving([FIRST, SECOND], tracing, makers) as (client, provider), tracing.agent("searcher"):
        create_then_stream(client)

    [run] = tracing.runs()
    assert (run.facts.agent, run.facts.status) == ("searcher", "completed")
    assert (run.facts.llm_calls, run.facts.tool_calls, run.facts.usage_missing_calls) == (2, 0, 0)
    assert run.tokens == Tokens(5_538, 142, 2_688, 1_088, 30)
    assert [call.tokens for call in run.model_calls()] == [served_by_anthropic(one) for one in provider.served]


@BESIDE
def test_a_bare_stream_is_one_run_though_it_leaves_two_traces(tracing: Tracing, makers):
    with serving([SECOND], tracing, makers) as (client, provider):
        stream(client)

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.step_count) == (1, 1)
    assert run.tokens == served_by_anthropic(*provider.served)


@BESIDE
def test_each_bare_call_is_a_run_of_its_own(tracing: Tracing, makers):
    with serving([FIRST, SECOND], tracing, makers) as (client, provider):
        create_then_stream(client)

    runs = sorted(tracing.runs(), key=lambda run: run.tokens)
    assert [run.tokens for run in runs] == [served_by_anthropic(one) for one in provider.served]
    assert [run.facts.llm_calls for run in runs] == [1, 1]


@BESIDE
def test_a_conversation_that_only_the_sdk_knows_is_the_session(tracing: Tracing, makers):
    with serving([SECOND], tracing, makers, conversation_id="conv-7") as (client, _):
        stream(client)

    [run] = tracing.runs()
    assert run.facts.session_id == "conv-7"


@BESIDE
def test_a_stream_that_is_left_early_is_missing_usage_though_it_began_to_count(tracing: Tracing, makers):
    with serving([SECOND], tracing, makers) as (client, _), tracing.agent("impatient"):
        leave_after_one_event(client)

    [run] = tracing.runs()
    assert (run.facts.llm_calls, run.facts.usage_missing_calls) == (1, 1)
