"""One span a key: duplicates, conflicts, start records and reused ids told apart (DESIGN rule 3). Pure.

The same trace id, span id and start is the same span. Equal in the neutral form: a duplicate. What has no end is
superseded by what has. Anything else is a conflict: the later end wins, then more attributes, then the larger digest.
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


class Entry(msgspec.Struct, gc=False):
    """All that is known of one key: the winner, and the digests of the other versions that are kept; few have any."""

    span: Span
    digest: bytes
    others: set[bytes] | None = None


def rank(span: Span, mark: bytes) -> tuple[int, int, bytes]:
    """The order of versions of one span; the largest wins. A span without end is behind every one that has ended."""
    return -1 if span.ended_ns is None else span.ended_ns, len(span.attributes), mark


def key_of(span: Span) -> Key:
    """What makes two spans the same one."""
    return span.trace_id, span.span_id, span.started_ns


class Resolver:
    """The known spans of some traces; `offer` says what each further one is."""

    def __init__(self) -> None:
        self.entries: dict[Key, Entry] = {}
        self._ids: set[tuple[str, str]] = set()
        self._reused: set[tuple[str, str]] = set()
        self._conflicts = False
        self.replaced: list[Key] = []
        self.outdone: list[bytes] = []

    def offer(self, span: Span, mark: bytes | None = None) -> Verdict:
        """Take a span in. `mark` is its digest, where it is known already.

        A span without end (a start record, a pending span) is superseded by its end. Where the end comes second its
        key goes to `replaced`; of several without end one is kept. Of a conflict the loser's digest goes to `outdone`.
        """
        mark = digest(span) if mark is None else mark
        key = key_of(span)
        entry = self.entries.get(key)
        if entry is None:
            self.entries[key] = Entry(span, mark)
            self._count_start(key)
            return Verdict.STORED
        if mark == entry.digest or (entry.others is not None and mark in entry.others):
            return Verdict.DUPLICATE
        wins = rank(span, mark) > rank(entry.span, entry.digest)
        if entry.span.ended_ns is None and wins:
            self.entries[key] = Entry(span, mark)
            self.replaced.append(key)
            return Verdict.STORED
        if span.ended_ns is None:
            return Verdict.SUPERSEDED
        loser = entry.digest if wins else mark
        entry.others = entry.others or set()
        entry.others.add(loser)
        self._conflicts = True
        self.outdone.append(loser)
        if wins:
            entry.span, entry.digest = span, mark
        return Verdict.CONFLICT

    def _count_start(self, key: Key) -> None:
        ids = key[:2]
        if ids in self._ids:
            self._reused.add(ids)
        self._ids.add(ids)

    def reuses_id(self, span: Span) -> bool:
        """Whether another span with these ids started at another time (a seeded id generator)."""
        return bool(self._reused) and (span.trace_id, span.span_id) in self._reused

    def spans(self) -> dict[Key, Span]:
        """The winners, each noting what it won against."""
        if not self._conflicts and not self._reused:
            return {key: entry.span for key, entry in self.entries.items()}
        return {key: self._noted(entry) for key, entry in self.entries.items()}

    def _noted(self, entry: Entry) -> Span:
        span, notes = entry.span, entry.span.repairs
        if entry.others:
            notes += (f"conflict: {1 + len(entry.others)} versions of span {span.span_id}, the last to end is shown",)
        if self.reuses_id(span):
            notes += (f"id_reuse: span id {span.span_id} was used again for another span",)
        return span if notes is span.repairs else msgspec.structs.replace(span, repairs=notes)


def resolve(spans: Iterable[Span]) -> list[Span]:
    """The distinct spans among `spans`."""
    resolver = Resolver()
    for span in spans:
        resolver.offer(span)
    return list(resolver.spans().values())
