"""What every program of this folder begins with: spans go to the store that OTEL_RUNLOG_DB names."""

import atexit
import os

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from otel_runlog import RunLogSpanProcessor

QUESTION = "2 * (19 + 23)?"


def traced() -> TracerProvider:
    """A tracer provider for the whole process."""
    provider = TracerProvider()
    provider.add_span_processor(RunLogSpanProcessor(os.environ["OTEL_RUNLOG_DB"]))
    trace.set_tracer_provider(provider)
    atexit.register(provider.shutdown)
    return provider


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def double(a: int) -> int:
    """Double a number."""
    return 2 * a
