"""Known faults of emitters: each row has a span it is true of and one it is not, and its effect is seen once."""

from __future__ import annotations

import msgspec
import pytest
from captured import captured, changed, made, said

from otel_runlog import conventions
from otel_runlog.conventions.known_faults import KNOWN_FAULTS, Effect, KnownFault, Versions
from otel_runlog.conventions.reading import Reading
from otel_runlog.model import Attributes, Scope, Span, StepKind

OPENLIT = "openlit.instrumentation.openai"
OPENLIT_STREAM: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "gpt-5-mini",
    "gen_ai.request.stream": True,
    "gen_ai.request.temperature": 1.0,
    "gen_ai.request.seed": 0,
    "gen_ai.response.finish_reasons": ["stop"],
    "gen_ai.usage.input_tokens": 4,
    "gen_ai.usage.output_tokens": 6,
    "gen_ai.usage.cost": 0,
    "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]',
    "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "Hello there."}]}]',
}
"""As OpenLIT 1.45 wrote a stream that told no usage."""
CREWAI = "opentelemetry.instrumentation.crewai"
CREW_AGENT: Attributes = {"traceloop.span.kind": "agent", "crewai.agent.role": "Helper"}
LANGFUSE: Attributes = {
    "langfuse.observation.type": "generation",
    "langfuse.observation.model.name": "gpt-5-mini",
    "langfuse.observation.model.parameters": '{"temperature": 1, "max_tokens": "Infinity", "top_p": 0.5}',
}
BRIDGE, BRIDGED = "logfire.openai_agents", "Chat completion with {gen_ai.request.model!r}"
ZEROS: Attributes = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "m",
    "gen_ai.usage.input_tokens": 0,
    "gen_ai.usage.output_tokens": 0,
}
STUB: Attributes = {**ZEROS, "gen_ai.request.stream": True, "gen_ai.usage.output_tokens": 1}


def row(name: str) -> KnownFault:
    return next(f for f in KNOWN_FAULTS if f.name == name)


def openlit(**changes: object) -> Span:
    return changed(made(OPENLIT_STREAM, scope=OPENLIT), **changes)


def bridged(attributes: Attributes) -> Span:
    return made(attributes, name=BRIDGED, scope=BRIDGE)


def vercel_5() -> Span:
    return captured("vercel-ai-v5/prompt_cache", "ai.generateText.doGenerate")


CASES: dict[str, tuple[Span, Span]] = {
    "traceloop_anthropic_stream": (
        captured("traceloop-anthropic@sdkoff/streaming_chat", "anthropic.chat"),
        captured("traceloop-anthropic/tool_loop", "anthropic.chat"),
    ),
    "gemini_cli_thoughts": (
        captured("gemini-cli/cache_reasoning", "llm_call"),
        captured("gemini-cli/cache_reasoning", "schedule_tool_calls"),
    ),
    "openinference_google_loop": (
        captured("openinference-google-genai/auto_function_calling", "GenerateContent"),
        captured("openinference-google-genai/single_chat", "GenerateContent"),
    ),
    "strands_lifetime": (
        captured("strands-agents/tool_loop", "invoke_agent"),
        captured("strands-agents/tool_loop", "chat"),
    ),
    "smolagents_lifetime": (
        captured("openinference-smolagents/tool_loop", "ToolCallingAgent.run"),
        captured("openinference-smolagents/tool_loop", "OpenAIModel.generate"),
    ),
    "crewai_lifetime": (
        made({**CREW_AGENT, "gen_ai.usage.input_tokens": 9}, name="Helper.agent", scope=CREWAI),
        made(CREW_AGENT, name="Helper.agent", scope=CREWAI),
    ),
    "litellm_on_parent": (
        captured("litellm-otel@nocontent/tool_loop_in_span", "agent run"),
        captured("litellm-otel/single_chat", "litellm_request"),
    ),
    "litellm_estimate": (
        captured("litellm-otel/streaming_chat_no_usage", "litellm_request"),
        captured("litellm-otel/streaming_chat", "litellm_request"),
    ),
    "openlit_estimate": (openlit(), openlit(gen_ai__usage__cache_read__input_tokens=0)),
    "openlit_cost_zero": (
        openlit(gen_ai__usage__cache_read__input_tokens=0),
        openlit(gen_ai__usage__cache_read__input_tokens=0, gen_ai__usage__cost=0.25),
    ),
    "openlit_defaults": (openlit(), openlit(gen_ai__request__temperature=0.3, gen_ai__request__seed=7)),
    "langfuse_defaults": (
        made(LANGFUSE, scope="langfuse-sdk"),
        changed(made(LANGFUSE, scope="langfuse-sdk"), langfuse__observation__model__parameters='{"temperature": 0.2}'),
    ),
    "openai_agents_zeros": (bridged(ZEROS), bridged({**ZEROS, "gen_ai.usage.input_tokens": 5})),
    "abandoned_stream": (made(STUB), made({**STUB, "gen_ai.response.finish_reasons": ["stop"]})),
    "vercel_5_cache": (vercel_5(), captured("vercel-ai-v6/prompt_cache", "ai.generateText.doGenerate")),
}
"""Of each row: a span it is true of, and one near it that it is not true of."""


