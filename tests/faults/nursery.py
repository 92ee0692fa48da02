"""A process that has everything imported and forks a child for every request, so that a cycle takes milliseconds.

Requests are JSON lines on stdin: `["start", "module:function", {arguments}]` answers a pid, `["wait", pid]` how the
child ended. A child goes back to the top of the program with what its function raised, so it ends as any script does.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PRELOADED = (
    "faults.agent",
    "faults.kills",
    "faults.forks",
    "faults.loaders",
    "faults.hosts",
    "faults.disks",
    "faults.servers",
)
TESTS = Path(__file__).parents[1]
LONGEST_LIFE_S = 90
"""A child that hangs says where, and ends."""


class Nursery:
    """The parent's end."""

    def __init__(self, errors: Path) -> None:
        self.errors = errors
        self._children: set[int] = set()

    def __enter__(self) -> Self:
        main = "import sys; sys.path.insert(0, sys.argv[1]); from faults.nursery import main; main()"
        with self.errors.open("ab") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-c", main, str(TESTS)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)
        self._process.communicate()

    def start(self, target: str, **arguments: Any) -> int:
        """Fork a child that calls `target`, given as `module:function`; returns its pid."""
        pid = int(self._ask(["start", f"faults.{target}", arguments]))
        self._children.add(pid)
        return pid

    def wait(self, pid: int) -> int:
        """How a child ended: its exit code, or minus the signal's number."""
        code = int(self._ask(["wait", pid]))
        self._children.discard(pid)
        return code

    def kill(self, pid: int) -> int:
        """Kill -9 a child and wait for it."""
        os.kill(pid, signal.SIGKILL)
        return self.wait(pid)

    def signal(self, pid: int, number: signal.Signals) -> None:
        """Send a child a signal."""
        os.kill(pid, number)

    def _ask(self, request: list[Any]) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the nursery died: {self.errors.read_text('utf-8')}")
        return json.loads(answer)


def main() -> None:
    """The nursery itself; in a child it returns when the child's function has."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell lets what it runs aside ignore it
    for name in PRELOADED:
        importlib.import_module(name)
    while line := sys.stdin.readline():
        command, *rest = json.loads(line)
        if command == "wait":
            _answer(os.waitstatus_to_exitcode(os.waitpid(rest[0], 0)[1]))
        elif pid := os.fork():
            _answer(pid)
        else:
            _be_a_child(*rest)
            return


def _answer(value: int) -> None:
    sys.stdout.write(f"{value}\n")
    sys.stdout.flush()


def _be_a_child(target: str, arguments: dict[str, Any]) -> None:
    with Path(os.devnull).open("r+b") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(nothing.fileno(), 1)
    faulthandler.register(signal.SIGALRM, chain=True)
    signal.alarm(LONGEST_LIFE_S)
    module, _, function = target.partition(":")
    getattr(importlib.import_module(module), function)(**arguments)
