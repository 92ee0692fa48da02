"""Reading the wire of each API as a client would, by the tests' own understanding of it: JSON and events to an answer.

Text comes in one piece, calls as (id, name, arguments), thoughts in one piece, usage as (input, output) of the wire.
"""

import json
from typing import Any, NamedTuple

Json = dict[str, Any]


class Seen(NamedTuple):
    id: str | None
    model: str
    text: str
    thought: str
    calls: list[tuple[str | None, str, Any]]
    finish: str
    usage: tuple[int, int] | None


def events_of(body: bytes) -> list[Json]:
    """The JSON of each server-sent event, which must be framed right; `[DONE]` is left out."""
    text = body.decode()
    assert text.endswith("\n\n")
    found = []
    for block in text[:-2].split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        if lines["data"] == "[DONE]":
            continue
        data = json.loads(lines["data"])
        assert lines.get("event", data.get("type")) == data.get("type")
        found.append(data)
    return found


def chat_json(body: Json) -> Seen:
    [choice] = body["choices"]
    message = choice["message"]
    calls = [
        (c["id"], c["function"]["name"], json.loads(c["function"]["arguments"])) for c in message.get("tool_calls", [])
    ]
    usage = body["usage"]["prompt_tokens"], body["usage"]["completion_tokens"]
    thought = message.get("reasoning_content", "")
    return Seen(body["id"], body["model"], message["content"] or "", thought, calls, choice["finish_reason"], usage)


def chat_events(events: list[Json]) -> Seen:
    message: Json = {"content": "", "reasoning_content": "", "tool_calls": {}}
    finish, usage = "", None
    for chunk in events:
        if chunk.get("usage"):
            usage = chunk["usage"]["prompt_tokens"], chunk["usage"]["completion_tokens"]
        for choice in chunk["choices"]:
            delta = choice["delta"]
            message["content"] += delta.get("content") or ""
            message["reasoning_content"] += delta.get("reasoning_content") or ""
            for call in delta.get("tool_calls", []):
                kept = message["tool_calls"].setdefault(call["index"], {"id": call["id"], "name": "", "arguments": ""})
                kept["name"] += call["function"]["name"]
                kept["arguments"] += call["function"]["arguments"]
            finish = choice["finish_reason"] or finish
    calls = [(c["id"], c["name"], json.loads(c["arguments"])) for _, c in sorted(message["tool_calls"].items())]
    head = events[0]
    return Seen(head["id"], head["model"], message["content"], message["reasoning_content"], calls, finish, usage)


def responses_json(body: Json) -> Seen:
    text = thought = ""
    calls = []
    for item in body["output"]:
        if item["type"] == "message":
            text += "".join(part["text"] for part in item["content"])
        elif item["type"] == "reasoning":
            thought += "".join(part["text"] for part in item["summary"])
        else:
            calls.append((item["call_id"], item["name"], json.loads(item["arguments"])))
    usage = body["usage"]["input_tokens"], body["usage"]["output_tokens"]
    return Seen(body["id"], body["model"], text, thought, calls, body["status"], usage)


def responses_events(events: list[Json]) -> Seen:
    """Built up from deltas, and the same as the response that the last event holds."""
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    items: dict[int, Json] = {}
    for event in events:
        where = event.get("output_index")
        match event["type"]:
            case "response.output_item.added":
                items[where] = {**event["item"], "deltas": ""}
            case "response.output_text.delta" | "response.function_call_arguments.delta":
                assert event["item_id"] == items[where]["id"]
                items[where]["deltas"] += event["delta"]
            case "response.reasoning_summary_text.delta":
                items[where]["deltas"] += event["delta"]
            case "response.output_item.done":
                assert event["item"]["id"] == items[where]["id"]
    built = Seen(None, "", "", "", [], "", None)
    for item in items.values():
        match item["type"]:
            case "message":
                built = built._replace(text=built.text + item["deltas"])
            case "reasoning":
                built = built._replace(thought=built.thought + item["deltas"])
            case _:
                built.calls.append((item["call_id"], item["name"], json.loads(item["deltas"])))
    whole = responses_json(events[-1]["response"])
    assert (built.text, built.thought, built.calls) == (whole.text, whole.thought, whole.calls)
    return whole


def anthropic_json(body: Json) -> Seen:
    blocks = body["content"]
    text = "".join(b["text"] for b in blocks if b["type"] == "text")
    thought = "".join(b["thinking"] for b in blocks if b["type"] == "thinking")
    calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    usage = body["usage"]["input_tokens"], body["usage"]["output_tokens"]
    return Seen(body["id"], body["model"], text, thought, calls, body["stop_reason"], usage)


def anthropic_events(events: list[Json]) -> Seen:
    message: Json = {}
    for event in events:
        match event["type"]:
            case "message_start":
                message = event["message"]
            case "content_block_start":
                assert event["index"] == len(message["content"])
                message["content"].append({**event["content_block"], "json": ""})
            case "content_block_delta":
                block, delta = message["content"][event["index"]], event["delta"]
                block["text"] = block.get("text", "") + delta.get("text", "")
                block["thinking"] = block.get("thinking", "") + delta.get("thinking", "")
                block["json"] += delta.get("partial_json", "")
            case "content_block_stop":
                block = message["content"][event["index"]]
                if block["type"] == "tool_use":
                    block["input"] = json.loads(block["json"])
            case "message_delta":
                message |= event["delta"] | {"usage": message["usage"] | event["usage"]}
    assert events[-1]["type"] == "message_stop"
    return anthropic_json(message)


def gemini_json(body: Json) -> Seen:
    [candidate] = body["candidates"]
    parts = candidate["content"]["parts"]
    text = "".join(p["text"] for p in parts if "text" in p and not p.get("thought"))
    thought = "".join(p["text"] for p in parts if p.get("thought"))
    calls = [
        (p["functionCall"].get("id"), p["functionCall"]["name"], p["functionCall"]["args"])
        for p in parts
        if "functionCall" in p
    ]
    counts = body["usageMetadata"]
    usage = counts["promptTokenCount"], counts["candidatesTokenCount"] + counts["thoughtsTokenCount"]
    return Seen(body["responseId"], body["modelVersion"], text, thought, calls, candidate["finishReason"], usage)


def gemini_events(events: list[Json]) -> Seen:
    [whole] = events
    return gemini_json(whole)


READERS = {
    "openai_chat": (chat_json, chat_events),
    "openai_responses": (responses_json, responses_events),
    "anthropic_messages": (anthropic_json, anthropic_events),
    "gemini": (gemini_json, gemini_events),
}
