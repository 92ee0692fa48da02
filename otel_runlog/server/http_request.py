"""One HTTP request on its way in: refused by its headers, by the size of its body as it grows, or handed to a thread.

A refusal is written at once; what the client still sends is then read and thrown away, because closing a connection
with bytes unread may take the answer from it. That ends at a limit.
"""

from __future__ import annotations

import asyncio
import contextlib
import http
import logging
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from email.utils import formatdate
from typing import Final, cast
from urllib.parse import parse_qsl

import msgspec
from tornado.http1connection import HTTP1Connection
from tornado.httputil import (
    HTTPConnection,
    HTTPHeaders,
    HTTPMessageDelegate,
    HTTPServerConnectionDelegate,
    RequestStartLine,
    ResponseStartLine,
)

from otel_runlog.server.answers import Answer, Outcome, RefusedError
from otel_runlog.server.bodies import ENCODINGS, decompressed, too_large
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.routes import Request, Response, Route, Routes, refusal

SAFE_HEADERS: Final = (("X-Content-Type-Options", "nosniff"), ("Cache-Control", "no-store"))
_MOST_IGNORED_BYTES: Final = 256 << 20
"""After a refusal, before the connection is closed."""

logger = logging.getLogger("otel_runlog")


class Serves:
    """What all requests of a door share.

    Attributes:
        waiting: requests that a thread has or will have.
        is_ending: no request is taken any more.
        is_idle: set while no request waits.
    """

    def __init__(
        self, routes: Routes, guard: Guard, budget: Budget, max_body_bytes: int, pool: ThreadPoolExecutor
    ) -> None:
        self.routes = routes
        self.guard = guard
        self.budget = budget
        self.max_body_bytes = max_body_bytes
        self.pool = pool
        self.waiting = 0
        self.is_ending = False
        self.is_idle = asyncio.Event()
        self.is_idle.set()

    def begin(self) -> None:
        """A request goes to a thread."""
        self.waiting += 1
        self.is_idle.clear()

    def end(self) -> None:
        """It is answered."""
        self.waiting -= 1
        if not self.waiting:
            self.is_idle.set()


class Connections(HTTPServerConnectionDelegate):
    """Tornado's way to ask for a delegate per request."""

    def __init__(self, serves: Serves, loop: asyncio.AbstractEventLoop) -> None:
        self._serves = serves
        self._loop = loop

    def start_request(self, server_conn: object, request_conn: HTTPConnection) -> HTTPMessageDelegate:  # noqa: ARG002
        """A delegate for the next request of a connection."""
        return _Message(self._serves, self._loop, cast("HTTP1Connection", request_conn))


