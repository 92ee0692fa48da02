"""Which errors a question may meet, as they travel: by the name of their class, and by HTTP's status."""

from __future__ import annotations

from typing import Final, NamedTuple

from otel_runlog.errors import (
    AnswerSizeError,
    ConfigError,
    RunLogError,
    RunNotFoundError,
    SchemaError,
    ServerBusyError,
    ServerError,
    SizeLimitError,
    StatementError,
    StoreDamagedError,
    StoreError,
    StoreInterruptedError,
    StoreLockedError,
    TimeLimitError,
)


class Failure(NamedTuple):
    """An error and its status."""

    error: type[RunLogError]
    status: int


FAILURES: Final = (
    Failure(StatementError, 400),
    Failure(ConfigError, 400),
    Failure(RunNotFoundError, 404),
    Failure(TimeLimitError, 408),
    Failure(SizeLimitError, 413),
    Failure(AnswerSizeError, 413),
    Failure(StoreLockedError, 503),
    Failure(StoreInterruptedError, 503),
    Failure(ServerBusyError, 503),
    Failure(StoreDamagedError, 500),
    Failure(SchemaError, 500),
    Failure(StoreError, 500),
    Failure(ServerError, 500),
)
"""All else that goes wrong is a ServerError."""
_BY_NAME: Final = {failure.error.__name__: failure for failure in FAILURES}
_ANY: Final = FAILURES[-1]


def name_of(error: RunLogError) -> str:
    """How an error is called where the table has no line for its class."""
    kinds = (kind.__name__ for kind in type(error).__mro__)
    return next((name for name in kinds if name in _BY_NAME), _ANY.error.__name__)


def error_named(name: str, message: str) -> RunLogError:
    """The error that another process met."""
    return _BY_NAME.get(name, _ANY).error(message)


def status_of(error: RunLogError) -> int:
    """HTTP's status for an error."""
    return _BY_NAME[name_of(error)].status
