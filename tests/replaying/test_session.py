"""A session: a program's clients ask over real sockets, and what was recorded comes back."""

from __future__ import annotations

import gzip
import json
import os
import re
import socket
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from replays import RUN_ID, Client, answer, call, capture, messages, request, said

from otel_runlog.capture import CapturedTool, ToolSource
from otel_runlog.captures.document import write_capture
from otel_runlog.captures.keeping import persist_capture
from otel_runlog.conversation import CallError, LlmRequest, Role, TextPart, Turn
from otel_runlog.errors import (
    CaptureMissingError,
    ConfigError,
    NoLlmCall,
    ReplayExhausted,
    ReplayMismatch,
    RunNotFoundError,
)
from otel_runlog.model import Content
from otel_runlog.replaying import answering
from otel_runlog.replaying.divergence import DivergenceKind, ReproVerdict, Resolution
from otel_runlog.replaying.session import ReplaySession, replay_session


def client_of(session: ReplaySession) -> AbstractContextManager[Client]:
    return closing(Client(session.url))


@pytest.fixture
def replayed(request: pytest.FixtureRequest) -> Iterator[tuple[ReplaySession, Client]]:
    """A session over two calls."""
    with ReplaySession(said(("one", "1"), ("two", "2"))) as session, client_of(session) as client:
        yield session, client


def test_answers_come_by_what_is_asked_not_by_order(replayed: tuple[ReplaySession, Client]) -> None:
    session, client = replayed
    assert client.text("two") == "2"
    assert client.text("one") == "1"
    assert session.report.verdict is ReproVerdict.IDENTICAL
    assert [(e.number, e.api, e.call_index, e.resolution, e.http_status) for e in session.exchanges] == [
        (1, "openai_chat", 2, Resolution.SERVED, 200),
        (2, "openai_chat", 1, Resolution.SERVED, 200),
    ]
    first = session.exchanges[0]
    assert first.request.turns[-1] == Turn(Role.USER, (TextPart("two"),))
    assert first.answer == answer("2")
    assert 0 < first.started_ns <= first.ended_ns
    assert len({e.response_id for e in session.exchanges}) == 2


