"""Processes that fork: by hand, by multiprocessing, as servers do, and while the store is open."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import socket
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing.context import BaseContext
from pathlib import Path

from otel_runlog.journal import journal_folder, segments
from otel_runlog.journal.folder import parse_segment_name

from .agent import Agent
from .work import Outcome, Work

PARENT_SPANS, CHILD_SPANS = 1000, 300
WORKERS, REQUESTS = 3, 30
ANSWER_S, LOOK_UP_S = 30, 0.2

_state: list[Agent] = []
"""The application's agent, as a module of an application has one: forked children find it here."""


def forked(work: Work) -> Outcome:
    """The parent has 1000 spans behind it, the child adds 300; each writes segments of its own."""
    for durability in ("process", "queue"):
        work.finish("forks:fork_and_write", f"parent-{durability}", durability=durability)
    names = [parse_segment_name(s.name) for s in segments(journal_folder(work.db))]
    pids = len({name.pid for name in names if name})
    work.expect(f"four processes wrote segments under {pids} pids", holds=pids == 4)
    return work.outcome(2)


def fork_and_write(folder: str, who: str, durability: str) -> None:
    agent = Agent(folder, who, durability=durability)
    agent.write(PARENT_SPANS)
    if (pid := os.fork()) == 0:
        agent.become(who.replace("parent", "child")).write(CHILD_SPANS)
        return
    agent.write(50)
    os.waitpid(pid, 0)


def multiprocessed(work: Work) -> Outcome:
    """Children of every method; they leave by os._exit."""
    children = 2 if work.short else 6
    for method in ("fork", "forkserver", "spawn"):
        work.finish("forks:multiprocess", f"parent-{method}", method=method, children=children)
    return work.outcome(3 * children)


def multiprocess(folder: str, who: str, method: str, children: int) -> None:
    _state.append(Agent(folder, who))
    _state[0].write(20)
    context = multiprocessing.get_context(method)
    started = [context.Process(target=write_in_child, args=(folder, f"{who}-{i}")) for i in range(children)]  # type: ignore[attr-defined]
    for child in started:
        child.start()
    for child in started:
        child.join()
    assert {child.exitcode for child in started} == {0}


def write_in_child(folder: str, who: str, spans: int = CHILD_SPANS) -> None:
    """In a forked child the application's agent is there; in any other it is made, as its modules would."""
    if not _state:
        _state.append(Agent(folder, who))
    else:
        _state[0].become(who)
    _state[0].write(spans)


def pooled(work: Work) -> Outcome:
    """Six tasks in two workers of a ProcessPoolExecutor, forked and by a fork server."""
    for method in ("fork", "forkserver"):
        work.finish("forks:use_pool", f"parent-{method}", method=method)
    return work.outcome(12)


def use_pool(folder: str, who: str, method: str) -> None:
    _state.append(Agent(folder, who))
    _state[0].write(20)
    context: BaseContext = multiprocessing.get_context(method)
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        list(pool.map(write_in_child, [folder] * 6, [f"{who}-{i}" for i in range(6)], [100] * 6))


def served_by_forked_workers(work: Work) -> Outcome:
    """A server that is set up once and forks its workers; SIGTERM ends them, gracefully or at once."""
    for graceful in (True, False):
        who = "graceful" if graceful else "at-once"
        work.finish("forks:serve", who, graceful=graceful)
    return work.outcome(2 * WORKERS)


def serve(folder: str, who: str, graceful: bool) -> None:
    agent = Agent(folder, who, loader="thread")
    agent.write(20)
    with socket.create_server(("127.0.0.1", 0), backlog=REQUESTS) as listener:
        workers = [_fork_worker(agent, listener, f"{who}-{i}", graceful=graceful) for i in range(WORKERS)]
        while len(list(agent.acks.folder.glob(f"{who}-*"))) < WORKERS:
            time.sleep(0.01)
        try:
            answers = [_request(listener.getsockname()) for _ in range(REQUESTS)]
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGTERM)
        codes = {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in workers}
    assert answers == [b"done"] * REQUESTS
    assert codes == {0 if graceful else -signal.SIGTERM}
    agent.write(20)


def _fork_worker(agent: Agent, listener: socket.socket, who: str, *, graceful: bool) -> int:
    if pid := os.fork():
        return pid
    if graceful:
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    agent.become(who)
    listener.settimeout(LOOK_UP_S)  # a signal that comes right before accept() is only seen after it
    while True:
        with contextlib.suppress(TimeoutError):
            connection, _ = listener.accept()
            with connection:
                agent.write(10)
                connection.sendall(b"done")


def _request(address: tuple[str, int]) -> bytes:
    with socket.create_connection(address, ANSWER_S) as connection:
        return connection.recv(10)


def forked_with_the_store_open(work: Work) -> Outcome:
    """The parent loads all the time and forks all the time; its children write, flush and leave in all ways."""
    work.finish("forks:fork_while_loading", "parent", forks=10 if work.short else 60)
    longest = float((work.folder / "fork_ms").read_text("ascii"))
    work.notes.append(f"os.fork took {longest:.0f} ms at most")
    return work.outcome(10 if work.short else 60)


def fork_while_loading(folder: str, who: str, forks: int) -> None:
    agent = Agent(folder, who, loader="thread")
    fork_s, children = 0.0, []
    for number in range(forks):
        agent.write(100)
        pid = 0

        def fork() -> None:
            nonlocal pid
            pid = os.fork()

        took_s = agent.timed(fork)
        if pid == 0:
            _write_and_leave(agent.become(f"child{number}"), number)
            return
        fork_s = max(fork_s, took_s)
        children.append(pid)
    codes = {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in children}
    assert codes <= {0, -signal.SIGKILL}, codes
    with contextlib.suppress(FileExistsError):
        Path(folder, "fork_ms").write_text(str(fork_s * 1000), "ascii")


def _write_and_leave(agent: Agent, number: int) -> None:
    agent.write(50)
    if number % 3 == 0:
        agent.processor.force_flush(2000)
    if number % 3 == 1:
        os._exit(0)
    if number % 3 == 2:
        os.kill(os.getpid(), signal.SIGKILL)
