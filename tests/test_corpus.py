"""The projection against the corpus: no number is wrong without saying so, and what is not right has its reason."""

from __future__ import annotations

import pytest
from corpus import Scenario, all_names, counted, scenario

from otel_runlog.model import RunLog, RunStatus
from otel_runlog.pricing import PriceTable
from otel_runlog.runs import project

NO_CALL_SPANS = "the instrumentation makes no model spans; a client instrumentation beside it would"
NO_USAGE = "the emitter sends no token counts for this call"
CUT_STREAM = "the stream was cut or abandoned before its usage came"
LAST_CALL_ONLY = "one span for a loop of calls, with the usage of the last"
NO_CACHE_COUNTS = "the emitter sends no cache counts; input and output are right"
NO_REASONING_COUNTS = "the emitter sends no reasoning count; input and output are right"
IN_FLIGHT = "the last call was in flight when the process was killed: it has no span"
OVERWRITTEN = "LiteLLM left the last of several calls on the application's span, content is off"
ESTIMATED = "the stream told no usage, and the emitter's own estimate is no count"
ONE_TOO_MANY = "the emitter counts one output token too many in streams, flagged as emitter_fault"
NOT_READ_YET = "its convention is not read yet"

NOT_RIGHT = {
    "haystack/pipeline_streaming": NO_USAGE,
    "langfuse-openai/streaming_chat_no_usage": NO_USAGE,
    "langsmith-otel/streaming_chat_no_usage": NO_USAGE,
    "litellm-otel/streaming_chat_no_usage": ESTIMATED,
    "litellm-otel@nocontent/tool_loop_in_span": OVERWRITTEN,
    "logfire-openai-agents/tool_loop_chat_streaming": NO_USAGE,
    "logfire-openai@streams/streaming_abandoned": CUT_STREAM,
    "logfire-openai@streams/streaming_chat_no_usage": NO_USAGE,
    "openinference-anthropic/streaming_cut": CUT_STREAM,
    "openinference-crewai/concurrent_threads": NO_CALL_SPANS,
    "openinference-crewai/crew_two_agents": NO_CALL_SPANS,
    "openinference-crewai/prompt_cache": NO_CALL_SPANS,
    "openinference-crewai/single_chat": NO_CALL_SPANS,
    "openinference-crewai/tool_error": NO_CALL_SPANS,
    "openinference-crewai/tool_loop": NO_CALL_SPANS,
    "openinference-crewai/web_two_runs": NO_CALL_SPANS,
    "openinference-google-genai/auto_function_calling": LAST_CALL_ONLY,
    "openinference-google-genai/auto_function_calling_streaming": LAST_CALL_ONLY,
    "openinference-google-genai/concurrent_async": LAST_CALL_ONLY,
    "openinference-google-genai/embeddings": NO_USAGE,
    "openinference-openai/streaming_abandoned": CUT_STREAM,
    "openinference-openai/streaming_cut": CUT_STREAM,
    "openinference-smolagents/prompt_cache": NO_CACHE_COUNTS,
    "openlit-openai/reasoning_chat": NO_REASONING_COUNTS,
    "openlit-openai/streaming_chat_no_usage": ESTIMATED,
    "otel-genai-anthropic/streaming_abandoned": CUT_STREAM,
    "otel-genai-openai-agents/concurrent_async": NO_CALL_SPANS,
    "otel-genai-openai-agents/concurrent_threads": NO_CALL_SPANS,
    "otel-genai-openai-agents/handoff": NO_CALL_SPANS,
    "otel-genai-openai-agents/max_turns_exceeded": NO_CALL_SPANS,
    "otel-genai-openai-agents/multi_turn": NO_CALL_SPANS,
    "otel-genai-openai-agents/prompt_cache": NO_CALL_SPANS,
    "otel-genai-openai-agents/reasoning": NO_CALL_SPANS,
    "otel-genai-openai-agents/single_chat": NO_CALL_SPANS,
    "otel-genai-openai-agents/streaming_tool_loop": NO_CALL_SPANS,
    "otel-genai-openai-agents/tool_loop": NO_CALL_SPANS,
    "otel-genai-openai-agents/tool_loop_chat_completions": NO_CALL_SPANS,
    "otel-genai-openai-agents/tool_loop_parallel": NO_CALL_SPANS,
    "otel-genai-openai-agents/web_two_runs": NO_CALL_SPANS,
    "otel-genai-openai-agents/workflow_two_runs": NO_CALL_SPANS,
    "otel-genai-openai-agents@nocontent/handoff": NO_CALL_SPANS,
    "otel-genai-openai/killed_midway": IN_FLIGHT,
    "otel-genai-openai/streaming_abandoned": CUT_STREAM,
    "otel-genai-openai/streaming_cut": CUT_STREAM,
    "otel-google-genai/auto_function_calling_streaming": LAST_CALL_ONLY,
    "otel-google-genai/concurrent_async": LAST_CALL_ONLY,
    "otel-google-genai@nocontent/auto_function_calling": LAST_CALL_ONLY,
    "otel-openai-v2/prompt_cache": NO_CACHE_COUNTS,
    "otel-openai-v2/reasoning_chat": NO_REASONING_COUNTS,
    "otel-openai-v2/streaming_abandoned": CUT_STREAM,
    "otel-openai-v2/streaming_cut": CUT_STREAM,
    "pydantic-ai-1.0/prompt_cache": NO_CACHE_COUNTS,
    "pydantic-ai/killed_midway": IN_FLIGHT,
    "traceloop-anthropic/streaming_abandoned": CUT_STREAM,
    "traceloop-anthropic/streaming_cut": CUT_STREAM,
    "traceloop-anthropic@sdkoff/streaming_chat": ONE_TOO_MANY,
    "traceloop-langchain/reasoning": NO_REASONING_COUNTS,
    "traceloop-openai-agents/tool_loop_chat_completions": NO_USAGE,
    "traceloop-openai/streaming_abandoned": CUT_STREAM,
    "traceloop-openai/streaming_cut": CUT_STREAM,
    "traceloop-sdk@0.40/streaming_chat": NO_USAGE,
    "vercel-ai-v5/prompt_cache": NO_CACHE_COUNTS,
    "vercel-ai-v5/reasoning": NO_REASONING_COUNTS,
}
"""Every scenario whose five counters are not all what was served."""