def fault_in(name: str, span: Span) -> bool:
    """Whether the row holds of what the span's own convention reads, before any row had its effect."""
    convention = conventions.convention_of(span)
    reading = convention.read(span) if convention else None
    return reading is not None and row(name).holds(span, reading)


def test_every_row_has_its_case() -> None:
    assert list(CASES) == [f.name for f in KNOWN_FAULTS]


@pytest.mark.parametrize("name", CASES)
def test_a_row_is_true_of_its_span_and_not_of_the_one_beside_it(name) -> None:
    wrong, right = CASES[name]
    assert (fault_in(name, wrong), fault_in(name, right)) == (True, False)


@pytest.mark.parametrize("name", CASES)
def test_the_effect_shows_in_what_is_read(name) -> None:
    fault, (span, _) = row(name), CASES[name]
    reading = conventions.read(span)
    assert reading is not None
    if fault.effect is Effect.FLAG:
        assert reading.usage_fault
        assert f"emitter_fault: {fault.wrong}" in reading.warnings
    elif fault.effect in (Effect.PARTIAL, Effect.CUT):
        assert reading.usage_cut
    else:
        assert any(n.startswith(f"emitter_fault: {fault.wrong.partition(' {')[0]}") for n in reading.notes)


def test_an_estimate_is_taken_away_with_its_cost() -> None:
    reading = said(conventions.read(openlit(gen_ai__usage__cost=0.01)))
    assert ("usage" in reading, "reported_usd" in reading) == (False, False)
    assert "emitter_fault: OpenLIT estimated 4 and 6 tokens itself, the stream told none" in reading["notes"]


def test_a_count_that_is_no_estimate_stays_whatever_else_is_missing() -> None:
    reading = said(conventions.read(openlit(gen_ai__usage__input_tokens=1013, gen_ai__usage__output_tokens=57)))
    assert reading["usage"] == (1013, 57, None, None, None)


def test_parameters_that_differ_from_a_default_were_sent() -> None:
    reading = conventions.read(openlit(gen_ai__request__temperature=0.3))
    assert reading is not None
    assert reading.params == {"temperature": 0.3}


def test_zeros_are_unknown_only_where_a_bridge_says_them_of_an_answer() -> None:
    failed = msgspec.structs.replace(bridged(ZEROS), status_code=2)
    for span, usage in ((bridged(ZEROS), None), (failed, (0, 0)), (made(ZEROS), (0, 0))):
        read = said(conventions.read(span)).get("usage")
        assert (read[:2] if isinstance(read, tuple) else read) == usage


def test_an_abandoned_answer_is_no_whole_answer() -> None:
    messages: Attributes = {
        "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]',
        "gen_ai.output.messages": '[{"role": "assistant", "parts": [{"type": "text", "content": "He"}]}]',
    }
    reading = said(conventions.read(made({**STUB, **messages})))
    assert (reading["usage_cut"], reading["content"]) == (True, "truncated")


@pytest.mark.parametrize(
    ("version", "inside"),
    [("0.40.14", True), ("0.39.9", False), ("0.62.4", False), ("0.62", False), ("0.61b0", True), ("", False)],
)
def test_a_range_has_its_first_and_leaves_out_its_end(version, inside) -> None:
    assert (version in Versions("0.40", "0.62")) == inside


def test_a_row_of_some_versions_spares_the_others() -> None:
    fault = row("abandoned_stream")._replace(versions=Versions("", "2"))
    span = msgspec.structs.replace(made(STUB), scope=Scope("s", "2.1"))
    reading = Reading("otel_genai", StepKind.LLM, streaming=True)
    assert not fault.holds(span, reading)
    assert fault.holds(msgspec.structs.replace(span, scope=Scope("s", "1.9")), reading)
