"""From message objects of any vocabulary to Message: who speaks, what a person reads, and the emitter's own bytes."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Literal

import msgspec

from otel_runlog.conventions._attrs import dump, items, parsed
from otel_runlog.conventions._index import Shape, shape_of
from otel_runlog.model import Attributes, AttrValue, Message

MESSAGE_KEYS = frozenset({"role", "parts", "content", "tool_calls"})
TEXT_KEYS = ("text", "content", "thinking")
RESULT_KEYS = ("response", "result", "output")
"""A tool's result: util-genai and Gemini, Pydantic AI, OpenAI Responses and AI SDK (facts/semconv, section 4)."""
RESULT_TYPES = frozenset({"tool_call_response", "tool_result", "tool-result"})
"""Parts that a tool said, also where the role is `user` (Anthropic; Pydantic AI's format 5)."""
WRAPPED_RESULTS = frozenset({"toolResult", "functionResponse", "function_response", "tool_call_result"})
WRAPPED_PARTS = WRAPPED_RESULTS | {
    "toolUse",
    "functionCall",
    "function_call",
    "reasoningContent",
    "reasoningText",
    "tool_call",
}
"""Keys that hold a part without a type: Bedrock's blocks (Strands), Gemini's parts (ADK, Gemini CLI), Haystack's."""
BINARY_TYPES = frozenset({"blob", "image", "audio", "video"})
ROLES = {
    "human": "user",
    "ai": "assistant",
    "model": "assistant",
    "tool-call": "assistant",
    "tool-response": "tool",
    "function": "tool",
}
"""LangChain's, Gemini's and smolagents' words for the roles of OTel GenAI."""
TYPE_ROLES = {"function_call": "assistant", "reasoning": "assistant", "function_call_output": "tool"}
"""Who speaks in an item of OpenAI's Responses API that says no role."""
SYSTEM_ROLES = frozenset({"system", "developer"})
PARTS_START = '[{"'
MAX_DEPTH = 8
MAX_WRAPPER_KEYS = 2
MESSAGES_REMEMBERED, MAX_CHARS_REMEMBERED = 512, 4_096
"""How many messages are remembered as they were read, and how long ones: a few megabytes at the most."""
MAX_INDEX_DIGITS = 6
Messages = tuple[Message, ...]


