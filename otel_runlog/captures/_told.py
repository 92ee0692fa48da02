"""Calls that an application told a CaptureSink of itself: what is known of them beside a span that stands for each."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec

from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest


class ToldLlm(msgspec.Struct, frozen=True):
    """A model call. None: nobody said it."""

    request: LlmRequest | None = None
    answer: LlmAnswer | None = None
    error: CallError | None = None


class ToldTool(msgspec.Struct, frozen=True):
    """A tool call; `result` is that of one which `has_result`, for a result may be None."""

    arguments: Json = None
    result: Json = None
    error: CallError | None = None
    has_result: bool = False


SpanKey: TypeAlias = tuple[str, str]
"""Trace id and span id."""
Told: TypeAlias = Mapping[SpanKey, ToldLlm | ToldTool]
NOTHING: Final[Told] = MappingProxyType({})
