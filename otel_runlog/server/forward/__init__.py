"""Spans and log records on to other backends: as many as there are, each with a cursor and a thread of its own."""

from otel_runlog.server.forward.forwarder import Forwarder
from otel_runlog.server.forward.telling import Reached

__all__ = ["Forwarder", "Reached"]
