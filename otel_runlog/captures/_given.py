"""What an application tells of a call by hand, in the words of `conversation`: wire bodies, texts, objects of SDKs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from typing import Any, TypeAlias, TypeVar

import msgspec

from otel_runlog.apis import answer_of_body, request_of_body
from otel_runlog.conventions.turns import turn_of
from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest, TextPart
from otel_runlog.span import plain_text, plain_value

RequestLike: TypeAlias = LlmRequest | Mapping[str, Any] | Sequence[Any] | str
"""A request; a wire body of any API; a list of messages; what a user said."""
AnswerLike: TypeAlias = LlmAnswer | Mapping[str, Any] | str | object
"""An answer; a wire body of any API, also as an SDK's object; what was said. None: it is not known."""
ErrorLike: TypeAlias = CallError | BaseException | str
_T = TypeVar("_T")
Change: TypeAlias = Callable[[str], str]
_UNCHANGED = frozenset({"operation"})
"""Fields of text that hold one of a few words."""


def request_of(given: RequestLike) -> LlmRequest:
    """A request in neutral words; raises RequestError where a body is none of a known API."""
    if isinstance(given, LlmRequest):
        return given
    value = json_of(given)
    if isinstance(value, dict):
        return request_of_body(value)
    return LlmRequest(turns=turn_of([value] if isinstance(value, str) else value))


def answer_of(given: AnswerLike) -> LlmAnswer | CallError | None:
    """An answer, or an error, in neutral words; raises RequestError where a body is none of a known API."""
    if given is None or isinstance(given, LlmAnswer):
        return given
    value = json_of(given)
    if isinstance(value, dict):
        return answer_of_body(value)
    return LlmAnswer(parts=(TextPart(value if isinstance(value, str) else plain_text(given, [])),))


def error_of(given: ErrorLike | None) -> CallError | None:
    """How a call failed. SDKs put the status of HTTP on their exceptions, as `status_code` or `code`."""
    if given is None or isinstance(given, CallError):
        return given
    if isinstance(given, str):
        return CallError(message=given)
    status = getattr(given, "status_code", None) or getattr(given, "code", None)
    status = status if isinstance(status, int) and not isinstance(status, bool) else None
    return CallError(type(given).__name__, plain_text(given, []), status)


def json_of(value: object) -> Json:
    """A value as JSON says it; data classes and pydantic models by their content, what it cannot say as text."""
    try:
        found: Json = msgspec.json.decode(msgspec.json.encode(value, enc_hook=_by_its_own_word))
    except (ValueError, TypeError, RecursionError, OverflowError, msgspec.MsgspecError):
        found = msgspec.to_builtins(plain_value(value, []))
    return found


def _by_its_own_word(value: object) -> object:
    dump = getattr(value, "model_dump", None)  # pydantic, of which the SDKs of all providers are made
    if callable(dump) and not isinstance(value, type):
        return dump(mode="json")
    return plain_text(value, [])


def changed(value: _T, change: Change) -> _T:
    """A request, answer, error or JSON value with each of its texts changed; keys and enumerated words stay."""
    found: Any = _changed(value, change)
    return found  # type: ignore[no-any-return]


def _changed(value: object, change: Change) -> object:
    if isinstance(value, str):
        return value if isinstance(value, Enum) else change(str.__str__(value))
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__ if name not in _UNCHANGED}
        return msgspec.structs.replace(value, **{name: _changed(field, change) for name, field in fields.items()})
    if isinstance(value, tuple | list):
        return type(value)([_changed(item, change) for item in value])
    if isinstance(value, dict):
        return {key: _changed(item, change) for key, item in value.items()}
    return value
