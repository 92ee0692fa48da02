"""Sockets that listen, on one port for all addresses of a host."""

from __future__ import annotations

import contextlib
import socket
from typing import Final

BACKLOG: Final = 1024


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """One for each address of the host, on one port. (Tornado's own function leaves one open where another fails.)."""
    families = {info[0]: info[4][0] for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    found: list[socket.socket] = []
    with contextlib.ExitStack() as undo:
        for family, address in families.items():
            made = undo.enter_context(socket.create_server((str(address), port), family=family, backlog=BACKLOG))
            made.setblocking(False)
            port = made.getsockname()[1]
            found.append(made)
        undo.pop_all()
    return found
