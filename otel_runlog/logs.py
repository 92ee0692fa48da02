"""What log records add to the spans they copy. Pure.

Claude Code's api_request repeats a call's numbers and alone knows its cost. It names the interaction's span, not the
call's: numbers and the nearest end in the same trace tell which call it was. Gemini CLI's api_response alone knows the
thoughts and the cache; of a streamed answer it names no trace: the prompt's id, numbers and the nearest end tell.
Records that tell messages say how much content a call has (see log_content). Nothing here counts anything twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from otel_runlog.conventions import claude_code, gemini_cli
from otel_runlog.conventions._attrs import money, text
from otel_runlog.conventions._content import WHOLE, presence
from otel_runlog.conventions._fields import finish_reason
from otel_runlog.conventions._usage import CLAUDE_CODE, normal_form, raw_counters
from otel_runlog.conventions._vocabularies import GEMINI_LOG
from otel_runlog.log_content import content_of_calls, content_with_logged, encoded, mark_of, tells_messages
from otel_runlog.model import LogRecord, Span, StepKind, Usage
from otel_runlog.tree import Node

API_REQUEST = "claude_code.api_request"
API_RESPONSE = "gemini_cli.api_response"
FAULT = "emitter_fault"
CALL_MARKS = ("gen_ai.", "llm.", "openinference.")
GENAI_MESSAGES = ("gen_ai.input.messages", "gen_ai.output.messages")
_Key: TypeAlias = tuple[str | None, int | None, int | None]
"""Where a call is, and what it says of its input and output."""


def fills(record: LogRecord) -> bool:
    """Whether a record may say something that a span lacks."""
    return tells_messages(record) or _tells_numbers(record)


def _tells_numbers(record: LogRecord) -> bool:
    return _is_response(record) or (record.trace_id is not None and API_REQUEST in (record.body, record.event_name))


def _is_response(record: LogRecord) -> bool:
    return API_RESPONSE in (record.event_name, record.attributes.get("event.name"))


def loose_session(record: LogRecord) -> str | None:
    """The session of a record that may fill spans and names no trace."""
    is_loose = record.trace_id is None and _is_response(record)
    return text(record.attributes, ("session.id",)) if is_loose else None


def may_be_filled(span: Span) -> bool:
    """Whether log records may say something that this span lacks."""
    return claude_code.matches(span) or gemini_cli.matches(span) or _may_lack_messages(span)


def _may_lack_messages(span: Span) -> bool:
    """Whether a span may be a model call's and has not all of prompt and answer under today's names."""
    names = "\n".join(span.attributes)
    if not any(mark in names for mark in CALL_MARKS):
        return False
    return any(presence(span.attributes.get(k)) != WHOLE for k in GENAI_MESSAGES)


def fill_from_logs(nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
    """Set each node's reading to its own, with what the records of its call add. A record given twice fills once."""
    for node in nodes:
        node.reading = node.own
    logs = list(logs)
    records = {mark_of(encoded(r)): r for r in logs if _tells_numbers(r)}
    if records:
        _fill_numbers(nodes, records)
    _fill_content(nodes, logs)


def _fill_content(nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
    told = content_of_calls(logs)
    for node in nodes if told else ():
        reading, logged = node.reading, told.get((node.trace_id, node.span_id))
        if reading is not None and reading.kind is StepKind.LLM and logged is not None:
            node.reading = msgspec.structs.replace(reading, content=content_with_logged(reading, logged))


def _fill_numbers(nodes: Sequence[Node], records: dict[bytes, LogRecord]) -> None:
    calls: dict[_Key, list[Node]] = {}
    for node in nodes:
        if (key := _key_of_call(node)) is not None:
            calls.setdefault(key, []).append(node)
    for _, record in sorted(records.items(), key=lambda mr: (mr[1].time_ns or 0, mr[0])):
        candidates = calls.get(_key_of_record(record))
        if candidates:
            fill = _fill_response if _is_response(record) else _fill_request
            fill(candidates.pop(_nearest(candidates, record)), record)


def _key_of_call(node: Node) -> _Key | None:
    own = node.own
    if own is None or own.kind is not StepKind.LLM:
        return None
    place = {claude_code.NAME: node.trace_id, gemini_cli.NAME: own.native_run_id}.get(own.convention)
    return (place, own.usage.input_tokens, own.usage.output_tokens) if place else None


def _key_of_record(record: LogRecord) -> _Key:
    if _is_response(record):
        told = raw_counters(record.attributes, (GEMINI_LOG,)).usage
        return text(record.attributes, ("prompt_id",)), told.input_tokens, told.output_tokens
    told = normal_form(raw_counters(record.attributes, (CLAUDE_CODE,)), cache_outside=True).usage
    return record.trace_id, told.input_tokens, told.output_tokens


def _nearest(nodes: list[Node], record: LogRecord) -> int:
    return min(range(len(nodes)), key=lambda i: (abs(nodes[i].end - (record.time_ns or 0)), nodes[i].span_id))


def _fill_request(node: Node, record: LogRecord) -> None:
    assert node.own is not None
    node.reading = msgspec.structs.replace(
        node.own,
        reported_usd=node.own.reported_usd or money(record.attributes.get("cost_usd")),
        response_model=node.own.response_model or text(record.attributes, ("model",)),
    )


def _fill_response(node: Node, record: LogRecord) -> None:
    """Its output leaves the thoughts out too, but it says how many there were: what was doubtful is not any more."""
    assert node.own is not None
    told = raw_counters(record.attributes, (GEMINI_LOG,)).usage
    node.reading = msgspec.structs.replace(
        node.own,
        usage=told + Usage(output_tokens=told.reasoning_tokens),
        usage_fault=False,
        usage_logged=True,
        response_model=node.own.response_model or text(record.attributes, ("model",)),
        finish_reason=node.own.finish_reason or finish_reason({"finish": [record.attributes.get("finish_reasons")]}),
        warnings=tuple(w for w in node.own.warnings if not w.startswith(FAULT)),
    )
