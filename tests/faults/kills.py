"""Processes that are killed, or leave in their own way."""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from otel_runlog import loader as loading

from .agent import Agent, kill_self
from .work import Outcome, Work

BURST = 1000
LONGEST_LIFE_S = 0.08
SEED = 2
LOAD_EVERY = 10
PIECE_BYTES = 8192
HOUR_NS = 3600 * 10**9


def killed_after_a_burst(work: Work) -> Outcome:
    """1000 spans, then kill -9."""
    tried = 0
    for tried in work.times(10, 2):
        work.finish("kills:burst_and_die", f"burst{tried}", code=-signal.SIGKILL)
    return work.outcome(tried + 1)


def burst_and_die(folder: str, who: str, spans: int = BURST) -> None:
    Agent(folder, who).write(spans)
    kill_self()


def killed_at_random(work: Work) -> Outcome:
    """A writer is killed within 80 ms of its first span; every other one also loads."""
    chance = random.Random(SEED)
    tried = 0
    for tried in work.times(1000, 20):
        pid = work.start("kills:write_for_ever", f"writer{tried}", loader=("off", "thread")[tried % 2])
        time.sleep(chance.uniform(0, LONGEST_LIFE_S))
        work.expect_code("the writer", work.nursery.kill(pid), -signal.SIGKILL)
        if tried % LOAD_EVERY == LOAD_EVERY - 1:
            work.load()
    outcome = work.outcome(tried + 1)
    work.notes.append(f"{LOAD_EVERY} killed processes are loaded in {work.load_s:.2f} s at most")
    return outcome


def write_for_ever(folder: str, who: str, loader: str) -> None:
    Agent(folder, who, loader=loader).write()


def killed_inside_a_run(work: Work) -> Outcome:
    """The root is open, ten calls have ended: the run is there and is running, or incomplete when it is old."""
    for who, age_ns, status in (("now", 0, "running"), ("old", HOUR_NS, "incomplete")):
        work.finish("kills:die_inside", who, code=-signal.SIGKILL, age_ns=age_ns)
        work.load()
        found = work.rows(
            "SELECT r.status, r.agent, r.llm_calls, r.complete FROM runs AS r JOIN spans AS s USING (trace_id)"
            " WHERE s.attributes ->> 'fault.who' = $who AND s.parent_span_id IS NULL",
            {"who": who},
        )
        wanted = [(status, "a", 10, status == "running")]
        work.expect(f"the run killed {who} is {found}, not {wanted}", holds=found == wanted)
    return work.outcome(2)


def die_inside(folder: str, who: str, age_ns: int) -> None:
    Agent(folder, who).run(10, end=False, started_ns=time.time_ns() - age_ns)
    kill_self()


def _unhandled() -> None:
    raise RuntimeError("nobody handles this")


ENDINGS = {
    "returns": (lambda: None, 0),
    "sys_exit": (lambda: sys.exit(4), 4),
    "os_exit": (lambda: os._exit(3), 3),
    "sigterm": (lambda: os.kill(os.getpid(), signal.SIGTERM), -signal.SIGTERM),
    "sigint": (lambda: os.kill(os.getpid(), signal.SIGINT), -signal.SIGINT),
    "unhandled": (_unhandled, 1),
}


def every_way_to_leave(work: Work) -> Outcome:
    """Nothing of ours changes the exit code, and all is there."""
    ways = [(name, loader) for loader in ("off", "thread") for name in ENDINGS]
    quick = [*ways[: len(ENDINGS)], ("returns", "thread"), ("sigint", "thread")]
    spans = 200 if work.short else BURST
    for i in work.times(len(ways), len(quick)):
        name, loader = (quick if work.short else ways)[i]
        work.finish("kills:leave", f"{name}-{loader}", code=ENDINGS[name][1], ending=name, loader=loader, spans=spans)
    return work.outcome(i + 1)


def leave(folder: str, who: str, ending: str, loader: str, spans: int) -> None:
    agent = Agent(folder, who, loader=loader)
    agent.write(spans)
    ENDINGS[ending][0]()


def killed_while_turning_over(work: Work) -> Outcome:
    """Segments and commits of 8 kB, a checkpoint at every commit: most kills hit one of them."""
    chance = random.Random(SEED)
    tried = 0
    for tried in work.times(40, 4):
        pid = work.start("kills:write_in_small_pieces", f"writer{tried}")
        time.sleep(chance.uniform(0, 2 * LONGEST_LIFE_S))
        work.nursery.kill(pid)
        if tried % LOAD_EVERY == LOAD_EVERY - 1:
            work.load()
    return work.outcome(tried + 1)


def write_in_small_pieces(folder: str, who: str) -> None:
    tiny(PIECE_BYTES)
    agent = Agent(folder, who, loader="thread")
    agent.processor._door._journal._segment_bytes = PIECE_BYTES
    while True:
        agent.write(100)
        agent.processor.force_flush(100)


def tiny(piece_bytes: int) -> None:
    """In a child: have the loader commit and DuckDB checkpoint after so few bytes."""
    from otel_runlog.store import connection

    loading.BYTES_PER_READ = piece_bytes
    connection._WRITE_SETTINGS["wal_autocheckpoint"] = "1KB"
