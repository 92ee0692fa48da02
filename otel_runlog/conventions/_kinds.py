"""What the words of each vocabulary mean as a step kind. One visible table per attribute (facts/semconv, section 1)."""

from __future__ import annotations

from otel_runlog.model import StepKind

K = StepKind
OPERATION = {
    "chat": K.LLM,
    "text_completion": K.LLM,
    "completion": K.LLM,
    "acompletion": K.LLM,
    "atext_completion": K.LLM,
    "responses": K.LLM,
    "aresponses": K.LLM,
    "anthropic_messages": K.LLM,
    "generate_content": K.LLM,
    "generate": K.LLM,
    "llm_call": K.LLM,
    "llm_request": K.LLM,
    "response": K.LLM,
    "chat.completions": K.LLM,
    "chat.streaming_completions": K.LLM,
    "text.completions": K.LLM,
    "text.streaming_completions": K.LLM,
    "embeddings": K.EMBEDDING,
    "embedding": K.EMBEDDING,
    "aembedding": K.EMBEDDING,
    "execute_tool": K.TOOL,
    "tool_call": K.TOOL,
    "invoke_agent": K.AGENT,
    "agent_call": K.AGENT,
    "create_agent": K.OTHER,
    "invoke_workflow": K.WORKFLOW,
    "invoke_graph": K.WORKFLOW,
    "invoke_swarm": K.WORKFLOW,
    "plan": K.CHAIN,
    "retrieval": K.RETRIEVER,
    "vector_db_retrieve": K.RETRIEVER,
    "rerank": K.RERANKER,
    "agent_step": K.CHAIN,
    "execute_event_loop_cycle": K.CHAIN,
    "execute_task": K.CHAIN,
    "invoke_node": K.CHAIN,
    "chain": K.CHAIN,
    "schedule_tool_calls": K.CHAIN,
    "user_prompt": K.CHAIN,
    "system_prompt": K.CHAIN,
    "fetch_response": K.OTHER,
    "handoff": K.OTHER,
    "search_memory": K.OTHER,
    "create_memory": K.OTHER,
    "update_memory": K.OTHER,
    "upsert_memory": K.OTHER,
    "delete_memory": K.OTHER,
    "create_memory_store": K.OTHER,
    "delete_memory_store": K.OTHER,
}
ROOTLESS_OPERATIONS = frozenset({"create_agent", "fetch_response"})
"""Operations that never root a run."""

OPENINFERENCE = {
    "LLM": K.LLM,
    "TOOL": K.TOOL,
    "AGENT": K.AGENT,
    "CHAIN": K.CHAIN,
    "RETRIEVER": K.RETRIEVER,
    "EMBEDDING": K.EMBEDDING,
    "RERANKER": K.RERANKER,
    "GUARDRAIL": K.GUARDRAIL,
    "EVALUATOR": K.EVALUATOR,
    "PROMPT": K.OTHER,
    "UNKNOWN": K.OTHER,
}
TRACELOOP = {"workflow": K.WORKFLOW, "task": K.CHAIN, "agent": K.AGENT, "tool": K.TOOL}
TRACELOOP_OTHER = frozenset({"session", "handoff", "unknown"})
"""Values of traceloop.span.kind that say nothing of what the span does; its attributes may."""
LLM_REQUEST_TYPE = {
    "chat": K.LLM,
    "completion": K.LLM,
    "acompletion": K.LLM,
    "rerank": K.RERANKER,
    "embedding": K.EMBEDDING,
}
VERCEL = {
    "ai.generateText": K.AGENT,
    "ai.streamText": K.AGENT,
    "ai.generateObject": K.AGENT,
    "ai.streamObject": K.AGENT,
    "ai.workflowAgent.stream": K.AGENT,
    "ai.generateText.doGenerate": K.LLM,
    "ai.streamText.doStream": K.LLM,
    "ai.generateObject.doGenerate": K.LLM,
    "ai.streamObject.doStream": K.LLM,
    "ai.toolCall": K.TOOL,
    "ai.embed": K.CHAIN,
    "ai.embedMany": K.CHAIN,
    "ai.embed.doEmbed": K.EMBEDDING,
    "ai.embedMany.doEmbed": K.EMBEDDING,
    "ai.rerank": K.CHAIN,
    "ai.rerank.doRerank": K.RERANKER,
}
CLAUDE_CODE = {
    "interaction": K.AGENT,
    "llm_request": K.LLM,
    "tool": K.TOOL,
    "tool.execution": K.OTHER,
    "tool.blocked_on_user": K.OTHER,
    "hook": K.CHAIN,
    "subagent.spawn": K.AGENT,
    "compaction": K.CHAIN,
    "mcp.rpc": K.OTHER,
}
LANGSMITH = {
    "llm": K.LLM,
    "chain": K.CHAIN,
    "tool": K.TOOL,
    "retriever": K.RETRIEVER,
    "embedding": K.EMBEDDING,
    "prompt": K.OTHER,
    "parser": K.OTHER,
}
LANGFUSE = {
    "generation": K.LLM,
    "embedding": K.EMBEDDING,
    "tool": K.TOOL,
    "agent": K.AGENT,
    "chain": K.CHAIN,
    "retriever": K.RETRIEVER,
    "guardrail": K.GUARDRAIL,
    "evaluator": K.EVALUATOR,
    "span": K.CHAIN,
    "event": K.OTHER,
}
MLFLOW = {
    "LLM": K.LLM,
    "CHAT_MODEL": K.LLM,
    "EMBEDDING": K.EMBEDDING,
    "TOOL": K.TOOL,
    "AGENT": K.AGENT,
    "WORKFLOW": K.WORKFLOW,
    "CHAIN": K.CHAIN,
    "TASK": K.CHAIN,
    "PARSER": K.OTHER,
    "MEMORY": K.OTHER,
    "RETRIEVER": K.RETRIEVER,
    "RERANKER": K.RERANKER,
    "GUARDRAIL": K.GUARDRAIL,
    "EVALUATOR": K.EVALUATOR,
}
HAYSTACK = {
    "haystack.pipeline.run": K.WORKFLOW,
    "haystack.async_pipeline.run": K.WORKFLOW,
    "haystack.agent.run": K.AGENT,
    "haystack.agent.step": K.CHAIN,
    "haystack.agent.step.llm": K.LLM,
    "haystack.chat_generator.run": K.LLM,
    "haystack.agent.step.tool": K.TOOL,
    "haystack.component.run": K.CHAIN,
}
HAYSTACK_COMPONENT = {
    "Generator": K.LLM,
    "Embedder": K.EMBEDDING,
    "Retriever": K.RETRIEVER,
    "Ranker": K.RERANKER,
    "Agent": K.AGENT,
    "ToolInvoker": K.TOOL,
}
"""By the end of a component's type: OpenAIChatGenerator, SentenceTransformersTextEmbedder."""
LOGFIRE = {
    "OpenAI Agents trace": K.WORKFLOW,
    "Agent run": K.AGENT,
    "Function": K.TOOL,
    "Guardrail": K.GUARDRAIL,
    "Task": K.CHAIN,
    "Turn": K.CHAIN,
    "Custom span": K.CHAIN,
    "Handoff": K.OTHER,
    "MCP": K.OTHER,
    "Chat completion with": K.LLM,
    "Responses API": K.LLM,
}
"""By the start of the span's name, which is a template (`Agent run: {name!r}`), of Logfire's OpenAI Agents bridge."""
SPRING_AI = {
    "chat_client": K.CHAIN,
    "advisor": K.CHAIN,
    "tool_call": K.TOOL,
    "vector_store": K.RETRIEVER,
}
