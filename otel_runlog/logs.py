"""What log records add to the spans they copy. Pure.

Claude Code's api_request repeats a call's numbers and alone knows its cost. It names the interaction's span, not the
call's: numbers and the nearest end in the same trace tell which call it was. Gemini CLI's api_response alone knows the
thoughts and the cache; of a streamed answer it names no trace: the prompt's id, numbers and the nearest end tell.
Records of details name their call's span, Codex' tool_result the tool's call. Messages say how much content a call has
(see log_content). Nothing here counts anything twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from otel_runlog import conventions
from otel_runlog.conventions import claude_code, codex, gemini_cli
from otel_runlog.conventions._attrs import flag, money, text
from otel_runlog.conventions._content import DETAILS_EVENT
from otel_runlog.conventions._fields import finish_reason
from otel_runlog.conventions._usage import CLAUDE_CODE, normal_form, raw_counters
from otel_runlog.conventions._vocabularies import GEMINI_LOG
from otel_runlog.conventions.log_events import call_event, event_names, place_of, span_of, tie_of
from otel_runlog.conventions.reading import Reading
from otel_runlog.drops import tells_drop
from otel_runlog.log_content import content_of_calls, content_with_logged, tells_messages
from otel_runlog.model import LogRecord, StepKind, Usage
from otel_runlog.tree import MODEL_KINDS, Node

API_REQUEST = "claude_code.api_request"
API_RESPONSE = "gemini_cli.api_response"
TOOL_RESULT = "codex.tool_result"
FAULT = "emitter_fault"
USER = ("user.account_uuid", "user.account_id", "user.email", "user.id")
DETAILS = ("provider", "request_model", "response_model", "response_id", "finish_reason", "service_tier", "params")
"""What a call's span may lack and its details know, beside usage and messages."""
_Key: TypeAlias = tuple[str | None, int | None, int | None]
"""Where a call is, and what it says of its input and output."""


def fills(record: LogRecord) -> bool:
    """Whether a record may say something that a span lacks, or stand for a span."""
    if tells_messages(record) or tells_drop(record):
        return True
    return call_event(record) is not None or tie_of(record) is not None