BARE_LOOP = "a client loop without a span around it: each call is a trace and a run of one step (rule 3)"
ONE_REQUEST = "two bare client loops in one HTTP request: the request's span is their root (rule 3)"
GROUPED = "an explicit workflow groups two agent runs: its span is the root (rule 2)"
NO_ROOT = "the span above both agents never came: one provisional run (rule 4)"

OTHER_RUNS = {
    "anthropic-sdk-native/tool_loop": BARE_LOOP,
    "anthropic-sdk-native/web_two_runs": ONE_REQUEST,
    "litellm-otel/tool_loop": BARE_LOOP,
    "litellm-otel/web_two_runs": ONE_REQUEST,
    "openinference-anthropic/tool_loop": BARE_LOOP,
    "openinference-anthropic/web_two_runs": ONE_REQUEST,
    "openinference-google-genai/web_two_runs": ONE_REQUEST,
    "openinference-openai-agents/workflow_two_runs": GROUPED,
    "openinference-openai/responses_tool_loop": BARE_LOOP,
    "openinference-openai/tool_loop": BARE_LOOP,
    "openinference-openai/web_two_runs": ONE_REQUEST,
    "openinference-smolagents/multi_turn": NO_ROOT,
    "openinference-smolagents/web_two_runs": NO_ROOT,
    "otel-genai-anthropic/web_two_runs": ONE_REQUEST,
    "otel-genai-openai/distributed_two_services": ONE_REQUEST,
    "otel-genai-openai/responses_tool_loop": BARE_LOOP,
    "otel-genai-openai/tool_loop": BARE_LOOP,
    "otel-genai-openai/web_two_runs": ONE_REQUEST,
    "otel-genai-openai@defaults/responses_tool_loop": BARE_LOOP,
    "otel-genai-openai@events/responses_tool_loop": BARE_LOOP,
    "otel-google-genai/web_two_runs": ONE_REQUEST,
    "otel-openai-v2/tool_loop": BARE_LOOP,
    "otel-openai-v2/web_two_runs": ONE_REQUEST,
    "traceloop-anthropic/tool_loop": BARE_LOOP,
    "traceloop-openai-agents/workflow_two_runs": GROUPED,
    "traceloop-openai/responses_tool_loop": BARE_LOOP,
    "traceloop-openai/tool_loop": BARE_LOOP,
}
"""Every scenario in which a person would count other runs than the rules of the contract do."""

