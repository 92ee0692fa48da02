"""Who may ask: Host, Origin and token, on every route and on both doors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import grpc
import pytest
from doors import JSON, PROTOBUF, Doors, doors, json_request, json_span, request_of, span

from otel_runlog.server.guard import Guard
from otel_runlog.server.routes import Request, Response, Route

TOKEN = "t0ken-of-the-test"
EVIL = "https://evil.example"
ROUTES = (
    Route(method="GET", path="/healthz", handle=lambda _: Response(200, b"ok", "text/plain"), is_open=True),
    Route(method="GET", path="/v1/runs/{run_id}", handle=lambda r: Response(200, r.path_values["run_id"].encode())),
)


@pytest.fixture(scope="module")
def on_loopback(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    guard = Guard(["runlog.example", "only.example:4318"], token=TOKEN)
    with doors(tmp_path_factory.mktemp("journal"), guard=guard, routes=ROUTES) as served:
        yield served


@pytest.fixture(scope="module")
def beyond(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    """As served on any other address."""
    guard = Guard(token=TOKEN, token_for_all=True)
    with doors(tmp_path_factory.mktemp("journal"), guard=guard, routes=ROUTES) as served:
        yield served


@pytest.mark.fault(35)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:4318",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "127.0.0.2",
        "[::2]",
        "localhost:x",
        "localhost:",
        "127.0.0.1, evil.example",
        "only.example:80",
        "only.example",
        "evil@localhost",
    ],
)
@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/traces"), ("GET", "/healthz"), ("GET", "/v1/runs/x"), ("GET", "/nothing"), ("OPTIONS", "/healthz")],
)
def test_a_foreign_host_is_403_on_every_route(on_loopback: Doors, host: str, method: str, path: str) -> None:
    reply = on_loopback.request(method, path, headers={"Host": host, "Content-Type": PROTOBUF})
    assert reply.status == 403
    assert "--hosts" in reply.rpc_status.message


@pytest.mark.fault(35)
@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LocalHost:4318",
        "127.0.0.1",
        "127.0.0.1:1",
        "[::1]",
        "[::1]:4318",
        "runlog.example",
        "runlog.example:80",
        "only.example:4318",
    ],
)
def test_own_hosts_are_served(on_loopback: Doors, host: str) -> None:
    assert on_loopback.request("GET", "/healthz", headers={"Host": host}).status == 200


@pytest.mark.fault(36)
@pytest.mark.parametrize(
    "origin", [EVIL, "null", "http://localhost:1", "http://127.0.0.1", "file://", "x", "http://[x"]
)
def test_a_foreign_origin_is_403_and_nothing_is_stored(on_loopback: Doors, origin: str) -> None:
    before = len(on_loopback.records())
    reply = on_loopback.post(json_request(json_span()), content_type=JSON, Origin=origin)
    assert reply.status == 403
    assert len(on_loopback.records()) == before


@pytest.mark.fault(36)
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data"])
def test_a_simple_request_of_a_browser_is_refused(on_loopback: Doors, content_type: str) -> None:
    before = len(on_loopback.records())
    assert on_loopback.post(json_request(json_span()), content_type=content_type, Origin=EVIL).status == 403
    assert on_loopback.post(json_request(json_span()), content_type=content_type).status == 415
    assert len(on_loopback.records()) == before


def test_the_own_origin_is_served(on_loopback: Doors) -> None:
    reply = on_loopback.post(request_of(span()), Origin=f"http://{on_loopback.http}")
    assert reply.status == 200


@pytest.mark.fault(36)
def test_there_is_no_cors(on_loopback: Doors) -> None:
    preflight = {"Origin": EVIL, "Access-Control-Request-Method": "POST"}
    replies = [
        on_loopback.request("OPTIONS", "/v1/traces", headers=preflight),
        on_loopback.request("OPTIONS", "/v1/traces"),
        on_loopback.request("GET", "/healthz"),
        on_loopback.post(request_of(span())),
    ]
    assert [reply.status for reply in replies] == [403, 405, 200, 200]
    for reply in replies:
        assert not any(name.startswith("access-control") for name in reply.headers)
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["cache-control"] == "no-store"


@pytest.mark.fault(38)
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        f"Bearer {TOKEN[:-1]}",
        f"Bearer {TOKEN}x",
        f"Basic {TOKEN}",
        TOKEN,
        f"Bearer {TOKEN} {TOKEN}",
        "Bearer töken",
    ],
)
def test_without_the_token_it_is_401(on_loopback: Doors, beyond: Doors, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}
    guarded = on_loopback.request("GET", "/v1/runs/x", headers=headers)
    assert (guarded.status, guarded.headers["www-authenticate"]) == (401, "Bearer")
    assert guarded.rpc_status.code == grpc.StatusCode.UNAUTHENTICATED.value[0]
    assert TOKEN not in guarded.rpc_status.message
    assert beyond.post(request_of(span()), **headers).status == 401
    assert beyond.request("GET", "/nothing", headers=headers).status == 401


@pytest.mark.fault(38)
def test_the_token_in_the_url_is_no_token(on_loopback: Doors) -> None:
    assert on_loopback.request("GET", f"/v1/runs/x?token={TOKEN}&access_token={TOKEN}").status == 401


@pytest.mark.fault(38)
@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_with_the_token_all_is_served(on_loopback: Doors, beyond: Doors, scheme: str) -> None:
    headers = {"Authorization": f"{scheme} {TOKEN}"}
    assert on_loopback.request("GET", "/v1/runs/a%20b", headers=headers).body == b"a b"
    assert beyond.request("GET", "/v1/runs/x", headers=headers).status == 200
    assert beyond.post(request_of(span()), **headers).status == 200


def test_on_loopback_otlp_needs_no_token(on_loopback: Doors) -> None:
    assert on_loopback.post(request_of(span())).status == 200
    assert on_loopback.call(request_of(span())) == b""


def test_health_never_needs_a_token(on_loopback: Doors, beyond: Doors) -> None:
    assert on_loopback.request("GET", "/healthz").body == b"ok"
    assert beyond.request("GET", "/healthz").body == b"ok"
    head = beyond.request("HEAD", "/healthz")
    assert (head.status, head.body, head.headers["content-length"]) == (200, b"", "2")


@pytest.mark.fault(38)
@pytest.mark.parametrize("authorization", [None, "Bearer wrong", TOKEN, f"Bearer {TOKEN}x"])
def test_grpc_beyond_loopback_needs_the_token(beyond: Doors, authorization: str | None) -> None:
    metadata = [("authorization", authorization)] if authorization else []
    error = beyond.refused_call(request_of(span()), metadata=metadata)
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    assert beyond.call(request_of(span()), metadata=[("authorization", f"Bearer {TOKEN}")]) == b""


@pytest.mark.fault(38)
def test_the_token_is_never_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def failing(request: Request) -> Response:
        raise ValueError("a bug")

    caplog.set_level(logging.DEBUG)
    route = Route(method="GET", path="/bug", handle=failing)
    with doors(tmp_path, guard=Guard(token=TOKEN, token_for_all=True), routes=(route,)) as served:
        headers = {"Authorization": f"Bearer {TOKEN}"}
        assert served.request("GET", "/bug", headers=headers).status == 503
        assert served.request("GET", "/bug", headers={"Authorization": f"Bearer {TOKEN}x"}).status == 401
        served.call(request_of(span()), metadata=[("authorization", f"Bearer {TOKEN}")])
    assert "a bug" in caplog.text
    assert TOKEN not in caplog.text
