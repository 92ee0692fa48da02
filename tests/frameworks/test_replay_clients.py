"""The providers' own clients, unmodified, inside a replay: found by their variables alone, with no key."""

import asyncio
import warnings
from contextlib import contextmanager

import pytest
from client_tracing import NEEDS_FRAMEWORKS, NEEDS_MORE_FRAMEWORKS
from replays import call, capture, request, said

from otel_runlog.conversation import CallError, CallPart, FinishReason, LlmAnswer, LlmRequest
from otel_runlog.errors import ReplayMismatch
from otel_runlog.model import Content, Usage
from otel_runlog.replaying.divergence import ReproVerdict
from otel_runlog.replaying.session import replay_session

pytestmark = pytest.mark.frameworks

KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GEMINI_API_KEY", "GOOGLE_API_KEY")
BUSY = CallError("rate_limit_error", "Slow down", 429)


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


def openai_text(prompt, *, stream=False):
    openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}]
    with openai.OpenAI() as client:
        if not stream:
            return client.chat.completions.create(model="m-1", messages=messages).choices[0].message.content
        with client.chat.completions.stream(model="m-1", messages=messages) as events:
            return events.get_final_completion().choices[0].message.content


def responses_text(prompt, *, stream=False):
    openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
    asked = {"model": "m-1", "instructions": "Be brief.", "input": prompt}
    with openai.OpenAI() as client:
        if not stream:
            return client.responses.create(**asked).output_text
        with client.responses.stream(**asked) as events:
            return events.get_final_response().output_text


def anthropic_text(prompt, *, stream=False):
    anthropic = pytest.importorskip("anthropic", "2.0", reason=NEEDS_FRAMEWORKS)
    asked = {"model": "m-1", "max_tokens": 9, "system": "Be brief.", "messages": [{"role": "user", "content": prompt}]}
    with anthropic.Anthropic() as client:
        if not stream:
            return client.messages.create(**asked).content[0].text
        with client.messages.stream(**asked) as events:
            return events.get_final_text()


@contextmanager
def gemini():
    """The client, which warns of its own use of what aiohttp gave up."""
    genai = pytest.importorskip("google.genai", reason=NEEDS_MORE_FRAMEWORKS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        client = genai.Client()
        yield client
        client.close()


def gemini_text(prompt, *, stream=False):
    asked = {"model": "m-1", "contents": prompt, "config": {"system_instruction": "Be brief."}}
    with gemini() as client:
        if not stream:
            return client.models.generate_content(**asked).text
        return "".join(chunk.text for chunk in client.models.generate_content_stream(**asked))


def status_of(asking, message):
    """The status of the client's own error, which says `message`."""
    with pytest.raises(Exception, match=message) as raised:
        asking()
    return getattr(raised.value, "status_code", None) or raised.value.code


ASKS = [openai_text, responses_text, anthropic_text, gemini_text]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("stream", [False, True])
def test_recorded_answers_come_back(ask, stream):
    with replay_session(said(("one", "1"), ("two", "2"))) as session:
        assert (ask("two", stream=stream), ask("one", stream=stream)) == ("2", "1")
    assert session.report.same
    assert [exchange.streamed for exchange in session.exchanges] == [stream, stream]


@pytest.mark.parametrize("ask", ASKS)
@pytest.mark.parametrize("stream", [False, True])
def test_what_was_not_recorded_is_asked_for_once_and_is_an_error(ask, stream):
    with pytest.raises(ReplayMismatch), replay_session(said(("one", "1"))) as session:
        assert status_of(lambda: ask("three", stream=stream), "recorded") == 400
    assert len(session.exchanges) == 1


@pytest.mark.parametrize("ask", ASKS)
def test_a_recorded_error_is_the_clients_own_and_not_tried_again(ask):
    with replay_session(capture(call(1, request("one"), BUSY))) as session:
        assert status_of(lambda: ask("one"), "Slow down") == 429
    assert len(session.exchanges) == 1
    assert session.report.same


def test_tool_calls_usage_and_reasons_are_whole():
    called = LlmAnswer(
        parts=(CallPart("weather", {"city": "Paris"}, "call_7"),),
        finish_reason=FinishReason.TOOL_CALL,
        model="m-1-2026",
        usage=Usage(input_tokens=100, output_tokens=20, cache_read_tokens=30),
    )
    openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "one"}]
    with replay_session(capture(call(1, request("one"), called))), openai.OpenAI() as client:
        got = client.chat.completions.create(model="m-1", messages=messages)
    [choice] = got.choices
    [tool_call] = choice.message.tool_calls
    assert (tool_call.id, tool_call.function.name, tool_call.function.arguments) == (
        "call_7",
        "weather",
        '{"city":"Paris"}',
    )
    assert (choice.finish_reason, got.usage.prompt_tokens, got.usage.completion_tokens) == ("tool_calls", 100, 20)
    assert got.usage.prompt_tokens_details.cached_tokens == 30


def embedding(index, text, *vector):
    asked = LlmRequest(operation="embedding", inputs=(text,), model="m-1")
    return call(index, asked, LlmAnswer(vectors=(vector,), model="m-1") if vector else None)


def test_vectors_come_back_and_none_is_made_up():
    openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
    recorded = capture(embedding(1, "a", 0.5, -2.0), embedding(2, "b"), completeness=Content.NONE)
    with replay_session(recorded) as session, openai.OpenAI() as client:
        assert client.embeddings.create(model="m-1", input="a").data[0].embedding == [0.5, -2.0]
        with pytest.raises(openai.BadRequestError):
            client.embeddings.create(model="m-1", input="b")
    assert session.report.verdict is ReproVerdict.INCOMPLETE


def test_models_are_listed_as_each_client_reads_them():
    openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
    anthropic = pytest.importorskip("anthropic", "2.0", reason=NEEDS_FRAMEWORKS)
    with replay_session(said(("one", "1")), mode="soft"):
        with openai.OpenAI() as client:
            assert [model.id for model in client.models.list()] == ["m-1", "m-1-2026"]
            assert client.models.retrieve("m-1").id == "m-1"
        with anthropic.Anthropic() as client:
            assert [model.id for model in client.models.list()] == ["m-1", "m-1-2026"]
            with pytest.raises(anthropic.InternalServerError):
                client.messages.count_tokens(model="m-1", messages=[{"role": "user", "content": "one"}])


def test_geminis_models_are_listed_as_its_client_reads_them():
    with replay_session(said(("one", "1")), mode="soft"), gemini() as client:
        assert [model.name for model in client.models.list()] == ["models/m-1", "models/m-1-2026"]


def test_concurrent_tasks_get_their_own_answers():
    """320 calls of 8 tasks and of 40 mixed prompts: none gets another's answer."""
    openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
    pairs = [(f"task {task % 4} call {i}", f"{task % 4}/{i}") for task in range(8) for i in range(40)]

    async def task(client, number):
        wrong = 0
        for i in range(40):
            messages = [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": f"task {number % 4} call {i}"},
            ]
            got = await client.chat.completions.create(model="m-1", messages=messages)
            wrong += got.choices[0].message.content != f"{number % 4}/{i}"
        return wrong

    async def program():
        async with openai.AsyncOpenAI() as client:
            return await asyncio.gather(*(task(client, number) for number in range(8)))

    with replay_session(said(*pairs)) as session:
        assert asyncio.run(program()) == [0] * 8
    assert session.report.served == 320
    assert len({exchange.response_id for exchange in session.exchanges}) == 320
