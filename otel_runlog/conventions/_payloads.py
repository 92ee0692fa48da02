"""Whole requests and whole answers as one JSON value: what LangSmith, MLflow, Langfuse, Logfire and Haystack record.

The shapes are the clients': OpenAI's chat completions and Responses, Anthropic's messages, LangChain's serialised
messages and generations, Haystack's replies. What has none of these shapes is one message, as it is.
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions._attrs import items, mapping, parsed, text
from otel_runlog.conventions._base import CUT_NOTE
from otel_runlog.conventions._content import ABSENT, CUT, WHOLE, presence, state
from otel_runlog.conventions._messages import Messages, dumped, message, messages_of, split_system, value_of
from otel_runlog.conventions._provider_usage import usage_of
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, StepKind, Usage

MODEL = ("model", "model_name", "model_id")
FINISH = ("finish_reason", "stop_reason")
LANGCHAIN_ROLES = {"human": "user", "ai": "assistant", "AIMessageChunk": "assistant"}


class Answer(msgspec.Struct):
    """What is worth knowing of a raw answer."""

    id: str | None = None
    model: str | None = None
    finish_reason: str | None = None
    service_tier: str | None = None
    usage: Usage = Usage()


def answer_of(value: AttrValue) -> Answer:
    """The facts in an answer; empty where it has none of the known shapes."""
    whole = mapping(value)
    said = _facts(whole)
    return Answer(
        id=text(said, ("id",)),
        model=text(said, MODEL),
        finish_reason=text(said, FINISH),
        service_tier=text(said, ("service_tier",)),
        usage=usage_of(said.get("usage")),
    )


def _facts(whole: Attributes) -> Attributes:
    """One flat object of an answer's facts, whichever shape it has."""
    if (choice := _first(whole.get("choices"))) is not None:
        return {**choice, **whole}
    generations = whole.get("generations")
    generation = _first(_first_list(generations) or generations)
    if generation is not None:
        spoken = unwrapped(generation.get("message"))
        told = {**mapping(spoken.get("response_metadata")), **_known(mapping(generation.get("generation_info")))}
        usage = spoken.get("usage_metadata") or told.get("token_usage") or told.get("usage")
        return {**told, "usage": usage}
    meta = mapping((_first(whole.get("replies")) or {}).get("meta")) or _first(whole.get("meta"))
    return meta or whole


def _known(values: Attributes) -> Attributes:
    return {k: v for k, v in values.items() if v is not None}


def _first(value: AttrValue) -> Attributes | None:
    found = items(value)
    return mapping(found[0]) if found and mapping(found[0]) else None


def _first_list(value: AttrValue) -> list[AttrValue]:
    found = items(value)
    return items(found[0]) if found else []


def unwrapped(value: AttrValue) -> Attributes:
    """A LangChain message out of its constructor ({"lc": 1, "kwargs": {...}}), its `type` as the role."""
    whole = mapping(value)
    inner = mapping(whole.get("kwargs")) if whole.get("lc") == 1 else whole
    kind = inner.get("type")
    if "role" in inner or not isinstance(kind, str) or "content" not in inner:
        return inner
    return {"role": LANGCHAIN_ROLES.get(kind, kind), **{k: v for k, v in inner.items() if k != "type"}}


def request_messages(value: AttrValue) -> SpanMessages:
    """The instructions, messages and tools of a request."""
    whole = parsed(value)
    if not isinstance(whole, dict):
        return _asked(whole)
    for key in ("messages", "input", "contents", "prompt", "prompts"):
        if whole.get(key):
            found = _asked(whole[key])
            break
    else:
        return SpanMessages(input=value_of(value, "user"))
    instructions = whole.get("instructions") or whole.get("system")
    found.system = messages_of(instructions, "system") + found.system
    found.tools = dumped(items(whole.get("tools")), "tool")
    return found


def _asked(value: AttrValue) -> SpanMessages:
    system, given = split_system(_spoken(value, "user"))
    return SpanMessages(system=system, input=given)


def _spoken(value: AttrValue, role: str) -> Messages:
    """Messages of a list, of a list in a list (LangChain's batches), or of one message."""
    value = parsed(value)
    if isinstance(value, list) and value and isinstance(value[0], list):
        value = value[0]
    if isinstance(value, list):
        return tuple(message(unwrapped(v) or v, role) for v in value)
    return messages_of(unwrapped(value) or value, role)


def answer_messages(value: AttrValue) -> Messages:
    """What was said in an answer."""
    whole = parsed(value)
    if not isinstance(whole, dict):
        return _spoken(whole, "assistant")
    if "choices" in whole:
        return _each(items(whole["choices"]), "message")
    if "generations" in whole:
        return _each(_first_list(whole["generations"]) or items(whole["generations"]), "message")
    for key in ("replies", "output", "message", "content"):
        if whole.get(key) and (key != "content" or "role" not in whole):
            return _spoken(whole[key], "assistant")
    return _spoken(whole, "assistant") if whole else ()


def _each(found: list[AttrValue], key: str) -> Messages:
    spoken = [(unwrapped(mapping(v).get(key)), mapping(v).get("text")) for v in found]
    return tuple(message(m or t, "assistant") for m, t in spoken if m or t)


def read_content(reading: Reading, asked: AttrValue, said: AttrValue) -> None:
    """Say how much of prompt and answer two whole values carry; a refused call and an embedding have no answer."""
    prompt, answer = _there(asked), _there(said)
    if CUT in (prompt, answer):
        reading.notes += (CUT_NOTE,)
    elif reading.refused or reading.kind is StepKind.EMBEDDING:
        answer = prompt
    elif answer and reading.usage_cut:
        answer = CUT
    reading.content = state(prompt, answer)


def _there(value: AttrValue) -> int:
    if value in (None, "", "{}", "[]", "null", {}, []):
        return ABSENT
    found = presence(value)
    return CUT if found == CUT else WHOLE
