"""Answers in each API's JSON and events, read back by the tests' own reading of the wire."""

import base64
import json
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from wire_answers import READERS, events_of

from otel_runlog import apis
from otel_runlog.conversation import (
    CallPart,
    FinishReason,
    LlmAnswer,
    MediaPart,
    ResultPart,
    Role,
    TextPart,
    ThinkingPart,
    Turn,
)
from otel_runlog.errors import ReplayError
from otel_runlog.model import Usage

ASKING = {
    "openai_chat": ("/v1/chat/completions", {"model": "m", "messages": [], "stream_options": {"include_usage": True}}),
    "openai_responses": ("/v1/responses", {"model": "m", "input": "q"}),
    "anthropic_messages": ("/v1/messages", {"model": "m", "messages": []}),
    "gemini": ("/v1beta/models/m:generateContent", {"contents": "q"}),
}
CHATS = sorted(ASKING)
USAGE = Usage(
    input_tokens=100,
    output_tokens=20,
    cache_read_tokens=30,
    cache_write_tokens=10,
    reasoning_tokens=5,
    cache_write_1h_tokens=4,
)
ANSWER = LlmAnswer(
    parts=(
        ThinkingPart("Hm.", "c2lnbmVk"),
        TextPart("Let me see."),
        CallPart("weather", {"city": "Paris"}, "call_1"),
        CallPart("weather", {"city": "Rome"}, "call_2"),
    ),
    model="m-2026",
    usage=USAGE,
)


def asked_of(name, **more):
    path, body = ASKING[name]
    api = apis.find(path)
    assert api is not None
    return api, api.parse(path, {**body, **more})


def rendered(name, answer, response_id="r_1", **more):
    api, asked = asked_of(name, **more)
    return json.loads(apis.encoded(api.render(answer, asked, response_id)))


def streamed(name, answer, response_id="r_1", **more):
    api, asked = asked_of(name, **more)
    return b"".join(api.stream(answer, asked, response_id))


WORDS = st.text(max_size=20)
NAMES = st.text("abz_9", min_size=1, max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=6,
)
PARTS = st.one_of(
    st.builds(TextPart, WORDS),
    st.builds(CallPart, NAMES, st.dictionaries(WORDS, VALUES, max_size=3), st.none() | NAMES),
    st.builds(ThinkingPart, WORDS, st.none() | NAMES),
)
COUNTS = st.integers(0, 10**6)
ANSWERS = st.builds(
    LlmAnswer,
    parts=st.lists(PARTS, max_size=5).map(tuple),
    finish_reason=st.none() | st.sampled_from(FinishReason),
    model=st.none() | NAMES,
    usage=st.none() | st.builds(Usage, input_tokens=COUNTS, output_tokens=COUNTS),
)


@pytest.mark.parametrize("name", CHATS)
@settings(max_examples=40, deadline=None)
@given(answer=ANSWERS)
def test_any_answer_is_read_back_the_same_from_json_and_from_a_stream(name, answer):
    as_json, as_events = READERS[name]
    seen = as_json(rendered(name, answer))
    assert as_events(events_of(streamed(name, answer))) == seen
    assert (seen.id, seen.model, seen.text) == ("r_1", answer.model or "m", answer.text)
    assert seen.thought == "".join(p.text for p in answer.parts if isinstance(p, ThinkingPart))
    assert [call[1:] for call in seen.calls] == [(c.name, c.arguments) for c in answer.tool_calls]
    for (key, _, _), call in zip(seen.calls, answer.tool_calls, strict=True):
        assert key == call.id if call.id or name == "gemini" else key
    usage = answer.usage or Usage()
    assert seen.usage == (usage.input_tokens or 0, usage.output_tokens or 0)


@pytest.mark.parametrize("name", CHATS)
def test_an_answer_comes_back_as_history(name):
    """What a client repeats of an answer is the same turns: the next call's fingerprint rests on it."""
    body = rendered(name, ANSWER)
    history = {
        "openai_chat": lambda: {"messages": [body["choices"][0]["message"]]},
        "openai_responses": lambda: {"input": body["output"]},
        "anthropic_messages": lambda: {"messages": [{"role": "assistant", "content": body["content"]}]},
        "gemini": lambda: {"contents": [body["candidates"][0]["content"]]},
    }[name]()
    api, _ = asked_of(name)
    turns = api.parse(ASKING[name][0], history).request.turns
    assert {turn.role for turn in turns} == {Role.ASSISTANT}
    parts = [part for turn in turns for part in turn.parts if not isinstance(part, ThinkingPart)]
    assert parts == [part for part in ANSWER.parts if not isinstance(part, ThinkingPart)]


