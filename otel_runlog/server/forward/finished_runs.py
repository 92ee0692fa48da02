"""Finished runs, each as a log record or a span of its own: event name `runlog.run`.

They are found by following the journal, with a cursor apart from that of the spans: once the records up to some place
are loaded, the closed runs of their traces are looked up, and each version that was not told yet is sent. So a run is
told when what closed it was loaded, and again, with a higher `runlog.run.version`, when a late span made a new version
of it. A version that was superseded before it was told never is. A run that only a file or a repricing changed is not
told, as nothing of it came through the journal.

Which versions were told stands in a file beside the cursor. It is written after the backend's answer, so a version is
told once, unless the process is killed in between: then it is told again, with the same ids, time and content. The
newest MOST_TOLD runs are remembered; only a run whose spans come again after so many others would be told twice.

Attributes begin with `runlog.run.`: no backend, and no otel-runlog that reads them again, adds them to the run's steps.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Hashable
from pathlib import Path
from typing import Final

import msgspec

from otel_runlog.config import RunsForm
from otel_runlog.errors import JournalError, OtlpError, StoreError
from otel_runlog.journal.cursors import FOLDER, TOLD_SUFFIX, check_name, replace_file
from otel_runlog.journal.layout import Record
from otel_runlog.model import Attributes, LogRecord, Resource, Scope, Span
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.export import encode_spans
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward.batches import Batch
from otel_runlog.server.forward.log_requests import encode_logs
from otel_runlog.server.forward.reading import ReadTurns, first_of, loaded_pieces, store_of
from otel_runlog.server.forward.requests import Outgoing, Prepared
from otel_runlog.server.forward.span_wire import log_traces, span_keys
from otel_runlog.store.forwarding import ClosedRun

EVENT: Final = "runlog.run"
SCOPE: Final = Scope("otel_runlog")
GATHER_BYTES: Final = 16 << 20
MOST_TOLD: Final = 4096
_INFO, _ERROR = 9, 17
"""SeverityNumber of logs.proto."""
_STATUS_OK, _STATUS_ERROR = 1, 2
_INTERNAL: Final = 1
_FAILED: Final = "failed"
_NS_PER_MS: Final = 1e6

logger = logging.getLogger("otel_runlog")


class FinishedRuns:
    """Makes requests of the runs that are over.

    Args:
        folder: the journal's.
        name: the cursor's.
        form: log records or spans.
        db: the store.
        turns: when it can be read.
    """

    gather_bytes = GATHER_BYTES

    def __init__(self, folder: Path, name: str, form: RunsForm, db: Path, turns: ReadTurns) -> None:
        self._form = form
        self._db = db
        self._turns = turns
        self._told = Told(folder / FOLDER / (check_name(name) + TOLD_SUFFIX))
        self._asked: list[ClosedRun] = []

    def kind_of(self, record: Record) -> Hashable:
        """All records may close runs, but for start records."""
        return None if record.signal is Signal.STARTS else EVENT

    def prepare(self, batch: Batch) -> Prepared | None:
        """The runs of the records that are loaded, in one request; one that holds nothing where none is over."""
        try:
            with store_of(self._db, self._turns) as reader:
                loaded = loaded_pieces(reader, batch.pieces)
                pieces = first_of(batch.pieces, ((p.segment, p.place) in loaded for p in batch.pieces))
                if not pieces:
                    return None
                keys = [key for piece in pieces for key in _keys_of(piece.record)]
                runs = reader.closed_runs({trace for trace, _ in keys}, [start for _, start in keys if start])
        except StoreError:
            return None
        self._asked = [run for run in runs if not self._told.has(run)]
        return Prepared(batch.of(pieces), self._request(self._asked))

    def answered(self, prepared: Prepared) -> None:
        """Remember which runs were told.

        Raises:
            JournalError: it cannot be written.
        """
        del prepared
        if self._asked:
            self._told.add(self._asked)

    def _request(self, runs: list[ClosedRun]) -> Outgoing:
        if self._form is RunsForm.SPANS:
            body = encode_spans([span_of(run) for run in runs])
            return Outgoing(Signal.TRACES, Encoding.PROTOBUF, body, len(runs))
        return Outgoing(Signal.LOGS, Encoding.PROTOBUF, encode_logs(map(log_of, runs)), len(runs))


class Told:
    """Which versions of which runs were told; a file that is replaced as a whole."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._versions: dict[str, int] | None = None

    def has(self, run: ClosedRun) -> bool:
        """Whether this version of it, or a later one, was told."""
        return self._read().get(run.run_id, 0) >= run.version

    def add(self, runs: list[ClosedRun]) -> None:
        """Remember them.

        Raises:
            JournalError: the file cannot be written.
        """
        versions = self._read()
        for run in runs:
            versions.pop(run.run_id, None)  # so that the newest stand last
            versions[run.run_id] = run.version
        for run_id in list(versions)[: -MOST_TOLD or None]:
            del versions[run_id]
        try:
            replace_file(self._path, msgspec.json.encode(versions))
        except OSError as error:
            raise JournalError(f"cannot write which runs were told, {self._path}: {error}") from error

    def _read(self) -> dict[str, int]:
        if self._versions is None:
            try:
                self._versions = msgspec.json.decode(self._path.read_bytes(), type=dict[str, int])
            except FileNotFoundError:
                self._versions = {}
            except (OSError, msgspec.DecodeError) as error:
                logger.warning("cannot read %s, runs may be told twice: %s", self._path, error)
                self._versions = {}
        return self._versions


