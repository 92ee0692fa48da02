"""Sockets for all addresses that a host has here."""

from __future__ import annotations

import contextlib
import socket

import pytest

from otel_runlog.server.listening import listening_sockets

ABSENT = (socket.AF_INET6, socket.SOCK_STREAM, 6, "", ("2001:db8::1", 0, 0, 0))
HERE = (socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", 0))


@pytest.mark.parametrize("found", [[ABSENT, HERE], [HERE, ABSENT]])
def test_an_address_that_is_not_here_is_passed_over_beside_one_that_is(
    monkeypatch: pytest.MonkeyPatch, found: list[object]
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with contextlib.ExitStack() as close:
        names = [close.enter_context(made).getsockname()[0] for made in listening_sockets("localhost", 0)]
    assert names == ["127.0.0.1"]


def test_a_host_without_an_address_here_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [ABSENT])
    with pytest.raises(OSError, match=r"assign requested address|not supported"):
        listening_sockets("elsewhere", 0)


def test_what_cannot_be_a_host_is_an_error_of_the_system() -> None:
    with pytest.raises(OSError, match=r"'a\.\.b' cannot be the name of a host"):
        listening_sockets("a..b", 0)
