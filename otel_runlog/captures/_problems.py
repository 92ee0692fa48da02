"""What is wrong with a capture, found by deriving again what can be derived. Pure."""

from __future__ import annotations

from otel_runlog.capture import SCHEMA, Capture


def problems_of(capture: Capture) -> list[str]:
    """What is wrong with a capture, a sentence each; empty where all is well."""
    return [] if capture.schema == SCHEMA else [f"the schema is {capture.schema!r}, not {SCHEMA!r}"]
