"""The attribute names of each field of a step, over all vocabularies, in order of preference.

Sources: the OTel GenAI registry with its deprecated names, the instrumentations' code (facts/semconv, 2 and 5).
Token counts stand in _vocabularies: they are read a vocabulary at a time. Names that mean something else elsewhere
(`model`, `error`, `agent_name`) are read by the convention that owns them.
"""

from __future__ import annotations

from otel_runlog.conventions._index import Index

PARAMS: dict[str, tuple[str, ...]] = {
    "temperature": ("gen_ai.request.temperature", "llm.temperature", "ai.settings.temperature"),
    "top_p": ("gen_ai.request.top_p", "llm.top_p", "ai.settings.topP"),
    "top_k": ("gen_ai.request.top_k", "llm.top_k", "ai.settings.topK"),
    "max_tokens": (
        "gen_ai.request.max_tokens",
        "gen_ai.request.max_completion_tokens",
        "ai.settings.maxOutputTokens",
        "ai.settings.maxTokens",
    ),
    "stop_sequences": ("gen_ai.request.stop_sequences", "llm.chat.stop_sequences", "ai.settings.stopSequences"),
    "frequency_penalty": (
        "gen_ai.request.frequency_penalty",
        "llm.frequency_penalty",
        "ai.settings.frequencyPenalty",
    ),
    "presence_penalty": ("gen_ai.request.presence_penalty", "llm.presence_penalty", "ai.settings.presencePenalty"),
    "seed": ("gen_ai.request.seed", "gen_ai.openai.request.seed", "ai.settings.seed", "llm.watsonx.random_seed"),
    "choice_count": ("gen_ai.request.choice.count", "gen_ai.request.n", "ai.settings.n"),
    "reasoning_effort": (
        "gen_ai.request.reasoning.level",
        "gen_ai.request.reasoning_effort",
        "llm.request.reasoning_effort",
    ),
    "output_type": ("gen_ai.output.type", "gen_ai.openai.request.response_format"),
    "previous_response_id": ("gen_ai.request.previous_response.id",),
}
"""What the request asked for, under canonical names."""

INNER_PARAMS: dict[str, tuple[str, ...]] = {
    "temperature": ("temperature",),
    "top_p": ("top_p",),
    "top_k": ("top_k",),
    "max_tokens": ("max_tokens", "max_completion_tokens", "max_output_tokens"),
    "stop_sequences": ("stop", "stop_sequences"),
    "frequency_penalty": ("frequency_penalty",),
    "presence_penalty": ("presence_penalty",),
    "seed": ("seed",),
    "choice_count": ("n",),
    "reasoning_effort": ("reasoning_effort",),
    "reasoning": ("reasoning",),
    "previous_response_id": ("previous_response_id",),
}
"""The same inside OpenInference's llm.invocation_parameters; `reasoning` of the Responses API holds an effort."""

TEXT_FIELDS: dict[str, tuple[str, ...]] = {
    "agent": ("gen_ai.agent.name", "agent.name"),
    "provider": ("gen_ai.provider.name", "gen_ai.system", "llm.provider", "llm.system", "ai.model.provider"),
    "request_model": (
        "gen_ai.request.model",
        "llm.request.model_name",
        "ai.model.id",
        "embedding.model_name",
        "reranker.model_name",
    ),
    "response_model": (
        "gen_ai.response.model",
        "llm.response.model_name",
        "ai.response.model",
        "llm.model_name",
    ),
    "response_id": ("gen_ai.response.id", "ai.response.id"),
    "service_tier": (
        "openai.response.service_tier",
        "gen_ai.openai.response.service_tier",
        "anthropic.response.service_tier",
        "gen_ai.response.service_tier",
    ),
    "requested_tier": (
        "openai.request.service_tier",
        "gen_ai.openai.request.service_tier",
        "gen_ai.request.service_tier",
    ),
    "native_run_id": ("gen_ai.agent.call.id", "gcp.vertex.agent.invocation_id"),
    "tool_name": ("gen_ai.tool.name", "tool.name", "ai.toolCall.name", "mcp.tool.name"),
    "tool_call_id": ("gen_ai.tool.call.id", "gen_ai.tool.call_id", "ai.toolCall.id", "tool.id"),
}
"""Of these the first that is a text is read; they are called as in `Reading`."""

