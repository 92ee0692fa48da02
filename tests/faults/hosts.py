"""Applications that must not be hurt: stalled and raising sinks, huge and hostile values, cancelled work."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from otel_runlog.loader import Loader, LoadReport
from otel_runlog.running import run

from .agent import Agent
from .work import Outcome, Work

PROMPT_BYTES = 1 << 20
GROWTH_MB = 96
"""The queue's 64 MiB, and what the rest may take (facts: G6)."""
FLUSH_MS = 1000
FLUSH_S = 1.2
DEAD_EXIT_S = 2.0
DEAD_SPANS = 2000


class _Stuck:
    """A sink that takes a minute for a turn."""

    def turn(self, timeout_s: float = 0.0, *, limit_s: float | None = None) -> LoadReport:
        time.sleep(60)
        return LoadReport()


class _Raising:
    """A sink that fails twice, each time in another way, then works."""

    errors: tuple[BaseException, ...] = (RuntimeError("the sink fails"), SystemExit(9))

    def __init__(self, db: Path) -> None:
        self._loader = Loader(db)

    def turn(self, timeout_s: float = 0.0, *, limit_s: float | None = None) -> LoadReport:
        if _Raising.errors:
            error, *rest = _Raising.errors
            _Raising.errors = tuple(rest)
            raise error
        return self._loader.turn(timeout_s, limit_s=limit_s)


def stalled_with_big_prompts(work: Work) -> Outcome:
    """The sink stands still while prompts of 1 MB come: memory stays within its bound, the rest goes to disk."""
    spans = 24 if work.short else 256
    for durability in ("process", "queue"):
        work.finish("hosts:write_big_prompts", durability, spans=spans, durability=durability)
    outcome = work.outcome(2 * spans)
    growth = f"memory grew by {outcome.growth_mb:.0f} MB, the bound is {GROWTH_MB}"
    work.expect(growth, holds=outcome.growth_mb <= GROWTH_MB)
    return outcome


