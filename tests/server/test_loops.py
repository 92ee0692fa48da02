"""A server that would forward to itself is told so before it starts."""

from __future__ import annotations

import pytest

from otel_runlog.config import DestinationConfig
from otel_runlog.errors import ConfigError
from otel_runlog.server.loops import refuse_loops


@pytest.mark.parametrize(
    ("url", "bind"),
    [
        ("http://127.0.0.1:4318", "127.0.0.1:4318"),
        ("http://localhost:4318/v1/traces", "127.0.0.1:4318"),
        ("http://127.0.0.1:4318", "localhost:4318"),
        ("grpc://127.0.0.1", "127.0.0.1:4317"),
        ("http://127.0.0.1:4318", "0.0.0.0:4318"),
        ("http://127.0.0.2:4318", "0.0.0.0:4318"),
        ("http://0.0.0.0:4318", "127.0.0.1:4318"),
        ("http://[::1]:4318", "[::1]:4318"),
        ("http://[::1]:4318", "[::]:4318"),
    ],
)
def test_a_destination_that_is_the_server_itself_is_refused(url: str, bind: str) -> None:
    with pytest.raises(ConfigError, match="is this server itself"):
        refuse_loops([DestinationConfig(url=url)], ["", bind])


@pytest.mark.parametrize(
    ("url", "bind"),
    [
        ("http://127.0.0.1:4319", "127.0.0.1:4318"),
        ("http://127.0.0.2:4318", "127.0.0.1:4318"),
        ("http://192.0.2.77:4318", "0.0.0.0:4318"),
        ("http://[2001:db8::77]:4318", "[::]:4318"),
        ("http://nowhere.invalid:4318", "127.0.0.1:4318"),
        ("http://127.0.0.1:4318", "127.0.0.1:0"),
    ],
)
def test_other_servers_are_destinations(url: str, bind: str) -> None:
    refuse_loops([DestinationConfig(url=url)], [bind])
