"""Semantic Kernel: no capture of it is here; spans as its 1.45 source writes them (facts/semconv, row 20)."""

from __future__ import annotations

import pytest
from captured import made, said, told

from otel_runlog import conventions
from otel_runlog.model import Attributes, SpanEvent
from otel_runlog.runs import project
from otel_runlog.testing import TraceBuilder

MODEL_SCOPE = "semantic_kernel.utils.telemetry.model_diagnostics.decorators"
FUNCTION_SCOPE = "semantic_kernel.functions.kernel_function"
CHAT: Attributes = {
    "gen_ai.operation.name": "chat.completions",
    "gen_ai.system": "openai",
    "gen_ai.request.model": "gpt-4o-mini",
    "gen_ai.request.temperature": 0.5,
    "gen_ai.response.id": "chatcmpl-1",
    "gen_ai.response.finish_reason": "FinishReason.TOOL_CALLS",
    "gen_ai.usage.input_tokens": 1013,
    "gen_ai.usage.output_tokens": 57,
}
TOOL: Attributes = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "weather-get_weather",
    "gen_ai.tool.call.id": "call_1",
    "gen_ai.tool.call.arguments": '{"city": "Paris"}',
    "gen_ai.tool.call.result": "Sunny",
}


def test_reads_a_call() -> None:
    assert said(conventions.read(made(CHAT, name="chat.completions gpt-4o-mini", scope=MODEL_SCOPE))) == {
        "convention": "semantic_kernel",
        "kind": "llm",
        "provider": "openai",
        "request_model": "gpt-4o-mini",
        "response_id": "chatcmpl-1",
        "usage": (1013, 57, None, None, None),
        "finish_reason": "tool_calls",
        "params": {"temperature": 0.5},
    }


@pytest.mark.parametrize(
    ("told_as", "finish"),
    [
        ("FinishReason.STOP", "stop"),
        ("FinishReason.LENGTH,FinishReason.STOP", "length"),
        ("None", None),
        ("Stop", "Stop"),
    ],
)
def test_finish_reasons_are_the_providers_words(told_as, finish) -> None:
    reading = conventions.read(made(CHAT | {"gen_ai.response.finish_reason": told_as}, scope=MODEL_SCOPE))
    assert reading is not None
    assert reading.finish_reason == finish


def test_a_class_as_error_type_is_a_name_and_says_that_the_call_was_refused() -> None:
    refused = {k: v for k, v in CHAT.items() if not k.startswith(("gen_ai.usage", "gen_ai.response"))}
    reading = conventions.read(made(refused | {"error.type": "<class 'openai.RateLimitError'>"}, scope=MODEL_SCOPE))
    assert reading is not None
    assert (reading.failed, reading.refused, reading.error_type) == (True, True, "openai.RateLimitError")


def test_a_streamed_call_is_a_stream() -> None:
    streamed = CHAT | {"gen_ai.operation.name": "chat.streaming_completions"}
    reading = conventions.read(made(streamed, name="chat.streaming_completions gpt-4o-mini", scope=MODEL_SCOPE))
    assert reading is not None
    assert (reading.streaming, reading.usage_cut) == (True, False)


def test_first_versions_told_tokens_and_messages_under_other_names() -> None:
    old: Attributes = {
        "gen_ai.operation.name": "chat.completions",
        "gen_ai.request.model": "gpt-4o",
        "gen_ai.response.prompt_tokens": 16,
        "gen_ai.response.completion_tokens": 28,
    }
    span = made(old, name="chat.completions gpt-4o", scope="Microsoft.SemanticKernel.Diagnostics")
    span.events = (
        SpanEvent("gen_ai.content.prompt", attributes={"gen_ai.prompt": '[{"role": "user", "content": "hi"}]'}),
        SpanEvent(
            "gen_ai.content.completion", attributes={"gen_ai.completion": '[{"role": "Assistant", "content": "yo"}]'}
        ),
    )
    assert said(conventions.read(span))["usage"] == (16, 28, None, None, None)
    assert [(m[0], m[2]) for m in told(conventions.messages(span))] == [("input", "hi"), ("output", "yo")]


def test_a_function_is_a_tool_where_the_model_called_it() -> None:
    called = made(TOOL, name="execute_tool weather-get_weather", scope=FUNCTION_SCOPE)
    assert said(conventions.read(called)) == {
        "convention": "semantic_kernel",
        "kind": "tool",
        "tool_name": "weather-get_weather",
        "tool_call_id": "call_1",
    }
    assert told(conventions.messages(called)) == [("input", "tool", '{"city": "Paris"}'), ("output", "tool", "Sunny")]
    own = {k: v for k, v in TOOL.items() if k != "gen_ai.tool.call.id"}
    assert said(conventions.read(made(own, scope=FUNCTION_SCOPE))) == {"convention": "semantic_kernel", "kind": "chain"}


def test_an_agents_answer_with_a_tool_is_one_run() -> None:
    trace = TraceBuilder("sk")
    named: Attributes = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "Host"}
    agent = trace.span(
        "invoke_agent Host", named, duration_ms=90, scope="semantic_kernel.utils.telemetry.agent_diagnostics"
    )
    loop = trace.span(
        "AutoFunctionInvocationLoop",
        {"sk.available_functions": "weather-get_weather"},
        parent=agent,
        duration_ms=80,
        scope="semantic_kernel.connectors.ai.chat_completion_client_base",
    )
    trace.span("chat.completions gpt-4o-mini", dict(CHAT), parent=loop, scope=MODEL_SCOPE)
    trace.span("execute_tool weather-get_weather", dict(TOOL), parent=loop, scope=FUNCTION_SCOPE)
    (run,) = project(trace.spans)
    assert (run.agent, run.llm_calls, run.tool_calls, run.tokens.input_tokens) == ("Host", 1, 1, 1013)
