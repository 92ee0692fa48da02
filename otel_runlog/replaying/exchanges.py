"""What was asked of a replay and answered, in the order it was asked."""

from __future__ import annotations

import threading

import msgspec

from otel_runlog.conversation import CallError, LlmAnswer, LlmRequest
from otel_runlog.replaying.divergence import Resolution, StepDivergence


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request to a model door and what it got.

    Attributes:
        number: from 1, in the order of asking.
        api: the API that was spoken, by its name in apis/.
        request: what was asked.
        streamed: whether the answer was asked for as events.
        started_ns: when the request was there, `ended_ns` when its answer was (Unix time).
        resolution: served, nearest, live or refused.
        http_status: what HTTP said.
        answer: what was answered; None where that was an error.
        call_index: the recorded call whose answer it was; None where it was none's.
        response_id: the id that the answer was given; no two of a replay have the same.
        drift: what differed beside the conversation.
    """

    number: int
    api: str
    request: LlmRequest
    streamed: bool
    started_ns: int
    ended_ns: int
    resolution: Resolution
    http_status: int
    answer: LlmAnswer | None = None
    error: CallError | None = None
    call_index: int | None = None
    response_id: str | None = None
    drift: tuple[StepDivergence, ...] = ()


class Unserved(msgspec.Struct, frozen=True, kw_only=True):
    """A request that no recorded call can answer, and why.

    `failed`: it may have been a model call, which could not be read or answered. Else it is none, as a count of tokens:
    what came of it shows in the model calls after it.
    """

    method: str
    path: str
    why: str
    failed: bool = False


class Exchanges:
    """The list, written by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._asked = 0
        self._found: list[Exchange] = []
        self._unserved: list[Unserved] = []

    def number(self) -> int:
        """The number of a request that came just now."""
        with self._lock:
            self._asked += 1
            return self._asked

    def add(self, exchange: Exchange) -> None:
        """Keep one that is answered."""
        with self._lock:
            self._found.append(exchange)

    def add_unserved(self, unserved: Unserved) -> None:
        """Keep one that nothing recorded can answer."""
        with self._lock:
            self._unserved.append(unserved)

    @property
    def all(self) -> tuple[Exchange, ...]:
        """Those that are answered, in the order they were asked."""
        with self._lock:
            return tuple(sorted(self._found, key=lambda exchange: exchange.number))

    @property
    def unserved(self) -> tuple[Unserved, ...]:
        """Those that nothing recorded can answer, each once."""
        with self._lock:
            return tuple(dict.fromkeys(self._unserved))