def test_calls_without_ids_get_stable_ones_that_no_other_answer_has():
    answer = LlmAnswer(parts=(CallPart("f"), CallPart("f")))
    ids = [c[0] for c in READERS["openai_chat"][0](rendered("openai_chat", answer, "r_1")).calls]
    again = [c[0] for c in READERS["openai_chat"][0](rendered("openai_chat", answer, "r_1")).calls]
    other = [c[0] for c in READERS["openai_chat"][0](rendered("openai_chat", answer, "r_2")).calls]
    assert ids == again
    assert len({*ids, *other}) == 4


@pytest.mark.parametrize(
    ("name", "usage"),
    [
        (
            "openai_chat",
            {
                "prompt_tokens": 100,
                "completion_tokens": 20,
                "total_tokens": 120,
                "prompt_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": 5,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
        ),
        (
            "openai_responses",
            {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 30, "cache_write_tokens": 10},
                "output_tokens": 20,
                "output_tokens_details": {"reasoning_tokens": 5},
                "total_tokens": 120,
            },
        ),
        (
            "anthropic_messages",
            {
                "input_tokens": 60,
                "cache_creation_input_tokens": 10,
                "cache_read_input_tokens": 30,
                "cache_creation": {"ephemeral_5m_input_tokens": 6, "ephemeral_1h_input_tokens": 4},
                "output_tokens": 20,
                "output_tokens_details": {"thinking_tokens": 5},
                "service_tier": "standard",
            },
        ),
        (
            "gemini",
            {
                "promptTokenCount": 100,
                "candidatesTokenCount": 15,
                "thoughtsTokenCount": 5,
                "cachedContentTokenCount": 30,
                "totalTokenCount": 120,
            },
        ),
    ],
)
def test_usage_is_told_in_each_apis_own_sense(name, usage):
    key = "usageMetadata" if name == "gemini" else "usage"
    assert rendered(name, ANSWER)[key] == usage


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai_chat", ["stop", "length", "tool_calls", "content_filter", "stop"]),
        ("openai_responses", ["completed", "incomplete", "completed", "incomplete", "failed"]),
        ("anthropic_messages", ["end_turn", "max_tokens", "tool_use", "refusal", "end_turn"]),
        ("gemini", ["STOP", "MAX_TOKENS", "STOP", "SAFETY", "OTHER"]),
    ],
)
def test_finish_reasons_are_the_apis_words(name, words):
    as_json, _ = READERS[name]
    answers = [LlmAnswer(parts=(TextPart("a"),), finish_reason=reason) for reason in FinishReason]
    assert [as_json(rendered(name, answer)).finish for answer in answers] == words


def test_an_unknown_finish_is_a_stop_or_a_call():
    as_json, _ = READERS["openai_chat"]
    assert as_json(rendered("openai_chat", LlmAnswer(parts=(TextPart("a"),)))).finish == "stop"
    assert as_json(rendered("openai_chat", LlmAnswer(parts=(CallPart("f"),)))).finish == "tool_calls"


def test_a_cut_response_says_what_cut_it():
    answer = LlmAnswer(parts=(TextPart("a"),), finish_reason=FinishReason.LENGTH)
    assert rendered("openai_responses", answer)["incomplete_details"] == {"reason": "max_output_tokens"}
    assert events_of(streamed("openai_responses", answer))[-1]["type"] == "response.incomplete"


def test_a_response_repeats_what_was_asked():
    sent = {
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "f", "parameters": {}}],
        "temperature": 0.2,
        "metadata": {"a": "b"},
        "tool_choice": {"type": "function", "name": "f"},
        "parallel_tool_calls": False,
        "previous_response_id": "resp_0",
        "text": {"format": {"type": "json_object"}},
        "reasoning": {"effort": "low"},
        "store": False,
    }
    body = rendered("openai_responses", ANSWER, **sent)
    assert {key: body[key] for key in sent} == sent
    [created, *_, completed] = events_of(streamed("openai_responses", ANSWER, **sent))
    assert {key: created["response"][key] for key in sent} == sent
    assert completed["response"] == body
    unsent = rendered("openai_responses", ANSWER)
    assert (unsent["tools"], unsent["tool_choice"], unsent["parallel_tool_calls"]) == ([], "auto", True)


