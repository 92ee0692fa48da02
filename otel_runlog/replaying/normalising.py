"""What is asked, in the words of the recording: redacted as it was, and without what is to be ignored. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

import msgspec

from otel_runlog.capture import Capture
from otel_runlog.conversation import (
    CallError,
    CallPart,
    Json,
    LlmAnswer,
    LlmRequest,
    Part,
    ResultPart,
    TextPart,
    ThinkingPart,
    ToolDefinition,
    Turn,
)
from otel_runlog.errors import ConfigError
from otel_runlog.redaction import redactor_of
from otel_runlog.replaying.comparing import MAX_DEPTH

UUIDS: Final = r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
"""A pattern for `ignore`: RFC 9562."""
TIMESTAMPS: Final = r"\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
"""A pattern for `ignore`: days and times of RFC 3339 and ISO 8601."""
IGNORED: Final = "[ignored]"
"""What stands in place of a text that is to be ignored."""
KEY: Final = "gen_ai.input.messages"
"""The attribute that a redactor is told a text of a conversation comes from."""

Change = Callable[[str], str]
Redact = Callable[[str, Any], Any]
"""A redactor, as the recorder takes one: called with an attribute's name and a text."""


def redactor_for(capture: Capture, given: Redact | None) -> Redact | None:
    """What a replay redacts with: what it was given, else the recording's own rules, where those are known.

    Raises:
        ConfigError: the rules cannot be applied here.
    """
    rules = capture.redaction
    if given is not None or rules is None or rules.patterns is None:
        return given
    return redactor_of(rules)


def redaction_unknown(capture: Capture, given: Redact | None) -> str | None:
    """What to say where a recording was redacted by rules that nobody knows here."""
    rules = capture.redaction
    if given is not None or rules is None or rules.patterns is not None:
        return None
    return f"the recording's redactor (version {rules.version}) is not known here, give it as redact="


class Normaliser:
    """Changes the texts on both sides of a comparison.

    Args:
        redact: what the recording was redacted with, applied to what is asked only: what was recorded has been.
        ignore: regular expressions (`re`) whose finds play no part, on neither side.

    Raises:
        ConfigError: a pattern is no regular expression.
    """

    def __init__(self, redact: Redact | None = None, ignore: Sequence[str] = ()) -> None:
        self._redact = redact
        try:
            self._ignore = tuple(re.compile(pattern) for pattern in ignore)
        except (re.error, TypeError) as error:
            raise ConfigError(f"ignore holds what is no regular expression: {error}") from error

    @property
    def changes_recorded(self) -> bool:
        """Whether what was recorded has to be changed too."""
        return bool(self._ignore)

    def asked(self, request: LlmRequest) -> LlmRequest:
        """A request of the replay."""
        return request if self._redact is None and not self._ignore else changed_request(request, self._of_asked)

    def recorded(self, request: LlmRequest) -> LlmRequest:
        """A request of the recording."""
        return changed_request(request, self._without_ignored) if self._ignore else request

    def answered(self, answer: LlmAnswer | CallError) -> LlmAnswer | CallError:
        """What the real model answered in the replay, redacted as the recording's answers are."""
        return self.answer(answer) if isinstance(answer, LlmAnswer) else self.error(answer)

    def answer(self, answer: LlmAnswer) -> LlmAnswer:
        """What a model answered in the replay, redacted as the recording's answers are."""
        return answer if self._redact is None else changed_answer(answer, self._redacted)

    def error(self, error: CallError) -> CallError:
        """How a call failed in the replay, redacted likewise."""
        return error if self._redact is None else changed_error(error, self._redacted)

    def asked_value(self, value: Json) -> Json:
        """Arguments or a result of the replay."""
        return value if self._redact is None and not self._ignore else changed_value(value, self._of_asked)

    def recorded_value(self, value: Json) -> Json:
        """Arguments or a result of the recording."""
        return changed_value(value, self._without_ignored) if self._ignore else value

    def _of_asked(self, text: str) -> str:
        return self._without_ignored(self._redacted(text))

    def _redacted(self, text: str) -> str:
        return text if self._redact is None else str(self._redact(KEY, text))

    def _without_ignored(self, text: str) -> str:
        for pattern in self._ignore:
            text = pattern.sub(IGNORED, text)
        return text


def changed_value(value: Json, change: Change, depth: int = 0) -> Json:
    """A value with each of its texts changed, keys and what is nested deeper than MAX_DEPTH left as they are."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list) and depth < MAX_DEPTH:
        return [changed_value(item, change, depth + 1) for item in value]
    if isinstance(value, dict) and depth < MAX_DEPTH:
        return {key: changed_value(item, change, depth + 1) for key, item in value.items()}
    return value


def changed_answer(answer: LlmAnswer, change: Change) -> LlmAnswer:
    """An answer with each of its texts changed."""
    return msgspec.structs.replace(answer, parts=tuple(_changed_part(part, change) for part in answer.parts))


def changed_error(error: CallError, change: Change) -> CallError:
    """An error with its message changed."""
    return error if error.message is None else msgspec.structs.replace(error, message=change(error.message))


def changed_request(request: LlmRequest, change: Change) -> LlmRequest:
    """A request with each of its texts changed."""
    tools = request.tools
    return msgspec.structs.replace(
        request,
        turns=tuple(
            Turn(turn.role, tuple(_changed_part(part, change) for part in turn.parts)) for turn in request.turns
        ),
        inputs=tuple(map(change, request.inputs)),
        params={key: changed_value(value, change) for key, value in request.params.items()},
        tools=None if tools is None else tuple(_changed_tool(tool, change) for tool in tools),
    )


def _changed_tool(tool: ToolDefinition, change: Change) -> ToolDefinition:
    description = None if tool.description is None else change(tool.description)
    return ToolDefinition(tool.name, description, changed_value(tool.parameters, change))


def _changed_part(part: Part, change: Change) -> Part:
    match part:
        case TextPart() | ThinkingPart():
            return msgspec.structs.replace(part, text=change(part.text))
        case CallPart():
            return msgspec.structs.replace(part, arguments=changed_value(part.arguments, change))
        case ResultPart():
            return msgspec.structs.replace(part, value=changed_value(part.value, change))
        case _:
            return part
