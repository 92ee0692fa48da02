"""The HTTP side of the server: one asyncio thread receives, a pool of threads answers.

Tornado's HTTP/1.1 connection is used without its web framework. Of the servers that were measured (microseconds of CPU
per span in requests of 512 of 1.6 MB, and per request of 3.3 kB) the standard library's threads took 0.7 and 70,
uvicorn with httptools 4 to 7 and 130 to 230, with h11 4 and 230 to 350, cheroot 5 and 120 to 250, tornado.web 3.4 and
450; receiving is 1 to 3 % of what a span costs. Tornado alone has all that a server for strangers needs: a timeout
for headers and one for bodies, limits, the headers before the body is read, so that a request can be refused before it
takes memory, chunked bodies (Node's exporters send those) and an orderly end, in one wheel without dependencies that
has been kept for 15 years.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from tornado.httpserver import HTTPServer

from otel_runlog.errors import ServerStartError
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_request import Connections, Serves
from otel_runlog.server.listening import listening_sockets
from otel_runlog.server.routes import Route, Routes
from otel_runlog.server_config import host_and_port

THREADS: Final = 16
"""So many requests wait for one fdatasync together; a waiting thread costs nothing else."""
HEADER_TIMEOUT_S: Final = 60.0
"""For a connection that is idle as for one whose headers come slowly: the Collector's read_header_timeout."""
BODY_TIMEOUT_S: Final = 60.0
MAX_HEADER_BYTES: Final = 64 << 10
_ANY_BODY_BYTES: Final = 1 << 62
"""Bodies are limited by the door, which can say so; Tornado would only close the connection."""
_CLOSING_S: Final = 0.5


class HttpDoor:
    """Serves routes over HTTP.

    Args:
        bind: host:port; port 0 picks a free one.
        routes: what is served.
        guard: who may ask.
        budget: memory for the bodies of requests.
        max_body_bytes: the largest body, before and after it is decompressed, of routes that set no limit of their own.
        threads: so many requests are answered at once.
        header_timeout_s: so long may a connection be idle, and headers take.
        body_timeout_s: so long may a body take.

    Raises:
        ConfigError: `bind` is no host:port.
    """

    def __init__(
        self,
        bind: str,
        routes: tuple[Route, ...],
        guard: Guard,
        budget: Budget,
        *,
        max_body_bytes: int = 64 << 20,
        threads: int = THREADS,
        header_timeout_s: float = HEADER_TIMEOUT_S,
        body_timeout_s: float = BODY_TIMEOUT_S,
    ) -> None:
        self._bind = bind
        self._host, self._port = host_and_port("http", bind)
        self._pool = ThreadPoolExecutor(threads, "otel-runlog-http")
        self._serves = Serves(Routes(routes), guard, budget, max_body_bytes, self._pool)
        self._header_timeout_s = header_timeout_s
        self._body_timeout_s = body_timeout_s
        self._thread = threading.Thread(target=self._run, name="otel-runlog-http", daemon=True)
        self._listens = threading.Event()
        self._failure: Exception | None = None
        self._address = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end = asyncio.Event()
        self._grace_s = 0.0

    def start(self) -> str:
        """Listen; returns the host:port.

        Raises:
            ServerStartError: the address cannot be used.
        """
        self._thread.start()
        self._listens.wait()
        if self._failure is not None:
            raise ServerStartError(f"cannot serve HTTP on {self._bind}: {self._failure}")
        return self._address

    def stop(self, timeout_s: float) -> bool:
        """Take no more connections, answer what is there, and end; False where that took longer than `timeout_s`."""
        if self._loop is None or not self._thread.is_alive():
            return True
        self._grace_s = timeout_s
        self._loop.call_soon_threadsafe(self._end.set)
        self._thread.join(timeout_s + 2 * _CLOSING_S)
        self._pool.shutdown(wait=False, cancel_futures=True)
        return self._serves.waiting == 0 and not self._thread.is_alive()

    def _run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        try:
            server = self._listening_server(self._loop)
        except Exception as error:  # noqa: BLE001 - `start` raises it; here nobody would see it
            self._failure = error
            return
        finally:
            self._listens.set()
        await self._end.wait()
        server.stop()
        self._serves.is_ending = True
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._serves.is_idle.wait(), self._grace_s)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(server.close_all_connections(), _CLOSING_S)

    def _listening_server(self, loop: asyncio.AbstractEventLoop) -> HTTPServer:
        server = HTTPServer(
            Connections(self._serves, loop),
            max_body_size=_ANY_BODY_BYTES,
            max_header_size=MAX_HEADER_BYTES,
            idle_connection_timeout=self._header_timeout_s,
            body_timeout=self._body_timeout_s,
        )
        sockets = listening_sockets(self._host, self._port)
        server.add_sockets(sockets)
        host = f"[{self._host}]" if ":" in self._host else self._host
        self._address = f"{host}:{sockets[0].getsockname()[1]}"
        return server
