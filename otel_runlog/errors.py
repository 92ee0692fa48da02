"""All that this package raises on purpose.

RunLogError
├── ConfigError           an argument, a setting or an environment variable that cannot be used
├── OtlpError             bytes that are no OTLP request (with the reason)
├── RatesError            a price table that cannot be used: file, table and key are named
├── JournalError          a journal that cannot be written or read
├── StoreError            the store cannot do what was asked
│   ├── StoreLockedError  another process holds the DuckDB file: its PID, and the way out
│   ├── StoreInterruptedError  somebody asked for an end of the work; nothing uncommitted is kept
│   ├── StoreDamagedError the file is no readable DuckDB database; it was left as it is
│   ├── SchemaError       the store was written by a newer version, or is no runlog store
│   └── StatementError    a SQL statement that is wrong, or that is not answered: the reason is DuckDB's
├── RunNotFoundError      no run, or more than one, has that id prefix
├── CaptureError          a capture that cannot be read, or is none: file, place and reason
│   └── CaptureMissingError  a run without what a replay needs, and the setting that would have recorded it
├── ReplayError           a replay cannot be done, or says no
│   ├── ReplayMismatch    a call differs from the recorded one: which, where, recorded and got
│   ├── ReplayExhausted   a call was asked for more often than it was recorded
│   ├── ReplayedToolError  the error that a tool raised when it was recorded, raised again
│   ├── ReplayedLlmError  the error that a model call failed with when it was recorded, raised again
│   ├── NoLlmCall         the capture has no model call
│   └── RequestError      a body is no request of the API that it was sent to
└── ServerError           the server cannot do what was asked, or did not answer
    ├── ServerStartError  it cannot start: another one serves the store, or an address cannot be used
    ├── ServerBusyError   it has too much to do: asking again helps
    └── LimitError        a question that takes more than the server gives one
        ├── TimeLimitError  time
        └── SizeLimitError  memory
            └── AnswerSizeError  or its answer is too large to be sent
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from otel_runlog.conversation import CallError


class RunLogError(Exception):
    """Base of every error raised on purpose by otel_runlog."""


class ConfigError(RunLogError):
    """An argument, a setting or an environment variable cannot be used."""


class OtlpError(RunLogError):
    """Bytes that are no OTLP request."""


class RatesError(RunLogError):
    """A price table cannot be used."""


class JournalError(RunLogError):
    """The journal cannot be written or read."""


class StoreError(RunLogError):
    """The store cannot do what was asked."""


class StoreLockedError(StoreError):
    """Another process holds the DuckDB file."""


class StoreInterruptedError(StoreError):
    """The work was asked to end before it was done."""


class StoreDamagedError(StoreError):
    """The file is no readable DuckDB database."""


class SchemaError(StoreError):
    """The store's schema is newer than this package, or not a runlog store's."""


class StatementError(StoreError):
    """A SQL statement is wrong, or is not one that is answered."""


class RunNotFoundError(RunLogError):
    """No run, or more than one, goes by that name."""


class CaptureError(RunLogError):
    """A file or text is no capture that can be used."""


class CaptureMissingError(CaptureError):
    """A run does not hold what a replay needs."""


class ReplayError(RunLogError):
    """A replay cannot be done, or says no."""


class ReplayMismatch(ReplayError):  # noqa: N818 - the contract's name
    """A call differs from the recorded one.

    Attributes:
        call_index: of the recorded call.
        path: where it differs.
        recorded: the value there then.
        got: the value there now.
    """

    def __init__(self, message: str, *, call_index: int | None, path: str, recorded: object, got: object) -> None:
        super().__init__(message)
        self.call_index, self.path, self.recorded, self.got = call_index, path, recorded, got

    def __reduce__(self) -> tuple[object, tuple[type[ReplayMismatch], str, dict[str, object]]]:
        facts = {"call_index": self.call_index, "path": self.path, "recorded": self.recorded, "got": self.got}
        return _made_again, (type(self), str(self), facts)


def _made_again(of: type[ReplayMismatch], message: str, facts: dict[str, Any]) -> ReplayMismatch:
    """An error with keywords, from another process."""
    return of(message, **facts)


class ReplayExhausted(ReplayError):  # noqa: N818 - the contract's name
    """A call was asked for more often than it was recorded."""


class ReplayedToolError(ReplayError):
    """A tool raised this when it was recorded. The class that it had then is not made again: `type` names it.

    Attributes:
        name: of the tool.
        type: the class or code of the error, where that was recorded.
        message: what it said, where that was recorded.
    """

    def __init__(self, name: str, error: CallError) -> None:
        self.name, self.type, self.message = name, error.type, error.message
        self._error = error
        super().__init__(error.message or error.type or f"the tool {name} failed when it was recorded")

    def __reduce__(self) -> tuple[type[ReplayedToolError], tuple[str, CallError]]:
        return type(self), (self.name, self._error)


class ReplayedLlmError(ReplayError):
    """A model call failed with this when it was recorded. The class that it had then is not made again.

    Attributes:
        call_index: of the call.
        type: the class or code of the error, where that was recorded.
        message: what it said, where that was recorded.
        http_status: the provider's, where it refused the call.
    """

    def __init__(self, call_index: int, error: CallError) -> None:
        self.call_index, self.type, self.message, self.http_status = (
            call_index,
            error.type,
            error.message,
            error.http_status,
        )
        self._error = error
        super().__init__(error.message or error.type or f"model call {call_index} failed when it was recorded")

    def __reduce__(self) -> tuple[type[ReplayedLlmError], tuple[int, CallError]]:
        return type(self), (self.call_index, self._error)


class NoLlmCall(ReplayError):  # noqa: N818 - the contract's name
    """The capture has no model call to replay."""


class RequestError(ReplayError):
    """A body is no request of the API that it was sent to."""


class ServerError(RunLogError):
    """The server cannot do what was asked, or did not answer."""


class ServerStartError(ServerError):
    """The server cannot start."""


class ServerBusyError(ServerError):
    """The server has too much to do just now."""


class LimitError(ServerError):
    """A question takes more than the server gives one."""


class TimeLimitError(LimitError):
    """A question takes more time than it may."""


class SizeLimitError(LimitError):
    """A question takes more memory than it may."""


class AnswerSizeError(SizeLimitError):
    """The answer to a question is larger than may be sent."""