class _TextPart(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    type: Literal["text"]
    content: str


class _Said(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A message of texts and nothing else, as nearly all are: read in a third of the time that any other one takes."""

    role: str
    parts: list[_TextPart] | msgspec.UnsetType = msgspec.UNSET
    content: str = ""


_as_said = msgspec.json.Decoder(_Said).decode
_listed = msgspec.json.Decoder(list[msgspec.Raw]).decode


def part_text(part: AttrValue, depth: int = 0) -> str:
    """What a person reads of one part: its text, a tool's result, else the part as JSON without its type."""
    if isinstance(part, list) and depth < MAX_DEPTH:
        return _lines([part_text(p, depth + 1) for p in part])
    if not isinstance(part, dict):
        return "" if part is None else dump(part)
    if part.get("type") == "text" and isinstance(said := part.get("content"), str):
        return said  # what nearly all parts are: a quarter of the time of asking everything
    return _object_text(_bare(part), depth)


def _lines(texts: list[str]) -> str:
    return "\n".join(filter(None, texts))


def _object_text(part: Attributes, depth: int) -> str:
    if str(part.get("type")) in BINARY_TYPES and "text" not in part:
        media = part.get("mime_type") or part.get("mediaType")
        return f"[{dump(media or part['type'])}]"
    for key in TEXT_KEYS:
        if isinstance(part.get(key), str | list):
            return part_text(part[key], depth + 1)
    for key in RESULT_KEYS:
        if part.get(key) is not None:
            return part_text(_unwrapped(part[key]), depth + 1) if depth < MAX_DEPTH else dump(part[key])
    rest: Attributes = {k: v for k, v in part.items() if k != "type" and v is not None}
    return dump(rest) if rest else ""


def _bare(part: Attributes) -> Attributes:
    """A part out of its wrapper: {"toolResult": {...}}, or beside a signature of the thought."""
    while len(part) <= MAX_WRAPPER_KEYS:
        inner = next((v for k, v in part.items() if k in WRAPPED_PARTS and isinstance(v, dict)), None)
        if inner is None:
            break
        part = inner
    return part


def _unwrapped(result: AttrValue) -> AttrValue:
    """AI SDK's {type, value} around a tool's result; other results are JSON to a person too."""
    if isinstance(result, dict):
        return result["value"] if result.keys() == {"type", "value"} else dump(result)
    return result


def message(value: AttrValue, role: str = "user", written: str | None = None) -> Message:
    """One message object ({role, parts | content, tool_calls}), a bare string, or anything else as JSON.

    `written` is the JSON it was read from, where it was.
    """
    if not isinstance(value, dict):
        raw = "" if value is None else dump(value)
        return Message(role, raw, raw)
    raw = dump(value) if written is None else written
    if not MESSAGE_KEYS & value.keys():
        return Message(TYPE_ROLES.get(str(value.get("type")), role), part_text(value), raw)
    parts = value.get("parts")
    said = part_text(parts if isinstance(parts, list) else listed_content(value.get("content")))
    if calls := value.get("tool_calls"):
        said = _lines([said, *map(part_text, items(calls))])
    return Message(_role(value, parts or value.get("content"), role), said, raw)


def _role(value: Attributes, parts: AttrValue, default: str) -> str:
    said = value.get("role")
    name = said if isinstance(said, str) and said else default
    if name == "user" and isinstance(parts, list) and parts:
        return "tool" if all(map(_is_result, parts)) else name
    return _named_role(name)


def _named_role(name: str) -> str:
    return ROLES.get(name.lower(), name)


def _is_result(part: AttrValue) -> bool:
    return isinstance(part, dict) and (str(part.get("type")) in RESULT_TYPES or bool(WRAPPED_RESULTS & part.keys()))


def listed_content(value: AttrValue) -> AttrValue:
    """Content that is a list of typed parts, also as a JSON string; any other string is what was said."""
    if isinstance(value, str) and value.startswith(PARTS_START):
        found = parsed(value)
        if isinstance(found, list) and all(isinstance(p, dict) and "type" in p for p in found):
            return found
    return value


def messages_of(value: AttrValue, role: str = "user") -> Messages:
    """The messages in a list, a JSON string of one, a single message, or plain text."""
    if isinstance(value, str) and value.startswith("["):
        try:
            return tuple([_listed_message(raw, role) for raw in _listed(value)])
        except (msgspec.DecodeError, RecursionError):
            pass  # a list in Python's spelling, or no list
    value = parsed(value)
    if value in (None, "", [], {}):
        return ()
    if isinstance(value, list):
        return tuple([message(v, role) for v in value])
    return (message(value, role),)


def _listed_message(raw: msgspec.Raw, role: str) -> Message:
    """A message in a JSON list, as it was written there. An agent sends all that was said with each of its calls."""
    written = str(raw, "utf-8")
    return _remembered(written, role) if len(written) <= MAX_CHARS_REMEMBERED else _written(written, role)


def _written(written: str, role: str) -> Message:
    try:
        said = _as_said(written)
    except msgspec.ValidationError:
        return message(msgspec.json.decode(written), role, written)
    if isinstance(said.parts, list):
        text = said.parts[0].content if len(said.parts) == 1 else _lines([part.content for part in said.parts])
    else:
        text = part_text(listed_content(said.content))
    return Message(_named_role(said.role or role), text, written)


_remembered = lru_cache(MESSAGES_REMEMBERED)(_written)


def value_of(value: AttrValue, role: str) -> Messages:
    """One message whose text is a value that is no message: a tool's arguments or result, a function's input."""
    if value in (None, ""):
        return ()
    parts = listed_content(value)
    if parts is not value:
        return (Message(role, part_text(parts), dump(value)),)
    inner = parsed(value) if isinstance(value, str) and value.lstrip().startswith('"') else None
    raw = dump(value)
    return (Message(role, inner if isinstance(inner, str) else raw, raw),)


def split_system(messages: Messages) -> tuple[Messages, Messages]:
    """The instructions in a list of messages, and the rest."""
    system = tuple([m for m in messages if m.role in SYSTEM_ROLES])
    return system, tuple([m for m in messages if m.role not in SYSTEM_ROLES]) if system else messages


def unflatten(attributes: Attributes, prefix: str, shape: Shape | None = None) -> list[Attributes]:
    """Objects written as `prefix.N.key.key...`, in order of N (indices may have gaps, facts/semconv section 4).

    `shape`: that of the attributes, where it is known already.
    """
    found: dict[int, Attributes] = {}
    for key in (shape or shape_of(attributes)).starting(prefix):
        index, _, rest = key[len(prefix) :].partition(".")
        if _is_index(index):
            _set(found.setdefault(int(index), {}), rest.split(".", MAX_DEPTH), attributes[key])
    return [{k: _lists(v) for k, v in found[i].items()} for i in sorted(found)]


def _is_index(text: str) -> bool:
    return text.isdecimal() and len(text) <= MAX_INDEX_DIGITS


def _set(target: Attributes, keys: list[str], value: AttrValue) -> None:
    for key in keys[:-1]:
        inner = target.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[keys[-1]] = value


def _lists(value: AttrValue, depth: int = 0) -> AttrValue:
    """Dicts whose keys are all numbers are lists."""
    if not isinstance(value, dict) or depth > MAX_DEPTH:
        return value
    inner = {k: _lists(v, depth + 1) for k, v in value.items()}
    if inner and all(_is_index(k) for k in inner):
        return [inner[k] for k in sorted(inner, key=int)]
    return inner


def dumped(values: Iterable[AttrValue], role: str) -> Messages:
    """Values that are no messages (tool definitions) as messages of `role`, JSON inside strings parsed for reading."""
    return tuple([Message(role, dump(parsed(v)), dump(v)) for v in values])
