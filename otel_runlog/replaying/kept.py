"""What a replay keeps of its own calls, redacted as its recording is: what is new may hold a secret, too."""

from __future__ import annotations

import msgspec

from otel_runlog.conversation import CallError
from otel_runlog.replaying.exchanges import Exchange
from otel_runlog.replaying.normalising import Normaliser, Redact
from otel_runlog.replaying.tool_door import ToolExchange


class Kept:
    """Changes exchanges to what may be kept of them.

    Args:
        redact: the recording's redactor; None leaves everything as it is.
    """

    def __init__(self, redact: Redact | None) -> None:
        self._words = Normaliser(redact)

    def exchange(self, exchange: Exchange) -> Exchange:
        """A model call."""
        answer = exchange.answer
        return msgspec.structs.replace(
            exchange,
            request=self._words.asked(exchange.request),
            answer=None if answer is None else self._words.answer(answer),
            error=self._error(exchange.error),
        )

    def tool(self, exchange: ToolExchange) -> ToolExchange:
        """A tool's call."""
        return msgspec.structs.replace(
            exchange,
            arguments=self._words.asked_value(exchange.arguments),
            result=self._words.asked_value(exchange.result),
            error=self._error(exchange.error),
        )

    def _error(self, error: CallError | None) -> CallError | None:
        return None if error is None else self._words.error(error)
