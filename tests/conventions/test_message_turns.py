"""One reader for the messages of every dialect."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from otel_runlog.conventions._genai_messages import from_attributes
from otel_runlog.conventions.turns import (
    answer_of,
    arguments_of,
    definitions_of,
    finish_reason_of,
    request_of,
    result_of,
    turn_of,
    turns_of,
)
from otel_runlog.conversation import (
    CallPart,
    FinishReason,
    Json,
    MediaPart,
    ResultPart,
    Role,
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.model import Attributes, Content, LlmIo, Message, Step, StepKind

CALL = CallPart("weather", {"city": "Paris"}, "c1")
RESULT = ResultPart("18 C", "c1")
TEXT = TextPart("Let me look.")


@pytest.mark.parametrize(
    "message",
    [
        {
            "role": "assistant",
            "parts": [
                {"type": "text", "content": "Let me look."},
                {"type": "tool_call", "id": "c1", "name": "weather", "arguments": '{"city": "Paris"}'},
            ],
        },
        {
            "role": "assistant",
            "content": "Let me look.",
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}},
            ],
        },
        {
            "role": "assistant",
            "parts": [{"type": "text", "text": "Let me look."}, {"type": "tool_use"}],
            "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}],
        },
        {
            "content": "Let me look.",
            "tool_calls": [{"id": "c1", "function": {"name": "weather", "arguments": '{"city": "Paris"}'}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Let me look."},
                {"functionCall": {"id": "c1", "name": "weather", "args": {"city": "Paris"}}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"text": "Let me look."},
                {"toolUse": {"toolUseId": "c1", "name": "weather", "input": {"city": "Paris"}}},
            ],
        },
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Let me look."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "weather", "input": {"city": "Paris"}},
            ],
        },
        [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Let me look."}]},
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "weather",
                "arguments": '{"city":"Paris"}',
            },
        ],
    ],
)
def test_a_text_and_a_call_are_one_value_in_every_dialect(message: Json) -> None:
    assert [part for turn in turn_of(message) for part in turn.parts] == [TEXT, CALL]
    assert {turn.role for turn in turn_of(message)} == {Role.ASSISTANT}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "18 C"}]},
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": [{"text": "18 C"}]}]},
        {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
        {"role": "tool", "id": "c1", "content": [{"type": "text", "text": "18 C"}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "18 C"}]},
        {"role": "tool", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "18 C"}]}}]},
        {"type": "function_call_output", "call_id": "c1", "output": "18 C"},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": "18 C"}}]},
        {
            "role": "tool",
            "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "18 C"}}],
        },
    ],
)
def test_a_result_is_one_value_in_every_dialect(message: Json) -> None:
    assert turn_of(message) == (Turn(Role.TOOL, (RESULT,)),)


SEEN = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
"""sha256 of `hello`, which is aGVsbG8= in base64."""


@pytest.mark.parametrize(
    ("part", "mime_type"),
    [
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,aGVsbG8="}}, "image/png"),
        ({"type": "input_image", "image_url": "data:image/png;base64,aGVsbG8="}, "image/png"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGVsbG8="}}, "image/png"),
        ({"inlineData": {"mimeType": "image/png", "data": "aGVsbG8"}}, "image/png"),
        ({"inline_data": {"mime_type": "image/png", "data": "aGVsbG8="}}, "image/png"),
        ({"type": "blob", "mime_type": "image/png", "modality": "image", "content": "aGVsbG8="}, "image/png"),
        ({"type": "file", "mediaType": "image/png", "data": "aGVsbG8="}, "image/png"),
        ({"type": "file", "file": {"file_data": "data:application/pdf;base64,aGVsbG8="}}, "application/pdf"),
        ({"image": {"format": "png", "source": {"bytes": "aGVsbG8="}}}, None),
        ({"type": "input_audio", "input_audio": {"data": "aGVsbG8=", "format": "wav"}}, None),
        ({"type": "image_url", "image_url": "data:text/plain,hello"}, "text/plain"),
    ],
)
def test_a_picture_is_the_digest_of_its_bytes_wherever_they_stand(part: dict[str, Json], mime_type: str | None) -> None:
    [turn] = turn_of({"role": "user", "content": [part]})
    [media] = turn.parts
    assert isinstance(media, MediaPart)
    assert (media.mime_type, media.sha256) == (mime_type, SEEN)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "image_url", "image_url": {"url": "https://x/y.png"}},
        {"type": "uri", "mime_type": "image/png", "uri": "https://x/y.png"},
        {"type": "image", "source": {"type": "url", "url": "https://x/y.png"}},
        {"type": "image", "image": {"image": {"url": "https://x/y.png"}}},
        {"fileData": {"fileUri": "https://x/y.png"}},
    ],
)
def test_a_picture_without_bytes_is_its_address(part: dict[str, Json]) -> None:
    [turn] = turn_of({"role": "user", "content": [part]})
    assert [(m.sha256, m.uri) for m in turn.parts if isinstance(m, MediaPart)] == [(None, "https://x/y.png")]


@pytest.mark.parametrize(
    ("message", "parts"),
    [
        (
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
            (ThinkingPart("hm", "s"),),
        ),
        (
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]},
            (ThinkingPart("hm"),),
        ),
        ({"role": "model", "parts": [{"text": "hm", "thought": True}]}, (ThinkingPart("hm"),)),
        ({"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}]}, (ThinkingPart("hm"),)),
        (
            {
                "role": "assistant",
                "content": [{"reasoningContent": {"reasoningText": {"text": "hm", "signature": "s"}}}],
            },
            (ThinkingPart("hm", "s"),),
        ),
        ({"role": "assistant", "reasoning_content": "hm", "content": "hi"}, (ThinkingPart("hm"), TextPart("hi"))),
        ({"role": "assistant", "content": [{"type": "redacted_thinking", "data": "x"}]}, (ThinkingPart("", "x"),)),
    ],
)
def test_thoughts_are_the_models_and_keep_their_signature(message: Json, parts: tuple[object, ...]) -> None:
    assert [(t.role, t.parts) for t in turn_of(message)] == [(Role.ASSISTANT, parts)]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "content": "hi"},
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "hi"}},
        {"body": {"index": 0, "message": {"role": "assistant", "content": "hi"}}},
        {"choices": [{"index": 0, "message": {"role": "assistant", "content": "hi", "refusal": None}}]},
        {"object": "response", "output": [{"type": "message", "role": "assistant", "content": [{"text": "hi"}]}]},
        {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "hi"}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"text": "hi"}]}}]},
        {"output": {"message": {"role": "assistant", "content": [{"text": "hi"}]}}},
        {"type": "AIMessageChunk", "content": "hi", "tool_calls": []},
        {"type": "ai", "data": {"content": "hi"}},
        {"lc": 1, "type": "constructor", "id": ["langchain", "AIMessage"], "kwargs": {"content": "hi"}},
        {"generations": [[{"text": "hi", "message": {"id": ["x", "AIMessage"], "kwargs": {"content": "hi"}}}]]},
        {"role": "assistant", "content": None, "refusal": "hi"},
        {"role": "CHATBOT", "message": "hi"},
        {
            "role": "assistant",
            "content": [
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": []},
                {"type": "text", "text": "hi"},
            ],
        },
        {"role": "model", "parts": [{"executableCode": {"code": "1"}}, {"text": "hi"}, {"text": ""}]},
    ],
)
def test_an_answer_is_found_in_whatever_is_around_it(message: Json) -> None:
    assert turn_of(message) == (Turn(Role.ASSISTANT, (TextPart("hi"),)),)


@pytest.mark.parametrize(
    "copy",
    [
        '{"type": "tool_use", "id": "c1", "name": "weather", "input": {"city": "Paris"}}',
        '{"name": "weather", "type": "function_call", "arguments": "{\\"city\\": \\"Paris\\"}"}',
    ],
)
def test_a_text_that_repeats_a_call_of_its_message_is_left_out(copy: str) -> None:
    call: Json = {"type": "tool_call", "id": "c1", "name": "weather", "arguments": {"city": "Paris"}}
    parts: list[Json] = [{"type": "text", "content": "Let me look."}, {"type": "text", "content": copy}]
    assert turn_of({"role": "assistant", "parts": [*parts, call]}) == (Turn(Role.ASSISTANT, (TEXT, CALL)),)
    alone = turn_of({"role": "assistant", "parts": parts})
    assert alone == (Turn(Role.ASSISTANT, (TEXT, TextPart(copy))),)


def test_results_and_what_the_user_says_beside_them_are_turns_of_their_own() -> None:
    message: Json = {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "c1", "is_error": True, "content": "boom"},
            {"type": "text", "text": "go on"},
        ],
    }
    failed = ResultPart("boom", "c1", is_error=True)
    assert turn_of(message) == (Turn(Role.TOOL, (failed,)), Turn(Role.USER, (TextPart("go on"),)))


@pytest.mark.parametrize(
    ("value", "result"),
    [
        ("18 C", "18 C"),
        ('{"t": 18}', {"t": 18}),
        ([{"type": "text", "text": '{"t": 18}'}], {"t": 18}),
        ([{"text": "a"}, {"text": "b"}], "a\nb"),
        ([{"json": {"t": 18}}], {"t": 18}),
        ({"type": "text", "value": "18 C"}, "18 C"),
        ({"type": "json", "value": {"t": 18}}, {"t": 18}),
        ([1, 2], [1, 2]),
        (None, None),
        ("NaN", "NaN"),
        (
            [{"type": "text", "text": "see"}, {"type": "image", "source": {"type": "base64", "data": "aGVsbG8="}}],
            ["see", {"media": SEEN}],
        ),
        ("[" * 100 + "]" * 100, "[" * 100 + "]" * 100),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_a_result_is_the_value_that_its_text_says(value: Json, result: Json) -> None:
    assert result_of(value) == result


def test_arguments_are_the_value_that_their_text_says() -> None:
    assert [arguments_of(v) for v in ('{"a": 1}', {"a": 1}, "", None, "raw")] == [{"a": 1}, {"a": 1}, {}, {}, "raw"]


@pytest.mark.parametrize(
    "raw",
    [
        '{"type": "function", "function": {"name": "f", "description": "d", "parameters": {"type": "object"}}}',
        '{"type": "function", "name": "f", "description": "d", "parameters": {"type": "object"}}',
        '{"name": "f", "description": "d", "input_schema": {"type": "object"}}',
        '{"functionDeclarations": [{"name": "f", "description": "d", "parametersJsonSchema": {"type": "object"}}]}',
        '{"toolSpec": {"name": "f", "description": "d", "inputSchema": {"json": {"type": "object"}}}}',
        '{"type": "x.Tool", "data": {"name": "f", "description": "d", "parameters": {"type": "object"}}}',
    ],
)
def test_a_tool_is_one_definition_in_every_dialect(raw: str) -> None:
    assert definitions_of([Message("tool", "", raw)]) == (ToolDefinition("f", "d", {"type": "object"}),)
    assert definitions_of([]) is None


def test_what_an_emitter_hid_or_left_empty_is_no_turn() -> None:
    raws = ('{"role":"user","content":"__REDACTED__"}', '{"role":"user","parts":[{"type":"text"}]}', "<REDACTED>", "")
    assert turns_of([Message("user", "", raw) for raw in raws]) == ()


def test_a_text_that_is_json_is_what_was_said() -> None:
    listed = json.dumps({"role": "user", "content": '[{"type": "text", "text": "hi"}]'})
    said = turns_of([Message("user", "", raw) for raw in ('{"a": 1}', "[1, 2]", listed)])
    assert [turn.text for turn in said] == ['{"a": 1}', "[1, 2]", '[{"type": "text", "text": "hi"}]']


def test_traceloops_flattened_content_that_is_a_list_of_parts_as_json_is_those_parts() -> None:
    blocks = [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "c1", "name": "weather", "input": {}}]
    attributes: Attributes = {"gen_ai.prompt.0.role": "assistant", "gen_ai.prompt.0.content": json.dumps(blocks)}
    found = turns_of(from_attributes(attributes).input)
    assert found == (Turn(Role.ASSISTANT, (TextPart("hi"), CallPart("weather", {}, "c1"))),)


def test_a_picture_that_an_emitter_left_out_is_one_of_which_nothing_is_known() -> None:
    [turn] = turn_of({"role": "user", "parts": [{"type": "anthropic_image"}, {"type": "text", "content": "see"}]})
    assert turn.parts == (MediaPart(), TextPart("see"))


def test_a_picture_that_was_too_large_for_an_emitter_is_one_of_which_nothing_is_known() -> None:
    """OpenInference writes so in place of more than 32,000 letters (OPENINFERENCE_BASE64_IMAGE_MAX_LENGTH)."""
    hidden = {"type": "image_url", "image_url": {"url": "__REDACTED__"}}
    [turn] = turn_of({"role": "user", "content": [{"type": "text", "text": "see"}, hidden]})
    assert turn.parts == (TextPart("see"), MediaPart())


def test_a_picture_in_a_result_of_which_the_type_is_left_is_one_of_which_nothing_is_known() -> None:
    """The Anthropic client's own spans."""
    blocks = [{"type": "text", "text": "here"}, {"type": "image"}]
    [turn] = turn_of({"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "response": blocks}]})
    assert [part.value for part in turn.parts if isinstance(part, ResultPart)] == [["here", {"media": None}]]


def step(kind: StepKind = StepKind.LLM, **more: Any) -> Step:
    return Step("t", "s", kind, request_model="m", **more)


def io(content: Content, **more: Any) -> LlmIo:
    return LlmIo("r", "t", "s", completeness=content, **more)


HI = (Message("user", "hi", '{"role":"user","content":"hi"}'),)


@pytest.mark.parametrize(
    "raw", ['{"role":"user"}', '{"role":"user","content":""}', '{"role":"user","parts":[{"type":"text","content":""}]}']
)
def test_an_empty_prompt_is_a_request_that_says_nothing(raw: str) -> None:
    said = (Message("system", "be brief", '{"role":"system","content":"be brief"}'),)
    request = request_of(io(Content.FULL, system=said, input=(Message("user", "", raw),)), step(StepKind.LLM))
    assert request is not None
    assert request.turns == (Turn(Role.SYSTEM, (TextPart("be brief"),)),)


def test_a_hidden_prompt_is_no_request() -> None:
    hidden = (Message("user", "", '{"role":"user","content":"__REDACTED__"}'),)
    assert request_of(io(Content.FULL, input=hidden), step(StepKind.LLM)) is None


def test_a_request_takes_model_parameters_and_the_answer_that_it_goes_on_from() -> None:
    params: dict[str, Any] = {"temperature": 1, "previous_response_id": "resp_1"}
    request = request_of(io(Content.FULL, input=HI), step(params=params))
    assert request is not None
    assert (request.model, request.params, request.tools) == ("m", {"temperature": 1}, None)
    assert request.previous_response_id == "resp_1"


def test_the_end_of_a_conversation_is_a_request_only_where_it_names_the_answer_before() -> None:
    assert request_of(io(Content.ANSWER, input=HI), step()) is None
    assert request_of(io(Content.ANSWER, input=HI), step(params={"previous_response_id": "resp_1"})) is not None


def test_without_content_there_is_neither_request_nor_answer() -> None:
    assert request_of(io(Content.NONE, input=HI), step()) is None
    assert request_of(io(Content.FULL), step()) is None
    assert answer_of(io(Content.FULL, input=HI), step()) is None


@pytest.mark.parametrize(("said", "reason"), [('"length"', FinishReason.LENGTH), ("7", None), ('"whatever"', None)])
def test_why_an_answer_ended_its_message_says_where_the_span_does_not(said: str, reason: FinishReason | None) -> None:
    raw = f'{{"role":"assistant","finish_reason":{said},"parts":[{{"type":"text","content":"so"}}]}}'
    answer = answer_of(io(Content.FULL, input=HI, output=(Message("assistant", "so", raw),)), step())
    assert answer is not None
    assert answer.finish_reason is reason


def test_an_embedding_is_asked_for_texts() -> None:
    asked = (Message("user", "a", '"a"'), Message("user", "", '{"requests":[{"content":{"parts":[{"text":"b"}]}}]}'))
    embedding = io(Content.FULL, input=asked, output=HI)
    request = request_of(embedding, step(StepKind.EMBEDDING))
    assert answer_of(embedding, step(StepKind.EMBEDDING)) is None
    assert request is not None
    assert (request.operation, request.inputs, request.turns) == ("embedding", ("a", "b"), ())


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("end_turn", FinishReason.STOP),
        ("STOP", FinishReason.STOP),
        ("tool-calls", FinishReason.TOOL_CALL),
        ("MAX_TOKENS", FinishReason.LENGTH),
        ("SAFETY", FinishReason.CONTENT_FILTER),
        ("whatever", None),
        (None, None),
    ],
)
def test_a_finish_reason_is_one_word_of_otel(word: str | None, reason: FinishReason | None) -> None:
    assert finish_reason_of(word) == reason


KEYS = st.sampled_from(
    (
        *("role", "type", "content", "parts", "text", "tool_calls", "function", "name", "arguments", "id", "message"),
        *(
            "data",
            "source",
            "image_url",
            "url",
            "output",
            "toolResult",
            "functionCall",
            "reasoning",
            "summary",
            "value",
        ),
    )
)
WORDS = st.sampled_from(("user", "tool", "assistant", "text", "tool_use", "tool_result", "image", "reasoning"))
ANYTHING: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(ANYTHING)
def test_whatever_a_message_is_it_is_read_without_an_error(value: Json) -> None:
    assert all(isinstance(turn, Turn) for turn in turn_of(value))
    assert all(turn.parts for turn in turns_of([Message("user", "", json.dumps(value))]))


def test_nesting_without_end_is_read_without_an_error() -> None:
    listed: Json = "x"
    held: Json = "x"
    for _ in range(400):
        listed, held = [listed], {"message": held}
    for value in (listed, {"role": "user", "content": listed}, held):
        assert isinstance(turn_of(value), tuple)
