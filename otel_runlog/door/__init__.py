"""The in-process door: what happens to a span between the SDK and the journal, and who loads the journal."""

from otel_runlog.door.door import Door

__all__ = ["Door"]