def test_a_stream_tells_usage_only_where_chat_asks_for_it():
    events = events_of(streamed("openai_chat", ANSWER))
    assert [event["usage"] is None for event in events] == [True] * (len(events) - 1) + [False]
    silent = events_of(streamed("openai_chat", ANSWER, stream_options=None))
    assert len(silent) == len(events) - 1
    assert not any("usage" in event for event in silent)


def test_a_chat_stream_as_it_goes_over_the_wire():
    answer = LlmAnswer(parts=(TextPart("Hi"), CallPart("f", {"a": 1}, "c1")))
    head = '{"id":"r_1","object":"chat.completion.chunk","created":0,"model":"m","system_fingerprint":null,'
    call = '{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":"{\\"a\\":1}"}}'
    said = [
        ('{"role":"assistant","content":"","refusal":null}', "null"),
        ('{"content":"Hi"}', "null"),
        (f'{{"tool_calls":[{call}]}}', "null"),
        ("{}", '"tool_calls"'),
    ]
    chunks = [
        f'data: {head}"choices":[{{"index":0,"delta":{delta},"logprobs":null,"finish_reason":{finish}}}]}}\n\n'
        for delta, finish in said
    ]
    wire = streamed("openai_chat", answer, stream_options=None).decode()
    assert wire == "".join(chunks) + "data: [DONE]\n\n"


def test_an_anthropic_stream_in_its_order():
    answer = LlmAnswer(parts=(ThinkingPart("Hm", "sig"), TextPart("Hi"), CallPart("f", {"a": 1}, "t1")))
    events = events_of(streamed("anthropic_messages", answer))
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    thinking = [block[0], block[1], block[1], block[2]]
    assert [e["type"] for e in events] == [
        "message_start",
        *thinking,
        *block,
        *block,
        "message_delta",
        "message_stop",
    ]
    assert [e["delta"] for e in events if e["type"] == "content_block_delta"] == [
        {"type": "thinking_delta", "thinking": "Hm"},
        {"type": "signature_delta", "signature": "sig"},
        {"type": "text_delta", "text": "Hi"},
        {"type": "input_json_delta", "partial_json": '{"a":1}'},
    ]


def test_a_text_block_has_no_null_where_the_ai_sdk_takes_a_list():
    assert rendered("anthropic_messages", LlmAnswer(parts=(TextPart("a"),)))["content"] == [
        {"type": "text", "text": "a"}
    ]


def test_a_responses_stream_in_its_order():
    answer = LlmAnswer(parts=(ThinkingPart("Hm"), TextPart("Hi"), CallPart("f", {"a": 1}, "t1")))
    events = events_of(streamed("openai_responses", answer))
    assert [e["type"].removeprefix("response.") for e in events] == [
        "created",
        "in_progress",
        "output_item.added",
        "reasoning_summary_part.added",
        "reasoning_summary_text.delta",
        "reasoning_summary_text.done",
        "reasoning_summary_part.done",
        "output_item.done",
        "output_item.added",
        "content_part.added",
        "output_text.delta",
        "output_text.done",
        "content_part.done",
        "output_item.done",
        "output_item.added",
        "function_call_arguments.delta",
        "function_call_arguments.done",
        "output_item.done",
        "completed",
    ]


def test_a_client_that_knows_functions_only_gets_one():
    answer = LlmAnswer(parts=(CallPart("f", {"a": 1}, "c1"),))
    body = rendered("openai_chat", answer, functions=[{"name": "f"}])
    [choice] = body["choices"]
    assert choice["message"]["function_call"] == {"name": "f", "arguments": '{"a":1}'}
    assert (choice["finish_reason"], "tool_calls" in choice["message"]) == ("function_call", False)
    deltas = [
        e["choices"][0]["delta"] for e in events_of(streamed("openai_chat", answer, functions=[{"name": "f"}]))[:-1]
    ]
    assert {"function_call": {"name": "f", "arguments": '{"a":1}'}} in deltas


