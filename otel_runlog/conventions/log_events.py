"""Log records that tell of one call each, and the span that would have said the same.

Coding agents send them beside their spans or, with tracing off, alone. A record is read by its convention, as the span
that it stands for. To add an event: one row in EVENTS (facts/semconv, section 2 and trap 3; names as captured).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import msgspec

from otel_runlog.conventions import claude_code, codex, gemini_cli, otel_genai
from otel_runlog.conventions._attrs import dump, flag, mapping, number, text
from otel_runlog.conventions._content import DETAILS_EVENT
from otel_runlog.model import Attributes, LogRecord, Scope, Span

ERROR = 2
"""OTLP's status code of a failed span."""
CODEX_PREFIX = "codex."
CLAUDE_SCOPE = "com.anthropic.claude_code"


class CallEvent(msgspec.Struct, frozen=True):
    """How records of one event are read.

    The span has the record's attributes, those `renamed` under their other names, and `given` beside them. It is none
    where the record has nothing of `told`. `run` names the run and `agent` whose call it is; without `run` the record's
    own span is the call's, not the span above it. `is_tool`: a tool's call, else a model's.
    """

    convention: str
    scope: str
    span_name: str
    told: tuple[str, ...]
    run: tuple[str, ...] = ()
    agent: str | None = None
    given: Attributes = {}
    renamed: Mapping[str, str] = {}
    is_tool: bool = False


CLAUDE_RUN = ("prompt.id", "session.id")
CODEX_RUN = ("conversation.id",)
GEMINI_RUN = ("prompt_id", "session.id")
GEMINI_AGENT = "gemini-cli"
EVENTS: dict[str, CallEvent] = {
    "claude_code.api_request": CallEvent(
        claude_code.NAME,
        claude_code.SCOPE,
        "claude_code.llm_request",
        ("input_tokens", "output_tokens"),
        CLAUDE_RUN,
        claude_code.AGENT,
        {"span.type": "llm_request"},
    ),
    "claude_code.api_error": CallEvent(
        claude_code.NAME,
        claude_code.SCOPE,
        "claude_code.llm_request",
        ("error",),
        CLAUDE_RUN,
        claude_code.AGENT,
        {"span.type": "llm_request", "success": False},
    ),
    "claude_code.tool_result": CallEvent(
        claude_code.NAME,
        claude_code.SCOPE,
        "claude_code.tool",
        ("tool_name",),
        CLAUDE_RUN,
        claude_code.AGENT,
        {"span.type": "tool"},
        is_tool=True,
    ),
    "codex.sse_event": CallEvent(
        codex.NAME,
        codex.SCOPE,
        codex.REQUEST,
        ("input_token_count",),
        CODEX_RUN,
        codex.AGENT,
        renamed={
            "input_token_count": "gen_ai.usage.input_tokens",
            "output_token_count": "gen_ai.usage.output_tokens",
            "cached_token_count": "gen_ai.usage.cache_read.input_tokens",
            "cache_write_token_count": "gen_ai.usage.cache_write.input_tokens",
            "reasoning_token_count": "codex.usage.reasoning_output_tokens",
        },
    ),
    "codex.tool_result": CallEvent(
        codex.NAME,
        codex.SCOPE,
        "tool",
        ("call_id",),
        CODEX_RUN,
        codex.AGENT,
        {codex.PHASE: "dispatch"},
        is_tool=True,
    ),
    "gemini_cli.api_response": CallEvent(
        gemini_cli.NAME,
        gemini_cli.SCOPE,
        "llm_call",
        ("input_token_count", "output_token_count"),
        GEMINI_RUN,
        GEMINI_AGENT,
        {otel_genai.OPERATION: "llm_call"},
        {
            "model": "gen_ai.response.model",
            "prompt_id": "gen_ai.prompt.name",
            "finish_reasons": "gen_ai.response.finish_reasons",
            "input_token_count": "gen_ai.usage.input_tokens",
            "output_token_count": "gen_ai.usage.output_tokens",
        },
    ),
    "gemini_cli.api_error": CallEvent(
        gemini_cli.NAME,
        gemini_cli.SCOPE,
        "llm_call",
        ("error", "error.message", "error_message", "error_type"),
        GEMINI_RUN,
        GEMINI_AGENT,
        {otel_genai.OPERATION: "llm_call", "success": False},
        {"model": "gen_ai.request.model", "prompt_id": "gen_ai.prompt.name", "error_type": "error.type"},
    ),
    "gemini_cli.tool_call": CallEvent(
        gemini_cli.NAME,
        gemini_cli.SCOPE,
        "tool_call",
        ("function_name",),
        GEMINI_RUN,
        GEMINI_AGENT,
        {otel_genai.OPERATION: "tool_call"},
        {"function_name": "gen_ai.tool.name", "prompt_id": "gen_ai.prompt.name", "call_id": "gen_ai.tool.call.id"},
        is_tool=True,
    ),
    DETAILS_EVENT: CallEvent(
        otel_genai.NAME,
        "",
        "",
        ("gen_ai.usage.input_tokens", "gen_ai.output.messages", "gen_ai.response.id", "error.type"),
    ),
}