PATHS = {
    "/openai/v1/chat/completions": "openai_chat",
    "/v1/chat/completions": "openai_chat",
    "/openai/chat/completions": "openai_chat",
    "/azure/openai/deployments/m-1/chat/completions?api-version=2026-01-01": "openai_chat",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_told_by_its_end(path: str, replayed: tuple[ReplaySession, Client]) -> None:
    session, client = replayed
    assert client.chat("one", path=path).status == 200
    assert session.exchanges[0].api == PATHS[path]


def test_each_api_is_answered_in_its_own_form() -> None:
    plain = LlmRequest(turns=(Turn(Role.USER, (TextPart("hi"),)),), model="m-1")
    four = capture(*(call(i, plain, answer(f"a{i}")) for i in range(1, 5)))
    with ReplaySession(four) as session, client_of(session) as client:
        message = {"role": "user", "content": "hi"}
        chat = client.request("POST", "/openai/v1/chat/completions", {"model": "m-1", "messages": [message]})
        response = client.request("POST", "/openai/v1/responses", {"model": "m-1", "input": "hi"})
        claude = client.request(
            "POST", "/anthropic/v1/messages", {"model": "m-1", "max_tokens": 9, "messages": [message]}
        )
        contents = {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
        gemini = client.request("POST", "/gemini/v1beta/models/m-1%3AgenerateContent", contents)
    assert chat.json["choices"][0]["message"]["content"] == "a1"
    assert response.json["output"][0]["content"][0]["text"] == "a2"
    assert claude.json["content"][0]["text"] == "a3"
    assert gemini.json["candidates"][0]["content"]["parts"] == [{"text": "a4"}]
    assert session.report.verdict is not ReproVerdict.DIVERGED


def test_a_stream_is_events(replayed: tuple[ReplaySession, Client]) -> None:
    session, client = replayed
    reply = client.chat("one", stream=True)
    assert reply.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert reply.headers["x-runlog-step"] == "1"
    events = [line for line in reply.body.decode().split("\n\n") if line]
    assert events[-1] == "data: [DONE]"
    deltas = [json.loads(e.removeprefix("data: "))["choices"][0]["delta"].get("content") or "" for e in events[:-1]]
    assert "".join(deltas) == "1"
    assert session.exchanges[0].streamed


def test_what_was_not_recorded_is_an_error_that_no_client_tries_again(replayed: tuple[ReplaySession, Client]) -> None:
    session, client = replayed
    assert client.text("one") == "1"
    reply = client.chat("three")
    assert reply.status == 400
    assert reply.headers["x-should-retry"] == "false"
    assert reply.headers["x-runlog-step"] == "2"
    assert reply.json["error"]["type"] == "replay_divergence"
    assert "turns[0].user" in reply.json["error"]["message"]
    exchange = session.exchanges[-1]
    assert (exchange.resolution, exchange.answer, exchange.http_status) == (Resolution.REFUSED, None, 400)
    assert exchange.error is not None
    assert exchange.error.type == "replay_divergence"
    assert session.report.verdict is ReproVerdict.DIVERGED


def test_soft_serves_the_nearest_and_refuses_what_nothing_is_near() -> None:
    with ReplaySession(said(("one", "1")), mode="soft") as session, client_of(session) as client:
        assert client.text("one, please") == "1"
        assert client.text("one more") == "1"
        refused = client.request("POST", "/openai/v1/embeddings", {"model": "e", "input": "one"})
        assert (refused.status, refused.json["error"]["type"]) == (400, "replay_divergence")
        assert [e.resolution for e in session.exchanges] == [Resolution.NEAREST, Resolution.NEAREST, Resolution.REFUSED]
        assert len({e.response_id for e in session.exchanges}) == 3
        kinds = [d.kind for d in session.report.divergences]
        assert kinds[:2] == [DivergenceKind.REQUEST_CHANGED, DivergenceKind.EXTRA_CALL]


def test_a_recorded_error_comes_back_with_its_status() -> None:
    overloaded = CallError("overloaded_error", "Overloaded", 529)
    with ReplaySession(capture(call(1, request("one"), overloaded))) as session, client_of(session) as client:
        body = {
            "model": "m-1",
            "max_tokens": 9,
            "system": "Be brief.",
            "messages": [{"role": "user", "content": "one"}],
        }
        reply = client.request("POST", "/anthropic/v1/messages", body)
        assert (reply.status, reply.headers["x-should-retry"]) == (529, "false")
        assert reply.json["error"] == {"type": "overloaded_error", "message": "Overloaded"}
        assert session.exchanges[0].error == overloaded
        assert session.report.same


def test_what_no_recorded_call_is_about_is_said_and_changes_no_verdict() -> None:
    with ReplaySession(said(("one", "1"))) as session, client_of(session) as client:
        assert client.text("one") == "1"
        assert client.request("DELETE", "/openai/v1/responses/resp_1").status == 501
        reply = client.request("POST", "/anthropic/v1/messages/count_tokens", {"messages": []})
        assert (reply.status, reply.headers["x-should-retry"]) == (501, "false")
        assert reply.json["type"] == "error"
        assert reply.json["error"]["type"] == "replay_not_served"
        report = session.report
        assert report.verdict is ReproVerdict.IDENTICAL
        assert "POST v1/messages/count_tokens: a replay does not answer it" in report.not_compared
        assert "DELETE v1/responses/resp_1: a replay does not answer it" in report.not_compared


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/openai/v1/models", lambda body: [m["id"] for m in body["data"]]),
        ("/anthropic/v1/models?limit=20", lambda body: [m["id"] for m in body["data"]]),
        ("/gemini/v1beta/models", lambda body: [m["name"].removeprefix("models/") for m in body["models"]]),
    ],
)
def test_models_are_those_of_the_recording(path: str, found: object, replayed: tuple[ReplaySession, Client]) -> None:
    session, client = replayed
    assert callable(found)
    reply = client.request("GET", path)
    assert (reply.status, found(reply.json)) == (200, ["m-1", "m-1-2026"])
    one = client.request("GET", path.partition("?")[0] + "/m-1")
    assert (one.status, (one.json.get("id") or one.json["name"]).rpartition("/")[2]) == (200, "m-1")
    assert client.request("GET", path.partition("?")[0] + "/m-2").status == 501
    assert session.report.not_compared != ()


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b'{"messages": 1}', b"[" * 100_000])
def test_a_body_that_is_no_request_is_400_in_the_providers_form(
    body: bytes, replayed: tuple[ReplaySession, Client]
) -> None:
    session, client = replayed
    reply = client.request("POST", "/openai/v1/chat/completions", body)
    assert (reply.status, reply.headers["x-should-retry"]) == (400, "false")
    assert reply.json["error"]["message"].startswith("the replay cannot read this request: ")
    assert (client.text("one"), client.text("two")) == ("1", "2")
    assert session.report.verdict is ReproVerdict.INCOMPLETE
    assert session.report.not_compared[-1].startswith("POST v1/chat/completions: it could not be read: ")