FIELDS: dict[str, tuple[str, ...]] = {
    "session": (
        "gen_ai.conversation.id",
        "session.id",
        "ai.telemetry.metadata.sessionId",
        "ai.telemetry.metadata.session_id",
        "ai.telemetry.metadata.conversationId",
        "ai.telemetry.metadata.threadId",
        "ai.telemetry.metadata.chatId",
        "ai.settings.context.sessionId",
        "traceloop.association.properties.session_id",
        "traceloop.association.properties.thread_id",
        "traceloop.association.properties.conversation_id",
        "traceloop.association.properties.chat_id",
        "gen_ai.session.id",
    ),
    "user": (
        "user.id",
        "enduser.id",
        "ai.telemetry.metadata.userId",
        "ai.telemetry.metadata.user_id",
        "traceloop.association.properties.user_id",
        "gen_ai.user.id",
        "gen_ai.user",
        "llm.user",
    ),
    "metadata": ("metadata",),
    "cost": (
        "llm.cost.total",
        "gen_ai.usage.cost",
        "gen_ai.cost.total_cost",
        "operation.cost",
        "litellm.cost.total",
        "runlog.cost_usd",
    ),
    "cost_langfuse": ("langfuse.observation.cost_details",),
    "cost_mlflow": ("mlflow.llm.cost",),
    "finish": (
        "gen_ai.response.finish_reasons",
        "llm.finish_reason",
        "ai.response.finishReason",
        "gen_ai.response.finish_reason",
        "gen_ai.completion.0.finish_reason",
        "anthropic.message.stop_reason",
        "llm.response.finish_reason",
        "llm.response.stop_reason",
        "gen_ai.response.stop_reason",
    ),
    "streaming": ("gen_ai.request.stream", "gen_ai.is_streaming", "llm.is_streaming"),
    "first_token_s": ("gen_ai.response.time_to_first_chunk", "gen_ai.client.operation.time_to_first_chunk"),
    "first_token_ms": ("ai.response.msToFirstChunk",),
    "previous_response": ("gen_ai.request.previous_response.id",),
    "invocation": ("llm.invocation_parameters",),
    "input": (
        "gen_ai.input.messages",
        "ai.prompt.messages",
        "gen_ai.prompt.0.content",
        "gen_ai.prompt.1.content",
        "gen_ai.prompt",
        "ai.value",
        "ai.values",
    ),
    "output": (
        "gen_ai.output.messages",
        "ai.response.text",
        "ai.response.toolCalls",
        "ai.response.object",
        "gen_ai.completion.0.content",
        "gen_ai.completion.0.tool_calls.0.name",
        "gen_ai.completion",
    ),
    "openinference_input": (
        "input.value",
        "llm.input_messages.0.message.content",
        "llm.input_messages.1.message.content",
        "llm.input_messages.0.message.contents.0.message_content.text",
        "llm.input_messages.1.message.contents.0.message_content.text",
        "llm.prompts.0.prompt.text",
        "embedding.embeddings.0.embedding.text",
    ),
    "openinference_output": (
        "output.value",
        "llm.output_messages.0.message.content",
        "llm.output_messages.0.message.contents.0.message_content.text",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name",
        "llm.choices.0.completion.text",
    ),
}
"""Whatever else a reading needs."""
TEXTS = Index(TEXT_FIELDS)
INDEX = Index(FIELDS)
PARAMS_INDEX = Index(PARAMS)
INNER_PARAMS_INDEX = Index(INNER_PARAMS)
