"""A live replay: what was not recorded goes on to the provider it was meant for."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from replays import RUN_ID, Client, Reply, answer, call, capture, messages, request, said

from otel_runlog.conversation import CallError, LlmAnswer, LlmRequest, Role, TextPart, ThinkingPart, Turn
from otel_runlog.errors import ConfigError
from otel_runlog.replaying.divergence import ReproVerdict, Resolution
from otel_runlog.replaying.environment import DOOR_NAMES, DUMMY_KEY
from otel_runlog.replaying.live import Forwarder, _proxy
from otel_runlog.replaying.session import ReplaySession

KEY = {"Authorization": "Bearer sk-real"}


class Provider(ThreadingHTTPServer):
    """Answers each request with the next of its answers, and keeps what it was sent."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.answers: list[tuple[int, str, bytes]] = []
        self.sent: list[tuple[str, str, dict[str, str], bytes]] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Provider

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.sent.append((self.command, self.path, headers, body))
        status, content_type, answered = self.server.answers.pop(0)
        self.send_response(status)
        for name, value in (
            ("Content-Type", content_type),
            ("Content-Length", str(len(answered))),
            ("x-request-id", "q1"),
        ):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answered)

    do_GET = do_POST = _answer  # noqa: N815 - the library's names

    def log_request(self, *args: object) -> None:
        """Nothing."""


@pytest.fixture
def provider() -> Iterator[Provider]:
    with Provider() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def completion(text: str) -> tuple[int, str, bytes]:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    body = {"id": "real-1", "model": "m-1-real", "choices": [choice]}
    return 200, "application/json", json.dumps({**body, "usage": {"prompt_tokens": 4, "completion_tokens": 1}}).encode()


def session_to(provider: Provider, base: str = "/v1", **more: object) -> ReplaySession:
    environ = {"OPENAI_BASE_URL": provider.url + base, "ANTHROPIC_BASE_URL": provider.url}
    recorded = more.pop("recorded", said(("one", "1"), ("two", "2")))
    return ReplaySession(recorded, mode="live", environ=environ, **more)  # type: ignore[arg-type]


def ask(client: Client, prompt: str, **more: object) -> Reply:
    body = {"model": "m-1", "messages": messages(prompt), **more}
    return client.request("POST", "/openai/v1/chat/completions?beta=1", body, {**KEY, "User-Agent": "sdk"})


def test_what_was_recorded_is_served_and_the_rest_goes_on_as_it_came(provider: Provider) -> None:
    provider.answers = [completion("three!")]
    with session_to(provider) as session, closing(Client(session.url)) as client:
        assert ask(client, "one").json["choices"][0]["message"]["content"] == "1"
        reply = ask(client, "three", temperature=0.5)
        assert (reply.status, reply.json["id"], reply.headers["x-request-id"]) == (200, "real-1", "q1")
        [(method, path, headers, body)] = provider.sent
        assert (method, path) == ("POST", "/v1/chat/completions?beta=1")
        assert (headers["authorization"], headers["user-agent"]) == ("Bearer sk-real", "sdk")
        assert headers["host"] == provider.url.removeprefix("http://")
        assert json.loads(body) == {"model": "m-1", "messages": messages("three"), "temperature": 0.5}
        live = session.exchanges[1]
        assert (live.resolution, live.call_index, live.response_id) == (Resolution.LIVE, None, "real-1")
        assert live.answer is not None
        assert (live.answer.text, live.answer.model) == ("three!", "m-1-real")
        report = session.report
        assert (report.verdict, report.served, report.live) == (ReproVerdict.DIVERGED, 1, 1)
        assert report.divergences[0].resolution is Resolution.LIVE
        assert "sk-real" not in repr(session.exchanges) + repr(report)


