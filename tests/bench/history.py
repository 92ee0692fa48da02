"""An agent of 50 calls that sends its whole conversation again with each: what of that is stored, and at what cost."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from otel_runlog.ingest import ingest
from otel_runlog.loader import Loader
from otel_runlog.pricing import PriceTable

from .measure import Scale, Timer, interleaved
from .report import Line
from .workload import CLIENT, MS, SECOND_NS, START_NS, MadeSpan, Value, Workload, protobuf_body, requests

SECTION = "history"
AS_SENT = "as sent, not compressed"
Turn = dict[str, str]


def _genai(messages: list[Turn]) -> dict[str, Value]:
    made = [{"role": m["role"], "parts": [{"type": "text", "content": m["content"]}]} for m in messages]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "gpt-4o-mini",
        "gen_ai.input.messages": json.dumps(made),
    }


def _flattened(messages: list[Turn]) -> dict[str, Value]:
    found: dict[str, Value] = {"openinference.span.kind": "LLM", "llm.model_name": "gpt-4o-mini"}
    for number, message in enumerate(messages):
        for key, value in message.items():
            found[f"llm.input_messages.{number}.message.{key}"] = value
    return found


def _repeating(messages: list[Turn]) -> dict[str, Value]:
    """As OpenInference sends it by default: the request as one string of JSON beside its messages."""
    return _flattened(messages) | {"input.value": json.dumps({"messages": messages, "model": "gpt-4o-mini"})}


SHAPES: tuple[tuple[str, Callable[[list[Turn]], dict[str, Value]], int], ...] = (
    ("JSON arrays", _genai, 6),
    ("flattened keys", _flattened, 6),
    ("flattened keys and input.value", _repeating, 12),
)
"""Name, attributes of a call, and the goal: stored bytes of a hundred that were sent (issue `Small and fast`)."""


def lines(scale: Scale) -> list[Line]:
    """The section's figures: one agent, and twenty at once whose calls come in turn."""
    found: list[Line] = []
    for agents in (1, 20):
        for name, attributes, goal in SHAPES:
            spans = _conversations(agents, scale.calls_of_history, attributes)
            found.append(_line(f"{name}, {agents} at once" if agents > 1 else name, spans, goal))
    return found


def _conversations(agents: int, calls: int, attributes: Callable[[list[Turn]], dict[str, Value]]) -> list[MadeSpan]:
    workload = Workload()
    told: list[list[Turn]] = [[{"role": "system", "content": workload.words(1_500, 2_500)}] for _ in range(agents)]
    spans = []
    for call in range(calls):
        for agent, messages in enumerate(told):
            messages.append({"role": "tool" if call else "user", "content": workload.words(300, 1_500)})
            started_ns = START_NS + call * SECOND_NS + agent * MS
            ids = (agent + 1).to_bytes(16), (call * agents + agent + 1).to_bytes(8)
            span = MadeSpan(
                *ids, b"", "chat gpt-4o-mini", CLIENT, started_ns, started_ns + 500 * MS, attributes(messages)
            )
            spans.append(span)
            messages.append({"role": "assistant", "content": workload.words(200, 900)})
    return spans


def _line(name: str, spans: list[MadeSpan], goal: int) -> Line:
    bodies = [protobuf_body(part) for part in requests(spans)]
    sent = sum(map(len, bodies))
    stored: list[int] = []
    with tempfile.TemporaryDirectory(prefix="runlog-bench-") as folder:
        source = Path(folder, "sent")
        source.mkdir()
        for number, body in enumerate(bodies):
            (source / f"{number:04}.pb").write_bytes(body)

        def load(timer: Timer) -> None:
            db = Path(folder, f"load-{len(stored)}", "runs.duckdb")
            db.parent.mkdir()
            empty = _size_of_an_empty_store(db.with_name("empty.duckdb"))
            with timer:
                report = ingest(Loader(db, prices=PriceTable.default()), [source])
            assert report.stored == len(spans)
            stored.append(sum(f.stat().st_size for f in db.parent.glob("runs.duckdb*")) - empty)

        sample = interleaved({name: load}, 1, warm_up=False)[name]
    return Line(
        section=SECTION,
        figure=name,
        unit="% of bytes",
        ours=100 * stored[-1] / sent,
        floor=100,
        floor_is=AS_SENT,
        target=goal,
        target_text=f"<= {goal}",
        cpu_s=sample.cpu_s,
    )


def _size_of_an_empty_store(db: Path) -> int:
    """What a store takes without any span; of a single agent's that would be a third of the figure."""
    Loader(db, prices=PriceTable.default()).open().close()
    return db.stat().st_size
