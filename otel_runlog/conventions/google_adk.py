"""Google ADK: gen_ai.* in schema 2, gcp.vertex.agent.* beside it in schema 1 and before.

Schema 2: invoke_workflow > invoke_agent > generate_content, execute_tool. Schema 1: an `invocation` without attributes
> invoke_agent > call_llm > generate_content, the same call again; call_llm carries the raw request and answer, `{}`
where they are hidden. Versions before 2.3 leave the thoughts out of output_tokens (facts/semconv, sections 1 to 4).
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions import _fields, otel_genai
from otel_runlog.conventions._attrs import items, mapping, path, text, whole
from otel_runlog.conventions._base import CUT_NOTE, read_common
from otel_runlog.conventions._content import presence, state
from otel_runlog.conventions._genai_messages import genai_messages
from otel_runlog.conventions._messages import Messages, dumped, messages_of, value_of
from otel_runlog.conventions._vocabularies import GENAI
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Content, Span, StepKind, Usage

NAME = "google_adk"
SCOPE = "gcp.vertex.agent"
INVOCATION, CALL, OLD_AGENT = "invocation", "call_llm", "agent_run ["
"""Span names of schema 1 and before, where no attribute says what the span does."""
REQUEST, RESPONSE = "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"
ARGUMENTS, RESULT = "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response"
SESSION = "gcp.vertex.agent.session_id"
OLD_THOUGHTS = "gen_ai.usage.experimental.reasoning_tokens"
"""Before 2.3: thoughts under this name, and output_tokens without them."""
MERGED = "(merged tools)"
"""A span that sums up parallel tools, each of which has its own."""
PLACEHOLDERS = (None, "", "{}", "N/A", "<not specified>", "<not serializable>")


def matches(span: Span) -> bool:
    """The scope of ADK."""
    return span.scope.name == SCOPE


def read(span: Span) -> Reading | None:
    """Read by operation, else by the name."""
    a = span.attributes
    named = _kind_of_name(span) if otel_genai.OPERATION not in a else None
    reading = read_common(span, NAME, named, (GENAI,)) if named else otel_genai.read_as(NAME, span)
    if reading is None:
        return None
    reading.session_id = reading.session_id or text(a, (SESSION,))
    if reading.kind is StepKind.LLM:
        _read_call(reading, a)
    elif reading.kind is StepKind.TOOL:
        _read_tool(reading, span)
    elif named is StepKind.AGENT:
        reading.agent = span.name.removeprefix(OLD_AGENT).removesuffix("]")
    return reading


def _kind_of_name(span: Span) -> StepKind | None:
    if span.name == INVOCATION:
        return StepKind.WORKFLOW
    if span.name == CALL:
        return StepKind.LLM
    return StepKind.AGENT if span.name.startswith(OLD_AGENT) else None


def _read_tool(reading: Reading, span: Span) -> None:
    if reading.tool_name == MERGED or span.name.endswith("(merged)"):
        reading.kind = StepKind.OTHER
    if reading.tool_call_id in PLACEHOLDERS:
        reading.tool_call_id = None


def _read_call(reading: Reading, a: Attributes) -> None:
    thoughts = whole(a.get(OLD_THOUGHTS))
    if thoughts is not None:
        reading.usage = _with_thoughts(reading.usage, thoughts)
    if REQUEST not in a and RESPONSE not in a:
        return
    counted = mapping(path(_shown(a, RESPONSE), "usage_metadata"))
    if counted:
        reading.usage = _usage(counted)
    config = mapping(path(_shown(a, REQUEST), "config"))
    if config:
        reading.params = {**_fields.inner_params(config), **reading.params}
    if reading.content is Content.NONE:
        reading.content = state(presence(_shown(a, REQUEST)), presence(_shown(a, RESPONSE)))
        if reading.content is Content.TRUNCATED:
            reading.notes += (CUT_NOTE,)


def _with_thoughts(usage: Usage, thoughts: int) -> Usage:
    output = None if usage.output_tokens is None else usage.output_tokens + thoughts
    return msgspec.structs.replace(usage, output_tokens=output, reasoning_tokens=thoughts)


def _usage(counted: Attributes) -> Usage:
    """Gemini's usage_metadata: the results of its own tools are a part of the input, thoughts of the output."""
    asked, said = whole(counted.get("prompt_token_count")), whole(counted.get("candidates_token_count"))
    tools, thoughts = whole(counted.get("tool_use_prompt_token_count")), whole(counted.get("thoughts_token_count"))
    return Usage(
        input_tokens=_sum(asked, tools),
        output_tokens=_sum(said, thoughts),
        cache_read_tokens=whole(counted.get("cached_content_token_count")),
        reasoning_tokens=thoughts,
    )


def _sum(a: int | None, b: int | None) -> int | None:
    return None if a is None and b is None else (a or 0) + (b or 0)


def _shown(a: Attributes, key: str) -> AttrValue:
    value = a.get(key)
    return None if isinstance(value, dict | list) and not value else value if value not in PLACEHOLDERS else None


def messages(span: Span) -> SpanMessages:
    """gen_ai messages, else those in the raw request, the raw answer, the arguments and the result."""
    a = span.attributes
    found = genai_messages(span)
    if REQUEST not in a and RESPONSE not in a and ARGUMENTS not in a:
        return found
    request, content = mapping(_shown(a, REQUEST)), path(_shown(a, RESPONSE), "content")
    found.system = found.system or messages_of(path(request, "config", "system_instruction"), "system")
    found.input = found.input or messages_of(request.get("contents")) or value_of(_shown(a, ARGUMENTS), "tool")
    found.output = found.output or _answer(content) or value_of(_shown(a, RESULT), "tool")
    found.tools = found.tools or dumped(_tools(request), "tool")
    return found


def _answer(content: AttrValue) -> Messages:
    return messages_of(content, "assistant") if mapping(content).get("parts") else ()


def _tools(request: Attributes) -> list[AttrValue]:
    """The declarations out of config.tools: [{"function_declarations": [...]}]."""
    groups = [mapping(g) for g in items(path(request, "config", "tools"))]
    return [d for g in groups for d in items(g.get("function_declarations"))]
