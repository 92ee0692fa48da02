"""Where each field of a step stands, over all vocabularies, in order of preference.

One literal a field; the first attribute that is present and readable wins. Token counts are not here: they are read a
vocabulary at a time (see _usage). Names that mean something else in another scope (session.id of a browser,
`model`, `error`) are read by the convention that owns them.
"""

from __future__ import annotations

from decimal import Decimal

from otel_runlog.conventions._attrs import flag, mapping, money, number, parsed, path, text, whole
from otel_runlog.model import Attributes, Span

PROVIDER = ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider")
REQUEST_MODEL = (
    "gen_ai.request.model",
    "llm.request.model_name",
    "ai.model.id",
    "model_name",
    "embedding.model_name",
    "reranker.model_name",
)
RESPONSE_MODEL = ("gen_ai.response.model", "llm.response.model_name", "ai.response.model", "llm.model_name")
RESPONSE_ID = ("gen_ai.response.id", "ai.response.id")
AGENT = ("gen_ai.agent.name", "agent.name", "agent_name")
SESSION = (
    "gen_ai.conversation.id",
    "session.id",
    "ai.telemetry.metadata.sessionId",
    "ai.settings.context.sessionId",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
    "traceloop.association.properties.chat_id",
    "gen_ai.session.id",
)
SESSION_IN_METADATA = ("session_id", "thread_id", "conversation_id")
USER = (
    "user.id",
    "enduser.id",
    "ai.telemetry.metadata.userId",
    "traceloop.association.properties.user_id",
    "gen_ai.user.id",
    "gen_ai.user",
    "llm.user",
)
NATIVE_RUN = ("gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id", "turn.id")
TOOL_NAME = ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "mcp.tool.name")
TOOL_CALL_ID = ("gen_ai.tool.call.id", "gen_ai.tool.call_id", "ai.toolCall.id", "tool.id")
SERVICE_TIER = (
    "openai.response.service_tier",
    "gen_ai.openai.response.service_tier",
    "anthropic.response.service_tier",
    "gen_ai.response.service_tier",
)
REQUESTED_TIER = (
    "openai.request.service_tier",
    "gen_ai.openai.request.service_tier",
    "gen_ai.request.service_tier",
)
REPORTED_COST = (
    "llm.cost.total",
    "gen_ai.usage.cost",
    "gen_ai.cost.total_cost",
    "operation.cost",
    "litellm.cost.total",
    "runlog.cost_usd",
)
REPORTED_COST_INSIDE = (("langfuse.observation.cost_details", "total"), ("mlflow.llm.cost", "total_cost"))
FINISH = (
    "gen_ai.response.finish_reasons",
    "llm.finish_reason",
    "ai.response.finishReason",
    "gen_ai.response.finish_reason",
    "gen_ai.completion.0.finish_reason",
    "anthropic.message.stop_reason",
    "llm.response.finish_reason",
    "llm.response.stop_reason",
    "gen_ai.response.stop_reason",
)
STREAMING = ("gen_ai.request.stream", "gen_ai.is_streaming", "llm.is_streaming")
FIRST_TOKEN_S = ("gen_ai.response.time_to_first_chunk", "gen_ai.client.operation.time_to_first_chunk")
FIRST_TOKEN_MS = ("ai.response.msToFirstChunk",)
HTTP_STATUS = ("http.response.status_code", "http.status_code")
PARAMS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    # canonical name, attributes, keys inside llm.invocation_parameters
    ("temperature", ("gen_ai.request.temperature", "llm.temperature", "ai.settings.temperature"), ("temperature",)),
    ("top_p", ("gen_ai.request.top_p", "llm.top_p", "ai.settings.topP"), ("top_p",)),
    ("top_k", ("gen_ai.request.top_k", "llm.top_k", "ai.settings.topK"), ("top_k",)),
    (
        "max_tokens",
        (
            "gen_ai.request.max_tokens",
            "gen_ai.request.max_completion_tokens",
            "ai.settings.maxTokens",
            "ai.settings.maxOutputTokens",
        ),
        ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    ),
    (
        "stop_sequences",
        ("gen_ai.request.stop_sequences", "llm.chat.stop_sequences", "ai.settings.stopSequences"),
        ("stop", "stop_sequences"),
    ),
    (
        "frequency_penalty",
        ("gen_ai.request.frequency_penalty", "llm.frequency_penalty", "ai.settings.frequencyPenalty"),
        ("frequency_penalty",),
    ),
    (
        "presence_penalty",
        ("gen_ai.request.presence_penalty", "llm.presence_penalty", "ai.settings.presencePenalty"),
        ("presence_penalty",),
    ),
    ("seed", ("gen_ai.request.seed", "gen_ai.openai.request.seed", "ai.settings.seed"), ("seed",)),
    ("choice_count", ("gen_ai.request.choice.count", "gen_ai.request.n"), ("n",)),
    (
        "reasoning_effort",
        ("gen_ai.request.reasoning.level", "gen_ai.request.reasoning_effort", "llm.request.reasoning_effort"),
        ("reasoning_effort",),
    ),
    ("output_type", ("gen_ai.output.type", "gen_ai.openai.request.response_format"), ()),
)