FLAGGED_AND_RIGHT = {
    "openinference-langchain/killed_midway": IN_FLIGHT,
    "openinference-smolagents/error_500": NO_ROOT,
    "openinference-smolagents/multi_turn": NO_ROOT,
    "openinference-smolagents/web_two_runs": NO_ROOT,
}
"""Every scenario whose numbers are right and doubted all the same."""

SURVIVED = "the failed attempt was retried and the run completed"
STILL_OPEN = "the agent's own span never came: the run is open until the quiet time"
NOT_FAILED = {
    "openinference-smolagents/error_500": STILL_OPEN,
    "vercel-ai-v5/error_500_retries": SURVIVED,
    "vercel-ai-v6/error_500_retries": SURVIVED,
    "vercel-ai-v7/error_500_retries": SURVIVED,
}


@pytest.fixture(scope="module")
def prices() -> PriceTable:
    return PriceTable.default()


def runs_of(found: Scenario, prices: PriceTable) -> list[RunLog]:
    return project(found.spans(), logs=found.log_records(), prices=prices)


def is_right(found: Scenario, runs: list[RunLog]) -> bool:
    pairs = zip(counted(runs), found.truth.tokens, strict=True)
    return all((got or 0) == served for got, served in pairs if served is not None)


def doubts(runs: list[RunLog]) -> bool:
    return any(r.usage_missing_calls or not r.complete or r.warnings for r in runs)


@pytest.mark.parametrize("name", all_names())
def test_numbers_are_right_or_say_why_not(name: str, prices: PriceTable) -> None:
    found = scenario(name)
    runs = runs_of(found, prices)
    if not found.spans():
        pytest.skip("nothing was sent")
    assert is_right(found, runs) == (name not in NOT_RIGHT), counted(runs)
    assert (is_right(found, runs) and doubts(runs)) == (name in FLAGGED_AND_RIGHT)
    if NOT_RIGHT.get(name, NOT_READ_YET) != NOT_READ_YET:
        wrong = [
            got is not None and served is not None and got != served
            for got, served in zip(counted(runs), found.truth.tokens, strict=True)
        ]
        assert not any(wrong) or doubts(runs), "a wrong number that nothing flags"


@pytest.mark.parametrize("name", all_names())
def test_runs_are_those_a_person_would_count(name: str, prices: PriceTable) -> None:
    found = scenario(name)
    runs = runs_of(found, prices)
    if found.spans() and found.truth.runs:
        assert (len(runs) == found.truth.runs) == (name not in OTHER_RUNS), len(runs)
    if name.partition("/")[2].startswith("error_") and found.spans():
        assert any(r.status is RunStatus.FAILED for r in runs) == (name not in NOT_FAILED)


@pytest.mark.parametrize("name", all_names())
def test_counted_steps_add_up_to_the_run(name: str, prices: PriceTable) -> None:
    found = scenario(name)
    for run in runs_of(found, prices):
        steps = [s for s in run.steps if s.counted]
        assert run.tokens.input_tokens == _sum([s.usage.input_tokens for s in steps])
        assert run.tokens.output_tokens == _sum([s.usage.output_tokens for s in steps])
        assert (run.cost_estimate.usd if run.cost_estimate else None) == _sum([s.cost.usd for s in steps])
        assert sum(a.calls for a in run.agents) >= len(steps) - sum(s.kind in ("chain", "workflow") for s in steps)
        assert _sum([a.own.input_tokens for a in run.agents]) == run.tokens.input_tokens
        assert [s.step_index for s in run.steps] == list(range(1, len(run.steps) + 1))


def _sum(values):
    known = [v for v in values if v is not None]
    return sum(known) if known else None


def test_every_listed_scenario_exists() -> None:
    listed = {*NOT_RIGHT, *OTHER_RUNS, *FLAGGED_AND_RIGHT, *NOT_FAILED}
    assert listed <= set(all_names())
