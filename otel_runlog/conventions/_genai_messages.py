"""Messages of gen_ai.* spans: JSON lists, their flattened older form, span events, tool arguments and results.

Forms and their versions: facts/semconv, sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from otel_runlog.conventions._attrs import items, mapping, parsed
from otel_runlog.conventions._content import DETAILS_EVENT, MARKERS
from otel_runlog.conventions._index import Shape, shape_of
from otel_runlog.conventions._messages import (
    Messages,
    dumped,
    listed_content,
    message,
    messages_of,
    split_system,
    unflatten,
    value_of,
)
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.model import Attributes, AttrValue, Span

EVENT_ROLES = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
    "gen_ai.choice": "assistant",
}
"""Events of OTel GenAI 1.28 to 1.36, one a message; `gen_ai.choice` alone is of the answer."""
CHOICE = "gen_ai.choice"
SAYS_NOTHING = frozenset({"role", "id", "finish_reason", "index", "event.name", "gen_ai.system"})
"""What an event of a message holds beside its content."""
TEXTS_REMEMBERED, MAX_CHARS_REMEMBERED = 64, 32_768
"""How many instructions and tool definitions are remembered, which an agent sends with each call, and how long ones."""
OLD_EVENTS = {"gen_ai.content.prompt": "gen_ai.prompt", "gen_ai.content.completion": "gen_ai.completion"}
"""Events before 1.28, and the attribute that holds their text."""


def genai_messages(span: Span) -> SpanMessages:
    """Read today's names first, then the flattened form, then span events."""
    found = from_attributes(span.attributes)
    if span.events and not (found.input and found.output):
        later = _from_span_events(span)
        found.system = found.system or later.system
        found.input = found.input or later.input
        found.output = found.output or later.output
    return found


def from_attributes(a: Attributes) -> SpanMessages:
    """The messages in gen_ai.* attributes, of a span or of an event that copies them."""
    shape = shape_of(a)
    system, given = split_system(_input(a, shape))
    return SpanMessages(
        system=_instructions(a) or system,
        input=given,
        output=_output(a, shape),
        tools=_tools(a, shape),
    )


def shown(value: AttrValue) -> AttrValue:
    """A value, or None where its emitter hid it."""
    return None if isinstance(value, str) and value in MARKERS else value


def _input(a: Attributes, shape: Shape) -> Messages:
    if "gen_ai.input.messages" in a:
        return messages_of(shown(a["gen_ai.input.messages"]))
    for key in ("gen_ai.tool.call.arguments", "gen_ai.tool.input"):
        if key in a:
            return value_of(shown(a[key]), "tool")
    flat = map(_listed, unflatten(a, "gen_ai.prompt.", shape))
    return tuple(map(message, flat)) or messages_of(shown(a.get("gen_ai.prompt")))


def _output(a: Attributes, shape: Shape) -> Messages:
    if "gen_ai.output.messages" in a:
        return messages_of(shown(a["gen_ai.output.messages"]), "assistant")
    for key in ("gen_ai.tool.call.result", "gen_ai.tool.output"):
        if key in a:
            return value_of(shown(a[key]), "tool")
    flat = map(_listed, unflatten(a, "gen_ai.completion.", shape))
    return tuple(message(m, "assistant") for m in flat) or messages_of(shown(a.get("gen_ai.completion")), "assistant")


def _listed(flat: Attributes) -> Attributes:
    """A flattened message with the parts of its content, which Traceloop wrote as JSON where they were a list."""
    return {**flat, "content": listed_content(flat["content"])} if isinstance(flat.get("content"), str) else flat


def _instructions(a: Attributes) -> Messages:
    told = a.get("gen_ai.system_instructions")
    if told is None:
        return ()
    if isinstance(told, str) and len(told) <= MAX_CHARS_REMEMBERED:
        return _instructions_in(told)
    return messages_of(told, "system")


def _tools(a: Attributes, shape: Shape) -> Messages:
    told = a.get("gen_ai.tool.definitions")
    if isinstance(told, str) and len(told) <= MAX_CHARS_REMEMBERED:
        found = _tools_in(told)
    else:
        found = dumped(items(told), "tool") if told else ()
    return found or dumped(unflatten(a, "llm.request.functions.", shape), "tool")


@lru_cache(TEXTS_REMEMBERED)
def _instructions_in(told: str) -> Messages:
    return messages_of(shown(told), "system")


@lru_cache(TEXTS_REMEMBERED)
def _tools_in(told: str) -> Messages:
    return dumped(items(told), "tool")


def _from_span_events(span: Span) -> SpanMessages:
    details = [from_attributes(e.attributes) for e in span.events if e.name == DETAILS_EVENT]
    found = event_messages((e.name, e.attributes) for e in span.events)
    for event in details:
        found.system = found.system or event.system
        found.input = found.input or event.input
        found.output = found.output or event.output
    return found


def event_messages(events: Iterable[tuple[str, Attributes]]) -> SpanMessages:
    """Messages told one an event, in order; `events` are names and bodies."""
    asked: list[AttrValue] = []
    said: list[AttrValue] = []
    for name, body in events:
        if name in OLD_EVENTS:
            target = said if name == "gen_ai.content.completion" else asked
            target += items(body.get(OLD_EVENTS[name])) or [body.get(OLD_EVENTS[name])]
        elif name in EVENT_ROLES:
            (said if name == CHOICE else asked).append(_event_message(name, body))
    system, given = split_system(tuple(message(m) for m in asked if m is not None))
    return SpanMessages(system, given, tuple(message(m, "assistant") for m in said if m is not None))


def _event_message(name: str, body: Attributes) -> AttrValue:
    """The event's body as a message; a choice holds it under `message`, an object or JSON of its parts.

    None where the body says nothing: its content was left out.
    """
    role = EVENT_ROLES[name]
    inner = parsed(body.get("message")) if name == CHOICE else None
    if isinstance(inner, dict):
        return {"role": role, **inner}
    content = inner if inner is not None else parsed(body.get("content"))
    if content is None and not body.keys() - SAYS_NOTHING:
        return None
    return {"role": role, **mapping(body), "content": content}
