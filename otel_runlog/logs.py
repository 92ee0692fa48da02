"""What log records add to the spans they copy. Pure.

Claude Code's api_request repeats a call's numbers and alone knows its cost. It names the interaction's span, not the
call's: numbers and the nearest end in the same trace tell which call it was. Nothing here counts anything twice.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from otel_runlog.conventions._attrs import money, text
from otel_runlog.conventions._usage import CLAUDE_CODE, normal_form, raw_counters
from otel_runlog.model import LogRecord, StepKind, Usage
from otel_runlog.tree import Node

API_REQUEST = "claude_code.api_request"


def fill_from_logs(nodes: Sequence[Node], logs: Iterable[LogRecord]) -> None:
    """Set each node's reading to its own, with what the records of its trace add."""
    for node in nodes:
        node.reading = node.own
    requests = [r for r in logs if r.trace_id and API_REQUEST in (r.body, r.event_name)]
    if not requests:
        return
    calls: dict[tuple[str, Usage], list[Node]] = {}
    for node in nodes:
        if node.own and node.kind is StepKind.LLM and node.own.convention == "claude_code":
            calls.setdefault((node.trace_id, node.own.usage), []).append(node)
    for record in sorted(requests, key=lambda r: (r.time_ns or 0, str(r.attributes.get("event.sequence")))):
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
