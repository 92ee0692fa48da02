"""Forwarding that would come back: a destination that is this server itself, whose spans would go round without end."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterable
from typing import Final, TypeAlias

from otel_runlog.config import DestinationConfig
from otel_runlog.errors import ConfigError
from otel_runlog.server.forward.endpoint import endpoint_of
from otel_runlog.server_config import host_and_port

_ANY_PORT: Final = 0
_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


def refuse_loops(destinations: Iterable[DestinationConfig], binds: Iterable[str]) -> None:
    """Raise where spans would be sent to where they are received. What comes back by way of others is not seen.

    Args:
        destinations: where spans go on to.
        binds: host:port of the doors; one with port 0 can be nobody's destination yet.

    Raises:
        ConfigError: a destination is one of the doors.
    """
    doors = [host_and_port("bind", bind) for bind in binds if bind]
    for destination in destinations:
        host, port = host_and_port("forward", endpoint_of(destination).target)
        for door_host, door_port in doors:
            if port == door_port != _ANY_PORT and _leads_to(host, door_host):
                raise ConfigError(
                    f"{destination.label} is this server itself, so that spans would go round without end: "
                    "forward to another address, or serve another port"
                )


def _leads_to(host: str, door: str) -> bool:
    """Whether who connects to `host` gets to what listens on `door`, an address or a name of this machine."""
    listening = _addresses(door)
    for address in _addresses(host):
        if address in listening:
            return True
        if _is_of_this_machine(address) and any(heard.is_unspecified for heard in listening):
            return True
        if address.is_unspecified and any(heard.is_loopback for heard in listening):
            return True  # 0.0.0.0 as a destination is this machine's loopback
    return False


def _addresses(host: str) -> set[_Address]:
    """None where the name has no address now."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {ipaddress.ip_address(str(info[4][0]).partition("%")[0]) for info in found}


def _is_of_this_machine(address: _Address) -> bool:
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - IP's version
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((str(address), 0))  # only an own address can be had
        except OSError:
            return False
    return True
