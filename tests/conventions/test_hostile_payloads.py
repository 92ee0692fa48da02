"""Whole requests and answers as hostile values: reading them never raises, and every count is one."""

from __future__ import annotations

import json

import msgspec
from captured import made
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from otel_runlog import conventions
from otel_runlog.model import Span, SpanEvent

NAMES = (
    *("langsmith.span.kind", "gen_ai.prompt", "gen_ai.completion", "langsmith.metadata.usage_metadata"),
    *("gen_ai.usage.input_token_details", "langsmith.metadata.ls_invocation_params", "langsmith.request.streaming"),
    *("mlflow.spanType", "mlflow.spanInputs", "mlflow.spanOutputs", "mlflow.chat.tokenUsage", "mlflow.llm.model"),
    *("langfuse.observation.type", "langfuse.observation.input", "langfuse.observation.output"),
    *("langfuse.observation.usage_details", "langfuse.observation.completion_start_time"),
    *("langfuse.observation.model.parameters", "langfuse.observation.level", "langfuse.observation.cost_details"),
    *("haystack.component.type", "haystack.component.input", "haystack.component.output", "haystack.tool.error"),
    *("haystack.agent.step.llm.output", "haystack.agent.step.tool.output", "logfire.span_type", "logfire.level_num"),
    *("request_data", "response_data", "gen_ai.usage.raw", "usage", "events", "input", "output", "async", "error"),
    *("gen_ai.operation.name", "gen_ai.request.model", "gen_ai.request.stream", "gen_ai.usage.output_tokens"),
    *("spring.ai.kind", "gen_ai.request.temperature", "gen_ai.server.time_to_first_token", "model_settings"),
)
SCOPES = ("", "logfire", "logfire.openai", "logfire.openai_agents", "langfuse-sdk", "openlit.instrumentation.openai")
SPAN_NAMES = (
    "",
    "haystack.component.run",
    "haystack.agent.step.tool",
    "Function: {name}",
    "Responses API",
    "Agent run: x",
)
KEYS = (
    *("messages", "input", "choices", "message", "generations", "kwargs", "lc", "usage", "usage_metadata", "content"),
    *("input_tokens", "output_tokens", "prompt_tokens", "input_tokens_details", "cached_tokens", "role", "type"),
    *("replies", "meta", "tool_messages", "tool_call_result", "origin", "output", "text", "id", "total"),
)
WORDS = ("llm", "generation", "tool", "CHAT_MODEL", '"CHAT_MODEL"', "OpenAIChatGenerator", "ToolInvoker", "log", "chat")
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 10**6)
    | st.sampled_from((2**70, 10**400, float("nan"), "2026-13-45", '"2026-11-29T15:36:11"', "\ud800", "9" * 5000))
    | st.sampled_from(WORDS)
    | st.text(max_size=6)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=12,
)
VALUES = TREES | TREES.map(lambda v: json.dumps(v, default=str)) | TREES.map(repr)
SPANS = st.builds(
    lambda a, name, scope, events: msgspec.structs.replace(
        made(a, name=name, scope=scope), events=events, started_ns=1_700_000_000_000_000_000
    ),
    st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=10),
    st.sampled_from(SPAN_NAMES),
    st.sampled_from(SCOPES),
    st.just(()) | VALUES.map(lambda v: (SpanEvent("gen_ai.content.prompt", attributes={"gen_ai.prompt": v}),)),
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(SPANS)
def test_any_payload_is_read_without_raising(span: Span) -> None:
    reading, messages = conventions.read(span), conventions.messages(span)
    assert all(isinstance(m.text, str) for m in (*messages.system, *messages.input, *messages.output, *messages.tools))
    counts = () if reading is None else (getattr(reading.usage, f) for f in reading.usage.__struct_fields__)
    assert all(n is None or (isinstance(n, int) and not isinstance(n, bool) and n >= 0) for n in counts)
