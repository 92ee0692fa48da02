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
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, Status

from otel_runlog.config import ContentMode, Redactor
from otel_runlog.containment import is_from_signal
from otel_runlog.model import AttrValue
from otel_runlog.redaction import TOLD_AS, told
from otel_runlog.span import plain_text, plain_value
from otel_runlog.span_copy import CopiedSpan, Parts

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
        "gen_ai.tool.args",
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
        "gen_ai.task.input",
        "gen_ai.task.output",
        # Pydantic AI and Logfire
        "pydantic_ai.all_messages",
        "all_messages_events",
        "final_result",
        "model_request_parameters",
        "tool_arguments",
        "tool_response",
        "request_data",
        "response_data",
        "raw_input",
        "input",
        "output",
        "instructions",
        "prompt",
        "events",
        "logfire.msg",
        # Haystack
        "haystack.agent.input",
        "haystack.agent.output",
        "haystack.agent.step.llm.input",
        "haystack.agent.step.llm.output",
        "haystack.agent.step.tool.input",
        "haystack.agent.step.tool.output",
        "haystack.component.input",
        "haystack.component.output",
        "haystack.pipeline.input_data",
        "haystack.pipeline.output_data",
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

MOST_KEYS: Final = 4096
"""So many keys are remembered as content or not."""

Counter = Callable[[str], None]
"""Called with a reason for every value that was left out because redaction failed."""


def is_content(key: str) -> bool:
    """Whether the attribute `key` carries prompt, answer or tool text."""
    return (key in CONTENT_KEYS or key.startswith(CONTENT_PREFIXES)) and key not in NOT_CONTENT


class _ContentKeys(dict[str, bool]):
    """`is_content` of the keys that came, remembered: to look at all beginnings takes 0.5 us a key."""

    def __missing__(self, key: str) -> bool:
        found = is_content(key)
        if len(self) >= MOST_KEYS:
            self.clear()
        if type(key) is str:
            self[key] = found
        return found


_IS_CONTENT: Final = _ContentKeys()


