"""The real SDKs take the answers, as JSON and as streams, and give text, calls and usage back."""

import asyncio
import importlib
import json
from typing import Any

import pytest
from answering import Answering, answering

from otel_runlog.conversation import CallError, CallPart, LlmAnswer, TextPart, ThinkingPart
from otel_runlog.model import Usage

pytestmark = pytest.mark.frameworks

ANSWER = LlmAnswer(
    parts=(
        ThinkingPart("Hm.", "c2ln"),
        TextPart("Let me see: é."),
        CallPart("weather", {"city": "Paris"}, "call_1"),
        CallPart("weather", {"city": "Rome"}, "call_2"),
    ),
    model="m-2026",
    usage=Usage(input_tokens=100, output_tokens=20, cache_read_tokens=30, cache_write_tokens=10, reasoning_tokens=5),
)
CALLS = [("call_1", "weather", {"city": "Paris"}), ("call_2", "weather", {"city": "Rome"})]
ASK = [{"role": "user", "content": "q"}]


def sdk(name: str) -> Any:
    """A client library; what it warns of at import is its own affair."""
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"needs {name}")


def openai_at(server: Answering, kind: str = "OpenAI") -> Any:
    return getattr(sdk("openai"), kind)(base_url=f"{server.url}/v1", api_key="unused", max_retries=0)


def helping_chat(client: Any) -> Any:
    """The completions with helpers for streams and parsing, which openai 1 had in beta."""
    return client.chat.completions if hasattr(client.chat.completions, "parse") else client.beta.chat.completions


def calls_of_chat(message: Any) -> list[tuple[str, str, Any]]:
    return [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls]


def test_openai_takes_a_chat_completion():
    with answering(ANSWER) as server:
        whole = openai_at(server).chat.completions.create(model="m", messages=ASK)
    message = whole.choices[0].message
    assert (whole.id, whole.model, message.content) == ("r_1", "m-2026", "Let me see: é.")
    assert calls_of_chat(message) == CALLS
    assert whole.usage.model_dump(include={"prompt_tokens", "completion_tokens", "total_tokens"}) == {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "total_tokens": 120,
    }
    assert whole.usage.prompt_tokens_details.cached_tokens == 30


def test_openai_builds_a_chat_completion_from_a_stream():
    with answering(ANSWER) as server:
        asking = helping_chat(openai_at(server)).stream(model="m", messages=ASK, stream_options={"include_usage": True})
        with asking as stream:
            said = "".join(event.delta for event in stream if event.type == "content.delta")
            whole = stream.get_final_completion()
    assert said == "Let me see: é."
    assert calls_of_chat(whole.choices[0].message) == CALLS
    assert (whole.choices[0].finish_reason, whole.usage.total_tokens) == ("tool_calls", 120)


def test_openai_async_reads_chunks():
    async def chunks(server: Answering) -> list[Any]:
        async with openai_at(server, "AsyncOpenAI") as client:
            stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
            return [chunk async for chunk in stream]

    with answering(ANSWER) as server:
        found = asyncio.run(chunks(server))
    assert "".join(c.choices[0].delta.content or "" for c in found) == "Let me see: é."
    assert [call.function.name for c in found for call in c.choices[0].delta.tool_calls or []] == ["weather", "weather"]
    assert all(chunk.usage is None for chunk in found)


def calls_of_response(response: Any) -> list[tuple[str, str, Any]]:
    return [
        (item.call_id, item.name, json.loads(item.arguments))
        for item in response.output
        if item.type == "function_call"
    ]