def event_names(record: LogRecord) -> tuple[str, ...]:
    """The names an event may have: its own field, the attribute of SDKs before 1.32, the body of Claude Code's."""
    named = record.attributes.get("event.name")
    names = [n for n in (record.event_name, named, record.body) if isinstance(n, str) and n]
    if record.scope.name.startswith(CLAUDE_SCOPE) and isinstance(named, str):
        names.append(claude_code.PREFIX + named)
    return tuple(names)


def call_event(record: LogRecord) -> CallEvent | None:
    """How the record is read as a call; None where it tells of none.

    Gemini CLI's details records repeat its api_response and name no call of their own.
    """
    event = next((EVENTS[n] for n in event_names(record) if n in EVENTS), None)
    if event is None or not any(record.attributes.get(key) not in (None, "") for key in event.told):
        return None
    if not event.run and (record.scope.name == gemini_cli.SCOPE or not (record.trace_id and record.span_id)):
        return None
    return event


def run_key(record: LogRecord, event: CallEvent) -> str | None:
    """What the record says its run is called, as its emitter names runs."""
    return text(record.attributes, event.run)


def tie_of(record: LogRecord) -> tuple[str, str] | None:
    """The convention and run that a record with a trace names: of Codex every record has the conversation."""
    if record.trace_id is None or not any(name.startswith(CODEX_PREFIX) for name in event_names(record)):
        return None
    key = text(record.attributes, CODEX_RUN)
    return (codex.NAME, key) if key else None


def place_named(convention: str, key: str) -> str:
    """Where records are kept that name a run of their emitter and no trace."""
    return hashlib.sha256(f"{convention}:{key}".encode()).hexdigest()[:32]


def place_of(record: LogRecord) -> str | None:
    """The trace a record is kept with; without a trace, what stands for its run; None where it names neither."""
    if record.trace_id is not None:
        return record.trace_id
    event = call_event(record)
    key = run_key(record, event) if event else None
    return place_named(event.convention, key) if event and key else None


def span_of(record: LogRecord, event: CallEvent, span_id: str, parent_span_id: str | None) -> Span:
    """The span that would have said what the record says: it ended when the record was made."""
    a = {event.renamed.get(k, k): v for k, v in record.attributes.items()} | event.given
    ended_ns = record.time_ns or record.observed_ns
    if not event.run:
        a = {k: dump(v) if isinstance(v, list | dict) else v for k, v in (mapping(record.body) | a).items()}
    return Span(
        trace_id=place_of(record) or "",
        span_id=span_id,
        parent_span_id=parent_span_id,
        name=event.span_name
        or " ".join(filter(None, (text(a, (k,)) for k in (otel_genai.OPERATION, otel_genai.MODEL)))),
        started_ns=_started_ns(a, ended_ns),
        ended_ns=ended_ns,
        status_code=ERROR if flag(a.get("success")) is False else 0,
        status_message=_error(a),
        attributes=a,
        scope=Scope(event.scope or record.scope.name, record.scope.version),
        resource=record.resource,
    )


def _started_ns(a: Attributes, ended_ns: int | None) -> int | None:
    took_ms = number(a.get("duration_ms"))
    if ended_ns is None or took_ms is None or not 0 <= took_ms * 1_000_000 < ended_ns:
        return ended_ns
    return ended_ns - int(took_ms * 1_000_000)


def _error(a: Attributes) -> str:
    return text(a, ("error", "error.message", "error_message")) or ""
