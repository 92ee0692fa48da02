"""Captures made by hand, and a client that talks to a session as an SDK would."""

from __future__ import annotations

import datetime as dt
import http.client
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from otel_runlog.capture import Capture, CapturedLlm
from otel_runlog.conversation import (
    CallError,
    FinishReason,
    LlmAnswer,
    LlmRequest,
    Role,
    TextPart,
    Turn,
)
from otel_runlog.fingerprint import fingerprint_of, lane_of
from otel_runlog.model import Content, RunLog, Usage

RUN_ID = "3f2a9c0000000000000000000000beef"
SYSTEM = "Be brief."


def request(prompt: str, *, system: str = SYSTEM) -> LlmRequest:
    return LlmRequest(turns=(Turn(Role.SYSTEM, (TextPart(system),)), Turn(Role.USER, (TextPart(prompt),))), model="m-1")


def answer(text: str, **more: Any) -> LlmAnswer:
    return LlmAnswer(
        parts=(TextPart(text),),
        finish_reason=FinishReason.STOP,
        model="m-1-2026",
        usage=Usage(input_tokens=3, output_tokens=2),
        **more,
    )


def call(index: int, asked: LlmRequest | None, got: LlmAnswer | CallError | None, **more: Any) -> CapturedLlm:
    return CapturedLlm(
        step_index=index,
        call_index=index,
        operation=asked.operation if asked else "chat",
        fingerprint=fingerprint_of(asked) if asked else None,
        lane=lane_of(asked) if asked else None,
        request=asked,
        answer=got if isinstance(got, LlmAnswer) else None,
        error=got if isinstance(got, CallError) else None,
        completeness=Content.FULL,
        model="m-1",
        model_version="m-1-2026",
        **more,
    )


def capture(*calls: CapturedLlm, completeness: Content = Content.FULL, **more: Any) -> Capture:
    return Capture(
        run_id=RUN_ID,
        captured_at=dt.datetime(2026, 11, 29, tzinfo=dt.UTC),
        completeness=completeness,
        llm_io=calls,
        **{"run": RunLog(RUN_ID)} | more,
    )


def said(*pairs: tuple[str, str]) -> Capture:
    """A run that asked and was answered so."""
    return capture(*(call(i, request(prompt), answer(text)) for i, (prompt, text) in enumerate(pairs, 1)))


class Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """One connection that is kept open."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._path = place.path
        self._connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=20)

    def request(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> Reply:
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self._connection.request(
            method, self._path + path, sent, {"Content-Type": "application/json", **(headers or {})}
        )
        response = self._connection.getresponse()
        return Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())

    def chat(
        self, prompt: str, *, system: str = SYSTEM, path: str = "/openai/v1/chat/completions", **more: Any
    ) -> Reply:
        return self.request("POST", path, {"model": "m-1", "messages": messages(prompt, system), **more})

    def text(self, prompt: str) -> str:
        """What a prompt is answered."""
        reply = self.chat(prompt)
        assert reply.status == 200, reply.body
        return str(reply.json["choices"][0]["message"]["content"])

    def close(self) -> None:
        self._connection.close()


def messages(prompt: str, system: str = SYSTEM) -> Sequence[Mapping[str, str]]:
    return [{"role": "system", "content": system}, {"role": "user", "content": prompt}]
