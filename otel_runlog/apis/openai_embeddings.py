"""OpenAI embeddings. The SDKs ask for base64 and say so; a client that says nothing wants numbers."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterator
from typing import Final

from otel_runlog.apis import _gathering, _listing, _openai, _reading
from otel_runlog.apis._asked import Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._wire import as_text, bare, event, json_text, kind_of, request_body
from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest
from otel_runlog.errors import ReplayError, RequestError
from otel_runlog.model import Usage

NAME: Final = "openai_embeddings"
OWN_KEYS: Final = frozenset({"encoding_format", "dimensions", "input_type"})
"""Keys of a body with an input that no other API has."""

error = _openai.error
model, models = _listing.openai_model, _listing.openai_models


def matches(path: str) -> bool:
    """Whether a POST to this path asks for embeddings."""
    return bare(path).endswith("/embeddings")


def claims(body: JsonObject) -> bool:
    """Whether a body has texts or tokens as input: a list of them, or one for a model that is called after this."""
    given = body.get("input")
    if isinstance(given, list):
        return bool(given) and not any(isinstance(item, dict) for item in given)
    return isinstance(given, str) and (not OWN_KEYS.isdisjoint(body) or "embed" in (as_text(body.get("model")) or ""))


def parse(path: str, body: Json, recall: Recall = nothing_recalled) -> Asked:  # noqa: ARG001 - it repeats all it needs
    """Read a request."""
    sent = request_body(body, NAME)
    params = {key: sent[key] for key in ("dimensions",) if sent.get(key) is not None}
    request = LlmRequest(
        model=_openai.model_of(path, sent), params=params, tools=(), operation="embedding", inputs=_inputs(sent)
    )
    return Asked(request=request, body=sent)


def _inputs(body: JsonObject) -> tuple[str, ...]:
    """The texts; tokens stand as the JSON of their list."""
    given = body.get("input")
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, list):
        raise RequestError(f"{NAME}: `input` is {'missing' if 'input' not in body else kind_of(given)}")
    if given and all(isinstance(item, int) for item in given):
        return (json_text(given),)
    return tuple(json_text(item) for item in given)


def render(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:  # noqa: ARG001 - the API has no id
    """The recorded vectors; raises ReplayError where there are none, for none is ever made up."""
    if answer.vectors is None:
        raise ReplayError("the vectors of this embedding call were not recorded")
    in_base64 = asked.body.get("encoding_format") == "base64"
    data: list[Json] = [
        {"object": "embedding", "index": index, "embedding": _base64(vector) if in_base64 else list(vector)}
        for index, vector in enumerate(answer.vectors)
    ]
    tokens = (answer.usage or Usage()).input_tokens or 0
    return {
        "object": "list",
        "data": data,
        "model": answer.model or asked.request.model or "",
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def stream(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[bytes]:
    """The same as one event; nobody asks for it."""
    yield event(render(answer, asked, response_id))


def _base64(vector: tuple[float, ...]) -> str:
    """32-bit floats, little-endian, as the API packs them."""
    try:
        return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    except (struct.error, OverflowError) as reason:
        raise ReplayError(f"a recorded vector does not fit 32-bit floats: {reason}") from reason


def read(status: int, content_type: str, body: bytes) -> LlmAnswer | CallError:
    """What the provider answered."""
    return _reading.read(status, content_type, body, _gathering.last, _reading.embeddings)
