"""Asks a replay what a tool is to do, over loopback.

The standard library's HTTP client: it takes no proxy from the environment, and telemetry of the program does not see
it. A connection for each call, because calls come from any thread and any child process.
"""

from __future__ import annotations

import contextlib
from typing import Final
from urllib.parse import urlsplit

import msgspec

from otel_runlog.errors import ReplayError
from otel_runlog.replaying.tool_words import (
    DOOR_PATH,
    RAN_PATH,
    TOOLS_PATH,
    ToolDefined,
    ToolQuestion,
    ToolRan,
    ToolReply,
)

TIMEOUT_S: Final = 60.0
_HEADERS: Final = {"Content-Type": "application/json"}
_OK: Final = 200


def ask(url: str, asked: ToolQuestion) -> ToolReply:
    """What the tool is to do.

    Raises:
        ReplayError: nothing answers there, or not as a replay does.
    """
    body = _post(url, TOOLS_PATH, asked)
    try:
        return msgspec.json.decode(body, type=ToolReply)
    except msgspec.MsgspecError as error:
        raise ReplayError(f"what answers at {url} is no replay: {error}") from None


def tell(url: str, ran: ToolRan) -> None:
    """Say what came of running for real.

    Raises:
        ReplayError: nothing answers there.
    """
    _post(url, RAN_PATH, ran)


def tell_door(url: str, name: str) -> None:
    """Say that the program has this tool. Where nothing answers the tool's first call will say so."""
    with contextlib.suppress(ReplayError):
        _post(url, DOOR_PATH, ToolDefined(name=name))


def _post(url: str, path: str, what: ToolDefined | ToolQuestion | ToolRan) -> bytes:
    from http.client import HTTPConnection, HTTPException  # 30 ms that a program outside a replay does not need

    place = urlsplit(url)
    try:
        connection = HTTPConnection(place.hostname or "", place.port, timeout=TIMEOUT_S)
        with contextlib.closing(connection):
            connection.request("POST", place.path + path, msgspec.json.encode(what), _HEADERS)
            response = connection.getresponse()
            body = response.read()
    except (OSError, ValueError, HTTPException) as error:
        raise ReplayError(f"the replay at {url} does not answer, so the tool was not run: {error}") from None
    if response.status != _OK:
        raise ReplayError(f"the replay at {url} refused a tool's question: {response.status} {body[:200]!r}")
    return body
