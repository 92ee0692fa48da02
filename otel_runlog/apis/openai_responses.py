"""OpenAI Responses. An answer repeats what was asked, as the API's does: tracers read the prompt out of it.

Items that were served are called by `item_reference` in later requests; their ids say the answer and the part of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, TypeGuard

from otel_runlog.apis import _gathering, _listing, _openai, _reading, _responses_events
from otel_runlog.apis._asked import Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._wire import (
    CREATED,
    UNSIGNED,
    as_object,
    as_text,
    bare,
    call_id,
    event,
    json_text,
    kind_of,
    objects,
    params_of,
    request_body,
    turns_in,
)
from otel_runlog.conversation import (
    CallError,
    CallPart,
    FinishReason,
    Json,
    LlmAnswer,
    LlmRequest,
    Part,
    Role,
    TextPart,
    ThinkingPart,
    Turn,
)
from otel_runlog.errors import RequestError
from otel_runlog.model import Usage

NAME: Final = "openai_responses"
ECHOED: Final[JsonObject] = {
    "instructions": None,
    "tools": [],
    "tool_choice": "auto",
    "parallel_tool_calls": True,
    "temperature": 1.0,
    "top_p": 1.0,
    "max_output_tokens": None,
    "max_tool_calls": None,
    "text": {"format": {"type": "text"}},
    "reasoning": {"effort": None, "summary": None},
    "previous_response_id": None,
    "metadata": {},
    "truncation": "disabled",
    "store": True,
    "background": False,
    "user": None,
}
"""Fields of a request that an answer repeats, with what the API says of those that were not sent."""
INCOMPLETE: Final = {FinishReason.LENGTH: "max_output_tokens", FinishReason.CONTENT_FILTER: "content_filter"}
ITEM_ID: Final = re.compile(r"(?:msg|fc|ctc|rs)_(.+)_(\d{1,6})")
"""The id of an item that was served: the answer's id and the part's position."""
THOUGHT_ID: Final = "rs_"

error = _openai.error
model, models = _listing.openai_model, _listing.openai_models


def matches(path: str) -> bool:
    """Whether a POST to this path asks for a response."""
    return bare(path).endswith("/responses")


def claims(body: JsonObject) -> bool:
    """Whether a body has an input, or goes on from an answer."""
    return "input" in body or "previous_response_id" in body


def parse(path: str, body: Json, recall: Recall = nothing_recalled) -> Asked:
    """Read a request."""
    sent = request_body(body, NAME)
    params = params_of(sent, _openai.PARAMS)
    if (effort := as_object(sent.get("reasoning")).get("effort")) is not None:
        params["reasoning_effort"] = effort
    if kind := _openai.output_type(as_object(sent.get("text")).get("format")):
        params["output_type"] = kind
    request = LlmRequest(
        turns=(*_instructions(sent), *_input(sent, recall)),
        model=_openai.model_of(path, sent),
        params=params,
        tools=tuple(map(_openai.definition, objects(sent.get("tools")))),
        previous_response_id=as_text(sent.get("previous_response_id")),
    )
    return Asked(request=request, body=sent, stream=sent.get("stream") is True)


def _instructions(body: JsonObject) -> tuple[Turn, ...]:
    told = body.get("instructions")
    if isinstance(told, list):
        return tuple(turn for item in told for turn in turns_in(item, "system"))
    return turns_in({"role": "system", "content": told}, "system") if told else ()


def _input(body: JsonObject, recall: Recall) -> Iterator[Turn]:
    given = body.get("input")
    if isinstance(given, str):
        yield Turn(Role.USER, (TextPart(given),))
    elif isinstance(given, list):
        for item in given:
            yield from _referred(item["id"], recall) if _is_reference(item) else turns_in(item, "user")
    elif given is not None:
        raise RequestError(f"{NAME}: `input` is {kind_of(given)}, not a text or a list")


def _is_reference(item: Json) -> TypeGuard[dict[str, str]]:
    """Whether an item only names one that was served; it may come without its type."""
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        return False
    return item.get("type") == "item_reference" or (item.keys() <= {"id", "type"} and item.get("type") is None)


def _referred(key: str, recall: Recall) -> Iterator[Turn]:
    """What an item that was served says; a thought that is not known is nothing, for thoughts play no part."""
    found = ITEM_ID.fullmatch(key)
    answer = recall(found[1]) if found else None
    if found and answer is not None and int(found[2]) < len(answer.parts):
        part = answer.parts[int(found[2])]
        if isinstance(part, CallPart):
            part = CallPart(part.name, part.arguments, call_id(part, "call", found[1], int(found[2])))
        yield Turn(Role.ASSISTANT, (part,))
    elif not key.startswith(THOUGHT_ID):
        yield Turn(Role.ASSISTANT, (TextPart(f"[item {key}]"),))


def render(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:
    """An answer as a finished response."""
    items = list(_items(answer, asked, response_id))
    status = _status(answer)
    reason = INCOMPLETE.get(answer.finish_reason) if answer.finish_reason else None
    failed: JsonObject = {"code": "server_error", "message": "The recorded answer ended with an error."}
    return {
        "id": response_id,
        "object": "response",
        "created_at": CREATED,
        "status": status,
        "error": failed if status == "failed" else None,
        "incomplete_details": {"reason": reason} if reason else None,
        "model": answer.model or asked.request.model or "",
        "output": list(items),
        **{key: default if asked.body.get(key) is None else asked.body[key] for key, default in ECHOED.items()},
        "usage": _usage(answer),
    }


def stream(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[bytes]:
    """The same as numbered events."""
    whole = render(answer, asked, response_id)
    for number, (name, data) in enumerate(_responses_events.events(whole)):
        yield event({"type": name, "sequence_number": number, **data}, name)


def _status(answer: LlmAnswer) -> str:
    if answer.finish_reason is FinishReason.ERROR:
        return "failed"
    return "incomplete" if answer.finish_reason in INCOMPLETE else "completed"


def _items(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[JsonObject]:
    custom = {tool.get("name") for tool in objects(asked.body.get("tools")) if tool.get("type") == "custom"}
    for position, part in enumerate(answer.parts):
        item = _item(part, f"{response_id}_{position}", response_id, position)
        if item is not None and item.get("encrypted_content", "") is None and _wants_signatures(asked):
            item["encrypted_content"] = UNSIGNED
        if item is not None and item.get("name") in custom:
            item = _custom(item)
        if item is not None:
            yield item


def _item(part: Part, tail: str, response_id: str, position: int) -> JsonObject | None:
    """The item of a part; None for what no item can say without its bytes."""
    match part:
        case TextPart(text):
            content: Json = [{"type": "output_text", "text": text, "annotations": [], "logprobs": []}]
            head: JsonObject = {"id": f"msg_{tail}", "type": "message", "status": "completed", "role": "assistant"}
            return {**head, "content": content}
        case CallPart():
            call = {"call_id": call_id(part, "call", response_id, position), "name": part.name}
            text = json_text(part.arguments)
            return {"id": f"fc_{tail}", "type": "function_call", "status": "completed", **call, "arguments": text}
        case ThinkingPart(text, signature):
            summary: Json = [{"type": "summary_text", "text": text}] if text else []
            return {"id": f"rs_{tail}", "type": "reasoning", "summary": summary, "encrypted_content": signature}
        case _:
            return None


def _wants_signatures(asked: Asked) -> bool:
    include = asked.body.get("include")
    return isinstance(include, list) and "reasoning.encrypted_content" in include


def _custom(item: JsonObject) -> JsonObject:
    """A call of a tool that takes text, in place of a function's."""
    rest = {key: value for key, value in item.items() if key != "arguments"}
    head: JsonObject = {"id": str(item["id"]).replace("fc_", "ctc_", 1), "type": "custom_tool_call"}
    return {**rest, **head, "input": item["arguments"]}


def _usage(answer: LlmAnswer) -> JsonObject:
    """Zeros where nothing is known: clients add these up."""
    usage = answer.usage or Usage()
    cached: JsonObject = {
        "cached_tokens": usage.cache_read_tokens or 0,
        "cache_write_tokens": usage.cache_write_tokens or 0,
    }
    return {
        "input_tokens": usage.input_tokens or 0,
        "input_tokens_details": cached,
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.total_tokens or 0,
    }


def read(status: int, content_type: str, body: bytes) -> LlmAnswer | CallError:
    """What the provider answered."""
    return _reading.read(status, content_type, body, _gathering.responses, _reading.responses)
