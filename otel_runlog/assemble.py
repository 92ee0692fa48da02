"""From decoded telemetry to one batch for the store: what is new, what it changes, which runs that makes.

Stages: sort spans into stored, duplicate, conflict and superseded (DESIGN rule 3); widen to the traces that share a run
or a call; project; then write what changed, superseding what it replaces (rule 4).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

import msgspec

from otel_runlog.conventions.log_events import place_of
from otel_runlog.conventions.reading import SpanMessages
from otel_runlog.drops import drop_of, tells_drop
from otel_runlog.errors import RunLogError
from otel_runlog.links import linked_traces
from otel_runlog.llm_io import StepMessages, messages_of, previews_of
from otel_runlog.log_calls import places_of
from otel_runlog.log_content import DIRECTIONS, messages_in, tells_messages
from otel_runlog.logs import fills
from otel_runlog.model import LogRecord, RunLog, RunStatus, Span
from otel_runlog.partition import Members
from otel_runlog.pricing import PriceTable
from otel_runlog.resolve import Key, Verdict, key_of
from otel_runlog.runs import project_nodes
from otel_runlog.scores import scores_of_record, scores_of_span
from otel_runlog.span import digest_of, neutral_form
from otel_runlog.store.batch import (
    Batch,
    BookEntry,
    LoggedMessageRow,
    RunRef,
    RunVersion,
    StoredLog,
    StoredSpan,
)
from otel_runlog.store.places import SpanMessage, pack_messages
from otel_runlog.store.writer import StoreWriter
from otel_runlog.traces import Traces
from otel_runlog.tree import is_joining

logger = logging.getLogger("otel_runlog")


class Assembler:
    """Gathers what one commit will hold. One instance a batch."""

    def __init__(self, writer: StoreWriter, traces: Traces, prices: PriceTable) -> None:
        self._writer, self._traces, self._prices = writer, traces, prices
        self._spans: list[tuple[str, int, Span]] = []
        self._logs: list[tuple[str, StoredLog]] = []
        self._books: dict[str, BookEntry] = {}
        self._read: dict[int, SpanMessages] = {}

    @property
    def span_count(self) -> int:
        """How many spans are waiting."""
        return len(self._spans)

    @property
    def log_count(self) -> int:
        """How many log records are waiting."""
        return len(self._logs)

    @property
    def books(self) -> list[BookEntry]:
        """What became of the spans, by source; complete once `batch` was called."""
        return list(self._books.values())

    def add_spans(self, source: str, received_ns: int, spans: Iterable[Span], rejected: dict[str, int]) -> None:
        """Take in the spans of one request and the counts of those that could not be read."""
        spans = list(spans)
        self._spans += [(source, received_ns, s) for s in spans]
        book = self._book(source)
        book.received += len(spans) + sum(rejected.values())
        for reason, number in rejected.items():
            book.rejected = {**book.rejected, reason: book.rejected.get(reason, 0) + number}

    def drop(self, source: str, reason: str, number: int) -> None:
        """Count spans that were received and are lost."""
        book = self._book(source)
        book.received += number
        book.dropped = {**book.dropped, reason: book.dropped.get(reason, 0) + number}

    def add_logs(self, source: str, received_ns: int, records: Iterable[LogRecord]) -> None:
        """Take in log records."""
        self._logs += [(source, StoredLog(r, received_ns, place_of(r))) for r in records]

    def batch(self) -> Batch:
        """What the store has to write for all that was added."""
        batch = Batch()
        with_logs = {x.place for _, x in self._logs if x.place is not None}
        known = self._traces.load(self._writer, {s.trace_id for _, _, s in self._spans} | with_logs)
        changed = self._sort_spans(batch)
        self._read_spans(batch)
        self._traces.load_logs(self._writer, with_logs | changed)
        changed |= self._sort_logs(batch)
        if changed:
            self._add_runs_in_any_case(batch, changed, known)
        self._traces.trim()
        batch.books = self.books
        return batch

    def _book(self, source: str) -> BookEntry:
        if source not in self._books:
            self._books[source] = BookEntry(source)
        return self._books[source]

    def _sort_spans(self, batch: Batch) -> set[str]:
        """Offer every span to its trace; returns the traces that changed."""
        changed: set[str] = set()
        started: dict[Key, StoredSpan] = {}
        marks = [(digest_of(form), len(form)) for form in (neutral_form(span) for _, _, span in self._spans)]
        for (source, received_ns, span), (mark, size_bytes) in zip(self._spans, marks, strict=True):
            book, state = self._book(source), self._traces[span.trace_id]
            fresh = key_of(span) not in state.resolver.entries
            verdict = state.offer(span, mark, size_bytes)
            setattr(book, verdict, getattr(book, verdict) + 1)
            if verdict in (Verdict.DUPLICATE, Verdict.SUPERSEDED):
                continue
            changed.add(span.trace_id)
            book.id_reuse += fresh and state.resolver.reuses_id(span)
            if state.resolver.replaced:
                _supersede(state.resolver.replaced.pop(), started, batch, book)
            if verdict is Verdict.CONFLICT:
                batch.outdone.append((span.trace_id, span.span_id, state.resolver.outdone.pop()))
            stored = StoredSpan(span, mark, received_ns, source)
            if span.ended_ns is None:
                started[key_of(span)] = stored
            else:
                batch.spans.append(stored)
        batch.start_records = list(started.values())
        return changed

    def _read_spans(self, batch: Batch) -> None:
        """What spans say: their nodes, their messages, where records of their runs may be kept, and scores.

        Each is done for all spans before the next: its code stays in the processor's caches then, which saves 18 us of
        the 87 that digest, node, messages and their places take for one span after the other.
        """
        nodes = [self._traces[x.span.trace_id].node(x.span) for x in (*batch.spans, *batch.start_records)]
        for node in filter(is_joining, nodes):
            batch.places += self._traces[node.trace_id].new_places(places_of([node], ()))
        steps = [(x, n.own.convention) for x, n in zip(batch.spans, nodes, strict=False) if n.own is not None]
        read = [(stored, messages_of(stored.span, convention)) for stored, convention in steps]
        for stored, found in read:
            stored.messages = pack_messages(_spoken(found), stored.span.attributes)
        self._read = {id(stored.span): found for stored, found in read}  # spans live as long as the batch
        batch.scores += [score for x in batch.spans if x.span.events for score in scores_of_span(x.span)]

    def _sort_logs(self, batch: Batch) -> set[str]:
        """Log records go to their traces; one that came before is not stored again."""
        changed: set[str] = set()
        for source, log in self._logs:
            if log.place is not None:
                if not self._traces[log.place].offer_log(log.record):
                    continue
                if fills(log.record):
                    changed.add(log.place)
                if log.record.trace_id is not None:
                    batch.places += self._traces[log.place].new_places(places_of((), [log.record]))
            if tells_drop(log.record):
                self.drop(source, *drop_of(log.record))
            batch.logs.append(log)
            batch.logged_messages += _logged_rows(log.record)
            batch.scores += scores_of_record(log.record)
        return changed

    def _add_runs_in_any_case(self, batch: Batch, changed: set[str], known: set[str]) -> None:
        """A bug of ours costs the runs of the traces that show it until it is mended: their spans are stored."""
        try:
            self._add_runs(batch, changed, known)
        except RunLogError:
            raise
        except Exception:
            logger.exception("some traces cannot be projected; trying one by one")
            batch.closed, batch.open, batch.superseded, batch.cleared, batch.aliases = [], [], [], [], []
            done = set[str]()
            for trace_id in sorted(changed):
                try:
                    done |= set() if trace_id in done else self._add_runs(batch, {trace_id}, known)
                except RunLogError:
                    raise
                except Exception:
                    logger.exception("trace %s is stored and makes no run: please report this", trace_id)
                    batch.unprojected.append(trace_id)

    def _add_runs(self, batch: Batch, changed: set[str], known: set[str]) -> set[str]:
        """Project the traces with all that they are linked to; returns which traces that were."""
        traces, refs = self._widen(changed, known)
        before = _Before(refs, {r.run_id: r.version for r in refs if not r.is_open}, bool(traces & known), self._writer)
        states = [self._traces[t] for t in sorted(traces)]
        nodes = [n for s in states for n in s.nodes()]
        logs = [r for s in states for r in s.logs()]
        messages = StepMessages({k: v for s in states for k, v in s.spans().items()}, logs, self._read)
        projected = project_nodes(nodes, self._prices, logs=logs)
        _write_runs(batch, projected, before, messages)
        return traces

    def _widen(self, changed: set[str], known: set[str]) -> tuple[set[str], list[RunRef]]:
        """The traces to project together, and the runs that the store has of them.

        Traces belong together when they share a run by name or see the same call; whatever a stored run spans comes
        along. The relation is symmetric, so the order of arrival does not matter.
        """
        traces, seen = set(changed), set[str]()
        before: list[RunRef] = []
        while traces - seen:
            new, seen = traces - seen, set(traces)
            known |= self._traces.load(self._writer, new - changed)  # those were loaded, and told, before
            self._traces.load_logs(self._writer, new)
            nodes = [n for t in sorted(new) for n in self._traces[t].nodes()]
            traces |= linked_traces(self._writer, nodes, [r for t in sorted(new) for r in self._traces[t].logs()])
            before = self._writer.runs_of(traces & known) if traces & known else []
            traces |= self._writer.traces_of_runs({ref.run_id for ref in before}) if before else set()
        return traces, before


def _supersede(key: Key, started: dict[Key, StoredSpan], batch: Batch, book: BookEntry) -> None:
    """An open span of which a later version has come: it was counted as stored, now it is superseded."""
    book.stored -= 1
    book.superseded += 1
    if started.pop(key, None) is None:
        batch.ended.append(key)


def _spoken(found: SpanMessages) -> list[SpanMessage]:
    return [
        SpanMessage(name, position, message.role, message.text)
        for name in DIRECTIONS
        if (messages := getattr(found, name))
        for position, message in enumerate(messages)
    ]


def _logged_rows(record: LogRecord) -> list[LoggedMessageRow]:
    """The messages a record tells of a call; which of them count, the view decides when it is asked."""
    if not tells_messages(record):
        return []
    trace_id, span_id = str(record.trace_id), str(record.span_id)
    return [
        LoggedMessageRow(trace_id, span_id, m.direction, m.origin, m.place, m.position, m.message.role, m.message.text)
        for m in messages_in(record)
    ]


class _Before(msgspec.Struct):
    """What the store has of the runs in question: `closed` are the versions that count; `any` says it has some."""

    refs: list[RunRef]
    closed: dict[str, int]
    any: bool
    writer: StoreWriter

    def next_version(self, run_id: str) -> int:
        """One more than any that was ever written: a run may have been closed, taken back, and be here again."""
        if run_id in self.closed:
            return self.closed[run_id] + 1
        return max(self.writer.versions_of(run_id), default=0) + 1 if self.any else 1


def _write_runs(batch: Batch, projected: list[tuple[RunLog, Members]], before: _Before, messages: StepMessages) -> None:
    """Add each run in a new version, and take back what the store had and no longer holds."""
    for run, members in projected:
        version = _version(run, members, before.next_version(run.run_id), messages)
        (batch.open if run.status is RunStatus.RUNNING else batch.closed).append(version)
        if run.run_id in before.closed:
            batch.superseded.append((run.run_id, before.closed[run.run_id]))
    now = {run.run_id: members for run, members in projected}
    gone: dict[str, list[RunRef]] = {}
    for ref in before.refs:
        if ref.run_id not in now:
            gone.setdefault(ref.run_id, []).append(ref)
    batch.superseded += [(name, before.closed[name]) for name in gone if name in before.closed]
    batch.cleared += [name for name, refs in gone.items() if any(ref.is_open for ref in refs)]
    batch.aliases += [(name, heir) for name, refs in gone.items() if (heir := _heir(refs, now)) is not None]


def _version(run: RunLog, members: Members, number: int, messages: StepMessages) -> RunVersion:
    asked, said = previews_of(run, messages)
    times = [t for n in members.nodes for t in (n.started_ns, n.ended_ns) if t is not None]
    return RunVersion(run, number, asked, said, max(times, default=None))


def _heir(refs: list[RunRef], now: dict[str, Members]) -> str | None:
    """The run that now holds a trace of one that is gone: the first of them. Records without a trace name its place."""
    traces = {ref.trace_id for ref in refs}
    heirs = (name for name, members in now.items() if any(n.trace_id in traces for n in members.nodes))
    named = (name for name, members in now.items() if places_of(members.nodes, ()) & traces)
    return next(heirs, None) or next(named, None)
