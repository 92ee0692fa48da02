"""What a replay costs: a call served over loopback, a fingerprint of a long conversation, a run made a capture."""

from __future__ import annotations

import http.client
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from otel_runlog import fingerprint
from otel_runlog.capture import Capture
from otel_runlog.captures.building import captures_of
from otel_runlog.captures.document import dumps
from otel_runlog.conversation import CallPart, LlmRequest, ResultPart, Role, TextPart, Turn
from otel_runlog.model import Span
from otel_runlog.pricing import PriceTable
from otel_runlog.replaying.session import ReplaySession, replay_session
from otel_runlog.testing import TraceBuilder

from .measure import Scale, Timer, interleaved
from .report import Line

SECTION = "replay"
P50_GOAL_MS, P99_GOAL_MS, FINGERPRINT_GOAL_MS, CAPTURE_GOAL_MS = 2, 10, 5, 100
TURNS, TURN_CHARACTERS = 400, 500
"""Of the long conversation: 200 kB."""
STEPS = 100
MODEL = "gpt-4o-mini"


def lines(scale: Scale) -> list[Line]:
    """The section's figures."""
    capture = _capture(_loop(STEPS))
    return [*_served(capture, scale), _fingerprinted(scale), _captured(scale)]


def _served(capture: Capture, scale: Scale) -> list[Line]:
    bodies = [_body(call.request) for call in capture.llm_io if call.request]
    spent_ms: list[float] = []
    cpu_s = time.process_time()
    for _ in range(scale.repeats):
        with replay_session(capture) as session, _connection(session) as (connection, path):
            spent_ms += [_ask(connection, path, body) * 1e3 for body in bodies]
    cpu_s = time.process_time() - cpu_s
    p50, p99 = statistics.median(spent_ms), statistics.quantiles(spent_ms, n=100)[98]
    return [
        _line("a call served over loopback, p50, wall time", p50, P50_GOAL_MS, cpu_s=cpu_s),
        _line("a call served over loopback, p99, wall time", p99, P99_GOAL_MS, cpu_s=cpu_s),
    ]


@contextmanager
def _connection(session: ReplaySession) -> Iterator[tuple[http.client.HTTPConnection, str]]:
    url = urlsplit(session.environment({})["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.hostname or "", url.port)
    try:
        yield connection, f"{url.path}/chat/completions"
    finally:
        connection.close()


def _ask(connection: http.client.HTTPConnection, path: str, body: bytes) -> float:
    started = time.perf_counter()
    connection.request("POST", path, body, {"Content-Type": "application/json"})
    response = connection.getresponse()
    said = response.read()
    spent = time.perf_counter() - started
    assert response.status == 200, said
    return spent


def _body(request: LlmRequest) -> bytes:
    """A request as OpenAI's client sends it."""
    return json.dumps({"model": MODEL, "messages": [m for turn in request.turns for m in _messages(turn)]}).encode()


def _messages(turn: Turn) -> Iterator[dict[str, object]]:
    for part in turn.parts:
        if isinstance(part, ResultPart):
            yield {"role": "tool", "tool_call_id": part.id, "content": part.value}
        elif isinstance(part, CallPart):
            function = {"name": part.name, "arguments": json.dumps(part.arguments)}
            yield {"role": "assistant", "tool_calls": [{"id": part.id, "type": "function", "function": function}]}
        elif isinstance(part, TextPart):
            yield {"role": turn.role.value, "content": part.text}


def _fingerprinted(scale: Scale) -> Line:
    turns = [(Role.USER, Role.ASSISTANT)[number % 2] for number in range(TURNS)]
    texts = [f"{number:04} ".ljust(TURN_CHARACTERS, "x") for number in range(TURNS)]
    request = LlmRequest(turns=tuple(Turn(role, (TextPart(text),)) for role, text in zip(turns, texts, strict=True)))
    plain = [{"role": role.value, "text": text} for role, text in zip(turns, texts, strict=True)]

    def ours(timer: Timer) -> None:
        with timer:
            fingerprint.fingerprint_of(request)

    def floor(timer: Timer) -> None:
        with timer:
            hash(json.dumps(plain, sort_keys=True, separators=(",", ":")))

    found = interleaved({"ours": ours, "floor": floor}, scale.repeats, warm_up=scale.warm_up)
    return _line(
        "fingerprint of a conversation of 200 kB",
        found["ours"].median_s * 1e3,
        FINGERPRINT_GOAL_MS,
        best=found["ours"].best_s * 1e3,
        floor=found["floor"].median_s * 1e3,
        floor_is="json.dumps of it",
        cpu_s=found["ours"].cpu_s,
    )


def _captured(scale: Scale) -> Line:
    spans = _loop(STEPS)
    prices = PriceTable.default()

    def ours(timer: Timer) -> None:
        with timer:
            dumps(captures_of(spans, prices=prices)[0])

    def floor(timer: Timer) -> None:
        with timer:
            for span in spans:
                json.loads(str(span.attributes.get("gen_ai.input.messages", "[]")))

    found = interleaved({"ours": ours, "floor": floor}, scale.repeats, warm_up=scale.warm_up)
    return _line(
        f"a run of {STEPS} steps projected, captured and written",
        found["ours"].median_s * 1e3,
        CAPTURE_GOAL_MS,
        best=found["ours"].best_s * 1e3,
        floor=found["floor"].median_s * 1e3,
        floor_is="json.loads of its prompts",
        cpu_s=found["ours"].cpu_s,
    )


def _capture(spans: list[Span]) -> Capture:
    [capture] = captures_of(spans)
    return capture


def _loop(steps: int) -> list[Span]:
    """An agent of so many steps, model and tool in turn, that sends the whole conversation each time."""
    trace = TraceBuilder("loop")
    boss = trace.agent("looper", duration_ms=10_000)
    history: list[dict[str, object]] = [_said("user", {"type": "text", "content": "Go through all pages. " * 20})]
    for number in range(steps // 2):
        call = {"type": "tool_call", "id": f"call_{number}", "name": "read", "arguments": {"page": number}}
        result = {"type": "tool_call_response", "id": f"call_{number}", "response": f"page {number}: " + "text " * 80}
        asked, history = json.dumps(history), [*history, _said("assistant", call), _said("tool", result)]
        trace.chat(
            MODEL,
            {"gen_ai.input.messages": asked, "gen_ai.output.messages": json.dumps([_said("assistant", call)])},
            parent=boss,
            input_tokens=100 * number,
            output_tokens=20,
        )
        told = {"gen_ai.tool.call.arguments": json.dumps({"page": number})}
        trace.tool("read", told | {"gen_ai.tool.call.result": str(result["response"])}, parent=boss)
    return trace.spans


def _said(role: str, part: dict[str, object]) -> dict[str, object]:
    return {"role": role, "parts": [part]}


def _line(
    figure: str,
    ours: float,
    goal: float,
    *,
    best: float | None = None,
    floor: float | None = None,
    floor_is: str = "",
    cpu_s: float,
) -> Line:
    return Line(
        section=SECTION,
        figure=figure,
        unit="ms",
        ours=ours,
        best=best,
        floor=floor,
        floor_is=floor_is,
        target=goal,
        target_text=f"<= {goal}",
        cpu_s=cpu_s,
    )
