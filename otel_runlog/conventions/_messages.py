"""From message objects of any vocabulary to Message: who speaks, what a person reads, and the emitter's own bytes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_runlog.conventions._attrs import dump, items, mapping, parsed
from otel_runlog.model import Attributes, AttrValue, Message

TEXT_KEYS = ("content", "text", "thinking", "output_text")
"""Where a message or a part of one holds its text."""


def part_text(part: AttrValue) -> str:
    """What a person reads of one part: its text, or the tool call or result as JSON."""
    part = mapping(part) or part
    if not isinstance(part, dict):
        return "" if part is None else dump(part)
    for key in ("text", "content", "thinking"):
        if isinstance(part.get(key), str):
            return str(part[key])
    for key in ("response", "result"):
        if key in part:
            return dump(part[key])
    return dump({k: v for k, v in part.items() if k != "type" and v is not None})


def message(value: AttrValue, role: str = "user") -> Message:
    """One message object ({role, parts | content, tool_calls}), a bare string, or anything else as JSON."""
    if not isinstance(value, dict):
        return Message(role, "" if value is None else dump(value), dump(value))
    parts = value.get("parts")
    body = parts if isinstance(parts, list) else value.get("content")
    texts = [part_text(p) for p in body] if isinstance(body, list) else [part_text(body)]
    texts += [part_text(call) for call in items(value.get("tool_calls"))]
    return Message(str(value.get("role") or role), "\n".join(t for t in texts if t), dump(value))


def messages_of(value: AttrValue, role: str = "user") -> tuple[Message, ...]:
    """The messages in a list, a JSON string of one, a single message, or plain text."""
    value = parsed(value)
    if value in (None, "", []):
        return ()
    if isinstance(value, list):
        return tuple(message(v, role) for v in value)
    return (message(value, role),)


def unflatten(attributes: Mapping[str, AttrValue], prefix: str) -> list[Attributes]:
    """Objects written as `prefix.N.key.key...`, in order of N (indices may have gaps, facts/semconv section 4)."""
    found: dict[int, Attributes] = {}
    for key, value in attributes.items():
        if not key.startswith(prefix):
            continue
        index, _, rest = key[len(prefix) :].partition(".")
        if index.isdecimal():
            _set(found.setdefault(int(index), {}), rest.split("."), value)
    return [_lists(found[i]) for i in sorted(found)]  # type: ignore[misc]  # a dict with names for keys stays one


def _set(target: Attributes, keys: list[str], value: AttrValue) -> None:
    for key in keys[:-1]:
        inner = target.setdefault(key, {})
        if not isinstance(inner, dict):
            return
        target = inner
    target[keys[-1]] = value


def _lists(value: AttrValue) -> AttrValue:
    if not isinstance(value, dict):
        return value
    inner = {k: _lists(v) for k, v in value.items()}
    if inner and all(k.isdecimal() for k in inner):
        return [inner[k] for k in sorted(inner, key=int)]
    return inner


def dumped(values: Iterable[AttrValue], role: str) -> tuple[Message, ...]:
    """Values that are no messages (tool definitions) as messages of `role`, JSON inside strings parsed for reading."""
    return tuple(Message(role, dump(parsed(v)), dump(v)) for v in values)