def test_large_and_compressed_bodies_are_read() -> None:
    prompt = "x" * (8 << 20)
    with ReplaySession(said((prompt, "long"))) as session, client_of(session) as client:
        body = {
            "model": "m-1",
            "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": prompt}],
        }
        reply = client.request(
            "POST",
            "/openai/v1/chat/completions",
            gzip.compress(json.dumps(body).encode(), 1),
            {"Content-Encoding": "gzip"},
        )
    assert reply.json["choices"][0]["message"]["content"] == "long"


def test_a_body_that_cannot_be_taken_is_told(replayed: tuple[ReplaySession, Client]) -> None:
    session, client = replayed
    broken = client.request("POST", "/openai/v1/chat/completions", b"not gzip", {"Content-Encoding": "gzip"})
    assert broken.status == 400
    assert session.report.not_compared[-1].startswith("POST a body: broken gzip data: ")
    assert (client.text("one"), client.text("two")) == ("1", "2")
    assert session.report.verdict is ReproVerdict.INCOMPLETE


def test_another_path_than_the_sessions_is_not_found(replayed: tuple[ReplaySession, Client]) -> None:
    session, _ = replayed
    with closing(Client(session.url[:-4] + "0000")) as stranger:
        assert stranger.chat("one").status == 404
    assert session.exchanges == ()


def test_threads_get_their_own_answers() -> None:
    """8 threads, 40 calls each, of prompts that come once and of prompts that all threads share."""
    own = [(f"thread {t} call {i}", f"{t}/{i}") for t in range(8) for i in range(30)]
    shared = [(f"shared {i}", f"s{i}") for i in range(10) for _ in range(8)]
    with ReplaySession(said(*own, *shared)) as session:

        def ask(thread: int) -> int:
            mine = [(f"thread {thread} call {i}", f"{thread}/{i}") for i in range(30)]
            both = [pair for i in range(10) for pair in (*mine[i * 3 : i * 3 + 3], (f"shared {i}", f"s{i}"))]
            with client_of(session) as client:
                return sum(client.text(prompt) != text for prompt, text in both)

        with ThreadPoolExecutor(8) as threads:
            assert list(threads.map(ask, range(8))) == [0] * 8
        report = session.report
        assert (report.verdict, report.served) == (ReproVerdict.IDENTICAL, 320)
        assert [e.number for e in session.exchanges] == list(range(1, 321))
        assert len({e.response_id for e in session.exchanges}) == 320


def asked(prompt: str) -> str:
    """What an unmodified client in this process would get, by the variables alone."""
    with closing(Client(os.environ["OPENAI_BASE_URL"])) as client:
        reply = client.chat(prompt, path="/chat/completions")
        return str(reply.json["choices"][0]["message"]["content"]) if reply.status == 200 else f"{reply.status}"


def test_the_environment_is_set_inside_the_block_and_afterwards_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    monkeypatch.setenv("NO_PROXY", "internal")
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    before = dict(os.environ)
    with replay_session(said(("one", "1"))) as session:
        assert asked("one") == "1"
        assert os.environ["OPENAI_API_KEY"] != "real"
        assert os.environ["NO_PROXY"] == "internal,127.0.0.1,localhost"
        assert os.environ["OTEL_RUNLOG_REPLAY_URL"] == session.url
        assert "OPENAI_AGENTS_DISABLE_TRACING" not in os.environ
    assert dict(os.environ) == before