def write_big_prompts(folder: str, who: str, spans: int, durability: str) -> None:
    agent = Agent(folder, who, durability=durability, loader="thread", _loader_factory=lambda _: _Stuck())
    for number in range(spans):
        agent.call(None, {"gen_ai.input.messages": f"{who} {number} " * (PROMPT_BYTES // 12)})
        agent.acks.weigh()
    agent.acks.blocked(0.0)
    queue = agent.processor._door._queue
    assert queue is None or queue.flush(60)
    os._exit(0)


def sink_that_raises(work: Work) -> Outcome:
    """The sink raises an Exception, then a BaseException: the application sees neither, and the third turn loads."""
    work.finish("hosts:write_into_raising", "writer")
    return work.outcome(2)


def write_into_raising(folder: str, who: str) -> None:
    agent = Agent(folder, who, loader="thread", _loader_factory=_Raising)
    agent.write(100)
    good = [agent.processor.force_flush(wait_ms) for wait_ms in (2000, 2000, 20_000)]
    assert not good[0], "a flush whose sink failed was called good"
    assert good[-1], good


def flush_of_a_hung_sink(work: Work) -> Outcome:
    """A flush of 1 s returns within 1.2 s, and says False."""
    work.finish("hosts:flush_into_hung", "writer")
    return work.outcome(1)


def flush_into_hung(folder: str, who: str) -> None:
    agent = Agent(folder, who, loader="thread", _loader_factory=lambda _: _Stuck())
    agent.write(100)
    said: list[bool] = []
    took_s = agent.timed(lambda: said.append(agent.processor.force_flush(FLUSH_MS)))
    assert said == [False], "the flush said that all was well"
    assert took_s <= FLUSH_S, f"the flush took {took_s} s"
    os._exit(0)


def nowhere_to_write(work: Work) -> Outcome:
    """Neither journal nor store can be written: 2000 spans are counted as dropped, and the process ends within 2 s."""
    pid = work.nursery.start("hosts:write_nowhere", folder=str(work.folder), who="writer")
    work.expect_code("the writer", work.nursery.wait(pid), 0)
    took_s = time.time() - float((work.folder / "left").read_text("ascii"))
    work.expect(f"it took {took_s:.1f} s to end", holds=took_s <= DEAD_EXIT_S)
    work.notes.append(f"ends in {took_s:.2f} s")
    Loader(work.db).open().close()
    return work.outcome(1)


def write_nowhere(folder: str, who: str) -> None:
    agent = Agent(folder, who, db="/proc/nowhere/runs.duckdb", loader="thread")
    agent.write(DEAD_SPANS)
    assert sum(agent.processor.dropped.values()) == DEAD_SPANS, agent.processor.dropped
    Path(folder, "left").write_text(str(time.time()), "ascii")


async def _cancelled(agent: Agent) -> None:
    async def work_on() -> None:
        with run("cancelled", tracer=agent.tracer):
            agent.call()
            await asyncio.sleep(60)

    task = asyncio.create_task(work_on())
    await asyncio.sleep(0.01)
    task.cancel()
    await task


def _interrupted(agent: Agent) -> None:
    with run("interrupted", tracer=agent.tracer):
        agent.call()
        raise KeyboardInterrupt


def _abandoned(agent: Agent) -> None:
    def answers() -> object:
        with run("abandoned", tracer=agent.tracer):
            agent.call()
            yield

    going = answers()
    next(going)  # type: ignore[call-overload]
    del going


def _left(agent: Agent) -> None:
    with run("left", tracer=agent.tracer):
        agent.call()
        raise SystemExit(5)


def _plain(agent: Agent) -> None:
    """Without `run`: the SDK alone leaves such a span without a word."""
    attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "plain"}
    with agent.tracer.start_as_current_span("invoke_agent plain", attributes=attributes):
        agent.call()
        raise KeyboardInterrupt


CANCELLATIONS: dict[str, Callable[[Agent], object]] = {
    "cancelled": lambda agent: asyncio.run(_cancelled(agent)),
    "interrupted": _interrupted,
    "abandoned": _abandoned,
    "left": _left,
    "plain": _plain,
}


def cancelled(work: Work) -> Outcome:
    """A cancelled task, Ctrl-C, an abandoned generator and sys.exit: the run is cancelled, never completed."""
    work.finish("hosts:cancel_everything", "writer")
    outcome = work.outcome(len(CANCELLATIONS))
    found = dict(work.rows("SELECT agent, status FROM runs"))
    work.expect(f"the runs ended as {found}", holds=found == dict.fromkeys(CANCELLATIONS, "cancelled"))
    return outcome


def cancel_everything(folder: str, who: str) -> None:
    agent = Agent(folder, who)
    for cancel in CANCELLATIONS.values():
        with contextlib.suppress(KeyboardInterrupt, SystemExit, asyncio.CancelledError):
            cancel(agent)


def _deep(levels: int) -> object:
    value: object = "bottom"
    for _ in range(levels):
        value = [value]
    return value


POISON: dict[str, tuple[object, dict[object, object]]] = {
    "lone surrogates": ("name \ud83e", {"key \ud83e": "value \ud83e"}),
    "no text for a name": (5, {}),
    "NUL": ("a\x00b", {"a\x00": "b\x00"}),
    "an integer of 71 bits": ("int", {"n": 2**70}),
    "no numbers": ("nan", {"nan": float("nan"), "inf": float("-inf")}),
    "60 levels": ("deep", {"deep": _deep(60)}),
    "keys that are no text": ("keys", {7: "seven", None: "none", "": "empty"}),
}


def poison_among_512(work: Work) -> Outcome:
    """Among 512 spans some that nobody should make: every one is kept, repaired or not, and costs no other."""
    work.finish("hosts:write_poison", "writer")
    outcome = work.outcome(len(POISON))
    work.expect(f"{outcome.acknowledged} spans were acknowledged, not 512", holds=outcome.acknowledged == 512)
    return outcome


def write_poison(folder: str, who: str) -> None:
    agent = Agent(folder, who)
    agent.write(256)
    for name, attributes in POISON.values():
        agent.call(None, attributes, name=name)
    agent.write(512 - agent.acks.tried)


STRANGE_NS: dict[str, tuple[int, int]] = {
    "end before start": (1_790_000_000 * 10**9, 1_789_999_999 * 10**9),
    "start of 1": (1, 2),
    "the largest": (2**64 - 1, 2**64 - 1),
    "the end of 63 bits": (2**63 - 1, 2**63),
    "no time at all": (1_790_000_000 * 10**9, 1_790_000_000 * 10**9),
}


def strange_times(work: Work) -> Outcome:
    """Ends before starts, and times that no column holds: stored, and said."""
    work.finish("hosts:write_strange_times", "writer")
    outcome = work.outcome(len(STRANGE_NS))
    told = "len(list_filter(notes, lambda n: n LIKE 'clock_skew:%')) > 0"
    [(unsaid,)] = work.rows(f"SELECT count(*) FROM runs WHERE duration_ms < 0 AND NOT {told}")
    work.expect(f"{unsaid} runs end before they start without a word", holds=unsaid == 0)
    return outcome


def write_strange_times(folder: str, who: str) -> None:
    agent = Agent(folder, who)
    for started_ns, ended_ns in STRANGE_NS.values():
        agent.call(None, started_ns=started_ns, ended_ns=ended_ns)


def over_the_limits(work: Work) -> Outcome:
    """203 attributes and 300 events, of which the SDK drops some: the span says how many, its run is incomplete."""
    work.finish("hosts:write_over_limits", "writer")
    outcome = work.outcome(1)
    found = work.rows("SELECT dropped_attributes_count > 0, dropped_events_count, complete FROM spans, runs")
    work.expect(f"what the SDK dropped is told as {found}", holds=found == [(True, 172, False)])
    return outcome


def write_over_limits(folder: str, who: str) -> None:
    agent = Agent(folder, who)
    number = agent.acks.next()
    span = agent.tracer.start_span("chat m")
    for i in range(203):
        span.set_attribute(f"a{i}", i)
    for i in range(300):
        span.add_event(f"e{i}")
    span.set_attributes(agent.attributes(number))
    agent.ended(number, span.end)
