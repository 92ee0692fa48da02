"""Model Context Protocol: spans of its client and its server around one tool call (facts/semconv, section 5).

Where an agent has a span for the call too, that one counts. `mcp.session.id` is a connection, no conversation. No MCP
span ever roots a run: a server without propagated context makes a trace of its own.
"""

from __future__ import annotations

from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Span, StepKind

NAME = "mcp"
METHOD = "mcp.method.name"
CALL = "tools/call"


def matches(span: Span) -> bool:
    """A method of the protocol."""
    return METHOD in span.attributes


def read(span: Span) -> Reading:
    """Read tools/call as a tool, everything else as OTHER."""
    is_call = text(span.attributes, (METHOD,)) == CALL
    reading = read_common(span, NAME, StepKind.TOOL if is_call else StepKind.OTHER, ())
    reading.rootless = True
    if is_call and reading.tool_name is None:
        reading.tool_name = span.name.rpartition(CALL)[2].strip() or span.name
    return reading


def messages(span: Span) -> SpanMessages:
    """The call's arguments and result."""
    return genai_messages(span)
