"""What an embedding call was asked: the texts, out of the messages of its span."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from otel_runlog.conventions._part_values import value_in
from otel_runlog.conventions._parts import text_of
from otel_runlog.conversation import Json
from otel_runlog.model import Message

LISTS = ("input", "inputs", "requests", "contents", "texts", "values")
"""Keys of a whole request that hold what to embed: OpenAI, Cohere, Gemini."""
SAID = ("text", "content", "parts", "value")
MAX_DEPTH = 8


def inputs_of(messages: Sequence[Message]) -> tuple[str, ...]:
    """The texts that were embedded, in order; tokens are their JSON."""
    return tuple([text for m in messages for text in inputs_in(_read(m.raw))])


def inputs_in(value: Json, depth: int = 0) -> Iterator[str]:
    """The texts in a request for embeddings, or in a part of one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < MAX_DEPTH:
        if value and all(isinstance(v, int) for v in value):
            yield text_of(value)
            return
        for inner in value:
            yield from inputs_in(inner, depth + 1)
    elif isinstance(value, dict) and depth < MAX_DEPTH:
        inner = next((value[k] for k in (*LISTS, *SAID) if value.get(k) not in (None, "")), None)
        yield from inputs_in(inner, depth + 1)


def _read(raw: str) -> Json:
    """A message as it was written: an object, a list, a text in quotes (AI SDK), or a text."""
    return value_in(raw) if raw[:1] in ('"', "{", "[") else raw