def finish_reason(attributes: Attributes) -> str | None:
    """The first finish reason as the provider wrote it, also out of a list or a JSON string of one."""
    for key in FINISH:
        value = parsed(attributes.get(key))
        if isinstance(value, list):
            value = next((v for v in value if v), None)
        if isinstance(value, str) and value.strip():
            return value
    return None


def reported_cost(attributes: Attributes) -> Decimal | None:
    """The cost the span says its call had, USD. Totals only: parts overlap (facts/semconv, trap 13)."""
    for key in REPORTED_COST:
        if key in attributes and (amount := money(attributes[key])) is not None:
            return amount
    for outer, inner in REPORTED_COST_INSIDE:
        if outer in attributes and (amount := money(path(attributes[outer], inner))) is not None:
            return amount
    return None


def params(attributes: Attributes) -> Attributes:
    """The request's parameters under canonical names; those that were not sent are absent."""
    inner = mapping(attributes.get("llm.invocation_parameters"))
    found: Attributes = {}
    for name, keys, inner_keys in PARAMS:
        for source, names in ((attributes, keys), (inner, inner_keys)):
            key = next((k for k in names if source.get(k) is not None), None)
            if key is not None:
                found[name] = source[key]
                break
    return found


def session(attributes: Attributes) -> str | None:
    """The conversation this span names."""
    found = text(attributes, SESSION)
    return (
        found if found or "metadata" not in attributes else text(mapping(attributes["metadata"]), SESSION_IN_METADATA)
    )


def user(attributes: Attributes) -> str | None:
    """The user this span names."""
    found = text(attributes, USER)
    return found if found or "metadata" not in attributes else text(mapping(attributes["metadata"]), ("user_id",))


def streaming(attributes: Attributes) -> bool | None:
    """Whether the answer was asked for as a stream."""
    for key in STREAMING:
        if (value := flag(attributes.get(key))) is not None:
            return value
    return flag(path(attributes.get("llm.invocation_parameters"), "stream"))


def first_token_ms(span: Span) -> float | None:
    """Milliseconds to the first chunk, from seconds, milliseconds or OpenInference's event."""
    for keys, factor in ((FIRST_TOKEN_S, 1000.0), (FIRST_TOKEN_MS, 1.0)):
        for key in keys:
            if (value := number(span.attributes.get(key))) is not None:
                return value * factor
    event = next((e for e in span.events if e.name == "First Token Stream Event"), None)
    if event is None or span.started_ns is None:
        return None
    return max(event.time_ns - span.started_ns, 0) / 1e6


def http_status(attributes: Attributes) -> int | None:
    """The HTTP status of the provider's answer."""
    for key in HTTP_STATUS:
        if (value := whole(attributes.get(key))) is not None:
            return value
    return None