def test_what_is_kept_is_redacted_as_the_recording_is(provider: Provider) -> None:
    def redact(_: str, value: str) -> str:
        return value.replace("tom@example.org", "[someone]")

    provider.answers = [completion("I wrote to tom@example.org"), (500, "text/plain", b"no tom@example.org here")]
    with session_to(provider, redact=redact) as session, closing(Client(session.url)) as client:
        assert "tom@example.org" in ask(client, "Write to tom@example.org").json["choices"][0]["message"]["content"]
        assert ask(client, "Again").status == 500
        assert json.loads(provider.sent[0][3])["messages"] == messages("Write to tom@example.org")
        answered, failed = session.exchanges
        assert answered.request.turns[-1].text == "Write to [someone]"
        assert answered.answer is not None
        assert answered.answer.text == "I wrote to [someone]"
        assert failed.error == CallError(None, "no [someone] here", 500)
        assert "tom@example.org" not in repr(session.exchanges) + repr(session.report)


def test_a_stream_is_relayed_and_recorded(provider: Provider) -> None:
    chunks = [{"id": "s1", "choices": [{"index": 0, "delta": {"content": text}}]} for text in ("He", "llo")]
    body = b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    provider.answers = [(200, "text/event-stream", body)]
    with session_to(provider) as session, closing(Client(session.url)) as client:
        reply = ask(client, "three", stream=True)
        assert (reply.headers["content-type"], reply.body) == ("text/event-stream", body)
        answered = session.exchanges[0].answer
        assert answered is not None
        assert answered.text == "Hello"


def test_a_provider_that_fails_is_tried_again_as_the_same_call(provider: Provider) -> None:
    busy = b'{"error": {"type": "rate_limit_error", "message": "Slow down"}}'
    provider.answers = [(429, "application/json", busy), completion("three!")]
    with session_to(provider) as session, closing(Client(session.url)) as client:
        first = ask(client, "three")
        assert (first.status, first.body) == (429, busy)
        assert "x-should-retry" not in first.headers
        assert ask(client, "three").status == 200
        assert [(e.http_status, e.error) for e in session.exchanges] == [
            (429, CallError("rate_limit_error", "Slow down", 429)),
            (200, None),
        ]
        report = session.report
        assert [d.kind for d in report.divergences if d.resolution is Resolution.LIVE] == ["request_changed"]
        assert report.live == 1


def refused(session: ReplaySession, reply: Reply, status: int = 400) -> str:
    """The message of a call that did not go on."""
    assert (reply.status, reply.headers["x-should-retry"]) == (status, "false")
    error = reply.json["error"]
    assert error["type"] == "replay_not_forwarded"
    exchange = session.exchanges[-1]
    assert (exchange.resolution, exchange.answer) == (Resolution.REFUSED, None)
    assert session.report.live == 0
    assert any(
        d.resolution is Resolution.REFUSED and error["message"] in (d.detail or "") for d in session.report.divergences
    )
    return str(error["message"])


@pytest.mark.parametrize("headers", [{}, {"Authorization": f"Bearer {DUMMY_KEY}"}])
def test_without_a_real_key_nothing_goes_on(headers: dict[str, str], provider: Provider) -> None:
    with session_to(provider) as session, closing(Client(session.url)) as client:
        body = {"model": "m-1", "messages": messages("three")}
        reply = client.request("POST", "/openai/v1/chat/completions", body, headers)
        assert refused(session, reply) == (
            "this was not recorded, and openai needs a real key to answer it: set OPENAI_API_KEY"
        )
    assert provider.sent == []


def test_an_answer_that_only_the_replay_knows_cannot_be_gone_on_from(provider: Provider) -> None:
    first = LlmRequest(turns=(Turn(Role.USER, (TextPart("hi"),)),), model="m-1")
    recorded = capture(call(1, first, answer("1")), call(2, request("two"), answer("2")))
    with session_to(provider, recorded=recorded) as session, closing(Client(session.url)) as client:
        served = client.request("POST", "/openai/v1/responses", {"model": "m-1", "input": "hi"}, KEY).json["id"]
        assert served == f"rl_{RUN_ID[:8]}_1_1"
        body = {"model": "m-1", "input": "more", "previous_response_id": served}
        reply = client.request("POST", "/openai/v1/responses", body, KEY)
        assert f"goes on from {served}" in refused(session, reply)
    assert provider.sent == []


