"""Microsoft Agent Framework: gen_ai.* with finish reasons as a JSON string, and spans of its workflows without any.

Its conversation id is the provider's: with OpenAI's Responses API the id of the response before, which is no session
(facts/semconv, trap 9), and the messages then are only what came new. A workflow is built in a trace of its own.
"""

from __future__ import annotations

import re

from otel_runlog.conventions import mcp, otel_genai
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Content, Span, StepKind

NAME = "ms_agent_framework"
SCOPE = "agent_framework"
WORKFLOW_RUN, EXECUTOR = "workflow.run", "executor.process"
WORKFLOW_NAME = "workflow.name"
GENERATED = re.compile(r"WorkflowBuilder-[0-9a-f-]{36}$")
"""A name that the builder made up for a workflow without one."""
CONVERSATION = "gen_ai.conversation.id"
KEPT_BY_PROVIDER = ("resp_", "conv_", "thread_")
"""Ids of conversations that OpenAI keeps: the provider knew more than the messages say."""


def matches(span: Span) -> bool:
    """The framework's scope, but for its MCP client."""
    return span.scope.name == SCOPE and mcp.METHOD not in span.attributes


def read(span: Span) -> Reading | None:
    """Read workflow.run and executor.process by name, agents, calls and tools as gen_ai; the rest is no step."""
    if otel_genai.OPERATION not in span.attributes:
        return _read_workflow(span)
    reading = otel_genai.read_as(NAME, span)
    kept = (text(span.attributes, (CONVERSATION,)) or "").startswith(KEPT_BY_PROVIDER)
    if reading is not None and kept and reading.content is Content.FULL:
        reading.content = Content.ANSWER
    return reading


def _read_workflow(span: Span) -> Reading | None:
    if span.name.startswith(EXECUTOR):
        return read_common(span, NAME, StepKind.CHAIN, ())
    if span.name != WORKFLOW_RUN:
        return None
    reading = read_common(span, NAME, StepKind.WORKFLOW, ())
    name = text(span.attributes, (WORKFLOW_NAME,))
    reading.agent = None if name is None or GENERATED.match(name) else name
    return reading


def messages(span: Span) -> SpanMessages:
    """The span's messages."""
    return genai_messages(span)
