"""What only a capture wants to know of a model call's span: the system that answered, an embedding's vectors."""

from __future__ import annotations

from typing import TypeAlias

from otel_runlog.conventions._attrs import items, mapping, parsed, path, text
from otel_runlog.conventions._fields import PREVIOUS_RESPONSE
from otel_runlog.conventions._messages import unflatten
from otel_runlog.model import Attributes, AttrValue

PROVIDER_VERSION = (
    "openai.response.system_fingerprint",
    "gen_ai.openai.response.system_fingerprint",
    "gen_ai.openai.system_fingerprint",
    "llm.openai.system_fingerprint",
)
"""OTel GenAI; Traceloop, now and before 0.41; LiteLLM."""
ANSWERS = ("output.value",)
"""Whole answers as JSON, which OpenInference keeps beside what it reads of them."""
IN_ANSWER = "system_fingerprint"
CONVERSATION = "gen_ai.conversation.id"
FLAT_EMBEDDINGS = "embedding.embeddings."
"""OpenInference: `embedding.embeddings.N.embedding.vector`."""
VECTORS, VECTOR = "ai.embeddings", "ai.embedding"
"""AI SDK's embedMany and embed: JSON texts."""
Vector: TypeAlias = tuple[float, ...]


def provider_version(attributes: Attributes) -> str | None:
    """The provider's own mark of the system that answered (OpenAI's `system_fingerprint`)."""
    found = text(attributes, PROVIDER_VERSION)
    for key in ANSWERS if found is None else ():
        whole_answer = attributes.get(key)
        if isinstance(whole_answer, str) and IN_ANSWER in whole_answer:
            return text(mapping(whole_answer), (IN_ANSWER,))
    return found


def previous_response(attributes: Attributes) -> str | None:
    """The id of the remembered answer that a call goes on from, where it stands in place of the conversation's.

    agent_framework writes it there (facts/semconv, trap 9).
    """
    conversation = text(attributes, (CONVERSATION,))
    return conversation if conversation and conversation.startswith(PREVIOUS_RESPONSE) else None


def embedding_vectors(attributes: Attributes, count: int) -> tuple[Vector, ...] | None:
    """The vectors that an embedding call gave, one for each of `count` inputs; None where one is missing or is none."""
    found = [path(e, "embedding", "vector") for e in unflatten(attributes, FLAT_EMBEDDINGS)]
    found = found or items(attributes.get(VECTORS)) or [attributes.get(VECTOR)]
    vectors = [v for value in found if (v := _vector(parsed(value)))]
    return tuple(vectors) if len(vectors) == len(found) == count else None


def _vector(value: AttrValue) -> Vector:
    numbers = value if isinstance(value, list) else []
    known = [float(n) for n in numbers if isinstance(n, int | float) and not isinstance(n, bool)]
    return tuple(known) if len(known) == len(numbers) else ()
