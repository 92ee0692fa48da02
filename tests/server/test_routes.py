"""How paths find their route, and answers their words."""

from __future__ import annotations

import http.client

import pytest

from otel_runlog.server.answers import Outcome, RefusedError
from otel_runlog.server.budget import Budget
from otel_runlog.server.guard import Guard
from otel_runlog.server.http_door import HttpDoor
from otel_runlog.server.routes import Request, Response, Route, Routes


def answers(_: Request) -> Response:
    return Response(529, b"{}")


ROUTES = Routes(
    [
        Route(method="POST", path="/s/{id}/tools", handle=answers),
        Route(method="POST", path="/s/{id}/{rest*}", handle=answers),
    ]
)


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/s/1/v1/messages", {"id": "1", "rest": "v1/messages"}),
        ("/s/1/x", {"id": "1", "rest": "x"}),
        ("/s/1/models/a%3Agenerate", {"id": "1", "rest": "models/a:generate"}),
        ("/s/1/a//b/", {"id": "1", "rest": "a//b/"}),
        ("/s/1/tools", {"id": "1"}),
    ],
)
def test_what_is_left_of_a_path_is_one_value(path: str, values: dict[str, str]) -> None:
    assert ROUTES.find("POST", path)[1] == values


@pytest.mark.parametrize("path", ["/s/1/", "/s/1", "/t/1/x", "/s//x"])
def test_nothing_left_is_another_path(path: str) -> None:
    with pytest.raises(RefusedError) as raised:
        ROUTES.find("POST", path)
    assert raised.value.answer.outcome is Outcome.NOT_FOUND


def test_a_status_that_no_standard_names_is_sent_all_the_same() -> None:
    door = HttpDoor(
        "127.0.0.1:0", (Route(method="GET", path="/x", handle=answers, is_open=True),), Guard(), Budget(1 << 20)
    )
    host, _, port = door.start().partition(":")
    client = http.client.HTTPConnection(host, int(port), timeout=5)
    try:
        client.request("GET", "/x")
        assert client.getresponse().status == 529
    finally:
        client.close()
        door.stop(1)