def _keys_of(record: Record) -> list[tuple[str, int]]:
    """Trace id and start of the spans in a record, and the traces that log records name; none of what is no request."""
    try:
        if record.signal is Signal.TRACES:
            if record.encoding is Encoding.PROTOBUF:
                return [(trace_id, started_ns) for trace_id, _, started_ns in span_keys(record.body)]
            return [(s.trace_id, s.started_ns or 0) for s in read_traces(record.body, record.encoding).spans]
        if record.encoding is Encoding.PROTOBUF:
            return [(trace_id, 0) for trace_id in log_traces(record.body)]
        return [(log.trace_id, 0) for log in read_logs(record.body, record.encoding).records if log.trace_id]
    except OtlpError:
        return []


def log_of(run: ClosedRun) -> LogRecord:
    """A run as a log record of when it ended, on its root span."""
    is_failed = run.status == _FAILED
    return LogRecord(
        time_ns=run.finished_ns,
        observed_ns=run.finished_ns,
        trace_id=run.trace_id,
        span_id=run.root_span_id,
        event_name=EVENT,
        severity_number=_ERROR if is_failed else _INFO,
        severity_text="ERROR" if is_failed else "INFO",
        body=f"run {run.run_id} of {run.agent or 'an agent'}: {run.status}",
        attributes=attributes_of(run),
        scope=SCOPE,
        resource=_resource(run),
    )


def span_of(run: ClosedRun) -> Span:
    """A run as a span from its start to its end, below its root span; its id is made of the run's and the version."""
    digest = hashlib.sha256(f"{run.run_id}:{run.version}".encode()).hexdigest()
    is_failed = run.status == _FAILED
    return Span(
        trace_id=run.trace_id or hashlib.sha256(run.run_id.encode()).hexdigest()[:32],
        span_id=digest[:16],
        parent_span_id=run.root_span_id,
        name=EVENT,
        kind=_INTERNAL,
        started_ns=run.started_ns,
        ended_ns=run.finished_ns,
        status_code=_STATUS_ERROR if is_failed else _STATUS_OK,
        status_message=(run.status_message or "") if is_failed else "",
        attributes=attributes_of(run),
        scope=SCOPE,
        resource=_resource(run),
    )


def attributes_of(run: ClosedRun) -> Attributes:
    """What is told of a run; what is not known is left out."""
    found: Attributes = {
        "runlog.run.id": run.run_id,
        "runlog.run.version": run.version,
        "runlog.run.agent": run.agent,
        "runlog.run.status": run.status,
        "runlog.run.status_message": run.status_message,
        "runlog.run.session_id": run.session_id,
        "runlog.run.user_id": run.user_id,
        "runlog.run.duration_ms": _duration_ms(run),
        "runlog.run.steps": run.step_count,
        "runlog.run.llm_calls": run.llm_calls,
        "runlog.run.tool_calls": run.tool_calls,
        "runlog.run.errors": run.error_count,
        "runlog.run.input_tokens": run.input_tokens,
        "runlog.run.output_tokens": run.output_tokens,
        "runlog.run.cache_read_tokens": run.cache_read_tokens,
        "runlog.run.cache_write_tokens": run.cache_write_tokens,
        "runlog.run.reasoning_tokens": run.reasoning_tokens,
        "runlog.run.cost_usd": None if run.cost_usd is None else float(run.cost_usd),
        "runlog.run.cost_status": run.cost_status,
        "runlog.run.complete": run.complete,
    }
    return {key: value for key, value in found.items() if value is not None}


def _duration_ms(run: ClosedRun) -> float | None:
    if run.started_ns is None or run.finished_ns is None or run.finished_ns < run.started_ns:
        return None
    return (run.finished_ns - run.started_ns) / _NS_PER_MS


def _resource(run: ClosedRun) -> Resource:
    named = {
        "service.name": run.service,
        "service.version": run.service_version,
        "deployment.environment.name": run.environment,
    }
    return Resource({key: value for key, value in named.items() if value is not None})
