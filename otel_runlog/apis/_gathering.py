"""What the events of each API's stream build up, as the body that would have come without a stream.

Order of keys and fields that no reader needs are not kept. What is no event of the API is passed over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from otel_runlog.apis._asked import JsonObject
from otel_runlog.apis._wire import as_object, as_text, objects
from otel_runlog.conversation import Json


def events_of(body: bytes) -> Iterator[JsonObject]:
    """The JSON objects of server-sent events (HTML standard, 9.2.6): `data` lines joined, no other ones."""
    data: list[str] = []
    for line in [*body.decode("utf-8", "replace").lstrip("\ufeff").replace("\r\n", "\n").split("\n"), ""]:
        if line.startswith("data:"):
            data.append(line[5:].removeprefix(" "))
        elif not line and data:
            event = _object("\n".join(data))
            data = []
            if event:
                yield event


def _object(text: str) -> JsonObject:
    try:
        return as_object(msgspec.json.decode(text))
    except (msgspec.MsgspecError, RecursionError):  # `[DONE]`
        return {}


def chat(events: Sequence[JsonObject]) -> JsonObject:
    """OpenAI Chat: deltas of the first choice; a call's pieces go by its index."""
    whole: JsonObject = {}
    message: JsonObject = {"role": "assistant"}
    calls: dict[Json, JsonObject] = {}
    finish: Json = None
    for event in events:
        whole |= {key: event[key] for key in ("id", "model", "usage") if event.get(key)}
        for choice in objects(event.get("choices")):
            if choice.get("index", 0) != 0:
                continue
            finish = choice.get("finish_reason") or finish
            delta = as_object(choice.get("delta"))
            _append(message, delta, "content", "reasoning_content", "refusal")
            for call in objects(delta.get("tool_calls")):
                _append_call(calls.setdefault(call.get("index"), {}), call)
            if "function_call" in delta:
                _append(_inside(message, "function_call"), as_object(delta["function_call"]), "name", "arguments")
    if calls:
        message["tool_calls"] = list(calls.values())
    return {**whole, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def _append_call(whole: JsonObject, piece: JsonObject) -> None:
    whole |= {key: piece[key] for key in ("id", "type") if piece.get(key)}
    for kind, text in (("function", "arguments"), ("custom", "input")):
        if kind in piece:
            _append(_inside(whole, kind), as_object(piece[kind]), "name", text)


def _inside(whole: JsonObject, key: str) -> JsonObject:
    inner = as_object(whole.get(key))
    whole[key] = inner
    return inner


def _append(whole: JsonObject, piece: JsonObject, *keys: str) -> None:
    for key in keys:
        text = as_text(piece.get(key))
        if text is not None:
            whole[key] = (as_text(whole.get(key)) or "") + text


def responses(events: Sequence[JsonObject]) -> JsonObject:
    """OpenAI Responses: the last event that has the response has all of it."""
    found = [as_object(event["response"]) for event in events if event.get("response")]
    return found[-1] if found else {}


def last(events: Sequence[JsonObject]) -> JsonObject:
    """An API whose answers come whole."""
    return events[-1]


def messages(events: Sequence[JsonObject]) -> JsonObject:
    """Anthropic Messages: blocks by their index; the counts of the last event stand for those of the first."""
    whole: JsonObject = {}
    blocks: dict[Json, JsonObject] = {}
    for event in events:
        index = event.get("index")
        match event.get("type"):
            case "message_start":
                whole = dict(as_object(event.get("message")))
            case "content_block_start":
                blocks[index] = dict(as_object(event.get("content_block")))
            case "content_block_delta":
                block = blocks.setdefault(index, {})
                _append(block, as_object(event.get("delta")), "text", "thinking", "signature", "partial_json")
            case "message_delta":
                usage = {**as_object(whole.get("usage")), **as_object(event.get("usage"))}
                whole |= {**as_object(event.get("delta")), "usage": usage}
            case _:
                pass
    return {**whole, "content": [_finished(block) for block in blocks.values()]}


def _finished(block: JsonObject) -> JsonObject:
    text = block.pop("partial_json", None)
    return {**block, "input": _object(text)} if isinstance(text, str) else block


def contents(events: Sequence[JsonObject]) -> JsonObject:
    """Gemini: parts one after the other, neighbouring texts of one kind as one."""
    whole: JsonObject = {}
    parts: list[Json] = []
    last: JsonObject = {}
    for event in events:
        whole |= {key: event[key] for key in ("responseId", "modelVersion", "usageMetadata") if event.get(key)}
        for candidate in objects(event.get("candidates"))[:1]:
            last |= {key: value for key, value in candidate.items() if value is not None}
            for part in objects(as_object(candidate.get("content")).get("parts")):
                _add_part(parts, part)
    return {**whole, "candidates": [{**last, "content": {"role": "model", "parts": parts}}]}


def _add_part(parts: list[Json], part: JsonObject) -> None:
    before = as_object(parts[-1]) if parts else {}
    text, so_far = part.get("text"), before.get("text")
    if isinstance(text, str) and isinstance(so_far, str) and part.get("thought") == before.get("thought"):
        parts[-1] = {**before, **part, "text": so_far + text}
    else:
        parts.append(part)
