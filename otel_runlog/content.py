"""What of a span's content is written: all, a hash of it, nothing, or what the user's redactor leaves.

Everything here runs at the door, before the journal, and fails closed: a value whose redactor raises, or answers with
what no attribute can be, is left out and counted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.trace import Link, Status

from otel_runlog.config import ContentMode, Redactor

CONTENT_KEYS: Final = frozenset(
    {
        # OTel GenAI: current, then the names of its earlier versions
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "gen_ai.tool.description",
        "gen_ai.tool.json_schema",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
        "gen_ai.agent.description",
        "gen_ai.evaluation.explanation",
        "gen_ai.retrieval.query.text",
        "gen_ai.retrieval.documents",
        "gen_ai.prompt",
        "gen_ai.completion",
        "gen_ai.event.content",
        # OpenInference
        "input.value",
        "output.value",
        "llm.prompts",
        "llm.function_call",
        "llm.prompt_template.template",
        "llm.prompt_template.variables",
        "tool.parameters",
        "tool.description",
        "tool.result",
        "tool.json_schema",
        # OpenLLMetry
        "traceloop.entity.input",
        "traceloop.entity.output",
        "traceloop.prompt.template",
        # Pydantic AI and Logfire
        "pydantic_ai.all_messages",
        "all_messages_events",
        "final_result",
        "model_request_parameters",
        "tool_arguments",
        "tool_response",
        "request_data",
        "response_data",
        "prompt",
        "events",
        "logfire.msg",
        # Google ADK, CrewAI, LangFuse, MLflow
        "crew_tasks",
        "crew_agents",
        "mlflow.spanInputs",
        "mlflow.spanOutputs",
        # events that carry one message in parts
        "content",
        "message",
        "parts",
        "arguments",
        "result",
        "response",
        "tool_calls",
        "function_args",
        "user_prompt",
    }
)
"""Attributes, of spans and of their events, whose value is prompt, answer or tool text."""

CONTENT_PREFIXES: Final = (
    "gen_ai.prompt.",
    "gen_ai.completion.",
    "llm.input_messages.",
    "llm.output_messages.",
    "llm.prompts.",
    "llm.completions.",
    "llm.tools.",
    "llm.request.functions.",
    "llm.openai.messages",
    "llm.openai.choices",
    "llm.openai.tools",
    "message.",
    "retrieval.documents.",
    "reranker.input_documents.",
    "reranker.output_documents.",
    "reranker.query",
    "embedding.embeddings.",
    "ai.prompt",
    "ai.response.text",
    "ai.response.object",
    "ai.response.reasoning",
    "ai.response.toolCalls",
    "ai.result.",
    "ai.toolCall.args",
    "ai.toolCall.result",
    "ai.value",
    "ai.embedding",
    "ai.schema",
    "anthropic.tool_result.",
    "gcp.vertex.agent.llm_re",
    "gcp.vertex.agent.tool_",
    "gcp.vertex.agent.data",
    "langfuse.observation.input",
    "langfuse.observation.output",
    "langfuse.trace.input",
    "langfuse.trace.output",
)
"""The same, by the beginning of the key."""

NOT_CONTENT: Final = frozenset({"gen_ai.prompt.name", "gen_ai.prompt.version", "ai.prompt.toolChoice"})
"""Keys that begin like content and are none."""

Counter = Callable[[str], None]
"""Called with a reason for every value that was left out because redaction failed."""


def is_content(key: str) -> bool:
    """Whether the attribute `key` carries prompt, answer or tool text."""
    return (key in CONTENT_KEYS or key.startswith(CONTENT_PREFIXES)) and key not in NOT_CONTENT


class Filter:
    """The content setting and the redactor of one door.

    Args:
        content: what is kept of content attributes.
        redact: asked for every string: attributes of the span, its events, links and resource, the items of sequences
            (with the sequence's key), `span.name`, `event.name` and `status.message`. None leaves the value out.
        count_failure: called where the redactor fails; the value is then left out.
    """

    def __init__(self, content: ContentMode, redact: Redactor | None, count_failure: Counter) -> None:
        self.content = content
        self.redact = redact
        self.count_failure = count_failure
        self._resource: tuple[Resource, Resource] | None = None

    @property
    def is_needed(self) -> bool:
        """Whether any span can be changed by it."""
        return self.content is not ContentMode.FULL or self.redact is not None

    def span(self, span: ReadableSpan) -> ReadableSpan:
        """`span` as it may be written: attributes, events, links, name, status message and resource filtered."""
        return FilteredSpan(span, self)

    def resource(self, resource: Resource) -> Resource:
        """The resource as it may be written; the same object again for the same resource."""
        memo = self._resource
        if memo is None or memo[0] is not resource:
            self._resource = memo = (resource, Resource(self.attributes(resource.attributes), resource.schema_url))
        return memo[1]

    def attributes(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes that remain."""
        kept = ((key, self.value(key, value)) for key, value in attributes.items())
        return {key: value for key, value in kept if value is not None}

    def value(self, key: str, value: object) -> object:
        """What remains of one value; None for nothing."""
        if self.content is not ContentMode.FULL and is_content(key):
            value = hash_marker(value) if self.content is ContentMode.HASH else None
        return self._redacted(key, value) if self.redact is not None else value

    def text(self, key: str, text: str) -> str:
        """What the redactor leaves of a span's name, an event's name or a status message."""
        redacted = self._redacted(key, text) if self.redact is not None else text
        return redacted if isinstance(redacted, str) else ""

    def _redacted(self, key: str, value: object) -> object:
        if isinstance(value, tuple | list):
            return [kept for item in value if (kept := self._redacted(key, item)) is not None]
        if isinstance(value, Mapping):
            pairs = ((name, self._redacted(f"{key}.{name}", item)) for name, item in value.items())
            return {name: kept for name, kept in pairs if kept is not None}
        return self._ask(key, value) if isinstance(value, str | bytes) else value

    def _ask(self, key: str, value: object) -> object:
        assert self.redact is not None
        try:
            answer = self.redact(key, value)
        except Exception:  # noqa: BLE001 - fail closed: no value, whatever the redactor's bug
            answer = NotImplemented
        if answer is None or isinstance(answer, str | bool | int | float | bytes):
            return answer
        self.count_failure("redaction_failed")
        return None


class FilteredSpan(ReadableSpan):
    """A span as a filter leaves it. What was left out does not count as dropped by the SDK's limits."""

    def __init__(self, span: ReadableSpan, wanted: Filter) -> None:
        status = span.status
        super().__init__(
            name=wanted.text("span.name", span.name),
            context=span.get_span_context(),
            parent=span.parent,
            resource=wanted.resource(span.resource),
            attributes=wanted.attributes(span.attributes or {}),
            events=[_event(event, wanted) for event in span.events],
            links=[_link(link, wanted) for link in span.links],
            kind=span.kind,
            status=Status(status.status_code, _message(status.description, wanted)),
            start_time=span.start_time,
            end_time=span.end_time,
            instrumentation_scope=span.instrumentation_scope,
        )
        self._dropped = (span.dropped_attributes, span.dropped_events, span.dropped_links)

    @property
    def dropped_attributes(self) -> int:
        """What the SDK's limits left out of the original."""
        return self._dropped[0]

    @property
    def dropped_events(self) -> int:
        """What the SDK's limits left out of the original."""
        return self._dropped[1]

    @property
    def dropped_links(self) -> int:
        """What the SDK's limits left out of the original."""
        return self._dropped[2]


def hash_marker(value: object) -> str:
    """`sha256:` and the hex digest of the value: of a string its UTF-8, of anything else its JSON."""
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str, ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _event(event: Event, wanted: Filter) -> Event:
    attributes = wanted.attributes(event.attributes or {})
    return Event(wanted.text("event.name", event.name), attributes, event.timestamp)


def _link(link: Link, wanted: Filter) -> Link:
    return Link(link.context, wanted.attributes(link.attributes or {}))


def _message(description: str | None, wanted: Filter) -> str | None:
    return wanted.text("status.message", description) if description else description
