"""What may leave our code for the application's: only what the application raised itself.

Errors of ours and of callbacks given to us stay inside, BaseExceptions too. What a signal handler raises while our code
happens to run (Ctrl-C, a SIGTERM handler that calls sys.exit, a SIGALRM that means a timeout) is the application's and
goes on, and so is what another library throws into this thread from outside. Which it was is read from the traceback.
"""

from __future__ import annotations

import dis
import functools
import logging
import signal
import threading
from collections.abc import Callable, Iterator
from types import CodeType, TracebackType
from typing import Final, TypeVar

from otel_runlog.errors import RunLogError

LOGGER: Final = logging.getLogger("otel_runlog")
CANCELLED: Final = "CancelledError"
CANCELLING: Final = frozenset({"KeyboardInterrupt", "GeneratorExit", "SystemExit"})
_RAISE: Final = dis.opmap["RAISE_VARARGS"]
_T = TypeVar("_T")


class OwnThread(threading.Thread):
    """A thread of this package; whatever is raised in it is ours."""


def is_applications(error: BaseException) -> bool:
    """Whether an error that came out of our own code is meant for the application.

    True for what a signal handler raised, and for BaseExceptions that no `raise` statement raised: those were thrown
    into the thread from outside.
    """
    if isinstance(threading.current_thread(), OwnThread):
        return False
    return is_from_signal(error) or not (isinstance(error, Exception) or _is_from_statement(error))


def is_from_signal(error: BaseException) -> bool:
    """Whether a signal handler raised it: the only thing out of a callback that goes on to the application."""
    if threading.current_thread() is not threading.main_thread():
        return False
    if isinstance(error, KeyboardInterrupt) and not _is_from_statement(error):
        return True  # the interpreter's own handler has no frame
    handlers = {_code_of(signal.getsignal(number)) for number in signal.valid_signals()}
    return any(step.tb_frame.f_code in handlers for step in _steps(error.__traceback__))


def cancellation(error: BaseException) -> str | None:
    """What `error.type` says of a span that this error ended by cancelling it; None for an error that fails it.

    Of the BaseExceptions some go by their own names; all others (trio's Cancelled, a greenlet's exit) cancel, too.
    """
    name = type(error).__name__
    if isinstance(error, Exception):
        return name if name == CANCELLED else None  # concurrent.futures has one that is an Exception
    return name if name in CANCELLING else CANCELLED


def contain(action: Callable[[], _T], otherwise: _T) -> _T:
    """What `action` returns; `otherwise` and a warning where it raises what is not the application's."""
    try:
        return action()
    except BaseException as error:
        if is_applications(error):
            raise
        warn("an error of otel_runlog was kept from the application: %s", describe(error))
        return otherwise


def warn(message: str, *values: object, exc_info: BaseException | None = None) -> None:
    """Log a warning, whatever the application's logging handlers raise."""
    try:
        LOGGER.warning(message, *values, exc_info=exc_info, stacklevel=2)
    except BaseException as error:
        if is_applications(error):
            raise


def describe(error: BaseException) -> str:
    """An error in a few words. A foreign one is named by its type and place: its text may hold what a span holds."""
    if isinstance(error, RunLogError | OSError):
        return str(error)
    *_, last = (None, *_steps(error.__traceback__))
    place = f" at {last.tb_frame.f_code.co_filename}:{last.tb_lineno}" if last else ""
    return type(error).__name__ + place


def _is_from_statement(error: BaseException) -> bool:
    *_, last = (None, *_steps(error.__traceback__))
    return last is not None and last.tb_frame.f_code.co_code[last.tb_lasti] == _RAISE


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _code_of(handler: object) -> CodeType | None:
    """The code that a signal handler runs first, where it is Python's."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    method = getattr(type(handler), "__call__", None)  # noqa: B004 - its code is looked for, not whether it is there
    code = getattr(function, "__code__", None) or getattr(method, "__code__", None)
    return code if isinstance(code, CodeType) else None
