"""What one load turn writes: rows of every table and the journal positions, in one transaction."""

from __future__ import annotations

import msgspec

from otel_runlog.model import LogRecord, RunLog, Span
from otel_runlog.scores import Score


class StoredSpan(msgspec.Struct):
    """A span and how it came: `digest` of its neutral form, when it was received, from which source.

    `messages` says where in its attributes its messages stand (see `places.pack_messages`).
    """

    span: Span
    digest: bytes
    received_ns: int
    source: str
    messages: str | None = None


class StoredLog(msgspec.Struct):
    """A log record and when it was received. `place`: the trace it is kept with, also where it names none itself."""

    record: LogRecord
    received_ns: int
    place: str | None = None


class LoggedMessageRow(msgspec.Struct):
    """One message of a model call that a log record told; `origin` and `place` are `LoggedMessage`'s."""

    trace_id: str
    span_id: str
    direction: str
    origin: str
    place: str
    position: int
    role: str
    text: str


class RunVersion(msgspec.Struct):
    """A run as it is now known, with its steps and agents.

    `version` counts the times a run was closed. `input` and `output` are short previews. `last_ns` is the latest start
    or end of the run's spans: from there an open run's quiet time counts.
    """

    run: RunLog
    version: int = 1
    input: str | None = None
    output: str | None = None
    last_ns: int | None = None


class BookEntry(msgspec.Struct):
    """How many spans of a source went where, since the last entry. `id_reuse` is part of `stored`."""

    source: str
    received: int = 0
    stored: int = 0
    duplicate: int = 0
    conflict: int = 0
    superseded: int = 0
    id_reuse: int = 0
    rejected: dict[str, int] = {}
    dropped: dict[str, int] = {}


class Position(msgspec.Struct):
    """Up to which byte a journal segment or an ingested file is loaded.

    Of a segment also: the number its next record must have, whether nothing will follow, and whether it lost anything
    on the way, so that a loader that starts anew sees gaps, and neither counts a loss twice nor forgets it.
    """

    segment: str
    offset: int
    sequence: int | None = None
    ended: bool = False
    damaged: bool = False


class RunRef(msgspec.Struct, frozen=True):
    """A run that has steps in a trace: which version counts, and whether it is still open."""

    run_id: str
    version: int
    is_open: bool
    trace_id: str


class CallSearch(msgspec.Struct, frozen=True):
    """Which model calls of other traces could be second views of known ones: at the same time, with the same numbers.

    `trace_ids` are left out, and calls of the scope that all known calls have: one scope sees a call once. `lone` says
    that one of the known calls has no parent; without it only calls without a parent are found.
    """

    trace_ids: list[str]
    scopes: list[str]
    started_ns: int
    ended_ns: int
    response_ids: list[str]
    input_tokens: list[int]
    failed: bool
    lone: bool


class Batch(msgspec.Struct, kw_only=True):
    """What one load turn adds.

    Attributes:
        spans: Distinct spans, written once and for ever.
        start_records: Spans that have started and not ended; each replaces the one of the same ids and start.
        ended: (trace_id, span_id, started_ns) whose start records go.
        logs: Log records.
        logged_messages: Messages that log records told; a text that was stored lately is not stored again.
        scores: Results of evaluations.
        closed: Runs that are closed now; their rows stay for ever.
        open: Runs that are open now; each replaces what was open under its id.
        cleared: run_ids that are no longer open, and not closed either.
        superseded: (run_id, version) of closed runs that no longer count.
        aliases: (old run_id, run_id) of runs that got another id.
        places: (place, trace_id): the trace has spans of a run whose records are kept in the place.
        unprojected: Traces that are stored and make no run, for a fault of this package.
        outdone: (trace_id, span_id, digest) of versions of spans that lost a conflict.
        books: What became of the spans received.
        positions: How far each source is loaded with this batch.
    """

    spans: list[StoredSpan] = []
    start_records: list[StoredSpan] = []
    ended: list[tuple[str, str, int | None]] = []
    logs: list[StoredLog] = []
    logged_messages: list[LoggedMessageRow] = []
    scores: list[Score] = []
    closed: list[RunVersion] = []
    open: list[RunVersion] = []
    cleared: list[str] = []
    superseded: list[tuple[str, int]] = []
    aliases: list[tuple[str, str]] = []
    places: list[tuple[str, str]] = []
    unprojected: list[str] = []
    outdone: list[tuple[str, str, bytes]] = []
    books: list[BookEntry] = []
    positions: list[Position] = []