def test_a_thought_without_its_signature_does_not_go_back_to_the_provider(provider: Provider) -> None:
    asked = LlmRequest(turns=(Turn(Role.USER, (TextPart("a"),)),), model="m-1")
    thought = LlmAnswer(parts=(ThinkingPart("Hm."), TextPart("1")), model="m-1")
    hi = {"role": "user", "content": "a"}
    with (
        session_to(
            provider, recorded=capture(call(1, asked, thought), call(2, request("two"), answer("2")))
        ) as session,
        closing(Client(session.url)) as client,
    ):
        body = {"model": "m-1", "max_tokens": 9, "messages": [hi]}
        served = client.request("POST", "/anthropic/v1/messages", body, {"x-api-key": "real"}).json["content"]
        body["messages"] = [hi, {"role": "assistant", "content": served}, {"role": "user", "content": "b"}]
        reply = client.request("POST", "/anthropic/v1/messages", body, {"x-api-key": "real"})
        assert "whose signature was not recorded" in refused(session, reply)
    assert provider.sent == []


def test_a_provider_that_does_not_answer_is_502(provider: Provider) -> None:
    environ = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    with (
        ReplaySession(said(("one", "1")), mode="live", environ=environ) as session,
        closing(Client(session.url)) as client,
    ):
        message = refused(session, ask(client, "three"), 502)
        assert message.startswith("http://127.0.0.1:9/v1/chat/completions does not answer")


def test_what_is_no_model_call_goes_on_too_and_is_told(provider: Provider) -> None:
    provider.answers = [(200, "application/json", b'{"input_tokens": 7}'), (404, "application/json", b"{}")]
    with session_to(provider) as session, closing(Client(session.url)) as client:
        counted = client.request("POST", "/anthropic/v1/messages/count_tokens", {}, {"x-api-key": "real"})
        assert counted.json == {"input_tokens": 7}
        assert client.request("GET", "/openai/v1/models/m-9", headers=KEY).status == 404
        assert client.request("GET", "/openai/v1/models/m-9").status == 400
        assert [path for _, path, _, _ in provider.sent] == ["/v1/messages/count_tokens", "/v1/models/m-9"]
        assert "POST v1/messages/count_tokens: it went to the provider" in session.report.not_compared


def test_the_proxy_of_the_environment_is_used_as_the_client_would(provider: Provider) -> None:
    provider.answers = [completion("three!")]
    environ = {"OPENAI_BASE_URL": "http://gateway.test/v1", "HTTP_PROXY": provider.url, "NO_PROXY": "other.test"}
    with (
        ReplaySession(said(("one", "1")), mode="live", environ=environ) as session,
        closing(Client(session.url)) as client,
    ):
        assert ask(client, "three").status == 200
    assert provider.sent[0][1] == "http://gateway.test/v1/chat/completions?beta=1"
    assert _proxy("http://gateway.test/v1", environ) == provider.url
    assert _proxy("https://gateway.test/v1", environ) is None
    assert _proxy("http://other.test:80/v1", environ) is None
    with pytest.raises(ConfigError, match="live mode needs") as raised:
        ReplaySession(said(("one", "1")), mode="live", environ={"https_proxy": "socks5://me:secret@proxy"})
    assert "secret" not in str(raised.value)


@pytest.mark.parametrize(
    ("door", "base", "path", "url"),
    [
        ("openai", "https://api.openai.com/v1", "v1/chat/completions", "https://api.openai.com/v1/chat/completions"),
        ("openai", "http://gateway/openai", "v1/chat/completions", "http://gateway/openai/chat/completions"),
        ("anthropic", "https://api.anthropic.com", "v1/messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com", "messages", "https://api.anthropic.com/v1/messages"),
        ("anthropic", "https://api.anthropic.com/v1", "messages", "https://api.anthropic.com/v1/messages"),
        ("gemini", "https://g", "v1beta/models/m:generateContent", "https://g/v1beta/models/m:generateContent"),
        ("gemini", "https://g", "models/m:generateContent", "https://g/v1beta/models/m:generateContent"),
        (
            "azure",
            "https://a",
            "openai/deployments/d/chat/completions",
            "https://a/openai/deployments/d/chat/completions",
        ),
    ],
)
def test_a_path_goes_below_the_base_url_that_was_there(door: str, base: str, path: str, url: str) -> None:
    variable = (*DOOR_NAMES[door].variables, *DOOR_NAMES[door].variables_if_set)[0]
    assert Forwarder({variable: base})._url(DOOR_NAMES[door], path) == url
