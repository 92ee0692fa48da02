"""Spans that were lost in the process that made them, as its processor tells once it can write again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from otel_runlog.conventions._attrs import text, whole
from otel_runlog.conventions.log_events import event_names
from otel_runlog.drop_event import EVENT, REASON, SPANS
from otel_runlog.model import LogRecord

UNKNOWN = "unknown"


def tells_drop(record: LogRecord) -> bool:
    """Whether a record says that spans were lost."""
    return EVENT in event_names(record)


def drop_of(record: LogRecord) -> tuple[str, int]:
    """Why spans were lost, and how many."""
    return text(record.attributes, (REASON,)) or UNKNOWN, whole(record.attributes.get(SPANS)) or 0


def drops_by_trace(logs: Iterable[LogRecord]) -> dict[str, dict[str, int]]:
    """How many spans of each trace were lost, by reason, as these distinct records tell."""
    found: dict[str, dict[str, int]] = {}
    for record in logs:
        if record.trace_id is None or not tells_drop(record):
            continue
        reason, number = drop_of(record)
        reasons = found.setdefault(str(record.trace_id), {})
        reasons[reason] = reasons.get(reason, 0) + number
    return found


def warnings_of(trace_ids: Iterable[str], drops: Mapping[str, Mapping[str, int]]) -> list[str]:
    """What a run in these traces says of it: the number of its calls, and with that all others, may be too small."""
    return [
        f"spans_dropped: step_count and tokens may lack {number} spans that the process lost ({reason})"
        for trace_id in sorted(set(trace_ids) & drops.keys())
        for reason, number in sorted(drops[trace_id].items())
    ]
