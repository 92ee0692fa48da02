"""Semantic Kernel: gen_ai.* with operations of its own and Python's own words in values; messages are log records.

`chat.completions <model>` says gen_ai.response.finish_reason = "FinishReason.STOP" (several joined by commas) and
error.type = "<class 'openai.RateLimitError'>"; its first versions told tokens as gen_ai.response.prompt_tokens. A
kernel function is a tool where the model called it, which gives it a call id; otherwise the application ran it.
"""

from __future__ import annotations

import re

import msgspec

from otel_runlog.conventions import otel_genai
from otel_runlog.conventions._attrs import text
from otel_runlog.conventions._base import read_common
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, Span, StepKind

NAME = "semantic_kernel"
SCOPES = ("semantic_kernel.", "Microsoft.SemanticKernel")
FUNCTION_LOOP = "AutoFunctionInvocationLoop"
"""A span around the model calls and tools of one answer, without gen_ai.* attributes."""
FINISH, ERROR = "gen_ai.response.finish_reason", "error.type"
ENUM = re.compile(r"FinishReason\.(\w+)")
CLASS = re.compile(r"<class '([\w.]+)'>$")
OLD_TOKENS = {
    "gen_ai.response.prompt_tokens": "gen_ai.usage.input_tokens",
    "gen_ai.response.completion_tokens": "gen_ai.usage.output_tokens",
}


def matches(span: Span) -> bool:
    """The scopes of the Python and .NET packages: modules, and diagnostics sources."""
    return span.scope.name.startswith(SCOPES)


def read(span: Span) -> Reading | None:
    """Read as gen_ai, with the values put in its words first."""
    if span.name == FUNCTION_LOOP:
        return read_common(span, NAME, StepKind.CHAIN, ())
    reading = otel_genai.read_as(NAME, msgspec.structs.replace(span, attributes=_in_plain_words(span.attributes)))
    if reading is None:
        return None
    if reading.kind is StepKind.TOOL and reading.tool_call_id is None:
        reading.kind, reading.tool_name = StepKind.CHAIN, None
    if "streaming" in (text(span.attributes, (otel_genai.OPERATION,)) or ""):
        reading.streaming = True
    return reading


def _in_plain_words(a: Attributes) -> Attributes:
    plain = {OLD_TOKENS.get(key, key): value for key, value in a.items()}
    if (finish := text(a, (FINISH,))) is not None:
        plain[FINISH] = _finish_reason(finish)
    if (error := text(a, (ERROR,))) is not None:
        plain[ERROR] = CLASS.sub(r"\1", error)
    return plain


def _finish_reason(value: str) -> str | None:
    first = value.partition(",")[0].strip()
    if first == "None":
        return None
    enum = ENUM.match(first)
    return enum[1].lower() if enum else first


def messages(span: Span) -> SpanMessages:
    """What first versions told as events; later ones log the messages."""
    return genai_messages(span)
