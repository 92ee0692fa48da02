"""Requests of each API into neutral words; what is no request is refused in words."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog import apis
from otel_runlog.conversation import (
    CallPart,
    LlmAnswer,
    LlmRequest,
    ResultPart,
    Role,
    TextPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.errors import RequestError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
CONVERSATION = (
    Turn(Role.SYSTEM, (TextPart("Be brief."),)),
    Turn(Role.USER, (TextPart("Weather?"),)),
    Turn(Role.ASSISTANT, (CallPart("weather", {"city": "Paris"}, "c1"),)),
    Turn(Role.TOOL, (ResultPart({"temp": 18}, "c1"),)),
)
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
    "gemini": "/v1beta/models/m:generateContent",
    "openai_embeddings": "/v1/embeddings",
}
TOOL = ToolDefinition("weather", "Tells it.", SCHEMA)

CHAT = {
    "model": "m",
    "messages": [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "Weather?"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": '{"temp": 18}'},
    ],
    "tools": [{"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": SCHEMA}}],
    "temperature": 0.5,
    "max_completion_tokens": 99,
    "n": 1,
    "stop": "END",
    "seed": 7,
    "reasoning_effort": "low",
    "response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": {}}},
    "user": "u1",
}
RESPONSES = {
    "model": "m",
    "instructions": "Be brief.",
    "input": [
        {"role": "user", "content": [{"type": "input_text", "text": "Weather?"}]},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Paris"}', "id": "fc_1"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"temp":18}'},
    ],
    "tools": [{"type": "function", "name": "weather", "description": "Tells it.", "parameters": SCHEMA}],
    "temperature": 0.5,
    "max_output_tokens": 99,
    "reasoning": {"effort": "low"},
    "text": {"format": {"type": "json_object"}},
    "previous_response_id": "resp_0",
}
ANTHROPIC = {
    "model": "m",
    "max_tokens": 99,
    "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": "Weather?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": '{"temp": 18}'}]}
            ],
        },
    ],
    "tools": [{"name": "weather", "description": "Tells it.", "input_schema": SCHEMA}],
    "temperature": 0.5,
    "top_k": 3,
    "stop_sequences": ["END"],
}
GEMINI = {
    "systemInstruction": {"parts": [{"text": "Be brief."}], "role": "user"},
    "contents": [
        {"role": "user", "parts": [{"text": "Weather?"}]},
        {"role": "model", "parts": [{"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "name": "weather", "response": {"temp": 18}}}]},
    ],
    "tools": [
        {
            "functionDeclarations": [
                {"name": "weather", "description": "Tells it.", "parametersJsonSchema": SCHEMA},
            ]
        },
        {"googleSearch": {}},
    ],
    "generationConfig": {
        "temperature": 0.5,
        "topP": 0.9,
        "maxOutputTokens": 99,
        "stopSequences": ["END"],
        "responseMimeType": "application/json",
        "thinkingConfig": {"thinkingLevel": "LOW"},
    },
}
GEMINI_IN_SNAKE_CASE = {
    "system_instruction": "Be brief.",
    "contents": [
        "Weather?",
        {"role": "model", "parts": [{"function_call": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}}]},
        {"role": "user", "parts": [{"function_response": {"id": "c1", "name": "weather", "response": {"temp": 18}}}]},
    ],
    "tools": [
        {"function_declarations": [{"name": "weather", "description": "Tells it.", "parameters_json_schema": SCHEMA}]},
        {"google_search": {}},
    ],
    "generation_config": {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 99,
        "stop_sequences": ["END"],
        "response_mime_type": "application/json",
        "thinking_config": {"thinking_level": "LOW"},
    },
}


def parsed(name, body, path=None):
    path = path or PATHS[name]
    api = apis.find(path)
    assert api is getattr(apis, name)
    return api.parse(path, body)


def named(turns):
    """Turns without the names that only Gemini gives results."""
    return tuple(
        Turn(t.role, tuple(ResultPart(p.value, p.id) if isinstance(p, ResultPart) else p for p in t.parts))
        for t in turns
    )


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("openai_chat", CHAT),
        ("openai_responses", RESPONSES),
        ("anthropic_messages", ANTHROPIC),
        ("gemini", GEMINI),
        ("gemini", GEMINI_IN_SNAKE_CASE),
    ],
)
def test_one_conversation_is_the_same_turns_whatever_the_api(name, body):
    request = parsed(name, body).request
    assert named(request.turns) == CONVERSATION
    assert request.model == "m"
    assert request.tools is not None
    assert request.tools[0] == TOOL
    assert apis.request_of_body(body).turns == request.turns


def test_parameters_go_by_otels_names():
    assert parsed("openai_chat", CHAT).request.params == {
        "temperature": 0.5,
        "max_tokens": 99,
        "stop_sequences": ["END"],
        "seed": 7,
        "reasoning_effort": "low",
        "output_type": "json",
    }
    responses = parsed("openai_responses", RESPONSES).request
    assert responses.previous_response_id == "resp_0"
    assert responses.params == {"temperature": 0.5, "max_tokens": 99, "reasoning_effort": "low", "output_type": "json"}
    assert parsed("anthropic_messages", ANTHROPIC).request.params == {
        "temperature": 0.5,
        "top_k": 3,
        "max_tokens": 99,
        "stop_sequences": ["END"],
    }
    gemini = {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 99,
        "stop_sequences": ["END"],
        "output_type": "json",
        "reasoning_effort": "low",
    }
    assert parsed("gemini", GEMINI).request.params == gemini
    assert parsed("gemini", GEMINI_IN_SNAKE_CASE).request.params == gemini


def test_anthropics_tool_runner_names_the_message_that_it_goes_on_from():
    body = {"messages": [], "thread": {"type": "continue", "previous_message_id": "msg_1"}}
    assert apis.find("/v1/messages").parse("/v1/messages", body).request.previous_response_id == "msg_1"


def test_tools_of_a_providers_own_go_by_their_type():
    assert parsed("gemini", GEMINI).request.tools == (TOOL, ToolDefinition("googleSearch"))
    body = {"input": "q", "tools": [{"type": "web_search", "search_context_size": "low"}]}
    assert parsed("openai_responses", body).request.tools == (ToolDefinition("web_search"),)
    body = {"messages": [], "tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    assert parsed("anthropic_messages", body).request.tools == (ToolDefinition("web_search"),)
    body = {"messages": [], "functions": [{"name": "f", "parameters": SCHEMA}]}
    assert parsed("openai_chat", body).request.tools == (ToolDefinition("f", None, SCHEMA),)


@pytest.mark.parametrize(
    ("path", "name", "model", "stream"),
    [
        ("/v1/chat/completions", "openai_chat", None, False),
        ("/s/ab12/v1/chat/completions/", "openai_chat", None, False),
        ("/openai/deployments/gpt%204/chat/completions?api-version=2026-01-01", "openai_chat", "gpt 4", False),
        ("/openai/deployments/e/embeddings?api-version=1", "openai_embeddings", "e", False),
        ("/openai/v1/responses", "openai_responses", None, False),
        ("/v1/messages?beta=true", "anthropic_messages", None, False),
        ("/v1beta/models/gemini-3:generateContent", "gemini", "gemini-3", False),
        ("/v1/models/gemini-3:streamGenerateContent?alt=sse", "gemini", "gemini-3", True),
        (
            "/v1/projects/p/locations/l/publishers/google/models/gemini-3:generateContent",
            "gemini",
            "gemini-3",
            False,
        ),
    ],
)
def test_a_path_names_the_api_and_sometimes_the_model(path, name, model, stream):
    body = {"messages": [], "input": "q", "contents": "q"}
    asked = parsed(name, body, path)
    assert (asked.request.model, asked.stream) == (model, stream)


@pytest.mark.parametrize(
    "path",
    [
        "/v1/models",
        "/v1/threads/t1/messages",
        "/v1/messages/count_tokens",
        "/v1/responses/resp_1",
        "/v1beta/models/m:countTokens",
        "/v1beta/models/m:predict",
        "/v1/completions",
        "",
    ],
)
def test_other_paths_are_no_api(path):
    assert apis.find(path) is None


def test_embedding_inputs_are_texts_and_tokens_as_json():
    assert parsed("openai_embeddings", {"model": "e", "input": "a"}).request == LlmRequest(
        model="e", tools=(), operation="embedding", inputs=("a",)
    )
    assert parsed("openai_embeddings", {"input": ["a", "b"], "dimensions": 8}).request.inputs == ("a", "b")
    assert parsed("openai_embeddings", {"input": [1, 2]}).request.inputs == ("[1,2]",)
    assert parsed("openai_embeddings", {"input": [[1, 2], [3]]}).request.inputs == ("[1,2]", "[3]")


def test_geminis_embeddings_are_asked_one_by_one_or_many_at_a_time():
    texts = [{"content": {"role": "user", "parts": [{"text": text}]}, "outputDimensionality": 8} for text in "ab"]
    path = "/v1beta/models/e-1:batchEmbedContents"
    asked = parsed("gemini_embeddings", {"requests": texts}, path).request
    assert asked == LlmRequest(
        model="e-1", params={"dimensions": 8}, tools=(), operation="embedding", inputs=("a", "b")
    )
    one = {"model": "models/e-1", "content": {"parts": [{"text": "a"}]}}
    assert parsed("gemini_embeddings", one, "/v1/models/e-1:embedContent").request.inputs == ("a",)
    assert apis.request_of_body(one) == LlmRequest(model="e-1", tools=(), operation="embedding", inputs=("a",))
    assert apis.request_of_body({"requests": texts}).inputs == ("a", "b")
    with pytest.raises(RequestError, match="gemini_embeddings: there is no text in `requests` or `content`"):
        parsed("gemini_embeddings", {"requests": []}, path)


@pytest.mark.parametrize(
    ("body", "operation"),
    [
        ({"input": ["a"], "model": "x"}, "embedding"),
        ({"input": "a", "encoding_format": "base64"}, "embedding"),
        ({"input": "a", "model": "text-embedding-3-small"}, "embedding"),
        ({"input": "a", "model": "gpt-5"}, "chat"),
        ({"input": [{"role": "user", "content": "a"}]}, "chat"),
        ({"contents": "a"}, "chat"),
        ({"messages": [{"role": "user", "content": "a"}], "system": "b"}, "chat"),
    ],
)
def test_a_body_without_a_path_is_told_by_its_shape(body, operation):
    assert apis.request_of_body(body).operation == operation


def test_what_anthropic_calls_system_is_read_without_a_path():
    body = {"system": "S", "messages": [{"role": "user", "content": "a"}]}
    assert apis.request_of_body(body).system == "S"


def test_an_item_that_was_served_is_remembered_by_its_reference():
    served = LlmAnswer(parts=(TextPart("Hello"), CallPart("weather", {"city": "Paris"})))
    api = apis.find("/v1/responses")
    assert api is not None
    asked = api.parse("/v1/responses", {"input": "q"})
    output = api.render(served, asked, "resp_a_1")["output"]
    assert isinstance(output, list)
    references = [{"type": "item_reference", "id": item["id"]} for item in output]
    body = {"input": [{"role": "user", "content": "q"}, *references]}
    again = api.parse("/v1/responses", body, recall={"resp_a_1": served}.get)
    assert again.request.turns == (
        Turn(Role.USER, (TextPart("q"),)),
        Turn(Role.ASSISTANT, (TextPart("Hello"),)),
        Turn(Role.ASSISTANT, (CallPart("weather", {"city": "Paris"}, output[1]["call_id"]),)),
    )
    forgotten = api.parse("/v1/responses", {"input": references[:1]})
    assert forgotten.request.turns == (Turn(Role.ASSISTANT, (TextPart("[item msg_resp_a_1_0]"),)),)
    thought = api.parse("/v1/responses", {"input": [{"type": "item_reference", "id": "rs_of_another_server"}]})
    assert thought.request.turns == ()


def test_a_result_that_the_ai_sdk_wraps_for_gemini_is_the_result():
    response = {"name": "add", "response": {"name": "add", "content": 42}}
    body = {"contents": [{"role": "user", "parts": [{"functionResponse": response}]}]}
    assert parsed("gemini", body).request.turns == (Turn(Role.TOOL, (ResultPart(42, None, "add"),)),)
    own = {"name": "read", "response": {"name": "a.txt", "content": "x"}}
    body = {"contents": [{"role": "user", "parts": [{"functionResponse": own}]}]}
    assert parsed("gemini", body).request.turns[0].parts == (
        ResultPart({"name": "a.txt", "content": "x"}, None, "read"),
    )


def test_what_a_provider_ran_itself_is_no_call_of_the_programs():
    """An answer that is served has none of it, and so has the history that comes back."""
    searched = [
        {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "x"}},
        {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"type": "web_search_result", "url": "u"}]},
        {"type": "text", "text": "Found."},
    ]
    found = (Turn(Role.ASSISTANT, (TextPart("Found."),)),)
    body = {"messages": [{"role": "assistant", "content": searched}]}
    assert parsed("anthropic_messages", body).request.turns == found
    items = [
        {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "x"}},
        {"type": "mcp_call", "id": "mcp_1", "name": "lookup", "arguments": "{}", "output": "y", "server_label": "z"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Found."}]},
    ]
    assert parsed("openai_responses", {"input": items}).request.turns == found


@pytest.mark.parametrize(
    ("name", "body", "reason"),
    [
        ("openai_chat", [], "openai_chat: the body is a list, not an object"),
        ("openai_chat", None, "openai_chat: the body is null, not an object"),
        ("openai_chat", {}, "openai_chat: `messages` is missing"),
        ("openai_chat", {"messages": "hi"}, "openai_chat: `messages` is a string, not a list"),
        ("openai_responses", {"input": 3}, "openai_responses: `input` is a number, not a text or a list"),
        ("anthropic_messages", {"messages": None}, "anthropic_messages: `messages` is null, not a list"),
        ("gemini", {}, "gemini: `contents` is missing"),
        ("gemini", {"contents": True}, "gemini: `contents` is a boolean"),
        ("openai_embeddings", {"input": {}}, "openai_embeddings: `input` is an object"),
    ],
)
def test_what_is_no_request_is_refused_in_words(name, body, reason):
    with pytest.raises(RequestError) as refused:
        parsed(name, body)
    assert str(refused.value) == reason


def test_a_body_of_no_api_is_refused_in_words():
    with pytest.raises(RequestError, match=r"a body with a, b is no request of a known API"):
        apis.request_of_body({"b": 1, "a": 2})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text('ab{["', max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "parts", "id", "name", "tool_calls", "function", "tools"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
KEYS = ["messages", "input", "contents", "system", "instructions", "tools", "stop", "reasoning", "text", "functions"]
BODIES = JSON | st.dictionaries(st.sampled_from([*KEYS, "generationConfig", "systemInstruction", "model"]), JSON)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(PATHS)), BODIES)
def test_any_json_is_read_or_refused(name, body):
    try:
        asked = parsed(name, body)
    except RequestError:
        return
    assert isinstance(asked.request, LlmRequest)
