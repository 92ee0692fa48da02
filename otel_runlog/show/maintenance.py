"""What maintenance did, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from otel_runlog.maintenance import CompactReport, GcReport
from otel_runlog.show import text

if TYPE_CHECKING:
    from otel_runlog.captures.keeping import CapturesGone


def compacted(report: CompactReport) -> str:
    """One sentence on a compaction."""
    saved = report.bytes_before - report.bytes_after
    size = f"the file is {text.size(saved)} smaller" if saved > 0 else "the file is as large as before"
    return (
        f"{text.count(report.steps)} steps of {text.count(report.versions)} earlier versions removed, "
        f"{text.count(report.folded)} rows folded; {size}, {text.size(report.bytes_free)} of its "
        f"{text.size(report.bytes_after)} are free for what comes"
    )


def contents(report: GcReport) -> str:
    """What retention counted, as a list."""
    parts = (
        (report.runs, "runs"),
        (report.steps, "steps"),
        (report.spans, "spans"),
        (report.messages, "messages"),
        (report.logs, "log records"),
    )
    return ", ".join(f"{text.count(number)} {what}" for number, what in parts)


def gone(found: CapturesGone) -> str:
    """What retention of captures counted."""
    return f"{text.count(len(found.run_ids))} captures ({text.size(found.bytes)})"
