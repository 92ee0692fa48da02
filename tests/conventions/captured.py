"""Real spans of tests/data/corpus, picked by scenario and span name, and what their readings say."""

from __future__ import annotations

import msgspec
from corpus import scenario

from otel_runlog.conventions.reading import Reading, SpanMessages
from otel_runlog.model import Attributes, AttrValue, Scope, Span

COUNTERS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


def captured(name: str, span_name: str, nth: int = 0) -> Span:
    """The nth span of a scenario (`variant/scenario`) of that name, else whose name starts so, by start."""
    spans = sorted(scenario(name).spans(), key=lambda s: (s.started_ns or 0, s.span_id))
    named = [s for s in spans if s.name == span_name] or [s for s in spans if s.name.startswith(span_name)]
    return named[nth]


def made(attributes: Attributes, *, name: str = "", scope: str = "tests", version: str = "") -> Span:
    """A span of these attributes."""
    return Span("0" * 31 + "1", "0" * 15 + "1", name=name, attributes=attributes, scope=Scope(scope, version))


def changed(span: Span, **changes: AttrValue) -> Span:
    """The span with other attributes: `__` in a name is a dot, None takes the attribute away."""
    named = {k.replace("__", "."): v for k, v in changes.items()}
    attributes = {k: v for k, v in {**span.attributes, **named}.items() if v is not None}
    return msgspec.structs.replace(span, attributes=attributes)


def said(reading: Reading | None) -> dict[str, object]:
    """What a reading says beyond its defaults; usage as the five counters, USD as text, 60 characters of an error."""
    assert reading is not None
    plain = Reading("", reading.kind)
    found = {n: getattr(reading, n) for n in reading.__struct_fields__ if getattr(reading, n) != getattr(plain, n)}
    found = {k: str(v) if k == "reported_usd" else v for k, v in found.items()} | {"kind": str(reading.kind)}
    if "usage" in found:
        found["usage"] = tuple(getattr(reading.usage, c) for c in COUNTERS)
    if "error_message" in found:
        found["error_message"] = str(reading.error_message)[:60]
    return {k: str(v) if k == "content" else v for k, v in found.items()}


def told(messages: SpanMessages) -> list[tuple[str, str, str]]:
    """Messages as (direction, role, text), tool definitions left out."""
    sides = (("system", messages.system), ("input", messages.input), ("output", messages.output))
    return [(side, m.role, m.text) for side, found in sides for m in found]
