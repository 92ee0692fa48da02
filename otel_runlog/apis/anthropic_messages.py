"""Anthropic Messages. Its input tokens leave out what the cache read and wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from otel_runlog.apis import _gathering, _listing, _reading
from otel_runlog.apis._asked import Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._wire import (
    UNSIGNED,
    as_object,
    as_text,
    bare,
    call_id,
    event,
    json_text,
    messages_in,
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
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.model import Usage

NAME: Final = "anthropic_messages"
PARAMS: Final = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "max_tokens": ("max_tokens",),
    "stop_sequences": ("stop_sequences",),
}
FINISH: Final = {
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_CALL: "tool_use",
    FinishReason.CONTENT_FILTER: "refusal",
    FinishReason.ERROR: "end_turn",
}
"""The API's word for each; it has none for an error."""
ERROR_TYPES: Final = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    504: "timeout_error",
    529: "overloaded_error",
}
OWN_KEYS: Final = frozenset({"system", "stop_sequences", "thinking", "anthropic_version", "output_config"})
"""Keys of a body with messages that OpenAI's has not."""

model, models = _listing.anthropic_model, _listing.anthropic_models


def matches(path: str) -> bool:
    """Whether a POST to this path asks for a message: OpenAI's threads have messages, too."""
    end = bare(path)
    return end.endswith("/messages") and "/threads/" not in end


def claims(body: JsonObject) -> bool:
    """Whether a body has messages, and what only this API knows."""
    own = not OWN_KEYS.isdisjoint(body) or any("input_schema" in tool for tool in objects(body.get("tools")))
    return own and "messages" in body


def parse(path: str, body: Json, recall: Recall = nothing_recalled) -> Asked:  # noqa: ARG001 - it repeats all it needs
    """Read a request."""
    sent = request_body(body, NAME)
    system = sent.get("system")
    turns: tuple[Turn, ...] = turns_in({"role": "system", "content": system}, "system") if system else ()
    for message in messages_in(sent, "messages", NAME):
        turns += turns_in(message, "user")
    params = params_of(sent, PARAMS)
    if (effort := as_object(sent.get("output_config")).get("effort")) is not None:
        params["reasoning_effort"] = effort
    tools = tuple(map(_definition, objects(sent.get("tools"))))
    request = LlmRequest(
        turns=turns,
        model=as_text(sent.get("model")),
        params=params,
        tools=tools,
        previous_response_id=as_text(as_object(sent.get("thread")).get("previous_message_id")),
    )
    return Asked(request=request, body=sent, stream=sent.get("stream") is True)


def _definition(tool: JsonObject) -> ToolDefinition:
    name = as_text(tool.get("name")) or as_text(tool.get("type")) or ""
    return ToolDefinition(name, as_text(tool.get("description")), tool.get("input_schema"))


def render(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:
    """An answer as one message."""
    blocks = (_block(part, response_id, position) for position, part in enumerate(answer.parts))
    reason = answer.finish_reason or (FinishReason.TOOL_CALL if answer.tool_calls else FinishReason.STOP)
    return {
        "id": response_id,
        "type": "message",
        "role": "assistant",
        "model": answer.model or asked.request.model or "",
        "content": [block for block in blocks if block is not None],
        "stop_reason": FINISH[reason],
        "stop_sequence": None,
        "usage": _usage(answer.usage or Usage()),
    }


def stream(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[bytes]:
    """The same as events, one delta a block."""
    for name, data in _events(render(answer, asked, response_id)):
        yield event({"type": name, **data}, name)


def _events(message: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    usage = as_object(message["usage"])
    # The first event knows the input; the counts of the last one are cumulative, and not to be added to it.
    opening: JsonObject = {**message, "content": [], "stop_reason": None, "usage": {**usage, "output_tokens": 0}}
    yield "message_start", {"message": opening}
    for index, block in enumerate(objects(message["content"])):
        empty, deltas = _pieces(block)
        yield "content_block_start", {"index": index, "content_block": empty}
        for delta in deltas:
            yield "content_block_delta", {"index": index, "delta": delta}
        yield "content_block_stop", {"index": index}
    closing: JsonObject = {k: v for k, v in usage.items() if k not in ("cache_creation", "service_tier")}
    delta = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": closing}
    yield "message_stop", {}


def _pieces(block: JsonObject) -> tuple[JsonObject, list[JsonObject]]:
    """A block as it begins, and the deltas that fill it."""
    match block["type"]:
        case "text":
            return {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        case "thinking":
            thought: JsonObject = {"type": "thinking_delta", "thinking": block["thinking"]}
            signed: JsonObject = {"type": "signature_delta", "signature": block["signature"]}
            return {**block, "thinking": "", "signature": ""}, [thought, signed]
        case _:
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json_text(block["input"])}]


def _block(part: Part, response_id: str, position: int) -> JsonObject | None:
    """The block of a part; None for what no block can say without its bytes."""
    match part:
        case TextPart(text):
            return {"type": "text", "text": text}  # no null citations: the AI SDK takes a list only
        case CallPart(name, arguments):
            given: Json = {} if arguments is None else arguments
            return {
                "type": "tool_use",
                "id": call_id(part, "toolu", response_id, position),
                "name": name,
                "input": given,
            }
        case ThinkingPart(text, signature):
            return {"type": "thinking", "thinking": text, "signature": signature or UNSIGNED}
        case _:
            return None


def _usage(usage: Usage) -> JsonObject:
    """Zeros where nothing is known: clients add these up."""
    read, written = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    hour = usage.cache_write_1h_tokens or 0
    return {
        "input_tokens": max((usage.input_tokens or 0) - read - written, 0),
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "cache_creation": {"ephemeral_5m_input_tokens": max(written - hour, 0), "ephemeral_1h_input_tokens": hour},
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens or 0},
        "service_tier": "standard",
    }


def error(status: int, type_: str | None, message: str) -> JsonObject:
    """Anthropic's error object."""
    kind = type_ or ERROR_TYPES.get(status, "api_error" if status >= 500 else "invalid_request_error")  # noqa: PLR2004
    return {"type": "error", "error": {"type": kind, "message": message}}


def read(status: int, content_type: str, body: bytes) -> LlmAnswer | CallError:
    """What the provider answered."""
    return _reading.read(status, content_type, body, _gathering.messages, _reading.messages)
