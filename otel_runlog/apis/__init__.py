"""The wire formats of model APIs: a request into neutral words, an answer out of them. Pure.

One module an API, all with the functions of `Api`; to add one, write it and name it in `APIS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from otel_runlog.apis import (
    anthropic_messages,
    gemini,
    gemini_embeddings,
    openai_chat,
    openai_embeddings,
    openai_responses,
)
from otel_runlog.apis._asked import Api, Asked, JsonObject, Recall, nothing_recalled
from otel_runlog.apis._statuses import error_status
from otel_runlog.apis._wire import UNSIGNED, encoded
from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest
from otel_runlog.errors import RequestError

__all__ = [
    "APIS",
    "UNSIGNED",
    "Api",
    "Asked",
    "JsonObject",
    "Recall",
    "answer_of_body",
    "encoded",
    "error_status",
    "find",
    "nothing_recalled",
    "request_of_body",
]

APIS: Final[tuple[Api, ...]] = (
    gemini,
    gemini_embeddings,
    openai_embeddings,
    openai_responses,
    anthropic_messages,
    openai_chat,
)
"""In the order in which a body without a path is tried: what only one API has comes before what several have."""


def find(path: str) -> Api | None:
    """The API that a POST to this URL path asks; None where it is none that is known."""
    return next((api for api in APIS if api.matches(path)), None)


def request_of_body(body: Mapping[str, Json]) -> LlmRequest:
    """A wire body of any API as a request, told by its shape; raises RequestError where it has none's."""
    sent = dict(body)
    for api in APIS:
        if api.claims(sent):
            return api.parse("", sent).request
    raise RequestError(f"a body with {_keys(sent)} is no request of a known API: it has no messages, input or contents")


_ANSWERS: Final[tuple[tuple[str, Api], ...]] = (
    ("error", openai_chat),
    ("choices", openai_chat),
    ("candidates", gemini),
    ("output", openai_responses),
    ("data", openai_embeddings),
    ("content", anthropic_messages),
)
"""The member by which a body of an answer is known, in the order in which they are looked for."""


def answer_of_body(body: Mapping[str, Json]) -> LlmAnswer | CallError:
    """A wire answer of any API, or its error, told by its shape; raises RequestError where it has none's."""
    api = next((api for member, api in _ANSWERS if body.get(member) is not None), None)
    if api is None:
        raise RequestError(f"a body with {_keys(body)} is no answer of a known API")
    return api.read(200, "application/json", encoded(dict(body)))


def _keys(body: Mapping[str, Json]) -> str:
    return ", ".join(sorted(map(str, body))[:8]) or "nothing"
