"""What a client asked, and what each API's module can do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import msgspec

from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest

JsonObject: TypeAlias = dict[str, Json]
Recall: TypeAlias = Callable[[str], LlmAnswer | None]
"""The answer that was given under a response id, which a later request may speak of; None where there is none."""


def nothing_recalled(_response_id: str) -> LlmAnswer | None:
    """The memory of a server that has answered nothing yet."""
    return None


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it came over the wire.

    Attributes:
        request: in neutral words.
        body: as it was sent, for answers that repeat fields of it.
        stream: whether the answer is to be a stream of server-sent events.
        include_usage: whether that stream tells its tokens (OpenAI Chat: only where `stream_options` ask for it).
    """

    request: LlmRequest
    body: JsonObject
    stream: bool = False
    include_usage: bool = True


class Api(Protocol):
    """One API of a provider: a module of this package.

    Answers are deterministic: the time of creation is 0, and ids that nobody recorded are made out of `response_id`,
    which the caller makes unique for each call served (clients and tracers join by it).
    """

    @property
    def NAME(self) -> str:  # noqa: N802 - a module's constant
        """The API's name, as the module's."""

    def matches(self, path: str, /) -> bool:
        """Whether a POST to this URL path asks this API; a query and any prefix play no part."""

    def claims(self, body: JsonObject, /) -> bool:
        """Whether a body of unknown path has the shape of this API's."""

    def parse(self, path: str, body: Json, /, recall: Recall = nothing_recalled) -> Asked:
        """Read a request; raises RequestError where it is none. What has strange types is read as far as it goes."""

    def render(self, answer: LlmAnswer, asked: Asked, response_id: str, /) -> JsonObject:
        """The body of an answer that is no stream. Raises ReplayError where the answer lacks what a client needs."""

    def stream(self, answer: LlmAnswer, asked: Asked, response_id: str, /) -> Iterator[bytes]:
        """The same as server-sent events, in whole events."""

    def error(self, status: int, type_: str | None, message: str, /) -> JsonObject:
        """The body of a refusal with this HTTP status; the provider's word for the status where `type_` is None."""

    def read(self, status: int, content_type: str, body: bytes, /) -> LlmAnswer | CallError:
        """What the provider answered, as JSON or events; what cannot be read is an error that says so."""

    def models(self, names: Sequence[str], /) -> JsonObject:
        """The body of a list of models, which has one page."""

    def model(self, name: str, /) -> JsonObject:
        """The body of one model."""
