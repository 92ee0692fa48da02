"""What a request carries and how it is written: the two words that journal records and OTLP readers share."""

from __future__ import annotations

import enum


class Signal(enum.StrEnum):
    """`starts` are spans as they were when they started (no end yet), written by the in-process door only."""

    TRACES = "traces"
    LOGS = "logs"
    METRICS = "metrics"
    STARTS = "starts"


class Encoding(enum.StrEnum):
    """OTLP's two encodings."""

    PROTOBUF = "protobuf"
    JSON = "json"
