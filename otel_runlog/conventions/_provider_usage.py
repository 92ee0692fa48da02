"""Usage objects as providers write them, in the normal form (facts/semconv, section 3).

OpenAI and LangChain include the cache in the input, Anthropic does not; all include reasoning in the output.
"""

from __future__ import annotations

import msgspec

from otel_runlog.conventions._attrs import mapping, whole
from otel_runlog.conventions._usage import Counters, normal_form
from otel_runlog.model import Attributes, AttrValue, Usage

INPUT = ("input_tokens", "prompt_tokens")
OUTPUT = ("output_tokens", "completion_tokens")
INPUT_DETAILS = ("input_tokens_details", "prompt_tokens_details", "input_token_details")
OUTPUT_DETAILS = ("output_tokens_details", "completion_tokens_details", "output_token_details")
"""OpenAI Responses, OpenAI chat, LangChain."""
READ = ("cached_tokens", "cache_read", "cache_read_tokens")
WRITE = ("cache_write_tokens", "cache_creation", "cache_creation_tokens")
READ_OUTSIDE, WRITE_OUTSIDE = "cache_read_input_tokens", "cache_creation_input_tokens"
WRITE_5M, WRITE_1H = "ephemeral_5m_input_tokens", "ephemeral_1h_input_tokens"
REASONING = ("reasoning_tokens", "reasoning")


def usage_of(value: AttrValue) -> Usage:
    """The counters of one call's usage object; empty where it is none."""
    usage = mapping(value)
    if not usage:
        return Usage()
    asked, said = _details(usage, INPUT_DETAILS), _details(usage, OUTPUT_DETAILS)
    outside = {k: n for k in (READ_OUTSIDE, WRITE_OUTSIDE) if (n := whole(usage.get(k))) is not None}
    lifetimes = mapping(usage.get("cache_creation")) or asked
    short, long = whole(lifetimes.get(WRITE_5M)), whole(lifetimes.get(WRITE_1H))
    read, write = _first(asked, READ), _first(asked, WRITE)
    counters = Usage(
        input_tokens=_first(usage, INPUT),
        output_tokens=_first(usage, OUTPUT),
        cache_read_tokens=read if read is not None else outside.get(READ_OUTSIDE),
        cache_write_tokens=_written(write, short, long) if asked else outside.get(WRITE_OUTSIDE),
        reasoning_tokens=_first(said, REASONING),
        cache_write_5m_tokens=short,
        cache_write_1h_tokens=long,
    )
    return normal_form(Counters(counters), cache_outside=bool(outside) and not asked).usage


def filled(usage: Usage, other: Usage) -> Usage:
    """`usage` with the counters that only `other` tells of the same call: where both know the input, it is equal."""
    if not usage:
        return other
    if not other or other.input_tokens != usage.input_tokens:
        return usage
    lacking = {f: getattr(other, f) for f in usage.__struct_fields__ if getattr(usage, f) is None}
    return msgspec.structs.replace(usage, **lacking)


def _written(write: int | None, short: int | None, long: int | None) -> int | None:
    """LangChain sets cache_creation to 0 where it tells the two lifetimes."""
    parts = [n for n in (short, long) if n is not None]
    return write if write or not parts else sum(parts)


def _details(usage: Attributes, names: tuple[str, ...]) -> Attributes:
    return next((found for name in names if (found := mapping(usage.get(name)))), {})


def _first(values: Attributes, names: tuple[str, ...]) -> int | None:
    return next((n for name in names if (n := whole(values.get(name))) is not None), None)
