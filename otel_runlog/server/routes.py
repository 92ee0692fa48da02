"""What HTTP requests are answered by: a visible list of routes, each a plain function from Request to Response."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import unquote

import msgspec

from otel_runlog.otlp.wire import Encoding
from otel_runlog.server.answers import (
    CODES,
    JSON_TYPE,
    PROTOBUF_TYPE,
    RETRY_AFTER_S,
    TYPES,
    Answer,
    Outcome,
    RefusedError,
    status_body,
)

SMALL_BODY_BYTES: Final = 1 << 20


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """An HTTP request whose body has come.

    Attributes:
        method: in capitals.
        path: as it came, without the query.
        path_values: the parts of the path that the route names in braces, decoded.
        query: the names and values of the query; of a name that comes twice the last.
        headers: names in lower case.
        content_type: the media type in lower case, without its parameters; empty where there is none.
        body: without its Content-Encoding.
    """

    method: str
    path: str
    path_values: Mapping[str, str] = {}
    query: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}
    content_type: str = ""
    body: bytes = b""


class Response(msgspec.Struct, frozen=True):
    """What a request is answered."""

    status: int
    body: bytes = b""
    content_type: str = JSON_TYPE
    headers: tuple[tuple[str, str], ...] = ()


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """One method of one path.

    Attributes:
        method: GET or POST. HEAD is answered as GET.
        path: segments, of which those in braces (`/v1/runs/{run_id}`) match anything. A last one as `{rest*}` matches
            what is left of a path, of one segment or many.
        handle: called in a thread of the door's pool. It may raise RefusedError.
        needs_token: also on loopback.
        is_open: needs no token anywhere.
        content_types: what the body may be; another one is refused. Empty for routes that read no body.
        max_body_bytes: of the body, before and after it is decompressed; None is the door's own limit.
        refused: what every request is told, before its body is read.
        on_refused: called with what a request was told that did not come as far as `handle`.
    """

    method: str
    path: str
    handle: Callable[[Request], Response]
    needs_token: bool = True
    is_open: bool = False
    content_types: frozenset[str] = frozenset()
    max_body_bytes: int | None = SMALL_BODY_BYTES
    refused: Answer | None = None
    on_refused: Callable[[Answer], object] | None = None


class Routes:
    """The routes, to be looked up by method and path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [(_segments(route.path), route) for route in routes]

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        """The route, and the values of its path's names.

        Raises:
            RefusedError: NOT_FOUND for the path, WRONG_METHOD for the method.
        """
        segments = _segments(path)
        there = [(route, values) for names, route in self._routes if (values := _matched(names, segments)) is not None]
        wanted = "GET" if method == "HEAD" else method
        for route, values in there:
            if route.method == wanted:
                return route, values
        if there:
            allowed = ", ".join(sorted({route.method for route, _ in there}))
            raise RefusedError(Outcome.WRONG_METHOD, f"{path[:100]} takes {allowed}", ("Allow", allowed))
        raise RefusedError(Outcome.NOT_FOUND, f"there is no {path[:100]} here")


def refusal(answer: Answer, content_type: str = JSON_TYPE) -> Response:
    """A refused request's response: google.rpc.Status in the request's encoding, in JSON where it has no other."""
    encoding = Encoding.PROTOBUF if content_type == PROTOBUF_TYPE else Encoding.JSON
    code = CODES[answer.outcome]
    retry = (("Retry-After", str(RETRY_AFTER_S)),) if code.may_retry else ()
    return Response(code.http, status_body(answer, encoding), TYPES[encoding], (*answer.headers, *retry))


def _segments(path: str) -> list[str]:
    return path.split("/")[1:]


def _matched(names: list[str], segments: list[str]) -> dict[str, str] | None:
    if names[-1].endswith("*}") and len(segments) > len(names):
        segments = [*segments[: len(names) - 1], "/".join(segments[len(names) - 1 :])]
    if len(names) != len(segments):
        return None
    values: dict[str, str] = {}
    for name, segment in zip(names, segments, strict=True):
        if name.startswith("{") and segment:
            values[name.strip("{*}")] = unquote(segment)
        elif name != segment:
            return None
    return values
