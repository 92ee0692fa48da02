"""The application under test, in a child process: it makes runs and says which spans were acknowledged."""

from __future__ import annotations

import itertools
import os
import signal
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider

from otel_runlog.processor import RunLogSpanProcessor

from .acks import Acks
from .nursery import LONGEST_LIFE_S

WHO, SEQUENCE, FILL = "fault.who", "fault.sequence", "fault.fill"
CALL_NAME = "chat m"
FILL_REPEATS = 20
"""The fill says who and which number over and over, so that half a row shows."""


class Agent:
    """One application: a provider with our processor, and a side file for what it acknowledges.

    Args:
        folder: the scenario's folder; the store is `runs.duckdb` in it.
        who: names the side file, and the spans.
        arguments: of the processor; loading is left to others unless asked for.
    """

    def __init__(self, folder: str, who: str, *, db: str | None = None, **arguments: Any) -> None:
        self.folder = Path(folder)
        self.arguments = {"loader": "off", **arguments}
        self.processor = RunLogSpanProcessor(db or self.folder / "runs.duckdb", **self.arguments)
        self.provider = TracerProvider()
        self.provider.add_span_processor(self.processor)
        self.tracer = self.provider.get_tracer("faults")
        self.acks = Acks(self.folder / "acks", who)

    def become(self, who: str) -> Agent:
        """In a forked child: the same processor, a side file and an alarm of its own."""
        signal.alarm(LONGEST_LIFE_S)
        self.acks = Acks(self.folder / "acks", who)
        return self

    def run(self, calls: int, *, end: bool = True, started_ns: int | None = None) -> None:
        """One agent run of so many calls; with `end` False its root stays open."""
        number = self.acks.next()
        root = self.tracer.start_span(
            "invoke_agent a", context.Context(), attributes=self._agent(number), start_time=started_ns
        )
        inside = trace.set_span_in_context(root, context.Context())
        for _ in range(calls):
            self.call(inside, started_ns=started_ns)
        if end:
            self.ended(number, root.end)

    def call(
        self,
        inside: context.Context | None = None,
        attributes: Mapping[Any, Any] | None = None,
        *,
        name: Any = CALL_NAME,
        started_ns: int | None = None,
        ended_ns: int | None = None,
    ) -> None:
        """One model call that starts and ends now, or at the times given (a millisecond where only one is)."""
        number = self.acks.next()
        span = self.tracer.start_span(
            name, inside, attributes=self.attributes(number) | (attributes or {}), start_time=started_ns
        )
        if ended_ns is None and started_ns is not None:
            ended_ns = started_ns + 1_000_000
        self.ended(number, lambda: span.end(ended_ns))

    def write(self, spans: int | None = None) -> None:
        """So many spans, in runs of 20; for ever without a number."""
        for begun in itertools.count(0, 20) if spans is None else range(0, spans, 20):
            self.run((20 if spans is None else min(20, spans - begun)) - 1)

    def timed(self, action: Callable[[], object]) -> float:
        """Do something on the application's thread; returns how long it was held up, in s."""
        started = time.perf_counter()
        action()
        took_s = time.perf_counter() - started
        self.acks.blocked(took_s)
        return took_s

    def ended(self, number: int, end: Callable[[], object]) -> None:
        """End span `number`, and acknowledge it unless the processor counts it as dropped."""
        lost = sum(self.processor.dropped.values())
        started = time.perf_counter()
        end()
        took_s = time.perf_counter() - started
        self.acks.acknowledge(number, took_s, kept=sum(self.processor.dropped.values()) == lost)

    def _own(self, number: int) -> dict[str, Any]:
        who = self.acks.who
        return {WHO: who, SEQUENCE: number, FILL: f"{who}:{number} " * FILL_REPEATS}

    def _agent(self, number: int) -> dict[str, Any]:
        return {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "a"} | self._own(number)

    def attributes(self, number: int) -> dict[str, Any]:
        """Those of call `number`."""
        call = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "gpt-4o-mini"}
        usage = {"gen_ai.usage.input_tokens": 10, "gen_ai.usage.output_tokens": 1}
        return call | usage | self._own(number)


def kill_self() -> None:
    """Kill -9, now."""
    os.kill(os.getpid(), 9)
