"""One conversation as a client of each API would send it, by the tests' own understanding of the wire."""

import json
from typing import Any, NamedTuple

Json = dict[str, Any]


class Exchange(NamedTuple):
    """What a user says, what the model answers to it, the calls it wants, and a result for each."""

    user: str
    assistant: str
    calls: list[tuple[str, Json]]
    results: list[Any]


def _ids(number: int, exchange: Exchange) -> list[str]:
    return [f"call_{number}_{i}" for i in range(len(exchange.calls))]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=1)


def openai_chat(system: str, exchanges: list[Exchange]) -> Json:
    messages: list[Json] = [{"role": "system", "content": system}]
    for number, said in enumerate(exchanges):
        ids = _ids(number, said)
        calls = [
            {"id": key, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for key, (name, arguments) in zip(ids, said.calls, strict=True)
        ]
        messages.append({"role": "user", "content": said.user})
        messages.append({"role": "assistant", "content": said.assistant, **({"tool_calls": calls} if calls else {})})
        messages += [
            {"role": "tool", "tool_call_id": key, "content": _as_text(value)}
            for key, value in zip(ids, said.results, strict=True)
        ]
    return {"model": "m", "messages": messages}


def openai_responses(system: str, exchanges: list[Exchange]) -> Json:
    items: list[Json] = []
    for number, said in enumerate(exchanges):
        ids = _ids(number, said)
        text = [{"type": "output_text", "text": said.assistant, "annotations": []}]
        items.append({"role": "user", "content": [{"type": "input_text", "text": said.user}]})
        items.append({"type": "message", "id": f"msg_{number}", "role": "assistant", "content": text})
        items += [
            {
                "type": "function_call",
                "id": f"fc_{key}",
                "call_id": key,
                "name": name,
                "arguments": json.dumps(arguments),
            }
            for key, (name, arguments) in zip(ids, said.calls, strict=True)
        ]
        items += [
            {"type": "function_call_output", "call_id": key, "output": _as_text(value)}
            for key, value in zip(ids, said.results, strict=True)
        ]
    return {"model": "m", "instructions": system, "input": items}


def anthropic_messages(system: str, exchanges: list[Exchange]) -> Json:
    messages: list[Json] = []
    results: list[Json] = []
    for number, said in enumerate(exchanges):
        ids = _ids(number, said)
        calls = [
            {"type": "tool_use", "id": key, "name": name, "input": arguments}
            for key, (name, arguments) in zip(ids, said.calls, strict=True)
        ]
        messages.append({"role": "user", "content": [*results, {"type": "text", "text": said.user}]})
        messages.append({"role": "assistant", "content": [{"type": "text", "text": said.assistant}, *calls]})
        results = [
            {"type": "tool_result", "tool_use_id": key, "content": [{"type": "text", "text": _as_text(value)}]}
            for key, value in zip(ids, said.results, strict=True)
        ]
    last = [{"role": "user", "content": results}] if results else []
    return {"model": "m", "max_tokens": 9, "system": [{"type": "text", "text": system}], "messages": messages + last}


def gemini(system: str, exchanges: list[Exchange]) -> Json:
    """Results must be objects."""
    contents: list[Json] = []
    for said in exchanges:
        calls = [{"functionCall": {"name": name, "args": arguments}} for name, arguments in said.calls]
        results = [
            {"functionResponse": {"name": name, "response": value}}
            for (name, _), value in zip(said.calls, said.results, strict=True)
        ]
        contents.append({"role": "user", "parts": [{"text": said.user}]})
        contents.append({"role": "model", "parts": [{"text": said.assistant}, *calls]})
        contents += [{"role": "user", "parts": results}] if results else []
    return {"systemInstruction": {"parts": [{"text": system}]}, "contents": contents}


WRITERS = (openai_chat, openai_responses, anthropic_messages, gemini)
