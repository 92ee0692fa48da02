"""The scripted provider as the real clients read it: what they report is what the script says."""

import pytest
from client_tracing import NEEDS_FRAMEWORKS
from provider import Answer, ScriptedProvider, ToolCall

openai = pytest.importorskip("openai", reason=NEEDS_FRAMEWORKS)
anthropic = pytest.importorskip("anthropic", reason=NEEDS_FRAMEWORKS)

pytestmark = pytest.mark.frameworks

ADD = ToolCall("add", {"a": 1, "b": 2}, id="call_a")
ANSWER = Answer(
    "Well,",
    (ADD,),
    input_tokens=900,
    output_tokens=70,
    cache_read_tokens=300,
    cache_write_tokens=200,
    reasoning_tokens=40,
)
USER = [{"role": "user", "content": "1 + 2?"}]


@pytest.fixture
def provider():
    with ScriptedProvider([ANSWER, ANSWER]) as running:
        yield running


@pytest.fixture
def openai_client(provider):
    with openai.OpenAI(base_url=provider.openai_url, api_key="unused", max_retries=0) as client:
        yield client


@pytest.fixture
def anthropic_client(provider):
    with anthropic.Anthropic(base_url=provider.url, api_key="unused", max_retries=0, open_telemetry=False) as client:
        yield client


def test_chat_completions_as_json_and_as_stream(openai_client, provider):
    whole = openai_client.chat.completions.create(model="gpt-5", messages=USER)
    with openai_client.chat.completions.stream(
        model="gpt-5", messages=USER, stream_options={"include_usage": True}
    ) as events:
        streamed = events.get_final_completion()

    for completion, served in zip((whole, streamed), provider.served, strict=True):
        message, usage = completion.choices[0].message, completion.usage
        assert (completion.id, completion.model) == (served.response_id, "gpt-5-2026-03-15")
        assert (message.content, message.tool_calls[0].function.arguments) == ("Well,", '{"a": 1, "b": 2}')
        assert completion.choices[0].finish_reason == "tool_calls"
        assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (900, 70, 970)
        assert usage.prompt_tokens_details.cached_tokens == 300
        assert usage.completion_tokens_details.reasoning_tokens == 40


def test_responses_as_json_and_as_stream(openai_client, provider):
    whole = openai_client.responses.create(model="gpt-5", input="1 + 2?")
    with openai_client.responses.stream(model="gpt-5", input="1 + 2?") as events:
        streamed = events.get_final_response()

    for response, served in zip((whole, streamed), provider.served, strict=True):
        call, usage = response.output[1], response.usage
        assert (response.id, response.model) == (served.response_id, "gpt-5-2026-03-15")
        assert (response.output_text, call.name, call.arguments) == ("Well,", "add", '{"a": 1, "b": 2}')
        assert (usage.input_tokens, usage.output_tokens) == (900, 70)
        assert (usage.input_tokens_details.cached_tokens, usage.input_tokens_details.cache_write_tokens) == (300, 200)
        assert usage.output_tokens_details.reasoning_tokens == 40


def test_messages_as_json_and_as_stream(anthropic_client, provider):
    request = {"model": "claude-sonnet-5", "max_tokens": 99, "messages": USER}
    whole = anthropic_client.messages.create(**request)
    with anthropic_client.messages.stream(**request) as events:
        streamed = events.get_final_message()

    for message, served in zip((whole, streamed), provider.served, strict=True):
        text, tool = message.content
        assert (message.id, message.stop_reason) == (served.response_id, "tool_use")
        assert (text.text, tool.name, tool.input) == ("Well,", "add", {"a": 1, "b": 2})
        # Anthropic's own input count leaves cached tokens out: 900 - 300 - 200.
        assert (message.usage.input_tokens, message.usage.output_tokens) == (400, 70)
        assert (message.usage.cache_read_input_tokens, message.usage.cache_creation_input_tokens) == (300, 200)
        assert message.usage.output_tokens_details.thinking_tokens == 40


def test_a_finished_script_and_an_unknown_endpoint_are_refused(openai_client, provider):
    for _ in provider.script:
        openai_client.chat.completions.create(model="gpt-5", messages=USER)

    with pytest.raises(openai.BadRequestError, match="the script has no answer left"):
        openai_client.chat.completions.create(model="gpt-5", messages=USER)
    with pytest.raises(openai.NotFoundError, match="no such endpoint: /v1/embeddings"):
        openai_client.embeddings.create(model="e", input="x")
    assert len(provider.served) == 2