def test_a_strict_session_fails_though_the_program_swallowed_the_error() -> None:
    before = dict(os.environ)
    with pytest.raises(ReplayMismatch, match="three") as raised, replay_session(said(("one", "1"))):
        assert asked("three") == "400"
    assert (raised.value.call_index, raised.value.path) == (1, "turns[0].user")
    assert (raised.value.recorded, raised.value.got) == ("one", "three")
    assert dict(os.environ) == before


def test_one_call_more_than_recorded_is_exhausted() -> None:
    with pytest.raises(ReplayExhausted, match="already served 1 of 1"), replay_session(said(("one", "1"))):
        assert (asked("one"), asked("one")) == ("1", "400")


def test_a_call_that_never_came_fails_a_strict_session_and_no_soft_one() -> None:
    with pytest.raises(ReplayMismatch), replay_session(said(("one", "1"), ("two", "2"))):
        assert asked("one") == "1"
    with replay_session(said(("one", "1"), ("two", "2")), mode="soft") as session:
        assert asked("one") == "1"
    assert session.report.verdict is ReproVerdict.DIVERGED


def test_the_programs_own_error_goes_on_with_the_report_as_a_note() -> None:
    def program() -> None:
        assert asked("three") == "400"
        raise KeyError("answer")

    with pytest.raises(KeyError) as raised, replay_session(said(("one", "1"))):
        program()
    assert "diverged" in raised.value.__notes__[0]


def test_sessions_nest_and_run_side_by_side() -> None:
    before = dict(os.environ)
    with replay_session(said(("one", "outer"))):
        with replay_session(said(("one", "inner"))):
            assert asked("one") == "inner"
        assert asked("one") == "outer"
    assert dict(os.environ) == before

    def alone(number: int) -> str:
        with (
            replay_session(said(("one", str(number))), set_environment=False) as session,
            client_of(session) as client,
        ):
            return client.text("one")

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(alone, range(8))) == [str(n) for n in range(8)]
    assert dict(os.environ) == before


