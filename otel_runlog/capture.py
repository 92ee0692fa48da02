"""A capture: all that is needed to replay a run without a store. Pure data; captures/ builds, writes and reads it.

What did not pass a model or a tool (the clock, randomness, files, other network calls) is in no capture, and a replay
does not bring it back.
"""

from __future__ import annotations

import datetime as dt
import enum
from typing import Final, Literal

import msgspec

from otel_runlog.conversation import CallError, Json, LlmAnswer, LlmRequest, Params
from otel_runlog.model import Content, RunLog

SCHEMA: Final = "runlog.capture/1"


class ToolSource(enum.StrEnum):
    """Where a tool's result was found: on its own span (or told by hand), or in the next model call's prompt."""

    SPAN = "span"
    NEXT_REQUEST = "next_request"


class CapturedLlm(msgspec.Struct, frozen=True, kw_only=True):
    """One counted model call of a run, in the order of its llm and embedding steps.

    Attributes:
        fingerprint: of the request, as `f1:` and 32 hex digits; None where the request is not known.
        occurrence: how many calls of this run with the same fingerprint came before, plus 1.
        lane: 8 hex digits that calls of one agent share: those of its instructions.
        request: None where the telemetry did not carry it.
        answer: None where the telemetry did not carry it, or the call failed before it answered; a stream that was cut
            has both an answer and an error.
        completeness: how much of request and answer is here. `truncated` is something, and not to be relied on.
        model_version: the model that answered; `provider_version` is the provider's own mark of its system.
    """

    step_index: int
    call_index: int
    operation: Literal["chat", "embedding"] = "chat"
    fingerprint: str | None = None
    occurrence: int = 1
    lane: str | None = None
    request: LlmRequest | None = None
    answer: LlmAnswer | None = None
    error: CallError | None = None
    completeness: Content = Content.NONE
    response_id: str | None = None
    provider: str | None = None
    model: str | None = None
    model_version: str | None = None
    provider_version: str | None = None
    seed: int | None = None
    params: Params = {}


class CapturedTool(msgspec.Struct, frozen=True, kw_only=True):
    """One tool call of a run.

    `source` None: no result and no error are known. step_index and call_index are None where the call has no step of
    its own (a client's bare loop); `after_call` is the call_index of the model call that asked for it, where known.
    """

    name: str
    step_index: int | None = None
    call_index: int | None = None
    after_call: int | None = None
    call_id: str | None = None
    arguments: Json = None
    result: Json = None
    error: CallError | None = None
    source: ToolSource | None = None


class PriceTableRef(msgspec.Struct, frozen=True):
    """The price table that a run's costs came from."""

    name: str
    version: str | None = None


class RedactionPattern(msgspec.Struct, frozen=True):
    r"""A pattern in RE2's syntax; what it finds becomes `[redacted:<name>]`.

    `built_in`: it came with otel-runlog, so a leading `\b` also holds after an escape such as the `\n` of JSON, and
    card numbers must pass the Luhn check. An application's own pattern of the same name has neither.
    """

    name: str
    pattern: str
    built_in: bool = False


class RedactionRules(msgspec.Struct, frozen=True):
    """What was redacted before a run was written: the patterns in the order they apply, own ones first.

    `patterns` None: nobody can tell them, as the redactor was the application's own or another version's; `version` is
    what it said of itself.
    """

    version: str
    patterns: tuple[RedactionPattern, ...] | None = None


class Capture(msgspec.Struct, frozen=True, kw_only=True):
    """A run and what went in and out of its calls, in one piece.

    Attributes:
        captured_at: when the newest of its telemetry came in (UTC); the same run gives the same file at any time.
        completeness: of its model calls the least complete says it; `full` where there are none.
        run: the RunLog with its steps.
        llm_io: one entry for each counted llm and embedding step, in order.
        tool_io: the tool calls, in order.
        memory_ref: what the agent's memory was at the start, in the application's own words.
    """

    schema: str = SCHEMA
    run_id: str
    captured_at: dt.datetime
    completeness: Content
    run: RunLog
    llm_io: tuple[CapturedLlm, ...] = ()
    tool_io: tuple[CapturedTool, ...] = ()
    memory_ref: str | None = None
    price_table: PriceTableRef | None = None
    redaction: RedactionRules | None = None
