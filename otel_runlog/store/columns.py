"""Which field of which struct stands in which column: one visible list per table.

A column is read and written through its `path`, the attributes that lead from the struct to the value. The names are
those of `schema/*.sql`; a test compares the two.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, NamedTuple, cast

from otel_runlog.model import (
    Attributes,
    AttrValue,
    Content,
    CostStatus,
    RunStatus,
    SpanEvent,
    SpanLink,
    StepKind,
    StepStatus,
    UsageSource,
    utc,
)
from otel_runlog.span import DIGEST_BYTES
from otel_runlog.store import plain_json

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)
_SMALLEST_USD = Decimal("0.000000000001")
_TOO_MUCH_USD = Decimal(1_000_000)


class Column(NamedTuple):
    """A column: its name, where its value stands, and how the value is packed into and unpacked from the column.

    `derived` columns are written for people who query; reading back leaves them out.
    """

    name: str
    path: str
    pack: Callable[[Any], object] | None = None
    unpack: Callable[[Any], object] | None = None
    derived: bool = False


def ns_of(at: dt.datetime | None) -> int | None:
    """Nanoseconds since the epoch of an aware datetime."""
    return None if at is None else (at - _EPOCH) // _MICROSECOND * 1000


def storable_usd(amount: Decimal | None) -> Decimal | None:
    """An amount as DECIMAL(18,12). What is no number, or a million dollars and more, is not known."""
    if amount is None or not amount.is_finite() or amount.copy_abs() >= _TOO_MUCH_USD:
        return None
    return amount.quantize(_SMALLEST_USD, ROUND_HALF_EVEN)


def stored_usd(amount: Decimal | None) -> str | None:
    """The same as text: DuckDB takes it four times faster than a Decimal."""
    usd = storable_usd(amount)
    return None if usd is None else format(usd, "f")


def _pack_texts(texts: tuple[str, ...]) -> tuple[str, ...] | None:
    """A list; an empty one is NULL, which costs a tenth, and empty again in the views."""
    return texts or None


def _pack_json(value: Attributes) -> str | None:
    """Attributes as JSON; none at all are NULL as in `_pack_texts`."""
    return plain_json.dumps(value) if value else None


def _pack_events(events: tuple[SpanEvent, ...]) -> str | None:
    if not events:
        return None
    return plain_json.dumps(
        [
            {
                "name": event.name,
                "time_ns": event.time_ns,
                "attributes": event.attributes,
                "dropped_attributes_count": event.dropped_attributes_count,
            }
            for event in events
        ]
    )


def _unpack_events(text: str | None) -> tuple[SpanEvent, ...]:
    return tuple(SpanEvent(**cast("dict[str, Any]", event)) for event in _items(text))


def _pack_links(links: tuple[SpanLink, ...]) -> str | None:
    if not links:
        return None
    return plain_json.dumps(
        [
            {
                "trace_id": link.trace_id,
                "span_id": link.span_id,
                "trace_state": link.trace_state,
                "attributes": link.attributes,
                "dropped_attributes_count": link.dropped_attributes_count,
                "flags": link.flags,
            }
            for link in links
        ]
    )


def _unpack_links(text: str | None) -> tuple[SpanLink, ...]:
    return tuple(SpanLink(**cast("dict[str, Any]", link)) for link in _items(text))


def _items(text: str | None) -> list[AttrValue]:
    return cast("list[AttrValue]", plain_json.loads(text)) if text else []


def _unpack_json(text: str | None) -> AttrValue:
    return None if text is None else plain_json.loads(text)


def _unpack_texts(texts: list[str] | None) -> tuple[str, ...]:
    return tuple(texts or ())


def _unpack_cost_status(text: str | None) -> CostStatus | None:
    return None if text is None else CostStatus(text)


def _json(name: str, path: str) -> Column:
    return Column(name, path, _pack_json, plain_json.loads_attributes)


def _usd(name: str, path: str) -> Column:
    return Column(name, path, stored_usd)


def _texts(name: str, path: str) -> Column:
    return Column(name, path, _pack_texts, _unpack_texts)


def _usage(prefix: str, path: str) -> tuple[Column, ...]:
    return (
        Column(f"{prefix}input_tokens", f"{path}.input_tokens"),
        Column(f"{prefix}output_tokens", f"{path}.output_tokens"),
        Column(f"{prefix}cache_read_tokens", f"{path}.cache_read_tokens"),
        Column(f"{prefix}cache_write_tokens", f"{path}.cache_write_tokens"),
        Column(f"{prefix}reasoning_tokens", f"{path}.reasoning_tokens"),
        Column(f"{prefix}cache_write_5m_tokens", f"{path}.cache_write_5m_tokens"),
        Column(f"{prefix}cache_write_1h_tokens", f"{path}.cache_write_1h_tokens"),
    )


def _cost(path: str) -> tuple[Column, ...]:
    return (
        _usd("cost_usd", f"{path}.usd"),
        _usd("reported_cost_usd", f"{path}.reported_usd"),
        _usd("estimated_cost_usd", f"{path}.estimated_usd"),
        Column("cost_status", f"{path}.status", unpack=_unpack_cost_status),
        Column("price_table", f"{path}.table"),
        Column("price_version", f"{path}.version"),
    )


SPANS = (
    Column("trace_id", "span.trace_id"),
    Column("span_id", "span.span_id"),
    Column("parent_span_id", "span.parent_span_id"),
    Column("trace_state", "span.trace_state"),
    Column("flags", "span.flags"),
    Column("name", "span.name"),
    Column("kind", "span.kind"),
    Column("started_ns", "span.started_ns"),
    Column("ended_ns", "span.ended_ns"),
    Column("status_code", "span.status_code"),
    Column("status_message", "span.status_message"),
    Column("scope_name", "span.scope.name"),
    Column("scope_version", "span.scope.version"),
    Column("service", "span.service", derived=True),
    _json("resource", "span.resource.attributes"),
    _json("attributes", "span.attributes"),
    Column("events", "span.events", _pack_events, _unpack_events),
    Column("links", "span.links", _pack_links, _unpack_links),
    Column("dropped_attributes_count", "span.dropped_attributes_count"),
    Column("dropped_events_count", "span.dropped_events_count"),
    Column("dropped_links_count", "span.dropped_links_count"),
    Column("start_record", "span.start_record"),
    _texts("repairs", "span.repairs"),
    Column("digest", "digest", unpack=lambda digest: digest[:DIGEST_BYTES]),  # before schema 4 it was 32 bytes
    Column("received_ns", "received_ns"),
    Column("source", "source"),
    Column("messages", "messages"),
)

LOGS = (
    Column("time_ns", "record.time_ns"),
    Column("observed_ns", "record.observed_ns"),
    Column("trace_id", "record.trace_id"),
    Column("span_id", "record.span_id"),
    Column("event_name", "record.event_name"),
    Column("severity_number", "record.severity_number"),
    Column("severity_text", "record.severity_text"),
    Column("body", "record.body", plain_json.dumps, _unpack_json),
    _json("attributes", "record.attributes"),
    Column("scope_name", "record.scope.name"),
    Column("scope_version", "record.scope.version"),
    Column("service", "record.resource", lambda resource: resource.text("service.name"), derived=True),
    _json("resource", "record.resource.attributes"),
    Column("flags", "record.flags"),
    Column("dropped_attributes_count", "record.dropped_attributes_count"),
    _texts("repairs", "record.repairs"),
    Column("received_ns", "received_ns"),
    Column("place", "place"),
)

SCORES = (
    Column("mark", "mark"),
    Column("name", "name"),
    Column("source", "source"),
    Column("trace_id", "trace_id"),
    Column("span_id", "span_id"),
    Column("response_id", "response_id"),
    Column("value", "value"),
    Column("label", "label"),
    Column("explanation", "explanation"),
    Column("time_ns", "time_ns"),
)

RUNS = (
    Column("run_id", "run.run_id"),
    Column("version", "version", derived=True),
    Column("native_run_id", "run.native_run_id"),
    Column("trace_id", "run.trace_id"),
    Column("root_span_id", "run.root_span_id"),
    Column("session_id", "run.session_id"),
    Column("user_id", "run.user_id"),
    Column("service", "run.service"),
    Column("service_version", "run.service_version"),
    Column("environment", "run.environment"),
    Column("agent", "run.agent"),
    Column("status", "run.status", unpack=RunStatus),
    Column("status_message", "run.status_message"),
    Column("started_ns", "run.started_at", ns_of, utc),
    Column("finished_ns", "run.finished_at", ns_of, utc),
    Column("last_ns", "last_ns", derived=True),
    Column("step_count", "run.step_count"),
    Column("llm_calls", "run.llm_calls"),
    Column("tool_calls", "run.tool_calls"),
    Column("error_count", "run.error_count"),
    *_usage("", "run.tokens"),
    Column("usage_missing_calls", "run.usage_missing_calls"),
    *_cost("cost"),
    Column("unpriced_calls", "run.unpriced_calls"),
    _texts("unpriced_models", "run.unpriced_models"),
    _texts("models", "run.models"),
    Column("input", "input", derived=True),
    Column("output", "output", derived=True),
    _texts("tags", "run.tags"),
    _json("labels", "run.labels"),
    _json("attributes", "run.attributes"),
    Column("complete", "run.complete"),
    _texts("warnings", "run.warnings"),
    _texts("notes", "run.notes"),
    Column("launch_id", "run.launch_id"),
    Column("replay_of", "run.replay_of"),
    Column("fork_of", "run.fork_of"),
    Column("fork_at", "run.fork_at"),
)

STEPS = (
    Column("run_id", "run_id", derived=True),
    Column("version", "version", derived=True),
    Column("step_index", "step.step_index"),
    Column("call_index", "step.call_index"),
    Column("trace_id", "step.trace_id"),
    Column("span_id", "step.span_id"),
    Column("parent_span_id", "step.parent_span_id"),
    Column("kind", "step.kind", unpack=StepKind),
    Column("name", "step.name"),
    Column("agent", "step.agent"),
    Column("provider", "step.provider"),
    Column("model", "step.model"),
    Column("request_model", "step.request_model"),
    Column("response_model", "step.response_model"),
    Column("response_id", "step.response_id"),
    Column("status", "step.status", unpack=StepStatus),
    Column("error_type", "step.error_type"),
    Column("error_message", "step.error_message"),
    Column("started_ns", "step.started_ns"),
    Column("ended_ns", "step.ended_ns"),
    Column("time_to_first_token_ms", "step.time_to_first_token_ms"),
    Column("streaming", "step.streaming"),
    *_usage("", "step.usage"),
    Column("usage_source", "step.usage_source", unpack=UsageSource),
    *_cost("step.cost"),
    Column("service_tier", "step.service_tier"),
    Column("counted", "step.counted"),
    Column("duplicate_of", "step.duplicate_of"),
    Column("tool_name", "step.tool_name"),
    Column("tool_call_id", "step.tool_call_id"),
    Column("finish_reason", "step.finish_reason"),
    _json("params", "step.params"),
    Column("convention", "step.convention"),
    Column("scope", "step.scope"),
    Column("content", "step.content", unpack=Content),
    _texts("warnings", "step.warnings"),
    _texts("notes", "step.notes"),
)

AGENTS = (
    Column("run_id", "run_id", derived=True),
    Column("version", "version", derived=True),
    Column("position", "position", derived=True),
    Column("agent", "agent.agent"),
    Column("parent_agent", "agent.parent_agent"),
    Column("depth", "agent.depth"),
    Column("calls", "agent.calls"),
    *_usage("own_", "agent.own"),
    _usd("own_cost_usd", "agent.own_cost_usd"),
    *_usage("inclusive_", "agent.inclusive"),
    _usd("inclusive_cost_usd", "agent.inclusive_cost_usd"),
    Column("started_ns", "started_ns", derived=True),
)
