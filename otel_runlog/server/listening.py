"""Sockets that listen, on one port for all addresses of a host."""

from __future__ import annotations

import contextlib
import errno
import socket
from typing import Final

BACKLOG: Final = 1024
_ABSENT: Final = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT})


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """One for each address of the host, on one port. (Tornado's own function leaves one open where another fails.).

    An address that this machine does not have is passed over where it has another one: `localhost` means ::1 too, also
    where there is no IPv6.

    Raises:
        OSError: the host has no address here, or the port is taken.
    """
    found: list[socket.socket] = []
    absent: OSError | None = None
    with contextlib.ExitStack() as undo:
        for family, address in _addresses(host, port).items():
            try:
                made = undo.enter_context(socket.create_server((address, port), family=family, backlog=BACKLOG))
            except OSError as error:
                if error.errno not in _ABSENT:
                    raise
                absent = error
                continue
            made.setblocking(False)
            port = made.getsockname()[1]
            found.append(made)
        if absent is not None and not found:
            raise absent
        undo.pop_all()
    return found


def _addresses(host: str, port: int) -> dict[int, str]:
    try:
        return {info[0]: str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)}
    except UnicodeError:
        raise OSError(f"{host!r} cannot be the name of a host") from None
