"""What log records add to the spans they copy. Pure.

Claude Code's api_request repeats a call's numbers and alone knows its cost. It names the interaction's span, not the
call's: numbers and the nearest end in the same trace tell which call it was. Nothing here counts anything twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence

import msgspec

from otel_runlog.conventions import claude_code
from otel_runlog.conventions._attrs import money, text
from otel_runlog.conventions._usage import CLAUDE_CODE, normal_form, raw_counters
from otel_runlog.model import LogRecord, Span, StepKind, Usage
from otel_runlog.tree import Node

API_REQUEST = "claude_code.api_request"
_ENCODER = msgspec.msgpack.Encoder(order="sorted")


def fills(record: LogRecord) -> bool:
    """Whether a record may say something that a span lacks."""
    return record.trace_id is not None and API_REQUEST in (record.body, record.event_name)


def may_be_filled(span: Span) -> bool:
    """Whether log records may say something that this span lacks."""
    return claude_code.matches(span)


def mark_of(record: LogRecord) -> bytes:
    """What two deliveries of one record have in common."""
    return hashlib.sha256(_ENCODER.encode(record)).digest()


def fill_from_logs(nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
    """Set each node's reading to its own, with what the records of its trace add. A record given twice fills once."""
    for node in nodes:
        node.reading = node.own
    requests = {mark_of(r): r for r in logs if fills(r)}
    if not requests:
        return
    calls: dict[tuple[str, Usage], list[Node]] = {}
    for node in nodes:
        if node.own and node.kind is StepKind.LLM and node.own.convention == claude_code.NAME:
            calls.setdefault((node.trace_id, node.own.usage), []).append(node)
    for _, record in sorted(requests.items(), key=lambda mr: (mr[1].time_ns or 0, mr[0])):
        usage = normal_form(raw_counters(record.attributes, (CLAUDE_CODE,)), cache_outside=True).usage
        candidates = calls.get((record.trace_id or "", usage))
        if candidates:
            _fill(candidates.pop(_nearest(candidates, record)), record)


def _nearest(nodes: list[Node], record: LogRecord) -> int:
    return min(range(len(nodes)), key=lambda i: (abs(nodes[i].end - (record.time_ns or 0)), nodes[i].span_id))


def _fill(node: Node, record: LogRecord) -> None:
    assert node.own is not None
    node.reading = msgspec.structs.replace(
        node.own,
        reported_usd=node.own.reported_usd or money(record.attributes.get("cost_usd")),
        response_model=node.own.response_model or text(record.attributes, ("model",)),
    )
