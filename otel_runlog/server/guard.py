"""Who may ask: the Host and Origin of a request, and its token.

A page in a browser can reach a server on loopback. It cannot choose the Host header, so a name that is not ours means
DNS rebinding, and it cannot leave out the Origin of a POST, so a foreign one means another site's page (facts of the
Model Context Protocol's, MLflow's and Vite's advisories). No CORS header is ever sent.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

from otel_runlog.server.answers import Outcome, RefusedError

LOCAL_HOSTS: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})


class Guard:
    """Refuses requests that do not come from where they may.

    Args:
        hosts: names beside those of loopback that may stand in Host, with a port or, for any port, without.
        token: what `Authorization: Bearer` has to say where a token is needed; None needs none anywhere.
        token_for_all: whether it is needed for everything (any bind beyond loopback) or only for routes that say so.
    """

    def __init__(self, hosts: Iterable[str] = (), *, token: str | None = None, token_for_all: bool = False) -> None:
        self._hosts = LOCAL_HOSTS | {host.lower() for host in hosts}
        self._token = None if token is None else token.encode()
        self._token_for_all = token_for_all

    def check_origin(self, headers: Mapping[str, str]) -> None:
        """Refuse a request by its Host and Origin; names of headers are in lower case.

        Raises:
            RefusedError: FORBIDDEN.
        """
        host = headers.get("host", "").lower()
        if not self._is_ours(host):
            raise RefusedError(
                Outcome.FORBIDDEN,
                f"this server is not called {host[:100]!r}: name it in --hosts if it is",
            )
        origin = headers.get("origin")
        if origin is not None and _host_of(origin) != host:
            raise RefusedError(Outcome.FORBIDDEN, "pages of other origins may not ask this server")

    def check_metadata(self, metadata: Iterable[tuple[str, str | bytes]], *, needs_token: bool = False) -> None:
        """Refuse a gRPC call by its metadata.

        Raises:
            RefusedError: UNAUTHENTICATED.
        """
        found = next((value for key, value in metadata if key == "authorization"), None)
        self.check_token(found, needs_token=needs_token)

    def check_token(self, authorization: str | bytes | None, *, needs_token: bool = False) -> None:
        """Refuse a request by its Authorization; `needs_token` where it is for those with the token on loopback too.

        Raises:
            RefusedError: UNAUTHENTICATED.
        """
        if self._token is None or not (needs_token or self._token_for_all):
            return
        given = authorization.encode("utf-8", "surrogateescape") if isinstance(authorization, str) else authorization
        scheme, _, token = (given or b"").partition(b" ")
        if scheme.lower() != b"bearer" or not hmac.compare_digest(token.strip(), self._token):
            raise RefusedError(
                Outcome.UNAUTHENTICATED,
                "send the token as `Authorization: Bearer <token>`; it stands in the file of --token-file, or in "
                "server.json in the journal's folder",
                ("WWW-Authenticate", "Bearer"),
            )

    def _is_ours(self, host: str) -> bool:
        name, colon, port = host.rpartition(":")
        if not colon or host.endswith("]"):  # no port, or the colons of an IPv6 address
            return host in self._hosts
        return port.isascii() and port.isdecimal() and not {name, host}.isdisjoint(self._hosts)


def _host_of(origin: str) -> str | None:
    """The host and port that an Origin names; None for what is no origin, such as `null`."""
    try:
        return urlsplit(origin).netloc.lower() or None
    except ValueError:
        return None
