"""OpenAI Chat Completions, also as Azure and the many servers that speak it have it.

The order of a stream's chunks is what the SDKs were seen to need (facts/replay.md, 3.4): role, content, one chunk a
tool call, the finish, usage where it was asked for, `[DONE]`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from otel_runlog.apis import _gathering, _listing, _openai, _reading
from otel_runlog.apis._asked import Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._wire import (
    CREATED,
    DONE,
    as_object,
    bare,
    call_id,
    event,
    json_text,
    messages_in,
    objects,
    params_of,
    request_body,
    thoughts,
    turns_in,
)
from otel_runlog.conversation import CallError, CallPart, FinishReason, Json, LlmAnswer, LlmRequest, ToolDefinition
from otel_runlog.model import Usage

NAME: Final = "openai_chat"
FINISH: Final = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_CALL: "tool_calls",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.ERROR: "stop",
}
"""The API's word for each; it has none for an error, and clients refuse words that are not of the API."""

error = _openai.error
model, models = _listing.openai_model, _listing.openai_models


def matches(path: str) -> bool:
    """Whether a POST to this path asks for a chat completion."""
    return bare(path).endswith("/chat/completions")


def claims(body: JsonObject) -> bool:
    """Whether a body has messages."""
    return "messages" in body


def parse(path: str, body: Json, recall: Recall = nothing_recalled) -> Asked:  # noqa: ARG001 - it repeats all it needs
    """Read a request."""
    sent = request_body(body, NAME)
    turns = tuple(turn for message in messages_in(sent, "messages", NAME) for turn in turns_in(message, "user"))
    params = params_of(sent, _openai.PARAMS)
    if kind := _openai.output_type(sent.get("response_format")):
        params["output_type"] = kind
    request = LlmRequest(turns=turns, model=_openai.model_of(path, sent), params=params, tools=_tools(sent))
    include_usage = as_object(sent.get("stream_options")).get("include_usage") is True
    return Asked(request=request, body=sent, stream=sent.get("stream") is True, include_usage=include_usage)


def _tools(body: JsonObject) -> tuple[ToolDefinition, ...]:
    """`tools`, and the functions that stood in their place before there were any."""
    tools = [as_object(t.get("function") or t.get("custom")) or t for t in objects(body.get("tools"))]
    return tuple(map(_openai.definition, tools + objects(body.get("functions"))))


def render(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:
    """An answer as one completion with one choice, whatever number was asked for."""
    message: JsonObject = {"role": "assistant", "content": _content(answer), "refusal": None}
    if thought := thoughts(answer):
        message["reasoning_content"] = thought
    message |= _calls(answer, asked, response_id)
    choice: JsonObject = {"index": 0, "message": message, "logprobs": None, "finish_reason": _finish(answer, asked)}
    return {**_head(answer, asked, response_id, "chat.completion"), "choices": [choice], "usage": _usage(answer)}


def stream(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[bytes]:
    """The same in chunks."""
    head = _head(answer, asked, response_id, "chat.completion.chunk")
    # The API sends `usage: null` on each chunk of a stream that includes usage, and no such key otherwise.
    pending: JsonObject = {"usage": None} if asked.include_usage else {}
    for delta, finish in _deltas(answer, asked, response_id):
        choice: JsonObject = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
        yield event({**head, "choices": [choice], **pending})
    if asked.include_usage:
        yield event({**head, "choices": [], "usage": _usage(answer)})
    yield DONE


def _head(answer: LlmAnswer, asked: Asked, response_id: str, kind: str) -> JsonObject:
    model = answer.model or asked.request.model or ""
    return {"id": response_id, "object": kind, "created": CREATED, "model": model, "system_fingerprint": None}


def _deltas(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[tuple[JsonObject, str | None]]:
    yield {"role": "assistant", "content": "", "refusal": None}, None
    if thought := thoughts(answer):
        yield {"reasoning_content": thought}, None
    if answer.text:
        yield {"content": answer.text}, None
    calls = _calls(answer, asked, response_id)
    for index, call in enumerate(objects(calls.get("tool_calls"))):
        yield {"tool_calls": [{"index": index, **call}]}, None
    if "function_call" in calls:
        yield calls, None
    yield {}, _finish(answer, asked)


def _content(answer: LlmAnswer) -> str | None:
    """The text; null, as the API has it, where there are calls alone."""
    return answer.text or (None if answer.tool_calls else "")


def _calls(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:
    calls = answer.tool_calls
    if not calls:
        return {}
    if _wants_function(asked):
        return {"function_call": {"name": calls[0].name, "arguments": json_text(calls[0].arguments)}}
    custom = {as_object(tool.get("custom")).get("name") for tool in objects(asked.body.get("tools"))}
    return {"tool_calls": [_call(call, response_id, i, custom=call.name in custom) for i, call in enumerate(calls)]}


def _call(call: CallPart, response_id: str, position: int, *, custom: bool) -> JsonObject:
    key = call_id(call, "call", response_id, position)
    if custom:
        return {"id": key, "type": "custom", "custom": {"name": call.name, "input": json_text(call.arguments)}}
    return {"id": key, "type": "function", "function": {"name": call.name, "arguments": json_text(call.arguments)}}


def _wants_function(asked: Asked) -> bool:
    """Whether the request knows functions only, which were before tools."""
    return bool(asked.body.get("functions")) and not asked.body.get("tools")


def _finish(answer: LlmAnswer, asked: Asked) -> str:
    reason = answer.finish_reason or (FinishReason.TOOL_CALL if answer.tool_calls else FinishReason.STOP)
    if reason is FinishReason.TOOL_CALL and _wants_function(asked):
        return "function_call"
    return FINISH[reason]


def _usage(answer: LlmAnswer) -> JsonObject:
    """Zeros where nothing is known: clients add these up."""
    usage = answer.usage or Usage()
    return {
        "prompt_tokens": usage.input_tokens or 0,
        "completion_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or 0,
        "prompt_tokens_details": {
            "cached_tokens": usage.cache_read_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
            "audio_tokens": 0,
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens or 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def read(status: int, content_type: str, body: bytes) -> LlmAnswer | CallError:
    """What the provider answered."""
    return _reading.read(status, content_type, body, _gathering.chat, _reading.chat)