def test_openai_takes_a_response_and_goes_on_from_it():
    with answering(ANSWER, LlmAnswer(parts=(TextPart("18 C"),))) as server:
        client = openai_at(server)
        first = client.responses.create(model="m", input="q", instructions="Be brief.", temperature=0.5)
        results = [{"type": "function_call_output", "call_id": key, "output": "18"} for key, _, _ in CALLS]
        second = client.responses.create(model="m", input=[*first.output, *results])
        assert (first.output_text, second.output_text) == ("Let me see: é.", "18 C")
    assert calls_of_response(first) == CALLS
    assert (first.instructions, first.temperature, first.status) == ("Be brief.", 0.5, "completed")
    assert (first.usage.input_tokens, first.usage.input_tokens_details.cached_tokens) == (100, 30)
    history = [part for turn in server.asked[1].request.turns for part in turn.parts]
    assert [part.arguments for part in history if isinstance(part, CallPart)] == [{"city": "Paris"}, {"city": "Rome"}]


def test_openai_builds_a_response_from_a_stream():
    with answering(ANSWER) as server, openai_at(server).responses.stream(model="m", input="q") as stream:
        events = [event.type for event in stream]
        whole = stream.get_final_response()
    assert "response.output_text.delta" in events
    assert (whole.output_text, calls_of_response(whole)) == ("Let me see: é.", CALLS)
    assert (whole.usage.total_tokens, whole.output[0].summary[0].text) == (120, "Hm.")


def test_openai_async_takes_a_response():
    async def response(server: Answering) -> Any:
        async with openai_at(server, "AsyncOpenAI") as client:
            return await client.responses.create(model="m", input="q")

    with answering(ANSWER) as server:
        assert calls_of_response(asyncio.run(response(server))) == CALLS


def test_openai_parses_structured_output():
    pydantic = sdk("pydantic")
    city = pydantic.create_model("City", name=(str, ...))
    answer = LlmAnswer(parts=(TextPart('{"name": "Paris"}'),))
    with answering(answer, answer) as server:
        client = openai_at(server)
        chat = helping_chat(client).parse(model="m", messages=ASK, response_format=city)
        response = client.responses.parse(model="m", input="q", text_format=city)
    assert chat.choices[0].message.parsed == response.output_parsed == city(name="Paris")
    assert [asked.request.params for asked in server.asked] == [{"output_type": "json"}] * 2


def test_openai_unpacks_embeddings():
    answer = LlmAnswer(vectors=((0.5, -1.0), (0.25, 2.0)), usage=Usage(input_tokens=7))
    with answering(answer, answer) as server:
        client = openai_at(server)
        packed = client.embeddings.create(model="e", input=["a", "b"])
        plain = client.embeddings.create(model="e", input=["a", "b"], encoding_format="float")
    assert [d.embedding for d in packed.data] == [d.embedding for d in plain.data] == [[0.5, -1.0], [0.25, 2.0]]
    assert (packed.usage.prompt_tokens, server.asked[0].body["encoding_format"]) == (7, "base64")


def anthropic_at(server: Answering, kind: str = "Anthropic") -> Any:
    return getattr(sdk("anthropic"), kind)(base_url=server.url, api_key="unused", max_retries=0)


MESSAGE = {"model": "m", "max_tokens": 99, "messages": ASK}


def check_message(message: Any) -> None:
    thinking, text, *calls = message.content
    assert (thinking.thinking, thinking.signature, text.text) == ("Hm.", "c2ln", "Let me see: é.")
    assert [(block.id, block.name, block.input) for block in calls] == CALLS
    usage = message.usage
    assert (message.stop_reason, usage.input_tokens, usage.cache_read_input_tokens) == ("tool_use", 60, 30)
    assert (usage.cache_creation_input_tokens, usage.output_tokens) == (10, 20)


def test_anthropic_takes_a_message():
    with answering(ANSWER) as server:
        check_message(anthropic_at(server).messages.create(**MESSAGE))


def test_anthropic_builds_a_message_from_a_stream():
    with answering(ANSWER) as server, anthropic_at(server).messages.stream(**MESSAGE) as stream:
        assert "".join(stream.text_stream) == "Let me see: é."
        check_message(stream.get_final_message())


