"""What a convention reads from one span, and what it says of the span's messages."""

from __future__ import annotations

from decimal import Decimal

import msgspec

from otel_runlog.model import Attributes, Content, Message, StepKind, Usage


class Reading(msgspec.Struct, gc=False):
    """One span in the canonical words. Everything here depends on the span alone.

    `usage` is already in the normal form (cache inside input, reasoning inside output). `usage_cut` says that the
    numbers are only a part (a cut stream, the last call of several). `refused`: the provider refused the call, so no
    usage is missing. `usage_logged`: a log record told it. `is_part`: the usage is that of the call above, of which
    this span is a part. `rootless`: never the root of a run (create_agent, MCP servers). `total_is_no_sum`: a roll-up
    on this span is known not to be the sum of the calls below it.
    """

    convention: str
    kind: StepKind
    agent: str | None = None
    provider: str | None = None
    request_model: str | None = None
    response_model: str | None = None
    response_id: str | None = None
    usage: Usage = Usage()
    usage_cut: bool = False
    usage_fault: bool = False
    usage_logged: bool = False
    reported_usd: Decimal | None = None
    service_tier: str | None = None
    requested_tier: str | None = None
    session_id: str | None = None
    user_id: str | None = None
    native_run_id: str | None = None
    failed: bool = False
    cancelled: bool = False
    refused: bool = False
    error_type: str | None = None
    error_message: str | None = None
    time_to_first_token_ms: float | None = None
    streaming: bool | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    finish_reason: str | None = None
    params: Attributes = {}
    content: Content = Content.NONE
    is_part: bool = False
    rootless: bool = False
    total_is_no_sum: bool = False
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class SpanMessages(msgspec.Struct, gc=False):
    """The messages that a span carries, in order."""

    system: tuple[Message, ...] = ()
    input: tuple[Message, ...] = ()
    output: tuple[Message, ...] = ()
    tools: tuple[Message, ...] = ()
