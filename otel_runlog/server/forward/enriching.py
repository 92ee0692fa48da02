"""Spans with what the store knows of them: their run, the kind of step, its tokens and cost.

A batch waits until it is loaded and the runs of its traces are closed, at most `wait_s` from when each of its requests
was received; then it goes on with what is known so far, and spans that are not in the store by then go on as they were
received. Spans go in order, so a run that stays open delays what came after it by as much, and by no more. An attribute
of the same name that a span had is replaced.

Tokens bear the names of OTel's GenAI conventions, whatever the emitter called them, with its rules: input includes
cached tokens and output includes reasoning. Of cache writes the released name and the one to come are both written.
`runlog.cost_usd` stands on counted steps alone, so that its sum over a run is the run's cost.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Final

from otel_runlog.errors import OtlpError, StoreError
from otel_runlog.journal.cursors import Place
from otel_runlog.journal.layout import Record
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward.batches import Batch, Piece, fitting
from otel_runlog.server.forward.reading import ReadTurns, first_of, loaded_pieces, store_of
from otel_runlog.server.forward.requests import AsReceived, Outgoing, Prepared, as_protobuf
from otel_runlog.server.forward.span_wire import Added, count_items, span_keys, with_attributes
from otel_runlog.store.forwarding import SpanKey, SpanStep

RUN_ID: Final = "runlog.run.id"
STEP_KIND: Final = "runlog.step.kind"
COST_USD: Final = "runlog.cost_usd"
USAGE: Final = (
    ("gen_ai.usage.input_tokens", "input_tokens"),
    ("gen_ai.usage.output_tokens", "output_tokens"),
    ("gen_ai.usage.cache_read.input_tokens", "cache_read_tokens"),
    ("gen_ai.usage.cache_creation.input_tokens", "cache_write_tokens"),
    ("gen_ai.usage.cache_write.input_tokens", "cache_write_tokens"),
    ("gen_ai.usage.reasoning.output_tokens", "reasoning_tokens"),
)
"""OTel semantic conventions, GenAI: names of 1.41, and cache_write, which cache_creation is being renamed to."""
LOOK_AHEAD_BYTES: Final = 16 << 20
"""So much is asked for at once: opening the store takes as long as sending 2 MiB, and holds up the loader."""
ASK_AGAIN_S: Final = 0.25
_NS_PER_S: Final = 1_000_000_000


class Enriched:
    """Makes requests of spans and their steps; log records go as they were received.

    Args:
        received: how records go otherwise.
        db: the store.
        turns: when it can be read.
        wait_s: how long a request waits at most, from when it was received.
        now_ns: the time, in nanoseconds since the epoch.
    """

    gather_bytes = LOOK_AHEAD_BYTES

    def __init__(
        self,
        received: AsReceived,
        db: Path,
        turns: ReadTurns,
        wait_s: float,
        now_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        self._received = received
        self._db = db
        self._turns = turns
        self._wait_s = wait_s
        self._now_ns = now_ns
        self._bodies: dict[tuple[str, int], _Body] = {}
        self._ask_again_at = 0.0

    def kind_of(self, record: Record) -> Hashable:
        """All spans may be joined: they are sent in protobuf."""
        kind = self._received.kind_of(record)
        return record.signal if kind is not None and record.signal is Signal.TRACES else kind

    def prepare(self, batch: Batch) -> Prepared | None:
        """The spans that are ready, or have waited long enough, with what is known of them."""
        if batch.records[0].signal is not Signal.TRACES:
            return self._received.prepare(batch)
        bodies = self._bodies_of(batch)
        first = bodies[0]
        if not first.is_ready and (not first.was_asked_for or time.monotonic() >= self._ask_again_at):
            self._ask([body for body in bodies if not body.is_ready])
            self._ask_again_at = time.monotonic() + ASK_AGAIN_S
        due_ns, due_s = self._now_ns() - int(self._wait_s * _NS_PER_S), time.monotonic() - self._wait_s
        pieces = fitting(first_of(batch.pieces, (body.may_go(due_ns, due_s) for body in bodies)))
        return Prepared(batch.of(pieces), _request(bodies[: len(pieces)])) if pieces else None

    def answered(self, prepared: Prepared) -> None:
        """What was sent is forgotten."""
        for piece in prepared.batch.pieces:
            self._bodies.pop(_mark(piece), None)

    def _bodies_of(self, batch: Batch) -> list[_Body]:
        """Those that were seen before are not read again."""
        for piece in batch.pieces:
            if _mark(piece) not in self._bodies:
                self._bodies[_mark(piece)] = _Body(piece)
        return [self._bodies[_mark(piece)] for piece in batch.pieces]

    def _ask(self, bodies: list[_Body]) -> None:
        """Which are ready, and what is known of their spans; nothing while the store cannot be read."""
        keys = [key for body in bodies for key in body.keys]
        steps: dict[SpanKey, SpanStep] = {}
        loaded: set[tuple[str, Place]] = set()
        open_traces: set[str] = set()
        with contextlib.suppress(StoreError), store_of(self._db, self._turns) as reader:
            loaded = loaded_pieces(reader, [body.piece for body in bodies])
            open_traces = reader.open_traces({key[0] for key in keys})
            steps = reader.steps(keys)
        for body in bodies:
            body.was_asked_for = True
            body.is_ready = (body.piece.segment, body.piece.place) in loaded and open_traces.isdisjoint(body.traces)
            body.steps = {key: steps[key] for key in body.keys if key in steps}


class _Body:
    """A request as protobuf, its spans, and what is known of them."""

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        self.seen_s = time.monotonic()
        self.unsendable: dict[str, int] = {}
        self.content = as_protobuf(piece.record, self.unsendable)
        self.was_asked_for = self.is_ready = False
        self.steps: dict[SpanKey, SpanStep] = {}
        try:
            self.keys = list(span_keys(self.content))
        except OtlpError:  # the loader counts it, the backend may say what it thinks of it
            self.keys = []
        self.traces = {key[0] for key in self.keys}

    def may_go(self, due_ns: int, due_s: float) -> bool:
        """Whether it is ready, or was received before that time, or seen here: the system's clock may be set back."""
        has_waited = self.piece.record.received_ns <= due_ns or self.seen_s <= due_s
        return self.is_ready or (self.was_asked_for and has_waited)

    def enriched(self) -> bytes:
        """The request with what is known."""
        if not self.steps:
            return self.content
        steps = (self.steps.get(key) for key in self.keys)
        try:
            return with_attributes(self.content, (attributes_of(step) if step else {} for step in steps))
        except OtlpError:  # a span is broken behind its ids
            return self.content


def _mark(piece: Piece) -> tuple[str, int]:
    return piece.segment, piece.record.sequence


def _request(bodies: list[_Body]) -> Outgoing:
    unsendable: Counter[str] = Counter()
    for body in bodies:
        unsendable.update(body.unsendable)
    content = b"".join(body.enriched() for body in bodies)
    return Outgoing(Signal.TRACES, Encoding.PROTOBUF, content, count_items(content), dict(unsendable))


def attributes_of(step: SpanStep) -> Added:
    """What is written on the span of a step."""
    found: Added = {RUN_ID: step.run_id, STEP_KIND: step.kind}
    for name, counter in USAGE:
        value: int | None = getattr(step, counter)
        if value is not None:
            found[name] = value
    if step.cost_usd is not None:
        found[COST_USD] = float(step.cost_usd)
    return found
