"""What a process does at its end and when it forks, for doors that may be gone by then."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import weakref
from collections.abc import Callable
from functools import partial
from typing import Protocol

from otel_runlog.containment import contain


class InProcess(Protocol):
    """What a door does at these moments."""

    def close(self) -> None:
        """The process ends."""

    def close_in_multiprocessing(self) -> None:
        """A multiprocessing child ends, which runs no atexit handlers."""

    def before_fork(self) -> None:
        """A fork is about to happen."""

    def after_fork_in_parent(self) -> None:
        """It happened; this is the parent."""

    def after_fork_in_child(self) -> None:
        """It happened; this is the child."""


def hook_into_process(door: InProcess) -> None:
    """Call the door's methods at these moments, without keeping it alive."""
    atexit.register(_call_weakly(door, _close_at_exit))
    os.register_at_fork(
        before=_call_weakly(door, lambda living: living.before_fork()),
        after_in_parent=_call_weakly(door, lambda living: living.after_fork_in_parent()),
        after_in_child=_call_weakly(door, lambda living: living.after_fork_in_child()),
    )


def _close_at_exit(door: InProcess) -> None:
    door.close()
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        # CPython forgets that it ends by an interrupt when code is run from a string, as named tuples and imports do
        # while the rest is loaded: the shell would see exit code 1 instead of SIGINT. This makes it remember.
        with contextlib.suppress(KeyboardInterrupt):
            exec("raise KeyboardInterrupt")  # noqa: S102 - a literal


def close_in_multiprocessing(door: InProcess) -> None:
    """Have the door of a multiprocessing child closed: such children leave by os._exit, after finalizers only.

    Called with the first span of every process, when the child's own bootstrap has cleared what it inherited.
    """
    util = sys.modules.get("multiprocessing.util")
    if util is not None:
        util.Finalize(None, _call_weakly(door, lambda living: living.close_in_multiprocessing()), exitpriority=0)


def _call_weakly(door: InProcess, method: Callable[[InProcess], None]) -> Callable[[], None]:
    reference = weakref.ref(door)

    def call() -> None:
        if (living := reference()) is not None:
            contain(partial(method, living), None)

    return call
