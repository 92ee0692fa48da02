"""A live replay's way out: what was not recorded goes on to the provider it was meant for, and the answer comes back.

The only code of a replay that connects to anything; strict and soft never import it. A request goes on as it came:
body, query and headers, the caller's key among them, which is written nowhere. The answer is relayed whole, a stream
too, once all of it is there. HTTP proxies of the environment are used, as the program's own client would.

What cannot go on is refused with the reason, where it can be told before the provider is asked: the caller has no key,
its request goes on from an answer that only this replay knows, or it sends a thought back whose signature was not
recorded, and that the provider takes with its signature only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode, urlsplit
from urllib.request import proxy_bypass_environment  # type: ignore[attr-defined]  # typeshed leaves it out

import urllib3

from otel_runlog import apis
from otel_runlog.errors import ConfigError
from otel_runlog.replaying.answering import Call, CannotGoOnError
from otel_runlog.replaying.environment import DUMMY_KEY, ProviderDoor, upstreams
from otel_runlog.server.routes import Request, Response

CONNECT_TIMEOUT_S: Final = 10.0
READ_TIMEOUT_S: Final = 600.0
"""What OpenAI's and Anthropic's SDKs wait for an answer."""
MAX_ANSWER_BYTES: Final = 256 << 20
KEY_HEADERS: Final = ("authorization", "x-api-key", "x-goog-api-key", "api-key")
KEY_IN_QUERY: Final = "key"
_BAD_GATEWAY: Final = 502
_NOT_SENT_ON: Final = frozenset(
    {"host", "content-length", "content-encoding", "accept-encoding", "connection", "keep-alive", "transfer-encoding"}
    | {"te", "trailer", "upgrade", "expect", "proxy-authorization", "proxy-connection"}
)
"""What is about one connection (RFC 9110, 7.6.1), or about a body as it came: it is decompressed."""
_NOT_BROUGHT_BACK: Final = _NOT_SENT_ON | {"content-type", "date", "server", "set-cookie", "alt-svc"}


class Forwarder:
    """Sends requests on.

    Args:
        environ: the environment that says where each provider is, and by which proxy.

    Raises:
        ConfigError: a proxy that cannot be used.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._upstreams = upstreams(environ)
        pools: dict[str | None, urllib3.PoolManager] = {}
        self._pools: dict[str, urllib3.PoolManager] = {}
        for name, base in self._upstreams.items():
            proxy = _proxy(base, environ)
            if proxy not in pools:
                pools[proxy] = _pool(proxy)
            self._pools[name] = pools[proxy]

    def go_on(self, call: Call, own_ids: frozenset[str]) -> Response:
        """What the provider answers to a model call; `own_ids` are ids of answers that only this replay knows.

        Raises:
            CannotGoOnError: it cannot take it, or does not answer.
        """
        _check_ids(call.door, call.request, own_ids)
        return self.forward(call.door, call.path, call.request)

    def forward(self, door: ProviderDoor, path: str, request: Request) -> Response:
        """What the provider answers to `request`, whose path below the door is `path`.

        Raises:
            CannotGoOnError: it has no key, there is no provider to send it to, or that does not answer.
        """
        _check_key(door, request)
        url = self._url(door, path)
        query = request.query
        headers = {name: value for name, value in request.headers.items() if name not in _NOT_SENT_ON}
        headers["accept-encoding"] = "identity"
        try:
            got = self._pools[door.name].request(
                request.method,
                f"{url}?{urlencode(query)}" if query else url,
                body=request.body or None,
                headers=headers,
                redirect=False,
                preload_content=False,
            )
            body = got.read(MAX_ANSWER_BYTES + 1, decode_content=True)
            got.release_conn()
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise CannotGoOnError(f"{url} does not answer: {type(error).__name__}", _BAD_GATEWAY) from error
        if len(body) > MAX_ANSWER_BYTES:
            raise CannotGoOnError(f"{url} answered more than {MAX_ANSWER_BYTES} bytes", _BAD_GATEWAY)
        brought = tuple((k, v) for k, v in got.headers.items() if k.lower() not in _NOT_BROUGHT_BACK)
        return Response(got.status, body, got.headers.get("content-type", "application/octet-stream"), brought)

    def close(self) -> None:
        """Let go of all connections."""
        for pool in self._pools.values():
            pool.clear()

    def _url(self, door: ProviderDoor, path: str) -> str:
        """Where a path below a door would have gone, had the base URL not been replaced by the door's."""
        base = self._upstreams.get(door.name)
        if base is None:
            raise CannotGoOnError(
                f"it is not known where requests to {door.name} go: set {' or '.join(door.all_variables)} to it"
            )
        below = f"/{path}".removeprefix(door.ends_with)
        has_version = any(part.startswith("v1") for part in (path.partition("/")[0], base.rpartition("/")[2]))
        # Vercel's SDK expects the version in the base URL, Anthropic's adds it to the path.
        return f"{base}/{door.version}{below}" if door.version and not has_version else base + below


def _pool(proxy: str | None) -> urllib3.PoolManager:
    timeout = urllib3.Timeout(connect=CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
    if proxy is None:
        return urllib3.PoolManager(num_pools=8, maxsize=64, retries=False, timeout=timeout)
    try:
        return urllib3.ProxyManager(proxy, num_pools=8, maxsize=64, retries=False, timeout=timeout)
    except urllib3.exceptions.HTTPError:  # its message may hold the proxy's password
        raise ConfigError("the proxy of the environment is no http:// or https:// URL, which live mode needs") from None


def _proxy(url: str, environ: Mapping[str, str]) -> str | None:
    """The proxy that the environment wants for a URL: http_proxy and https_proxy in either case, but for no_proxy."""
    place = urlsplit(url)
    name = f"{place.scheme}_proxy"
    proxy = environ.get(name) or environ.get(name.upper())
    exceptions = environ.get("no_proxy") or environ.get("NO_PROXY") or ""
    if not proxy or proxy_bypass_environment(place.netloc, {"no": exceptions}):
        return None
    return proxy


def _check_key(door: ProviderDoor, request: Request) -> None:
    key = next((request.headers[name] for name in KEY_HEADERS if name in request.headers), None)
    key = key or request.query.get(KEY_IN_QUERY)
    if key is None or DUMMY_KEY in key:
        names = " or ".join(door.all_keys) or "its key"
        raise CannotGoOnError(f"this was not recorded, and {door.name} needs a real key to answer it: set {names}")


def _check_ids(door: ProviderDoor, request: Request, own_ids: frozenset[str]) -> None:
    """See that a request says nothing that this replay alone knows, `own_ids` and signatures of its own making."""
    own = next((own for own in own_ids if own.encode() in request.body), None)
    if own is not None:
        raise CannotGoOnError(
            f"it goes on from {own}, an answer that this replay gave and the provider does not know: send the whole "
            "conversation in place of previous_response_id and references to items"
        )
    if apis.UNSIGNED.encode() in request.body:
        raise CannotGoOnError(
            f"it sends a recorded thought back whose signature was not recorded, and {door.name} takes none without: "
            "record with an instrumentation that keeps signatures (OpenInference), or without thinking"
        )
