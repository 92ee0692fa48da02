"""What a replay keeps of its own calls, redacted as its recording is: what is new may hold a secret, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from otel_runlog.conversation import CallError
from otel_runlog.replaying.exchanges import Exchange
from otel_runlog.replaying.normalising import KEY, changed_answer, changed_error, changed_request, changed_value
from otel_runlog.replaying.tool_door import ToolExchange


class Kept:
    """Changes exchanges to what may be kept of them.

    Args:
        redact: the recording's redactor; None leaves everything as it is.
    """

    def __init__(self, redact: Callable[[str, Any], Any] | None) -> None:
        self._redact = redact

    def exchange(self, exchange: Exchange) -> Exchange:
        """A model call."""
        if self._redact is None:
            return exchange
        answer = exchange.answer
        return msgspec.structs.replace(
            exchange,
            request=changed_request(exchange.request, self._text),
            answer=None if answer is None else changed_answer(answer, self._text),
            error=self._error(exchange.error),
        )

    def tool(self, exchange: ToolExchange) -> ToolExchange:
        """A tool's call."""
        if self._redact is None:
            return exchange
        return msgspec.structs.replace(
            exchange,
            arguments=changed_value(exchange.arguments, self._text),
            result=changed_value(exchange.result, self._text),
            error=self._error(exchange.error),
        )

    def _error(self, error: CallError | None) -> CallError | None:
        return None if error is None else changed_error(error, self._text)

    def _text(self, text: str) -> str:
        assert self._redact is not None
        return str(self._redact(KEY, text))
