"""One span a key: duplicates, conflicts, start records and reused ids told apart (DESIGN rule 3). Pure.

The same trace id, span id and start is the same span. Equal in the neutral form: a duplicate. A start record is
superseded by its end. Anything else is a conflict: the later end wins, then more attributes, then the larger digest.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable

import msgspec

from otel_runlog.model import Span
from otel_runlog.span import digest

Key = tuple[str, str, int | None]
"""trace id, span id, start in ns."""


class Verdict(enum.StrEnum):
    """What an arriving span is, beside what is already known."""

    STORED = "stored"
    DUPLICATE = "duplicate"
    CONFLICT = "conflict"
    SUPERSEDED = "superseded"


class Entry(msgspec.Struct):
    """All that is known of one key: the winner, and the digests of every version seen."""

    span: Span
    digest: bytes
    seen: set[bytes]

    @property
    def rank(self) -> tuple[bool, int, int, bytes]:
        """What wins between versions."""
        return rank(self.span, self.digest)


def rank(span: Span, mark: bytes) -> tuple[bool, int, int, bytes]:
    """The order of versions of one span; the largest wins."""
    return not span.start_record, span.ended_ns or -1, len(span.attributes), mark


def key_of(span: Span) -> Key:
    """What makes two spans the same one."""
    return span.trace_id, span.span_id, span.started_ns


class Resolver:
    """The known spans of some traces; `offer` says what each further one is."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self.starts: dict[tuple[str, str], set[int | None]] = {}
        self.replaced: list[Key] = []

    def offer(self, span: Span, mark: bytes | None = None) -> Verdict:
        """Take a span in. `mark` is its digest, where it is known already.

        A start record whose end is known is superseded; where the end comes second, its key goes to `replaced`.
        """
        mark = digest(span) if mark is None else mark
        key = key_of(span)
        entry = self.entries.get(key)
        if entry is None:
            self.entries[key] = Entry(span, mark, {mark})
            self.starts.setdefault(key[:2], set()).add(span.started_ns)
            return Verdict.STORED
        if span.start_record and not entry.span.start_record:
            return Verdict.SUPERSEDED
        if mark in entry.seen and span.start_record == entry.span.start_record:
            return Verdict.DUPLICATE
        return self._replace(key, entry, span, mark)

    def _replace(self, key: Key, entry: Entry, span: Span, mark: bytes) -> Verdict:
        ends = entry.span.start_record and not span.start_record
        if ends:
            entry.seen.clear()
            self.replaced.append(key)
        entry.seen.add(mark)
        if rank(span, mark) > entry.rank:
            entry.span, entry.digest = span, mark
        return Verdict.STORED if ends else Verdict.CONFLICT

    def reuses_id(self, span: Span) -> bool:
        """Whether another span with these ids started at another time (a seeded id generator)."""
        return len(self.starts.get((span.trace_id, span.span_id), ())) > 1

    def spans(self) -> list[Span]:
        """The winners, each noting what it won against."""
        return [self._noted(e) for e in self.entries.values()]

    def _noted(self, entry: Entry) -> Span:
        notes = entry.span.repairs
        if len(entry.seen) > 1:
            notes += (f"conflict: {len(entry.seen)} versions of span {entry.span.span_id}, the last to end is shown",)
        if self.reuses_id(entry.span):
            notes += (f"id_reuse: span id {entry.span.span_id} was used again for another span",)
        return entry.span if notes is entry.span.repairs else msgspec.structs.replace(entry.span, repairs=notes)


def resolve(spans: Iterable[Span]) -> list[Span]:
    """The distinct spans among `spans`."""
    resolver = Resolver()
    for span in spans:
        resolver.offer(span)
    return resolver.spans()
