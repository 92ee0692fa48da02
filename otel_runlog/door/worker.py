"""A daemon thread with an inbox: started by its first message, gone after a fork, started again by the next message."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Final, Generic, TypeVar

from opentelemetry import context
from opentelemetry.context import _SUPPRESS_INSTRUMENTATION_KEY

from otel_runlog.containment import OwnThread, describe, warn

HURRY_S: Final = 0.3
"""So long before the end of its patience `stop` asks for haste."""
NATIVE_S: Final = 10.0
"""So long `stop` waits for a thread that heard the call for haste, whatever its patience: see there."""
_Message = TypeVar("_Message")


class Receipt:
    """What a caller waits for: the answer to a message it sent, for `timeout_s` at most."""

    def __init__(self, timeout_s: float) -> None:
        self._deadline = time.monotonic() + max(timeout_s, 0.0)
        self._done = threading.Event()
        self._answer = False

    @property
    def left_s(self) -> float:
        """How long somebody still waits for the answer; 0 where nobody does any more."""
        return max(self._deadline - time.monotonic(), 0.0)

    def answer(self, *, good: bool) -> None:
        """Called by the worker."""
        self._answer = good
        self._done.set()

    def wait(self) -> bool:
        """The answer; False where none came in time."""
        return self._done.wait(self.left_s) and self._answer


class Worker(Generic[_Message]):
    """Runs `body(inbox)` in a thread of its own; the body returns when it takes None from the inbox.

    `send` may be called from signal handlers and finalizers: SimpleQueue.put is reentrant. Spans that libraries would
    make of what the body does are suppressed.
    """

    _thread: threading.Thread | None
    _inbox: SimpleQueue[_Message | None]
    _lock: threading.RLock
    _told: str | None

    def __init__(self, name: str, body: Callable[[SimpleQueue[_Message | None]], None]) -> None:
        self._name = name
        self._body = body
        self.after_fork()

    def send(self, message: _Message) -> bool:
        """Hand a message over, starting the thread where there is none; False where there can be none any more."""
        if self._thread is None and not self._start():
            return False
        self._inbox.put(message)
        return True

    def stop(self, timeout_s: float, hurry: Callable[[], bool] | None = None, *, native_s: float = NATIVE_S) -> bool:
        """Let the thread end after all that was sent; False where it did not within `timeout_s`.

        `hurry` is called HURRY_S before the time is up. Where it says that it was heard, the thread ends as soon as it
        gets a core, and is waited for until then: an interpreter that ends while a thread is inside DuckDB's C++
        aborts the process (`terminate called`), and its exit code is not the application's any more. That wait ends
        after `native_s`.
        """
        thread, inbox = self._thread, self._inbox
        if thread is None:
            return True
        self._thread, self._inbox = None, SimpleQueue()
        inbox.put(None)
        if thread is threading.current_thread():
            return False
        hurry_s = 0.0 if hurry is None else HURRY_S
        thread.join(max(timeout_s - hurry_s, 0.0))
        if thread.is_alive() and hurry is not None:
            thread.join(native_s if hurry() else min(hurry_s, max(timeout_s, 0.0)))
        return not thread.is_alive()

    def is_this_thread(self) -> bool:
        """Whether the caller runs in the worker's own thread, where waiting for it would never end."""
        return self._thread is threading.current_thread()

    def after_fork(self) -> None:
        """In the child: forget the parent's thread and what was sent to it."""
        self._thread = None
        self._inbox = SimpleQueue()
        self._lock = threading.RLock()
        self._told = None

    def _start(self) -> bool:
        with self._lock:
            if self._thread is None:
                thread = OwnThread(target=self._run, args=(self._inbox,), name=self._name, daemon=True)
                try:
                    thread.start()
                except Exception as error:  # noqa: BLE001 - the interpreter is ending, or there are too many threads
                    self._tell(f"cannot start the thread {self._name}, the next span tries again: {error}")
                    return False
                self._thread, self._told = thread, None
            return True

    def _tell(self, message: str) -> None:
        if message != self._told:
            self._told = message
            warn(message)

    def _run(self, inbox: SimpleQueue[_Message | None]) -> None:
        context.attach(context.set_value(_SUPPRESS_INSTRUMENTATION_KEY, True))
        while True:
            try:
                self._body(inbox)
            except BaseException as error:  # noqa: BLE001 - a bug of ours must not end the thread for good
                warn("the thread %s goes on after an error: %s", self._name, describe(error))
                time.sleep(1.0)
            else:
                return