def test_a_tool_that_takes_text_gets_text():
    answer = LlmAnswer(parts=(CallPart("patch", "*** Begin", "c1"),))
    body = rendered("openai_responses", answer, tools=[{"type": "custom", "name": "patch"}])
    [item] = body["output"]
    assert (item["type"], item["call_id"], item["input"], "arguments" in item) == (
        "custom_tool_call",
        "c1",
        "*** Begin",
        False,
    )
    events = events_of(streamed("openai_responses", answer, tools=[{"type": "custom", "name": "patch"}]))
    assert [e["delta"] for e in events if e["type"] == "response.custom_tool_call_input.delta"] == ["*** Begin"]
    chat = rendered("openai_chat", answer, tools=[{"type": "custom", "custom": {"name": "patch"}}])
    assert chat["choices"][0]["message"]["tool_calls"] == [
        {"id": "c1", "type": "custom", "custom": {"name": "patch", "input": "*** Begin"}}
    ]


@pytest.mark.parametrize("name", CHATS)
def test_what_the_wire_cannot_say_without_its_bytes_is_left_out(name):
    answer = LlmAnswer(parts=(MediaPart("image/png", sha256="0" * 64), ResultPart("x"), TextPart("a")))
    as_json, as_events = READERS[name]
    assert as_json(rendered(name, answer)).text == "a"
    assert as_events(events_of(streamed(name, answer))).text == "a"


@pytest.mark.parametrize("name", CHATS)
def test_an_empty_answer_is_one(name):
    as_json, as_events = READERS[name]
    seen = as_json(rendered(name, LlmAnswer()))
    assert (seen.text, seen.calls, seen.usage) == ("", [], (0, 0))
    assert as_events(events_of(streamed(name, LlmAnswer()))) == seen


@pytest.mark.parametrize("name", CHATS)
def test_arguments_that_are_no_object_go_as_they_came(name):
    answer = LlmAnswer(parts=(CallPart("f", '{"cut', "c1"), CallPart("g", None, "c2")))
    body = rendered(name, answer)
    given = {
        "openai_chat": lambda: [c["function"]["arguments"] for c in body["choices"][0]["message"]["tool_calls"]],
        "openai_responses": lambda: [item["arguments"] for item in body["output"]],
        "anthropic_messages": lambda: [block["input"] for block in body["content"]],
        "gemini": lambda: [p["functionCall"]["args"] for p in body["candidates"][0]["content"]["parts"]],
    }[name]()
    assert given == {
        "anthropic_messages": ['{"cut', {}],
        "gemini": [{"arguments": '{"cut'}, {}],
    }.get(name, ['{"cut', "{}"])


def test_a_signature_that_is_no_base64_is_kept_from_gemini_which_decodes_it():
    answer = LlmAnswer(parts=(ThinkingPart("a", "not base64!"), ThinkingPart("b", "c2ln")))
    parts = rendered("gemini", answer)["candidates"][0]["content"]["parts"]
    assert parts == [{"text": "a", "thought": True}, {"text": "b", "thought": True, "thoughtSignature": "c2ln"}]


def test_half_a_surrogate_pair_in_a_text_breaks_no_stream():
    for name in CHATS:
        as_json, as_events = READERS[name]
        answer = LlmAnswer(parts=(TextPart("a\ud83d"),))
        assert as_json(rendered(name, answer)).text == "a\ud83d"
        assert as_events(events_of(streamed(name, answer))).text == "a\ud83d"


def test_a_thought_without_signature_gets_one_where_clients_need_it_and_it_is_none_when_it_comes_back():
    thought = LlmAnswer(parts=(ThinkingPart("Hm."), TextPart("a")))
    [block, _] = rendered("anthropic_messages", thought)["content"]
    assert base64.b64decode(block["signature"]) == b"otel-runlog: no signature was recorded"
    _, asked = asked_of("anthropic_messages", messages=[{"role": "assistant", "content": [block]}])
    assert asked.request.turns == (Turn(Role.ASSISTANT, (ThinkingPart("Hm."),)),)
    include = ["reasoning.encrypted_content"]
    [item, _] = rendered("openai_responses", thought, include=include)["output"]
    assert item["encrypted_content"] == block["signature"]
    _, asked = asked_of("openai_responses", input=[item])
    assert asked.request.turns == (Turn(Role.ASSISTANT, (ThinkingPart("Hm."),)),)
    [item, _] = rendered("openai_responses", thought)["output"]
    assert item["encrypted_content"] is None
    [item, *_] = rendered("openai_responses", ANSWER, include=include)["output"]
    assert item["encrypted_content"] == "c2lnbmVk"


VECTORS = LlmAnswer(vectors=((0.5, -1.0), (0.25, 2.0)), model="e-1", usage=Usage(input_tokens=7))