def fill_from_logs(nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
    """Set each node's reading to its own, with what the records of its call add: distinct ones, in order of time."""
    for node in nodes:
        node.reading = node.own
        node.failed = node.own.failed if node.own else node.failed
    records = list(logs)
    if records:
        _fill_sessions(nodes, records)
        _fill_details(nodes, records)
        _fill_tools(nodes, records)
        _fill_numbers(nodes, records)
        _fill_content(nodes, records)


def _replace(node: Node, **changes: object) -> None:
    assert node.reading is not None
    node.reading = msgspec.structs.replace(node.reading, **changes)


def _fill_sessions(nodes: Sequence[Node], records: list[LogRecord]) -> None:
    """Of Codex only the turn names its conversation, and it comes last; every record does."""
    told = {(tie[0], r.trace_id): tie[1] for r in records if (tie := tie_of(r))}
    for node in nodes if told else ():
        session_id = told.get((node.own.convention, node.trace_id)) if node.own else None
        if session_id and node.reading and not node.reading.session_id:
            _replace(node, session_id=session_id)


def _fill_content(nodes: Sequence[Node], records: list[LogRecord]) -> None:
    told = content_of_calls(records)
    for node in nodes if told else ():
        reading, logged = node.reading, told.get((node.trace_id, node.span_id))
        if reading is not None and reading.kind is StepKind.LLM and logged is not None:
            _replace(node, content=content_with_logged(reading, logged))


def _fill_details(nodes: Sequence[Node], records: list[LogRecord]) -> None:
    """Of several records of one call the last that tells of tokens speaks, else the last."""
    told: dict[tuple[str | None, str | None], Reading] = {}
    for record in records:
        reading = _details(record)
        key = (record.trace_id, record.span_id)
        if reading is not None and (reading.usage or key not in told):
            told[key] = reading
    for node in nodes if told else ():
        details = told.get((node.trace_id, node.span_id))
        if details is not None and node.kind is details.kind:
            _take_details(node, details)


def _details(record: LogRecord) -> Reading | None:
    event = call_event(record) if DETAILS_EVENT in event_names(record) else None
    try:
        return conventions.read(span_of(record, event, "", None)) if event else None
    except Exception:  # noqa: BLE001  # whatever a hostile record does, the span stays as it is
        return None


def _take_details(node: Node, details: Reading) -> None:
    reading = node.reading
    assert reading is not None
    lacking = {name: getattr(details, name) for name in DETAILS if not getattr(reading, name)}
    if details.usage and not reading.usage:
        lacking |= {"usage": details.usage, "usage_logged": True, "usage_cut": reading.usage_cut or details.usage_cut}
    _replace(node, **lacking)


def _fill_tools(nodes: Sequence[Node], records: list[LogRecord]) -> None:
    """Codex' spans of tools do not say that the tool failed."""
    failed = {
        (r.trace_id, call_id): text(r.attributes, ("output", "error"))
        for r in records
        if TOOL_RESULT in event_names(r) and flag(r.attributes.get("success")) is False
        if (call_id := text(r.attributes, (codex.CALL_ID,)))
    }
    for node in nodes if failed else ():
        reading = node.reading
        key = (node.trace_id, reading.tool_call_id or "") if reading else None
        if reading and reading.convention == codex.NAME and key in failed:
            said = failed[key]
            node.failed = not reading.cancelled
            _replace(node, failed=node.failed, error_message=reading.error_message or said)


def _tells_numbers(record: LogRecord) -> bool:
    return any(name in (API_REQUEST, API_RESPONSE) for name in event_names(record)) and place_of(record) is not None


def _fill_numbers(nodes: Sequence[Node], records: list[LogRecord]) -> None:
    numbers = [r for r in records if _tells_numbers(r)]
    calls: dict[_Key, list[Node]] = {}
    for node in nodes if numbers else ():
        if (key := _key_of_call(node)) is not None:
            calls.setdefault(key, []).append(node)
    for record in numbers:
        candidates = calls.get(_key_of_record(record))
        if candidates:
            fill = _fill_response if _is_response(record) else _fill_request
            fill(candidates.pop(_nearest(candidates, record)), record)


def _is_response(record: LogRecord) -> bool:
    return API_RESPONSE in event_names(record)


def _key_of_call(node: Node) -> _Key | None:
    own = node.own
    if own is None or own.kind not in MODEL_KINDS:
        return None
    place = {claude_code.NAME: node.trace_id, gemini_cli.NAME: own.native_run_id}.get(own.convention)
    return (place, own.usage.input_tokens, own.usage.output_tokens) if place else None


def _key_of_record(record: LogRecord) -> _Key:
    if _is_response(record):
        told = raw_counters(record.attributes, (GEMINI_LOG,)).usage
        return text(record.attributes, ("prompt_id",)), told.input_tokens, told.output_tokens
    told = normal_form(raw_counters(record.attributes, (CLAUDE_CODE,)), cache_outside=True).usage
    return place_of(record), told.input_tokens, told.output_tokens


def _nearest(nodes: list[Node], record: LogRecord) -> int:
    return min(range(len(nodes)), key=lambda i: (abs(nodes[i].end - (record.time_ns or 0)), nodes[i].span_id))


def _fill_request(node: Node, record: LogRecord) -> None:
    reading = node.reading
    assert reading is not None
    _replace(
        node,
        reported_usd=reading.reported_usd or money(record.attributes.get("cost_usd")),
        response_model=reading.response_model or text(record.attributes, ("model",)),
        user_id=reading.user_id or text(record.attributes, USER),
    )


def _fill_response(node: Node, record: LogRecord) -> None:
    """Its output leaves the thoughts out too, but it says how many there were: what was doubtful is not any more."""
    reading = node.reading
    assert reading is not None
    told = raw_counters(record.attributes, (GEMINI_LOG,)).usage
    _replace(
        node,
        usage=told + Usage(output_tokens=told.reasoning_tokens),
        usage_fault=False,
        usage_logged=True,
        response_model=reading.response_model or text(record.attributes, ("model",)),
        finish_reason=reading.finish_reason or finish_reason({"finish": [record.attributes.get("finish_reasons")]}),
        user_id=reading.user_id or text(record.attributes, USER),
        warnings=tuple(w for w in reading.warnings if not w.startswith(FAULT)),
    )
