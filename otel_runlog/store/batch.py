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


class KeptCapture(msgspec.Struct):
    """A capture as it is kept: `capture` is the document, the rest stands in it too or says how it is kept.

    The fields are the columns of `stored_captures`.
    """

    run_id: str
    version: int
    captured_ns: int
    kept_ns: int
    schema: str
    completeness: str
    llm_calls: int
    tool_calls: int
    bytes: int
    pinned: bool
    model_version: str | None
    seed: int | None
    memory_ref: str | None
    price_table: str | None
    price_version: str | None
    capture: str


class CapturedRefs(msgspec.Struct):
    """What a captured model call was sent, and its answer: places in the document's `contents`, from 1.

    `position` counts the entries of llm_io from 1. None: not known. The fields are the columns of `captured_refs`.
    """

    run_id: str
    version: int
    position: int
    turns: list[int] | None
    tools: list[int] | None
    answer: int | None


class KeptDivergence(msgspec.Struct):
    """One difference of a replay. `recorded` and `got` are JSON. The fields are the columns of `stored_divergences`."""

    replay_run_id: str
    version: int
    position: int
    run_id: str
    call_index: int | None
    kind: str
    path: str
    recorded: str | None
    got: str | None
    resolution: str
    nearest: int | None
    lane: str | None
    cause: str | None
    detail: str | None


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
        foreign_traces: (trace_id, first start, last start) of runs that are kept without their spans: these may come
            later, and belong to them.
        captures: Captures that are kept.
        captured_refs: What their model calls were sent and answered.
        superseded_captures: (run_id, version) of captures that no longer count.
        divergences: Where replays differ from what was recorded.
        superseded_divergences: (replay_run_id, version) of reports that no longer count.
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
    foreign_traces: list[tuple[str, int | None, int | None]] = []
    captures: list[KeptCapture] = []
    captured_refs: list[CapturedRefs] = []
    superseded_captures: list[tuple[str, int]] = []
    divergences: list[KeptDivergence] = []
    superseded_divergences: list[tuple[str, int]] = []


def counting(name: str, versions: dict[int, bool]) -> list[tuple[str, int]]:
    """The versions of a run, a capture or a report that count, each with its name: a new version supersedes them."""
    return [(name, version) for version, counts in versions.items() if counts]