def test_vectors_are_given_as_numbers_or_packed_as_the_client_asks():
    api = apis.find("/v1/embeddings")
    assert api is not None
    plain = api.render(VECTORS, api.parse("/v1/embeddings", {"model": "e", "input": ["a", "b"]}), "r")
    assert plain == {
        "object": "list",
        "data": [
            {"object": "embedding", "index": 0, "embedding": [0.5, -1.0]},
            {"object": "embedding", "index": 1, "embedding": [0.25, 2.0]},
        ],
        "model": "e-1",
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    }
    asked = api.parse("/v1/embeddings", {"model": "e", "input": ["a", "b"], "encoding_format": "base64"})
    packed = json.loads(apis.encoded(api.render(VECTORS, asked, "r")))
    assert [struct.unpack("<2f", base64.b64decode(d["embedding"])) for d in packed["data"]] == [
        (0.5, -1.0),
        (0.25, 2.0),
    ]


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [(None, "the vectors of this embedding call were not recorded"), (((1e300,),), "does not fit 32-bit floats")],
)
def test_a_vector_is_never_made_up(vectors, reason):
    api = apis.find("/v1/embeddings")
    assert api is not None
    asked = api.parse("/v1/embeddings", {"input": "a", "encoding_format": "base64"})
    with pytest.raises(ReplayError, match=reason):
        api.render(LlmAnswer(vectors=vectors), asked, "r")


def test_geminis_vectors_are_given_as_they_were_asked_and_read_back():
    api = apis.find("/v1beta/models/e:batchEmbedContents")
    assert api is not None
    many = {"requests": [{"content": {"parts": [{"text": text}]}} for text in "ab"]}
    body = api.render(VECTORS, api.parse("/v1beta/models/e:batchEmbedContents", many), "r")
    assert body == {"embeddings": [{"values": [0.5, -1.0]}, {"values": [0.25, 2.0]}]}
    read = api.read(200, "application/json", apis.encoded(body))
    assert isinstance(read, LlmAnswer)
    assert read.vectors == VECTORS.vectors
    one = api.parse("/v1beta/models/e:embedContent", {"content": {"parts": [{"text": "a"}]}})
    body = api.render(LlmAnswer(vectors=((0.5,),)), one, "r")
    assert body == {"embedding": {"values": [0.5]}}
    assert getattr(api.read(200, "application/json", apis.encoded(body)), "vectors", None) == ((0.5,),)
    with pytest.raises(ReplayError, match="were not recorded"):
        api.render(LlmAnswer(), one, "r")


def test_errors_have_each_providers_shape():
    told = {api.NAME: api.error(400, "replay_divergence", "step 2 differs") for api in apis.APIS}
    openai = {
        "error": {"message": "step 2 differs", "type": "replay_divergence", "param": None, "code": "replay_divergence"}
    }
    assert told["openai_chat"] == told["openai_responses"] == told["openai_embeddings"] == openai
    assert told["anthropic_messages"] == {
        "type": "error",
        "error": {"type": "replay_divergence", "message": "step 2 differs"},
    }
    assert (
        told["gemini"]
        == told["gemini_embeddings"]
        == {
            "error": {
                "code": 400,
                "message": "step 2 differs",
                "status": "INVALID_ARGUMENT",
                "details": [
                    {
                        "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                        "reason": "replay_divergence",
                        "domain": "runlog",
                    }
                ],
            }
        }
    )


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("openai_chat", {400: "invalid_request_error", 429: "rate_limit_error", 500: "server_error"}),
        ("anthropic_messages", {401: "authentication_error", 529: "overloaded_error", 500: "api_error"}),
        ("gemini", {429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE", 500: "INTERNAL", 418: "INVALID_ARGUMENT"}),
    ],
)
def test_an_error_of_unknown_type_has_the_providers_word_for_its_status(name, words):
    api, _ = asked_of(name)
    errors = {status: api.error(status, None, "no")["error"] for status in words}
    assert {status: e["status" if name == "gemini" else "type"] for status, e in errors.items()} == words


def test_turns_of_an_answer_are_an_assistants():
    """The words that the tests of history rest on: one turn, in order."""
    api, _ = asked_of("openai_chat")
    message = rendered("openai_chat", ANSWER)["choices"][0]["message"]
    assert api.parse("", {"messages": [message]}).request.turns == (
        Turn(Role.ASSISTANT, (ThinkingPart("Hm."), *ANSWER.parts[1:])),
    )