@pytest.mark.parametrize("mode", ["strict", "soft"])
def test_nobody_else_is_connected_to(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is asked and wherever the variables led before: in this process nobody connects but the clients."""
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/v1")
    connected: set[object] = set()
    connect = socket.socket.connect

    def noted(own: socket.socket, address: object) -> None:
        connected.add(address)
        connect(own, address)  # type: ignore[arg-type]

    monkeypatch.setattr(socket.socket, "connect", noted)
    with replay_session(capture(call(1, request("one"), answer("1"))), mode=mode) as session:
        with client_of(session) as client:
            assert client.text("one") == "1"
            for path in ("/anthropic/v1/messages/count_tokens", "/openai/v1/files", "/gemini/v1beta/cachedContents"):
                assert client.chat("whatever", path=path).status == 501
                assert client.request("GET", path).status == 501
                assert client.request("DELETE", path).status == 501
        place = urlsplit(session.url)
        assert connected == {("127.0.0.1", place.port)}


def test_only_live_mode_and_a_programs_own_tools_have_code_that_connects() -> None:
    clients = re.compile(
        r"^ *(?:import|from) (?:urllib3|http\.client|urllib\.request|requests|httpx|socket|grpc)\b", re.MULTILINE
    )
    modules = Path(answering.__file__).parent.glob("*.py")
    assert sorted(path.stem for path in modules if clients.search(path.read_text("utf-8"))) == ["live", "tool_client"]


@pytest.mark.parametrize("mode", ["strict", "soft", "live"])
def test_a_capture_without_content_is_refused_before_anything_starts(mode: str) -> None:
    empty = capture(call(1, None, None), call(2, None, None), completeness=Content.NONE)
    with pytest.raises(CaptureMissingError) as raised, replay_session(empty, mode=mode):
        pytest.fail("it started")
    assert "2 model calls, 0 recorded with content" in str(raised.value)
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY" in str(raised.value)


def test_a_capture_of_answers_alone_needs_soft_mode() -> None:
    answers = capture(call(1, None, answer("1")), completeness=Content.ANSWER)
    with pytest.raises(CaptureMissingError, match="--mode soft"), replay_session(answers):
        pytest.fail("it started")
    with replay_session(answers, mode="soft"):
        assert asked("whatever") == "1"


def test_a_capture_without_model_calls_and_a_wrong_mode_are_refused() -> None:
    with pytest.raises(NoLlmCall), replay_session(capture()):
        pytest.fail("it started")
    with pytest.raises(ConfigError, match="mode must be one of strict, soft, live: 'hard'"):
        ReplaySession(said(("one", "1")), mode="hard")


def test_of_an_answer_that_was_not_recorded_a_soft_replay_says_so() -> None:
    half = capture(call(1, request("one"), answer("1")), call(2, request("two"), None))
    with ReplaySession(half, mode="soft") as session, client_of(session) as client:
        reply = client.chat("two")
        assert reply.status == 400
        assert not session.report.same


def weather(city: str) -> str:
    raise AssertionError(f"{city}: it ran for real")


def test_tools_with_a_door_give_what_they_gave_then() -> None:
    then = CapturedTool(name="weather", call_index=2, arguments={"city": "Paris"}, result="18C", source=ToolSource.SPAN)
    recorded = capture(call(1, request("one"), answer("1")), tool_io=(then,))
    module = sys.modules[__name__]
    with replay_session(recorded, tools={"clock": "static:12"}) as session:
        session.patch(f"{__name__}:weather")
        assert asked("one") == "1"
        assert module.weather("Paris") == "18C"
    assert [(e.number, e.name, e.result) for e in session.tool_exchanges] == [(2, "weather", "18C")]
    assert session.policies.of("clock").value == 12
    with pytest.raises(AssertionError, match="ran for real"):
        module.weather("Paris")


def test_a_capture_comes_from_a_file_or_from_a_store(tmp_path: Path) -> None:
    recorded = said(("one", "1"))
    file, db = tmp_path / "run.json", tmp_path / "runs.duckdb"
    write_capture(file, recorded)
    persist_capture(db, recorded)
    with replay_session(file):
        assert asked("one") == "1"
    with replay_session(db, run=RUN_ID[:6]) as session:
        assert asked("one") == "1"
    assert session.report.verdict is ReproVerdict.IDENTICAL
    with pytest.raises(RunNotFoundError), replay_session(str(db), run="0000"):
        pytest.fail("it started")


def test_a_live_session_inside_a_strict_one_has_the_real_key_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "real")
    with replay_session(said(("one", "1")), mode="soft"):
        assert os.environ["OPENAI_API_KEY"] != "real"
        with replay_session(said(("one", "1")), mode="live"):
            assert os.environ["OPENAI_API_KEY"] == "real"
        assert os.environ["OPENAI_API_KEY"] != "real"
    assert os.environ["OPENAI_API_KEY"] == "real"


def test_a_bug_of_ours_is_an_error_that_no_client_tries_again_and_no_key_is_logged(
    replayed: tuple[ReplaySession, Client], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    session, client = replayed
    keys = {"Authorization": "Bearer sk-real", "x-api-key": "sk-real"}

    def fails(*_: object) -> None:
        raise RuntimeError("a bug")

    with caplog.at_level("DEBUG"):
        body = {"model": "m-1", "messages": messages("one")}
        assert client.request("POST", "/openai/v1/chat/completions?key=sk-real", body, keys).status == 200
        monkeypatch.setattr(answering, "_rendered", fails)
        reply = client.request("POST", "/openai/v1/chat/completions", {**body, "messages": messages("two")}, keys)
        client.request("POST", "/openai/v1/files?key=sk-real", body, keys)
    assert (reply.status, reply.headers["x-should-retry"]) == (500, "false")
    assert reply.json["error"]["message"] == "the replay failed: RuntimeError, its log says how"
    assert session.report.verdict is ReproVerdict.INCOMPLETE
    assert "a bug" in caplog.text
    assert "sk-real" not in caplog.text + repr(session.exchanges) + repr(session.report)
