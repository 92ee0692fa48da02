"""Langfuse's SDK: langfuse.observation.*, JSON in most values.

The observation's type says what a span is, whatever else stands on it. usage_details holds buckets that do not overlap
(input leaves out input_cached_tokens, output leaves out output_reasoning_tokens) unless it is a provider's own usage
object, passed on as it is. level=ERROR fails an observation whose status may be unset. Its processor stamps spans of
other instrumentations with session and user alone: without a type they are not Langfuse's (facts/semconv, 3 and 6).
"""

from __future__ import annotations

import datetime as dt

from otel_runlog.conventions import _kinds
from otel_runlog.conventions._attrs import mapping, parsed, text, whole
from otel_runlog.conventions._base import MODEL_KINDS, read_common
from otel_runlog.conventions._errors import STATUS_IN_TEXT
from otel_runlog.conventions._fields import inner_params
from otel_runlog.conventions._messages import value_of
from otel_runlog.conventions._payloads import answer_messages, read_content, request_messages
from otel_runlog.conventions._provider_usage import usage_of
from otel_runlog.conventions._usage import Counters, Normalised, normal_form
from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Span, StepKind, Usage

NAME = "langfuse"
PREFIX = "langfuse.observation."
KIND, USAGE, MODEL, LEVEL = (f"{PREFIX}{k}" for k in ("type", "usage_details", "model.name", "level"))
INPUT, OUTPUT, FIRST_TOKEN = (f"{PREFIX}{k}" for k in ("input", "output", "completion_start_time"))
SETTINGS, FINISH = f"{PREFIX}model.parameters", f"{PREFIX}metadata.finish_reason"
SESSION = ("langfuse.session.id", "langfuse.trace.metadata.langfuse_session_id")
RAW = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
"""Keys of a provider's own usage object, whose counters overlap."""
READ = ("input_cached_tokens", "input_cache_read", "cache_read_input_tokens", "input_cache_read_input_tokens")
WRITE = (
    "input_cache_creation",
    "input_cache_write",
    "cache_creation_input_tokens",
    "input_cache_creation_input_tokens",
)
WRITE_5M = ("input_cache_creation_5m", "input_ephemeral_5m_input_tokens", "cache_creation_ephemeral_5m_input_tokens")
WRITE_1H = ("input_cache_creation_1h", "input_ephemeral_1h_input_tokens", "cache_creation_ephemeral_1h_input_tokens")
REASONING = ("output_reasoning_tokens", "output_reasoning", "reasoning_tokens")
CALLER_KEYS = frozenset({"args", "kwargs"})
"""What @observe records of a function's call."""


def matches(span: Span) -> bool:
    """An observation's type."""
    return KIND in span.attributes


def read(span: Span) -> Reading:
    """Read by the observation's type."""
    a = span.attributes
    kind = _kinds.LANGFUSE.get((text(a, (KIND,)) or "").lower(), StepKind.OTHER)
    reading = read_common(span, NAME, kind, ())
    reading.session_id = reading.session_id or text(a, SESSION)
    reading.user_id = reading.user_id or text(a, ("langfuse.user.id",))
    if text(a, (LEVEL,)) == "ERROR":
        reading.failed = not reading.cancelled
        reading.error_message = reading.error_message or text(a, (f"{PREFIX}status_message",))
    if kind in MODEL_KINDS:
        _read_call(reading, span)
    elif kind is StepKind.TOOL:
        reading.tool_name = span.name
    elif kind is StepKind.AGENT:
        reading.agent = span.name
    return reading


def _read_call(reading: Reading, span: Span) -> None:
    a = span.attributes
    counted = _usage(mapping(a.get(USAGE)))
    reading.usage, reading.warnings = counted.usage, counted.warnings
    reading.response_model = reading.response_model or text(a, (MODEL,))
    reading.finish_reason = _said(a.get(FINISH)) or reading.finish_reason
    reading.params = {**inner_params(mapping(a.get(SETTINGS))), **reading.params}
    reading.time_to_first_token_ms = _first_token_ms(span)
    if reading.time_to_first_token_ms is not None:
        reading.streaming = True
    _read_refusal(reading)
    read_content(reading, a.get(INPUT), a.get(OUTPUT))


def _read_refusal(reading: Reading) -> None:
    """A failed call was refused where its message says so by a status; once the first token came it was cut."""
    if not reading.failed or reading.usage:
        return
    reading.refused = not reading.streaming and bool(STATUS_IN_TEXT.search(reading.error_message or ""))
    reading.usage_cut = not reading.refused


def _said(value: AttrValue) -> str | None:
    """A text, also out of quotes."""
    found = parsed(value)
    return found if isinstance(found, str) and found else None


def _usage(told: Attributes) -> Normalised:
    """A provider's object in its own way; buckets added up, each once."""
    if any(key in told for key in RAW):
        return Normalised(usage_of(told))
    buckets = {key: n for key, value in told.items() if key != "total" and (n := whole(value)) is not None}
    usage = Usage(
        input_tokens=_sum(buckets, ("input", "cache_")),
        output_tokens=_sum(buckets, ("output", "reasoning_")),
        cache_read_tokens=_total(buckets, READ),
        cache_write_tokens=_total(buckets, (*WRITE, *WRITE_5M, *WRITE_1H)),
        reasoning_tokens=_total(buckets, REASONING),
        cache_write_5m_tokens=_total(buckets, WRITE_5M),
        cache_write_1h_tokens=_total(buckets, WRITE_1H),
    )
    return normal_form(Counters(usage, whole(told.get("total"))))


def _sum(buckets: dict[str, int], starts: tuple[str, ...]) -> int | None:
    found = [n for key, n in buckets.items() if key.startswith(starts)]
    return sum(found) if found else None


def _total(buckets: dict[str, int], names: tuple[str, ...]) -> int | None:
    found = [buckets[name] for name in names if name in buckets]
    return sum(found) if found else None


def _first_token_ms(span: Span) -> float | None:
    """From the start to completion_start_time, an ISO time in quotes."""
    told = _said(span.attributes.get(FIRST_TOKEN))
    if told is None or span.started_ns is None:
        return None
    try:
        moment = dt.datetime.fromisoformat(told)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    return max(moment.timestamp() * 1e3 - span.started_ns / 1e6, 0.0)


def messages(span: Span) -> SpanMessages:
    """The request's and the answer's messages of a call, else input and output as they are."""
    a = span.attributes
    kind = _kinds.LANGFUSE.get((text(a, (KIND,)) or "").lower())
    if kind in MODEL_KINDS:
        found = request_messages(a.get(INPUT)) if INPUT in a else SpanMessages()
        found.output = answer_messages(a.get(OUTPUT))
        return found
    roles = ("tool", "tool") if kind is StepKind.TOOL else ("user", "assistant")
    return SpanMessages(input=value_of(_arguments(a.get(INPUT)), roles[0]), output=value_of(a.get(OUTPUT), roles[1]))


def _arguments(value: AttrValue) -> AttrValue:
    """The keyword arguments of an observed function that was given no others."""
    told = mapping(value)
    if told.keys() == CALLER_KEYS and not told["args"] and told["kwargs"]:
        return told["kwargs"]
    return value