class Filter:
    """The content setting and the redactor of one door.

    Args:
        content: what is kept of content attributes.
        redact: asked for every string: attributes of the span, its events, links, scope and resource, the items of
            sequences (with the sequence's key) and of maps, `span.name`, `event.name`, `status.message`, `scope.name`
            and `scope.version`. None leaves the value out. Keys are written as they are.
        count_failure: called where the redactor fails; the value is then left out.
    """

    def __init__(self, content: ContentMode, redact: Redactor | None, count_failure: Counter) -> None:
        self.content = content
        self.redact = redact
        self.count_failure = count_failure
        self._told = None if redact is None else told(redact)
        self._resource: tuple[Resource, Resource] | None = None
        self._scope: tuple[InstrumentationScope | None, InstrumentationScope | None] = (None, None)

    @property
    def is_needed(self) -> bool:
        """Whether any span can be changed by it."""
        return self.content is not ContentMode.FULL or self.redact is not None

    def span(self, span: ReadableSpan) -> ReadableSpan:
        """`span` as it may be written: attributes, events, links, name, status message and resource filtered.

        What came out of this filter stays as it is.
        """
        return span if type(span) is FilteredSpan and span.filtered_by is self else FilteredSpan(span, self)

    def resource(self, resource: Resource) -> Resource:
        """The resource as it may be written, with the rules it was redacted by; one object for one resource."""
        memo = self._resource
        if memo is None or memo[0] is not resource:
            attributes = {key: value for key, value in resource.attributes.items() if key != TOLD_AS}
            kept = self.attributes(attributes) | self.rules(resource.attributes.get(TOLD_AS))
            self._resource = memo = (resource, Resource(kept, resource.schema_url))
        return memo[1]

    def rules(self, before: object) -> dict[str, str]:
        """What a resource says of the redaction, whose attribute was `before`; see `otel_runlog.redaction.told`."""
        if self.redact is None or self._told is None:
            return {}
        return {TOLD_AS: self._told if before in (None, self._told) else told(self.redact, before)}

    def attributes(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """The attributes that remain."""
        copy = getattr(attributes, "copy", None)  # the SDK's own mapping takes a lock for each value
        kept: dict[str, Any] = copy() if copy else dict(attributes)
        if self.content is not ContentMode.FULL:
            for key in [key for key in kept if _IS_CONTENT[key]]:
                if self.content is ContentMode.HASH:
                    kept[key] = hash_marker(kept[key])
                else:
                    del kept[key]
        return kept if self.redact is None else self._all_redacted(kept)

    def _all_redacted(self, attributes: dict[str, Any]) -> dict[str, Any]:
        kept = {}
        for key, value in attributes.items():
            answer = self._ask(key, value) if type(value) is str else self._redacted(key, value)
            if answer is not None:
                kept[key] = answer
        return kept

    def text(self, key: str, text: object) -> str:
        """What the redactor leaves of a span's name, an event's name or a status message."""
        redacted = self._redacted(key, plain_text(text, []))
        return redacted if isinstance(redacted, str) else ""

    def scope(self, scope: InstrumentationScope | None) -> InstrumentationScope | None:
        """The scope as it may be written, asked for once; the same object where nothing of it changes."""
        memo = self._scope
        if memo[0] is not scope:
            self._scope = memo = (scope, self._redacted_scope(scope))
        return memo[1]

    def _redacted_scope(self, scope: InstrumentationScope | None) -> InstrumentationScope | None:
        if scope is None or self.redact is None:
            return scope
        name, version = self.text("scope.name", scope.name), self.text("scope.version", scope.version)
        attributes = self.attributes(scope.attributes or {})
        if (name, version, attributes) == (scope.name, scope.version or "", dict(scope.attributes or {})):
            return scope  # the encoder knows scopes by identity
        return InstrumentationScope(name, version or None, scope.schema_url, attributes)

    def _redacted(self, key: str, value: object) -> object:
        if self.redact is None:
            return value
        if isinstance(value, str):
            return self._ask(key, str.__str__(value))  # never a subclass, whose methods may do anything
        if value is None or type(value) in (bool, int, float):
            return value
        return self._nested(key, plain_value(value, []))  # bounded in depth and number, and nothing foreign is left

    def _nested(self, key: str, value: AttrValue) -> object:
        if isinstance(value, list):
            return [kept for item in value if (kept := self._nested(key, item)) is not None]
        if isinstance(value, dict):
            pairs = ((name, self._nested(f"{key}.{name}", item)) for name, item in value.items())
            return {name: kept for name, kept in pairs if kept is not None}
        return self._ask(key, value) if isinstance(value, str | bytes) else value

    def _ask(self, key: str, value: str | bytes) -> str | bytes | None:
        assert self.redact is not None
        try:
            answer = self.redact(key, value)
        except BaseException as error:  # fail closed: no value, whatever the redactor's bug
            if is_from_signal(error):
                raise
            answer = NotImplemented
        if answer is None or isinstance(answer, str | bytes):
            return answer
        self.count_failure("redaction_failed")
        return None


class FilteredSpan(CopiedSpan):
    """A span as a filter leaves it."""

    def __init__(self, span: ReadableSpan, wanted: Filter) -> None:
        self.filtered_by = wanted
        parts = Parts(
            resource=wanted.resource(span.resource),
            attributes=wanted.attributes(span.attributes or {}),
            events=[_event(event, wanted) for event in span.events],
            links=[_link(link, wanted) for link in span.links],
        )
        if wanted.redact is not None:
            parts["name"] = wanted.text("span.name", span.name)
            parts["instrumentation_scope"] = wanted.scope(span.instrumentation_scope)
            status = span.status
            if status.description:
                parts["status"] = Status(status.status_code, wanted.text("status.message", status.description))
        super().__init__(span, **parts)


def hash_marker(value: object) -> str:
    """`sha256:` and the hex digest of the value: of a string its UTF-8, of anything else its JSON."""
    plain = plain_value(value, [])
    text = plain if isinstance(plain, str) else json.dumps(plain, sort_keys=True, default=str, ensure_ascii=False)
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _event(event: Event, wanted: Filter) -> Event:
    attributes = wanted.attributes(event.attributes or {})
    return Event(wanted.text("event.name", event.name), attributes, event.timestamp)


def _link(link: Link, wanted: Filter) -> Link:
    return Link(link.context, wanted.attributes(link.attributes or {}))
