"""Anthropic's wire format: Messages, as JSON and as server-sent events."""

import json
from collections.abc import Iterator

from provider_script import Answer, Event, Json, Served


def _messages_usage(answer: Answer) -> Json:
    writes = {"ephemeral_5m_input_tokens": answer.cache_write_tokens, "ephemeral_1h_input_tokens": 0}
    return {
        "input_tokens": answer.uncached_input_tokens,
        "cache_creation_input_tokens": answer.cache_write_tokens,
        "cache_read_input_tokens": answer.cache_read_tokens,
        "cache_creation": writes,
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"thinking_tokens": answer.reasoning_tokens},
        "service_tier": "standard",
    }


def _messages_blocks(answer: Answer) -> list[Json]:
    blocks: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    return blocks + [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in answer.tool_calls
    ]


def messages_json(served: Served) -> Json:
    return {
        "id": served.response_id,
        "type": "message",
        "role": "assistant",
        "model": served.model,
        "content": _messages_blocks(served.answer),
        "stop_reason": "tool_use" if served.answer.tool_calls else "end_turn",
        "stop_sequence": None,
        "usage": _messages_usage(served.answer),
    }


def _block_events(index: int, block: Json) -> Iterator[Event]:
    if block["type"] == "text":
        empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    else:
        partial = json.dumps(block["input"])
        empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": partial}
    for name, rest in (("start", {"content_block": empty}), ("delta", {"delta": delta}), ("stop", {})):
        yield f"content_block_{name}", {"type": f"content_block_{name}", "index": index, **rest}


def messages_events(served: Served) -> Iterator[Event]:
    whole = messages_json(served)
    # The first event knows the input and one token of output; the last one's counts are cumulative, not to be added.
    opening = {**whole["usage"], "output_tokens": 1, "output_tokens_details": None}
    message = {**whole, "content": [], "stop_reason": None, "usage": opening}
    yield "message_start", {"type": "message_start", "message": message}
    for index, block in enumerate(whole["content"]):
        yield from _block_events(index, block)
    closing = {key: value for key, value in whole["usage"].items() if key not in ("cache_creation", "service_tier")}
    delta = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"type": "message_delta", "delta": delta, "usage": closing}
    yield "message_stop", {"type": "message_stop"}
