"""Runs a program of the user's in the foreground: input and output are ours, and it gets the signals that we get."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from otel_runlog.errors import ConfigError

_FORWARDED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_Send = Callable[[int], object]


def run_child(command: Sequence[str], environ: Mapping[str, str]) -> int:
    """Run a program to its end; its exit status, negative for the signal that ended it.

    A signal that comes meanwhile is the program's, which decides whether it ends.

    Raises:
        ConfigError: there is no such program, or it cannot be run.
    """
    with _signals() as send_by:
        try:
            child = subprocess.Popen(command, env=dict(environ))
        except OSError as error:
            raise ConfigError(f"cannot run {command[0]}: {error.strerror or error}") from None
        except ValueError as error:  # a NUL
            raise ConfigError(f"cannot run {command[0]!r}: {error}") from None
        send_by(child.send_signal)
        return child.wait()


@contextlib.contextmanager
def _signals() -> Iterator[Callable[[_Send], None]]:
    """Take the signals of this process; gives what says how to send them on. Ignored ones stay ignored, for both."""
    early: list[int] = []
    found: list[_Send] = []

    def got(number: int, _frame: object) -> None:
        if not found:
            early.append(number)
        elif not (number == signal.SIGINT and _is_of_the_terminal()):
            found[0](number)

    def send_by(send: _Send) -> None:
        found.append(send)
        while early:
            send(early.pop(0))

    taken = [number for number in _FORWARDED if signal.getsignal(number) not in {signal.SIG_IGN, None}]
    before = {number: signal.signal(number, got) for number in taken}
    try:
        yield send_by
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_of_the_terminal() -> bool:
    """Whether Ctrl-C comes from a terminal's key: then the program in front has got it too, and once is enough."""
    for stream in (0, 1, 2):
        try:
            if os.isatty(stream) and os.tcgetpgrp(stream) == os.getpgrp():
                return True
        except OSError:  # closed, or another session's terminal
            continue
    return False


def failure_of(status: int) -> str | None:
    """How a program failed by its exit status, as `exit status 3` or `ended by SIGKILL`; None where it did not."""
    if status == 0:
        return None
    if status > 0:
        return f"exit status {status}"
    try:
        return f"ended by {signal.Signals(-status).name}"
    except ValueError:  # a real-time signal
        return f"ended by signal {-status}"
