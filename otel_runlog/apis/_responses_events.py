"""A finished OpenAI response as the events that would have built it up, one delta a part.

Names and order: facts/replay.md, 3.4 (accepted by the SDKs for Python and by the AI SDK, which checks each field).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeAlias

from otel_runlog.apis._asked import JsonObject
from otel_runlog.apis._wire import objects

Event: TypeAlias = tuple[str, JsonObject]
CLOSING: Final = {"completed": "response.completed", "incomplete": "response.incomplete", "failed": "response.failed"}
EMPTY: Final[dict[str, JsonObject]] = {
    "message": {"content": [], "status": "in_progress"},
    "function_call": {"arguments": "", "status": "in_progress"},
    "custom_tool_call": {"input": "", "status": "in_progress"},
    "reasoning": {"summary": []},
}
"""What an item of each type holds when it begins."""


def events(response: JsonObject) -> Iterator[Event]:
    """All events of a response, without their numbers."""
    opened: JsonObject = {**response, "status": "in_progress", "output": [], "usage": None}
    opened |= {"error": None, "incomplete_details": None}
    yield "response.created", {"response": opened}
    yield "response.in_progress", {"response": opened}
    for index, item in enumerate(objects(response["output"])):
        yield "response.output_item.added", {"output_index": index, "item": {**item, **EMPTY[str(item["type"])]}}
        yield from _inside(item, {"item_id": item["id"], "output_index": index})
        yield "response.output_item.done", {"output_index": index, "item": item}
    yield CLOSING[str(response["status"])], {"response": response}


def _inside(item: JsonObject, where: JsonObject) -> Iterator[Event]:
    match item["type"]:
        case "message":
            yield from _text(objects(item["content"])[0], {**where, "content_index": 0})
        case "function_call":
            arguments = item["arguments"]
            yield "response.function_call_arguments.delta", {**where, "delta": arguments}
            yield "response.function_call_arguments.done", {**where, "arguments": arguments, "name": item["name"]}
        case "custom_tool_call":
            yield "response.custom_tool_call_input.delta", {**where, "delta": item["input"]}
            yield "response.custom_tool_call_input.done", {**where, "input": item["input"]}
        case _:
            for index, part in enumerate(objects(item["summary"])):
                yield from _summary(part, {**where, "summary_index": index})


def _text(part: JsonObject, where: JsonObject) -> Iterator[Event]:
    yield "response.content_part.added", {**where, "part": {**part, "text": ""}}
    if part["text"]:
        yield "response.output_text.delta", {**where, "delta": part["text"], "logprobs": []}
    yield "response.output_text.done", {**where, "text": part["text"], "logprobs": []}
    yield "response.content_part.done", {**where, "part": part}


def _summary(part: JsonObject, where: JsonObject) -> Iterator[Event]:
    yield "response.reasoning_summary_part.added", {**where, "part": {**part, "text": ""}}
    yield "response.reasoning_summary_text.delta", {**where, "delta": part["text"]}
    yield "response.reasoning_summary_text.done", {**where, "text": part["text"]}
    yield "response.reasoning_summary_part.done", {**where, "part": part}
