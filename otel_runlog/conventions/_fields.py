"""Reading the fields of a step out of what an index found: of each, the first value that is readable wins."""

from __future__ import annotations

from decimal import Decimal

from otel_runlog.conventions._attrs import flag, mapping, money, number, parsed, path, text, whole
from otel_runlog.conventions._index import Found, Shape, first_text, shape_of
from otel_runlog.conventions._names import INDEX, INNER_PARAMS_INDEX, PARAMS_INDEX
from otel_runlog.model import Attributes, Span

SESSION_IN_METADATA = ("session_id", "thread_id", "conversation_id")
USER_IN_METADATA = ("user_id",)
PREVIOUS_RESPONSE = "resp_"
"""OpenAI's response ids: agent_framework gives the previous one as conversation id (facts/semconv, trap 9)."""
FIRST_TOKEN_EVENTS = frozenset({"First Token Stream Event", "gen_ai.content.completion.chunk"})
"""Span events of OpenInference and Traceloop at the first chunk."""
HTTP_STATUS = ("http.response.status_code", "http.status_code")


def finish_reason(found: Found) -> str | None:
    """The first finish reason as the provider wrote it, also out of a list or a JSON string of one."""
    for value in found.get("finish", ()):
        reason = parsed(value)
        if isinstance(reason, list):
            reason = next((v for v in reason if v), None)
        if isinstance(reason, str) and reason.strip():
            return reason
    return None


def reported_cost(found: Found) -> Decimal | None:
    """The cost the span says its call had, USD. Totals only: parts overlap (facts/semconv, trap 13)."""
    for value in found.get("cost", ()):
        if (amount := money(value)) is not None:
            return amount
    for field, key in (("cost_langfuse", "total"), ("cost_mlflow", "total_cost")):
        if field in found and (amount := money(path(found[field][0], key))) is not None:
            return amount
    return None


def invocation(found: Found) -> Attributes:
    """OpenInference's llm.invocation_parameters; empty where there are none."""
    return mapping(found["invocation"][0]) if "invocation" in found else {}


def params(attributes: Attributes, shape: Shape) -> Attributes:
    """The request's parameters under canonical names; those that were not sent are absent."""
    return PARAMS_INDEX.known(attributes, shape)


def inner_params(inner: Attributes) -> Attributes:
    """The same out of a request as the client wrote it."""
    found = INNER_PARAMS_INDEX.known(inner, shape_of(inner))
    effort = path(found.pop("reasoning", None), "effort")
    if effort is not None:
        found.setdefault("reasoning_effort", effort)
    return found


def session_of(found: Found) -> str | None:
    """The conversation these attributes name. `mcp.session.id` is a connection and no name of it."""
    for value in found.get("session", ()):
        if isinstance(value, str) and value.strip() and not value.startswith(PREVIOUS_RESPONSE):
            return value
    return _in_metadata(found, SESSION_IN_METADATA)


def user_of(found: Found) -> str | None:
    """The user these attributes name."""
    return first_text(found, "user") or _in_metadata(found, USER_IN_METADATA)


def _in_metadata(found: Found, keys: tuple[str, ...]) -> str | None:
    """OpenInference's `metadata`, a JSON string that is parsed only where one of `keys` stands in it."""
    if "metadata" not in found:
        return None
    value = found["metadata"][0]
    if isinstance(value, str) and not any(key in value for key in keys):
        return None
    return text(mapping(value), keys)


def session(attributes: Attributes) -> str | None:
    """The conversation a span names, step or not."""
    return session_of(INDEX.gather(attributes))


def user(attributes: Attributes) -> str | None:
    """The user a span names, step or not."""
    return user_of(INDEX.gather(attributes))


def streaming(found: Found, inner: Attributes) -> bool | None:
    """Whether the answer was asked for as a stream."""
    for value in found.get("streaming", ()):
        if (known := flag(value)) is not None:
            return known
    return flag(inner.get("stream")) if inner else None


def first_token_ms(span: Span, found: Found) -> float | None:
    """Milliseconds to the first chunk, from seconds, milliseconds or an event at that moment."""
    for field, factor in (("first_token_s", 1000.0), ("first_token_ms", 1.0)):
        for value in found.get(field, ()):
            if (known := number(value)) is not None:
                return known * factor
    if not span.events or span.started_ns is None:
        return None
    event = next((e for e in span.events if e.name in FIRST_TOKEN_EVENTS), None)
    return None if event is None else max(event.time_ns - span.started_ns, 0) / 1e6


def http_status(attributes: Attributes) -> int | None:
    """The HTTP status of the provider's answer."""
    for key in HTTP_STATUS:
        if (value := whole(attributes.get(key))) is not None:
            return value
    return None
