"""Runs as they finish, for whoever waits: `GET /v1/tail` answers as soon as there is one, or after a while with none.

    GET /v1/tail                      {"next": 41, "missed": false, "runs": []}
    GET /v1/tail?after=41&wait_s=20   {"next": 42, "missed": false, "runs": [{...}]}

Runs look as `runs --format json` prints them, without previews; `agent` and `session` select. `next` is the `after` of
the next request. `missed`: more finished than are kept, or `after` is of a server that has ended.
"""

from __future__ import annotations

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from otel_runlog.errors import ConfigError, ServerBusyError
from otel_runlog.model import RunLog
from otel_runlog.server.query_routes import JSON_TYPE, refuse_unknown, whole_number, with_errors
from otel_runlog.server.questions import TAIL_PATH
from otel_runlog.server.routes import Request, Response, Route

KEPT: Final = 1000
"""So many finished runs are kept for those who ask; without their steps, a run takes 2 kB."""
LONGEST_WAIT_S: Final = 30
MOST_WAITING: Final = 4
"""Each that waits keeps one of the threads that take in telemetry too."""
PARAMETERS: Final = ("after", "wait_s", "agent", "session")


class FinishedRuns:
    """The runs that finished last, numbered in the order in which they did. Any thread may use it.

    Args:
        kept: so many of them.
    """

    def __init__(self, kept: int = KEPT) -> None:
        self._runs: deque[RunLog] = deque(maxlen=kept)
        self._count = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._seats = threading.BoundedSemaphore(MOST_WAITING)

    def add(self, runs: Sequence[RunLog]) -> None:
        """Tell those who wait that these have finished."""
        with self._changed:
            self._runs.extend(msgspec.structs.replace(run, steps=(), agents=()) for run in runs)
            self._count += len(runs)
            self._changed.notify_all()

    def close(self) -> None:
        """Nobody waits any longer."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def count(self) -> int:
        """How many have finished so far."""
        return self._count

    def after(self, number: int, timeout_s: float) -> tuple[list[RunLog], int, bool]:
        """The runs that finished after the first `number`; waits until there is one, or the time is up.

        Returns:
            The runs, how many have finished by now, and whether there were others that are kept no longer.

        Raises:
            ServerBusyError: MOST_WAITING wait already.
        """
        with self._seat(), self._changed:
            self._changed.wait_for(lambda: self._count != number or self._is_closed, timeout_s)
            new = self._count - number if number <= self._count else self._count
            kept = min(new, len(self._runs))
            missed = kept < new or number > self._count
            return list(self._runs)[len(self._runs) - kept :], self._count, missed

    @contextlib.contextmanager
    def _seat(self) -> Iterator[None]:
        if not self._seats.acquire(blocking=False):
            raise ServerBusyError(f"{MOST_WAITING} wait for runs already: ask again, or ask /v1/runs")
        try:
            yield
        finally:
            self._seats.release()


def tail_routes(finished: FinishedRuns) -> tuple[Route, ...]:
    """The route over finished runs. It needs the token, on loopback too."""
    handle = functools.partial(with_errors, functools.partial(_tail, finished))
    return (Route(method="GET", path=TAIL_PATH, handle=handle),)


def _tail(finished: FinishedRuns, request: Request) -> Response:
    from otel_runlog.show.data import to_json
    from otel_runlog.show.records import run_record

    asked = request.query
    refuse_unknown(asked, PARAMETERS)
    after = whole_number(asked, "after")
    begin = finished.count if after is None else after
    found, count, missed = finished.after(begin, 0 if after is None else _wait_s(asked))
    wanted = [run_record(run) for run in found if _is_wanted(run, asked)]
    return Response(200, to_json({"next": count, "missed": missed, "runs": wanted}).encode(), JSON_TYPE)


def _wait_s(asked: Mapping[str, str]) -> int:
    wait_s = whole_number(asked, "wait_s") or 0
    if wait_s > LONGEST_WAIT_S:
        raise ConfigError(f"wait_s is {LONGEST_WAIT_S} at most, not {wait_s}")
    return wait_s


def _is_wanted(run: RunLog, asked: Mapping[str, str]) -> bool:
    wanted = ((asked.get("agent"), run.agent), (asked.get("session"), run.session_id))
    return all(value is None or value == own for value, own in wanted)
