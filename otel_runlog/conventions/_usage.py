"""Token counters in the normal form: input includes the cache, output includes reasoning (OTel GenAI registry).

Emitters that leave the cache out are known by name, or prove it by their own total (facts/semconv, section 3).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from otel_runlog.conventions._index import Shape, shape_of
from otel_runlog.conventions._vocabularies import CLAUDE_CODE, Vocabulary
from otel_runlog.model import Attributes, Usage

__all__ = ["CLAUDE_CODE", "Counters", "Normalised", "Vocabulary", "normal_form", "raw_counters"]


class Counters(msgspec.Struct, gc=False):
    """Counters as the emitter wrote them, with the total it claims."""

    usage: Usage
    total: int | None = None


def raw_counters(attributes: Attributes, vocabularies: Iterable[Vocabulary], shape: Shape | None = None) -> Counters:
    """The counters of the first vocabulary that has an input or an output count."""
    shape = shape or shape_of(attributes)
    for vocabulary in vocabularies:
        counts = vocabulary.index.counts(attributes, shape)
        if "input_tokens" in counts or "output_tokens" in counts:
            total = counts.pop("total_tokens", None)
            return Counters(Usage(**counts), total)
    return Counters(Usage())


class Normalised(msgspec.Struct, gc=False):
    """Counters in the normal form, and what had to be said about them."""

    usage: Usage
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def normal_form(counters: Counters, *, cache_outside: bool = False, reasoning_outside: bool = False) -> Normalised:
    """Put cache inside input and reasoning inside output.

    `cache_outside` and `reasoning_outside` say what is known of the emitter. Without that knowledge the numbers
    decide: cache parts larger than the input cannot be inside it, and a total that is the sum of all parts says so too.
    A total that no reading explains is a warning and is never priced (langfuse and phoenix lost money on it).
    """
    usage, total = counters.usage, counters.total
    if not usage:
        return Normalised(usage)
    notes: list[str] = []
    if cache_outside or _cache_is_outside(usage, total):
        if not cache_outside:
            notes.append("repaired: cache counts stood outside input_tokens, added")
        usage = _with_cache(usage)
    if _reasoning_is_outside(usage, total, known=reasoning_outside):
        usage = msgspec.structs.replace(usage, output_tokens=(usage.output_tokens or 0) + (usage.reasoning_tokens or 0))
    return Normalised(usage, _total_mismatch(usage, total), tuple(notes))


def _cache_is_outside(usage: Usage, total: int | None) -> bool:
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    if usage.input_tokens is None or not cached:
        return False
    if cached > usage.input_tokens:
        return True
    return total == usage.input_tokens + (usage.output_tokens or 0) + cached


def _with_cache(usage: Usage) -> Usage:
    if usage.input_tokens is None:
        return usage
    fresh = usage.input_tokens
    return msgspec.structs.replace(
        usage, input_tokens=fresh + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    )


def _reasoning_is_outside(usage: Usage, total: int | None, *, known: bool) -> bool:
    reasoning = usage.reasoning_tokens or 0
    if not reasoning or usage.output_tokens is None:
        return False
    if known or reasoning > usage.output_tokens:
        return True
    return total == (usage.input_tokens or 0) + usage.output_tokens + reasoning


def _total_mismatch(usage: Usage, total: int | None) -> tuple[str, ...]:
    known = usage.total_tokens
    if total is None or known is None or usage.input_tokens is None or total == known:
        return ()
    if usage.output_tokens is None and total == usage.input_tokens:
        return ()
    cached = (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    if total == known - cached:  # the total leaves the cache out, the parts are complete
        return ()
    return (f"total_mismatch: reported total {total} is not {known}, the sum of input_tokens and output_tokens",)
