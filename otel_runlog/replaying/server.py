"""The HTTP side of a replay: what a program's clients and tools ask, on a port of loopback.

    POST /s/<id>/<door>/...          a model call of any API, told by the end of its path
    GET  /s/<id>/<door>/.../models   the models of the recording, and one of them
    POST /s/<id>/tools...            what the program's tools ask (tool_door)

The door's name may be left out. <id> is random, so that no other program comes here by mistake. What nothing recorded
can answer, such as a count of tokens, is 501 in the provider's form, and the report says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final, Protocol

from otel_runlog import apis
from otel_runlog.apis import Api, encoded
from otel_runlog.replaying.answering import Answering, CannotGoOnError, failure
from otel_runlog.replaying.environment import DOOR_NAMES, DOORS, ProviderDoor
from otel_runlog.replaying.exchanges import Exchanges, Unserved
from otel_runlog.server.answers import Answer
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.routes import Request, Response, Route

THREADS: Final = 64
"""A live call holds one while the provider thinks."""
MEMORY_BYTES: Final = 4 << 30
"""A quarter is for bodies of requests on their way, of 64 MiB at most."""
STOP_S: Final = 2.0
OTHER_METHODS: Final = ("PUT", "PATCH", "DELETE")
NOT_SERVED_TYPE: Final = "replay_not_served"
FAILED_TYPE: Final = "replay_failed"
_OK, _FAILED, _NOT_SERVED = 200, 500, 501

logger = logging.getLogger("otel_runlog")


class Forwards(Protocol):
    """Sends what is no model call on to its provider, as it is."""

    def forward(self, door: ProviderDoor, path: str, request: Request) -> Response:
        """The provider's answer. Raises CannotGoOnError."""
        ...


class ReplayServer:
    """Serves one session.

    Args:
        prefix: the path that all is below.
        answering: answers model calls.
        exchanges: where is kept what could not be answered.
        models: the names of the models that the recording knows.
        forwards: live mode's way out for what is no model call.
        routes: what else is answered below the prefix, asked first.
    """

    def __init__(
        self,
        prefix: str,
        answering: Answering,
        exchanges: Exchanges,
        *,
        models: tuple[str, ...] = (),
        forwards: Forwards | None = None,
        routes: tuple[Route, ...] = (),
    ) -> None:
        self._answering = answering
        self._exchanges = exchanges
        self._models = models
        self._forwards = forwards
        self._prefix = prefix
        rest = f"{prefix}/{{rest*}}"
        self._door = HttpDoor(
            "127.0.0.1:0",
            (
                *routes,
                Route(
                    method="POST",
                    path=rest,
                    handle=self._safely(self._post),
                    max_body_bytes=None,
                    on_refused=self._refused,
                ),
                Route(method="GET", path=rest, handle=self._safely(self._get)),
                *(
                    Route(method=method, path=rest, handle=self._safely(self._rest), max_body_bytes=None)
                    for method in OTHER_METHODS
                ),
            ),
            Guard(),
            Budget(MEMORY_BYTES),
            threads=THREADS,
        )

    def start(self) -> str:
        """Listen; returns the session's address, without a slash at its end.

        Raises:
            ServerStartError: there is no port to be had.
        """
        return f"http://{self._door.start()}{self._prefix}"

    def stop(self) -> None:
        """Answer what is there, and end."""
        self._door.stop(STOP_S)

    def _post(self, request: Request) -> Response:
        door, path = _door_of(request)
        api = apis.find(f"/{path}")
        if api is not None:
            return self._answering.answer(api, door or _door_for(api), path, request)
        return self._other(door, path, request)

    def _get(self, request: Request) -> Response:
        door, path = _door_of(request)
        head, _, name = path.rpartition("models")
        if (not head or head.endswith("/")) and name[:1] in {"", "/"}:
            found = _models(door, self._models, name.strip("/"))
            if found is not None:
                return found
        return self._other(door, path, request)

    def _rest(self, request: Request) -> Response:
        return self._other(*_door_of(request), request)

    def _refused(self, answer: Answer) -> None:
        """Keep that a request came whose body could not be taken: too large, or broken compression."""
        self._exchanges.add_unserved(Unserved(method="POST", path="a body", why=answer.message, failed=True))

    def _other(self, door: ProviderDoor | None, path: str, request: Request) -> Response:
        """What no recorded call is about."""
        door = door or DOORS[0]
        if self._forwards is not None:
            self._unserved(request, path, "it went to the provider")
            try:
                return self._forwards.forward(door, path, request)
            except CannotGoOnError as cannot:
                return failure(_api_of(door), cannot.status, NOT_SERVED_TYPE, str(cannot))
        self._unserved(request, path, "a replay does not answer it")
        message = f"a replay answers model calls and lists of models; {request.method} {path[:200]} is none of these"
        return failure(_api_of(door), _NOT_SERVED, NOT_SERVED_TYPE, message)

    def _unserved(self, request: Request, path: str, why: str, *, failed: bool = False) -> None:
        self._exchanges.add_unserved(Unserved(method=request.method, path=path, why=why, failed=failed))

    def _safely(self, handle: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """A bug of ours is an error that no client tries again, and that the report tells."""

        def safe(request: Request) -> Response:
            try:
                return handle(request)
            except Exception as error:
                logger.exception("the replay failed to answer %s", request.path)
                door, path = _door_of(request)
                self._unserved(request, path, f"the replay failed: {error!r}", failed=True)
                message = f"the replay failed: {type(error).__name__}, its log says how"
                return failure(_api_of(door or DOORS[0]), _FAILED, FAILED_TYPE, message)

        return safe


def _door_of(request: Request) -> tuple[ProviderDoor | None, str]:
    """The door that a path names, None where it names none, and what comes below it."""
    rest = request.path_values["rest"]
    name, _, path = rest.partition("/")
    door = DOOR_NAMES.get(name)
    return (None, rest) if door is None else (door, path)


def _door_for(api: Api) -> ProviderDoor:
    """The first provider that speaks an API."""
    return next((door for door in DOORS if api.NAME in door.apis), DOORS[0])


def _api_of(door: ProviderDoor) -> Api:
    """The API whose form a provider's errors have."""
    return next(api for api in apis.APIS if door.apis[0] == api.NAME)


def _models(door: ProviderDoor | None, names: tuple[str, ...], name: str) -> Response | None:
    """The list of the recording's models, or the one named; None where it is not among them."""
    api = _api_of(door or DOORS[0])
    if not name:
        return Response(_OK, encoded(api.models(names)))
    return Response(_OK, encoded(api.model(name))) if name in names else None
