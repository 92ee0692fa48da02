"""What the record of lost spans is called, which the processor writes and the projection reads. Imports nothing."""

from __future__ import annotations

from typing import Final

EVENT: Final = "runlog.spans_dropped"
REASON: Final = "runlog.drop.reason"
SPANS: Final = "runlog.drop.spans"