def test_anthropic_async_takes_both():
    async def both(server: Answering) -> list[Any]:
        async with anthropic_at(server, "AsyncAnthropic") as client:
            whole = await client.messages.create(**MESSAGE)
            async with client.messages.stream(**MESSAGE) as stream:
                return [whole, await stream.get_final_message()]

    with answering(ANSWER, ANSWER) as server:
        for message in asyncio.run(both(server)):
            check_message(message)


def gemini_at(server: Answering) -> Any:
    genai = sdk("google.genai")
    return genai.Client(api_key="unused", http_options={"base_url": server.url})


def check_content(response: Any) -> None:
    parts = response.candidates[0].content.parts
    assert (parts[0].thought, parts[0].text, parts[0].thought_signature) == (True, "Hm.", b"sig")
    assert parts[1].text == "Let me see: é."
    assert [(call.id, call.name, call.args) for call in response.function_calls] == CALLS
    usage = response.usage_metadata
    assert (usage.prompt_token_count, usage.candidates_token_count, usage.thoughts_token_count) == (100, 15, 5)
    assert (response.model_version, response.response_id) == ("m-2026", "r_1")


def test_gemini_takes_content():
    with answering(ANSWER) as server, gemini_at(server) as client:
        check_content(client.models.generate_content(model="m", contents="q"))
    assert (server.asked[0].request.model, server.asked[0].stream) == ("m", False)


def test_gemini_takes_a_stream():
    with answering(ANSWER) as server, gemini_at(server) as client:
        [chunk] = client.models.generate_content_stream(model="m", contents="q")
        check_content(chunk)
    assert server.asked[0].stream


def test_gemini_says_what_it_asks():
    config = {
        "system_instruction": "Be brief.",
        "temperature": 0.5,
        "max_output_tokens": 9,
        "response_mime_type": "application/json",
        "tools": [{"function_declarations": [{"name": "f", "parameters_json_schema": {"type": "object"}}]}],
    }
    with answering(LlmAnswer(parts=(TextPart("a"),))) as server, gemini_at(server) as client:
        client.models.generate_content(model="m", contents=["q"], config=config)
    request = server.asked[0].request
    assert (request.system, request.params) == (
        "Be brief.",
        {"temperature": 0.5, "max_tokens": 9, "output_type": "json"},
    )
    assert request.tools is not None
    assert [(tool.name, tool.parameters) for tool in request.tools] == [("f", {"type": "object"})]


def test_gemini_takes_vectors():
    answer = LlmAnswer(vectors=((0.5, -1.0), (0.25, 2.0)))
    with answering(answer) as server, gemini_at(server) as client:
        found = client.models.embed_content(model="e", contents=["a", "b"])
    assert [embedding.values for embedding in found.embeddings] == [[0.5, -1.0], [0.25, 2.0]]
    assert server.asked[0].request.inputs == ("a", "b")


REFUSED = CallError("replay_divergence", "step 2 differs", 400)


@pytest.mark.parametrize(
    ("library", "ask"),
    [
        ("openai", lambda server: openai_at(server).chat.completions.create(model="m", messages=ASK)),
        ("openai", lambda server: openai_at(server).responses.create(model="m", input="q")),
        ("anthropic", lambda server: anthropic_at(server).messages.create(**MESSAGE)),
    ],
)
def test_a_refusal_is_each_sdks_own_error_and_asked_once(library, ask):
    with answering(REFUSED, CallError("RateLimitError", "slow down")) as server:
        with pytest.raises(sdk(library).BadRequestError, match="step 2 differs"):
            ask(server)
        with pytest.raises(sdk(library).RateLimitError, match="slow down"):
            ask(server)
    assert len(server.asked) == 2


def test_a_refusal_is_geminis_own_error():
    errors = sdk("google.genai").errors
    with (
        answering(REFUSED) as server,
        gemini_at(server) as client,
        pytest.raises(errors.ClientError, match="step 2 differs") as refused,
    ):
        client.models.generate_content(model="m", contents="q")
    assert (refused.value.code, refused.value.status) == (400, "INVALID_ARGUMENT")
