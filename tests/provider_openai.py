"""OpenAI's wire formats: Chat Completions and Responses, as JSON and as server-sent events."""

import json
from collections.abc import Iterator

from provider_script import Answer, Event, Json, Served, ToolCall

# --- OpenAI Chat Completions


def _chat_usage(answer: Answer) -> Json:
    return {
        "prompt_tokens": answer.input_tokens,
        "completion_tokens": answer.output_tokens,
        "total_tokens": answer.input_tokens + answer.output_tokens,
        "prompt_tokens_details": {"cached_tokens": answer.cache_read_tokens},
        "completion_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
    }


def _chat_tool_call(call: ToolCall) -> Json:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _chat_finish(answer: Answer) -> str:
    return "tool_calls" if answer.tool_calls else "stop"


def chat_json(served: Served) -> Json:
    answer = served.answer
    message: Json = {"role": "assistant", "content": answer.text or None, "refusal": None}
    if answer.tool_calls:
        message["tool_calls"] = [_chat_tool_call(call) for call in answer.tool_calls]
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(answer), "logprobs": None}
    return {
        "id": served.response_id,
        "object": "chat.completion",
        "created": 1_790_000_000,
        "model": served.model,
        "choices": [choice],
        "usage": _chat_usage(answer),
    }


def _chat_deltas(answer: Answer) -> Iterator[tuple[Json, str | None]]:
    yield {"role": "assistant", "content": ""}, None
    half = len(answer.text) // 2
    for part in filter(None, (answer.text[:half], answer.text[half:])):
        yield {"content": part}, None
    for index, call in enumerate(answer.tool_calls):
        yield {"tool_calls": [{"index": index, **_chat_tool_call(call)}]}, None
    yield {}, _chat_finish(answer)


def chat_events(served: Served) -> Iterator[Event]:
    head = {
        "id": served.response_id,
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": served.model,
    }
    # OpenAI sends `usage: null` on each chunk of a stream that includes usage, and no such key otherwise.
    pending = {"usage": None} if served.usage_sent else {}
    for delta, finish in _chat_deltas(served.answer):
        yield None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], **pending}
    if served.usage_sent:
        yield None, {**head, "choices": [], "usage": _chat_usage(served.answer)}
    yield None, "[DONE]"


# --- OpenAI Responses


def _responses_output(served: Served) -> list[Json]:
    answer = served.answer
    items: list[Json] = []
    if answer.text:
        content = [{"type": "output_text", "text": answer.text, "annotations": []}]
        items.append({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": content})
    for call in answer.tool_calls:
        item = {"id": f"fc_{call.id}", "type": "function_call", "status": "completed", "call_id": call.id}
        items.append({**item, "name": call.name, "arguments": json.dumps(call.arguments)})
    return items


def _responses_usage(answer: Answer) -> Json:
    cached = {"cached_tokens": answer.cache_read_tokens, "cache_write_tokens": answer.cache_write_tokens}
    return {
        "input_tokens": answer.input_tokens,
        "input_tokens_details": cached,
        "output_tokens": answer.output_tokens,
        "output_tokens_details": {"reasoning_tokens": answer.reasoning_tokens},
        "total_tokens": answer.input_tokens + answer.output_tokens,
    }


def responses_json(served: Served) -> Json:
    return {
        "id": served.response_id,
        "object": "response",
        "created_at": 1_790_000_000,
        "status": "completed",
        "model": served.model,
        "output": _responses_output(served),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": served.request.get("tools", []),
        "usage": _responses_usage(served.answer),
    }


def _text_events(index: int, item: Json) -> Iterator[Event]:
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    [part] = item["content"]
    yield "response.content_part.added", {**where, "part": {**part, "text": ""}}
    half = len(part["text"]) // 2
    for delta in filter(None, (part["text"][:half], part["text"][half:])):
        yield "response.output_text.delta", {**where, "delta": delta, "logprobs": []}
    yield "response.output_text.done", {**where, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**where, "part": part}


def _arguments_events(index: int, item: Json) -> Iterator[Event]:
    where = {"item_id": item["id"], "output_index": index}
    yield "response.function_call_arguments.delta", {**where, "delta": item["arguments"]}
    yield "response.function_call_arguments.done", {**where, "arguments": item["arguments"], "name": item["name"]}


def _item_events(index: int, item: Json) -> Iterator[Event]:
    is_text = item["type"] == "message"
    empty = {"content": []} if is_text else {"arguments": ""}
    opened = {**item, **empty, "status": "in_progress"}
    yield "response.output_item.added", {"output_index": index, "item": opened}
    yield from (_text_events if is_text else _arguments_events)(index, item)
    yield "response.output_item.done", {"output_index": index, "item": item}


def _responses_parts(whole: Json) -> Iterator[Event]:
    opened = {**whole, "status": "in_progress", "output": [], "usage": None}
    yield "response.created", {"response": opened}
    yield "response.in_progress", {"response": opened}
    for index, item in enumerate(whole["output"]):
        yield from _item_events(index, item)
    yield "response.completed", {"response": whole}


def responses_events(served: Served) -> Iterator[Event]:
    """Only the last event knows the usage. Every event repeats its name as `type` and has a number."""
    for number, (name, data) in enumerate(_responses_parts(responses_json(served))):
        yield name, {"type": name, "sequence_number": number, **data}
