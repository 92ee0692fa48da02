"""Gemini embedContent and batchEmbedContents, which is what Google's SDK asks for any number of texts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final
from urllib.parse import unquote

from otel_runlog.apis import _gathering, _listing, _reading, gemini
from otel_runlog.apis._asked import Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._wire import as_object, as_text, bare, event, objects, pick, request_body
from otel_runlog.conventions._embeddings import inputs_in
from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest
from otel_runlog.errors import ReplayError, RequestError

NAME: Final = "gemini_embeddings"
_PATH: Final = re.compile(r"/models/([^/:]+):(?:embedContent|batchEmbedContents)$")
_DIMENSIONS: Final = ("outputDimensionality", "output_dimensionality")

error = gemini.error
model, models = _listing.gemini_model, _listing.gemini_models


def matches(path: str) -> bool:
    """Whether a POST to this path asks for embeddings."""
    return _PATH.search(unquote(bare(path))) is not None


def claims(body: JsonObject) -> bool:
    """Whether a body has requests, or one content with parts."""
    requests = objects(body.get("requests"))
    return "parts" in as_object((requests[0] if requests else body).get("content"))


def parse(path: str, body: Json, recall: Recall = nothing_recalled) -> Asked:  # noqa: ARG001 - it repeats all it needs
    """Read a request."""
    sent = request_body(body, NAME)
    first = next(iter(objects(sent.get("requests"))), sent)
    inputs = tuple(inputs_in(sent))
    if not inputs:
        raise RequestError(f"{NAME}: there is no text in `requests` or `content`")
    dimensions = pick(first, *_DIMENSIONS)
    found = _PATH.search(unquote(bare(path)))
    request = LlmRequest(
        model=found[1] if found else (as_text(first.get("model")) or "").removeprefix("models/") or None,
        params={} if dimensions is None else {"dimensions": dimensions},
        tools=(),
        operation="embedding",
        inputs=inputs,
    )
    return Asked(request=request, body=sent)


def render(answer: LlmAnswer, asked: Asked, response_id: str) -> JsonObject:  # noqa: ARG001 - the API has no id
    """The recorded vectors; raises ReplayError where there are none, for none is ever made up."""
    if not answer.vectors:
        raise ReplayError("the vectors of this embedding call were not recorded")
    found: list[Json] = [{"values": list(vector)} for vector in answer.vectors]
    return {"embeddings": found} if "requests" in asked.body else {"embedding": found[0]}


def stream(answer: LlmAnswer, asked: Asked, response_id: str) -> Iterator[bytes]:
    """The same as one event; nobody asks for it."""
    yield event(render(answer, asked, response_id))


def read(status: int, content_type: str, body: bytes) -> LlmAnswer | CallError:
    """What the provider answered."""
    return _reading.read(status, content_type, body, _gathering.last, _answer)


def _answer(body: JsonObject) -> LlmAnswer:
    named = objects(body.get("embeddings")) or [as_object(body.get("embedding"))]
    renamed: list[Json] = [{"embedding": one.get("values")} for one in named]
    return _reading.embeddings({"data": renamed})