class _Message(HTTPMessageDelegate):
    """A request; all but `_respond` runs in the loop's thread."""

    _request: Request
    _max_bytes: int

    def __init__(self, serves: Serves, loop: asyncio.AbstractEventLoop, connection: HTTP1Connection) -> None:
        self._serves = serves
        self._loop = loop
        self._connection = connection
        self._lease = serves.budget.lease()
        self._pieces: list[bytes] = []
        self._size_bytes = 0
        self._refused = False
        self._route: Route | None = None

    def headers_received(self, start_line: RequestStartLine | ResponseStartLine, headers: HTTPHeaders) -> None:
        """Decide by the headers whether the body is to be read."""
        self._request = _request(cast("RequestStartLine", start_line), headers)
        try:
            self._admit()
        except RefusedError as refused:
            self._refuse(refused.answer)
            if "expect" in self._request.headers:  # the body is sent only to those who ask for it
                self._connection.finish()

    def data_received(self, chunk: bytes) -> None:
        """Keep a piece of the body, or throw it away."""
        self._size_bytes += len(chunk)
        if self._refused:
            if self._size_bytes > _MOST_IGNORED_BYTES:
                self._connection.close()
            return
        try:
            self._check_size(self._size_bytes)
            self._lease.grow(len(chunk))
        except RefusedError as refused:
            self._refuse(refused.answer)
        else:
            self._pieces.append(chunk)

    def finish(self) -> None:
        """The body is there: hand it to a thread."""
        if self._refused:
            self._connection.finish()
            return
        self._serves.begin()
        assert self._route is not None
        self._serves.pool.submit(self._respond, self._route).add_done_callback(self._done)

    def on_connection_close(self) -> None:
        """The client went away before it had sent everything."""
        self._forget()

    def _admit(self) -> None:
        request, serves = self._request, self._serves
        serves.guard.check_origin(request.headers)
        authorization = request.headers.get("authorization")
        try:
            route, values = serves.routes.find(request.method, request.path)
        except RefusedError:
            serves.guard.check_token(authorization)
            raise
        self._route = route
        if not route.is_open:
            serves.guard.check_token(authorization, needs_token=route.needs_token)
        self._request = msgspec.structs.replace(request, path_values=values)
        self._check_what_comes(route)

    def _check_what_comes(self, route: Route) -> None:
        headers = self._request.headers
        if self._serves.is_ending:
            raise RefusedError(Outcome.UNAVAILABLE, "the server is ending: try again in a moment")
        if route.refused is not None:
            raise RefusedError(route.refused.outcome, route.refused.message)
        if route.content_types and self._request.content_type not in route.content_types:
            known = ", ".join(sorted(route.content_types))
            found = self._request.content_type[:100] or "absent"
            raise RefusedError(Outcome.UNSUPPORTED, f"the Content-Type is {found}; here it must be one of {known}")
        if _encoding(headers) not in ENCODINGS:
            known = ", ".join(name for name in ENCODINGS if name)
            message = f"the Content-Encoding is {_encoding(headers)[:100]}; it may be one of {known}"
            raise RefusedError(Outcome.UNSUPPORTED, message, ("Accept-Encoding", known))
        self._max_bytes = self._serves.max_body_bytes if route.max_body_bytes is None else route.max_body_bytes
        length = headers.get("content-length", "")
        if length.isascii() and length.isdecimal():  # what else there may be in it, Tornado judges
            self._check_size(int(length))
            self._lease.check(int(length))

    def _check_size(self, size_bytes: int) -> None:
        if size_bytes > self._max_bytes:
            raise too_large(self._max_bytes, "in one request")

    def _respond(self, route: Route) -> Response:
        content_type = self._request.content_type
        try:
            try:
                body = self._body()
            except RefusedError as refused:
                self._tell(refused.answer)
                raise
            return route.handle(msgspec.structs.replace(self._request, body=body))
        except RefusedError as refused:
            return refusal(refused.answer, content_type)
        except Exception:  # a bug of ours: nobody's request is lost for it, clients send again what is unavailable
            logger.exception("%s %s failed", self._request.method, self._request.path)
            return refusal(Answer(Outcome.UNAVAILABLE, "the server failed, its log says how"), content_type)
        finally:
            self._lease.release()

    def _body(self) -> bytes:
        pieces, self._pieces = self._pieces, []
        body = b"".join(pieces)
        del pieces  # a large body is not to be there twice while it is decompressed
        return decompressed(body, _encoding(self._request.headers), self._max_bytes, self._lease.grow)

    def _tell(self, answer: Answer) -> None:
        if self._route is not None and self._route.on_refused is not None:
            self._route.on_refused(answer)

    def _done(self, future: Future[Response]) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._answer, future)

    def _answer(self, future: Future[Response]) -> None:
        if not future.cancelled():
            self._write(future.result())
            self._connection.finish()
        self._serves.end()

    def _refuse(self, answer: Answer) -> None:
        self._refused = True
        self._forget()
        self._tell(answer)
        self._write(refusal(answer, self._request.content_type))

    def _forget(self) -> None:
        self._pieces = []
        self._lease.release()

    def _write(self, response: Response) -> None:
        headers = HTTPHeaders()
        headers["Date"] = formatdate(usegmt=True)
        headers["Content-Type"] = response.content_type
        headers["Content-Length"] = str(len(response.body))
        for name, value in (*SAFE_HEADERS, *response.headers):
            headers.add(name, value)
        start_line = ResponseStartLine("HTTP/1.1", response.status, _phrase(response.status))
        body = None if self._request.method == "HEAD" else response.body
        self._connection.write_headers(start_line, headers, body)


def _request(start_line: RequestStartLine, headers: HTTPHeaders) -> Request:
    lower = {name.lower(): value for name, value in headers.items()}
    path, _, query = start_line.path.partition("?")
    return Request(
        method=start_line.method,
        path=path,
        query=dict(parse_qsl(query, keep_blank_values=True)),
        headers=lower,
        content_type=lower.get("content-type", "").partition(";")[0].strip().lower(),
    )


def _phrase(status: int) -> str:
    """The words for a status; empty for those that no standard has, such as Anthropic's 529 (overloaded)."""
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return ""


def _encoding(headers: Mapping[str, str]) -> str:
    return headers.get("content-encoding", "").strip().lower()
