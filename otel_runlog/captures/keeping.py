"""Captures of runs in a store: made of what the store has of a run, kept beside it, and taken out when they are old.

A capture that is kept wins over one made anew, unless newer telemetry of its run has come since: a run that does not
change gives the same bytes at any time, kept or not.
"""

from __future__ import annotations

import datetime as dt
import enum
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypeAlias

import msgspec

from otel_runlog.capture import Capture
from otel_runlog.captures._figures import check_figures
from otel_runlog.captures.building import capture_of
from otel_runlog.captures.document import dumps, loads, problems_of, read_capture
from otel_runlog.config import require_db
from otel_runlog.conversation import Role
from otel_runlog.errors import CaptureError, CaptureMissingError, ConfigError, RunNotFoundError, StoreError
from otel_runlog.llm_io import StepMessages, preview
from otel_runlog.model import Content, RunLog, RunStatus, utc
from otel_runlog.replaying.divergence import DivergenceReport
from otel_runlog.resolve import key_of, resolve
from otel_runlog.store.captures import CaptureReader, CaptureWriter, Previews, Telemetry
from otel_runlog.store.columns import ns_of
from otel_runlog.store.duckdb_store import DuckDBRunLogStore
from otel_runlog.store.maintenance import CaptureSize, MaintenanceStore

Store: TypeAlias = str | os.PathLike[str] | DuckDBRunLogStore
"""A store: its file, or the object that opens it."""

PATIENCE_S: Final = 2.0
"""How long another process is waited for that holds a store given by its file."""
_MAGIC: Final = b"DUCK"
_MAGIC_AT: Final = 8
_EPOCH: Final = dt.datetime.fromtimestamp(0, dt.UTC)
_MOST_COMPLETE_FIRST: Final = tuple(Content)


class CapturesGone(msgspec.Struct, frozen=True):
    """What retention of captures removed, or would remove.

    Attributes:
        run_ids: the runs whose captures these were, the oldest first.
        bytes: how large their documents were together.
        kept: how many captures are left.
        kept_bytes: how large they are together.
    """

    run_ids: tuple[str, ...] = ()
    bytes: int = 0
    kept: int = 0
    kept_bytes: int = 0


class Imported(enum.StrEnum):
    """What came of a capture's file: it is kept now, it was before, or a newer one of its run is, and stays."""

    KEPT = "imported"
    KNOWN = "known already"
    OLDER = "older than the one that is kept"


def load_capture(source: Store, run: str | None = None) -> Capture:
    """A capture, from its file or from a store. What still lies in the store's journal is not seen (commands load it).

    Args:
        source: a capture's file without `run`; with it, a store.
        run: the run's id, also one that it had before, a unique prefix of 4 or more characters, or `last`.

    Raises:
        CaptureError: the file cannot be read, or is no capture.
        CaptureMissingError: the store has the run, but neither its telemetry nor a capture.
        RunNotFoundError: no run and no capture, or more than one, goes by that name.
        StoreLockedError: another process holds the store.
        StoreError: the store cannot be read.
        ConfigError: the source is a store, and no run is named.
    """
    if run is None:
        if isinstance(source, DuckDBRunLogStore) or _is_store(source):
            raise ConfigError("a store has many runs: name one, as in load_capture('runs.duckdb', 'last')")
        return read_capture(source)
    path, timeout_s = _place(source)
    with CaptureReader(path, timeout_s) as reader:
        return _capture_in(reader, reader.find(run))


def persist_capture(
    store: Store, what: Capture | str, *, memory_ref: str | None = None, pinned: bool | None = None
) -> Capture:
    """Keep a capture in a store, in place of the one of the same run before. It replays without the run's spans.

    A run that the store does not have comes with its capture: it is listed and shown from then on.

    Args:
        store: where to keep it.
        what: the capture, or the name of a run of this store, as in `load_capture`.
        memory_ref: what the agent's memory was at the start, in the application's own words; None leaves what is said.
        pinned: whether `gc_captures` leaves it; None leaves that as it is, which is not pinned at first.

    Returns:
        The capture as it is kept.

    Raises:
        CaptureError: it holds what no capture can, or figures that no telemetry can.
        StoreLockedError: another process holds the store.
        StoreError: the store cannot be written.
        RunNotFoundError: as in `load_capture`, and so does CaptureMissingError.
    """
    path, timeout_s = _place(store)
    if isinstance(what, Capture):
        check_figures(what)
    capture = what if isinstance(what, Capture) else load_capture(store, what)
    if memory_ref is not None:
        capture = msgspec.structs.replace(capture, memory_ref=memory_ref)
    document = dumps(capture)
    if isinstance(what, Capture) or memory_ref is not None:
        loads(document, name=f"the capture of run {capture.run_id}")  # nothing is kept that cannot be read again
    with CaptureWriter(path, timeout_s=timeout_s) as writer:
        writer.keep(capture, document, kept_ns=time.time_ns(), pinned=pinned, previews=_previews(capture))
    return capture


def import_capture(store: Store, file: str | os.PathLike[str]) -> tuple[Capture, Imported]:
    """Keep the capture in a file, which may be a stranger's. The same file again changes nothing.

    Raises:
        CaptureError: the file cannot be read, is no capture, or does not fit together; the reason is said.
        StoreLockedError: another process holds the store.
        StoreError: the store cannot be written.
    """
    capture = read_capture(file)
    if problems := problems_of(capture):
        more = f", and {len(problems) - 1} more: `verify` says them all" if len(problems) > 1 else ""
        raise CaptureError(f"{os.fspath(file)}: {problems[0].rstrip('.')}{more}")
    try:
        check_figures(capture)
    except CaptureError as error:
        raise CaptureError(f"{os.fspath(file)}: {error}") from None
    kept = _kept_with_its_run(store, capture.run_id)
    if kept is not None and kept.captured_at > capture.captured_at:
        return capture, Imported.OLDER
    if kept is not None and dumps(kept) == dumps(capture):
        return capture, Imported.KNOWN
    return persist_capture(store, capture), Imported.KEPT


def keep_report(
    store: Store, report: DivergenceReport, run: RunLog | None = None, capture: Capture | None = None
) -> None:
    """Keep what a replay came to: its differences, and where given its run and its capture, in place of those before.

    Args:
        store: where to keep it.
        report: what the replay came to; `replay_run_id` is the run that the differences belong to.
        run: the replay's own run, where its telemetry does not come here by itself.
        capture: the replay's own capture.

    Raises:
        ConfigError: neither report nor run says the replay's id.
        StoreLockedError: another process holds the store.
        StoreError: the store cannot be written.
    """
    replay_run_id = report.replay_run_id or (run.run_id if run else None)
    if replay_run_id is None:
        raise ConfigError("a report is kept by its replay_run_id, and this one has none")
    path, timeout_s = _place(store)
    document = dumps(capture) if capture else b""
    previews: Previews = _previews(capture) if capture else (None, None)
    with CaptureWriter(path, timeout_s=timeout_s) as writer:
        writer.keep_report(report, replay_run_id, run, previews)
        if capture is not None:
            writer.keep(capture, document, kept_ns=time.time_ns(), previews=previews)


def gc_captures(
    store: Store,
    *,
    older_than: dt.datetime | dt.timedelta | None = None,
    keep: int | None = None,
    max_bytes: int | None = None,
    dry_run: bool = False,
) -> CapturesGone:
    """Remove captures for good: what is over any of the limits goes, pinned ones stay. Runs and spans stay too.

    Args:
        store: whose captures.
        older_than: those captured before this time, or longer ago than this, go.
        keep: all but so many of the newest go; pinned ones count.
        max_bytes: the oldest go until all together have no more; pinned ones count.
        dry_run: say what would go, and remove nothing.

    Raises:
        ConfigError: a limit is negative, or a time is none or names no zone.
        StoreLockedError: another process holds the store.
        StoreError: there is no store, or it cannot be used.
    """
    before_ns = _before_ns(older_than)
    for name, limit in (("keep", keep), ("max_bytes", max_bytes)):
        if limit is not None and limit < 0:
            raise ConfigError(f"{name} must not be negative: {limit}")
    path, timeout_s = _place(store)
    if not path.exists():
        raise StoreError(f"there is no store at {path.absolute()}")
    with MaintenanceStore(path, timeout_s) as maintenance:
        captures = maintenance.captures()
        going = captures_over(captures, before_ns=before_ns, keep=keep, max_bytes=max_bytes)
        if going and not dry_run:
            maintenance.remove_captures([capture.run_id for capture in going])
    gone_bytes = sum(capture.bytes for capture in going)
    return CapturesGone(
        run_ids=tuple(capture.run_id for capture in going),
        bytes=gone_bytes,
        kept=len(captures) - len(going),
        kept_bytes=sum(capture.bytes for capture in captures) - gone_bytes,
    )


def captures_over(
    captures: Sequence[CaptureSize], *, before_ns: int | None, keep: int | None, max_bytes: int | None
) -> list[CaptureSize]:
    """Those of `captures`, the oldest first, that are over a limit and not pinned."""
    newest_from = 0 if keep is None else max(len(captures) - keep, 0)
    is_old = [
        number < newest_from or (before_ns is not None and capture.captured_ns < before_ns)
        for number, capture in enumerate(captures)
    ]
    left_bytes = sum(capture.bytes for capture, old in zip(captures, is_old, strict=True) if capture.pinned or not old)
    going = []
    for capture, old in zip(captures, is_old, strict=True):
        if capture.pinned:
            continue
        if old:
            going.append(capture)
        elif max_bytes is not None and left_bytes > max_bytes:
            going.append(capture)
            left_bytes -= capture.bytes
    return going


def _before_ns(older_than: dt.datetime | dt.timedelta | None) -> int | None:
    if isinstance(older_than, dt.timedelta):
        now = dt.datetime.now(dt.UTC)
        older_than = now - min(older_than, now - _EPOCH)
    if older_than is not None and not isinstance(older_than, dt.datetime):
        raise ConfigError(f"older_than must be a datetime or a timedelta, not {older_than!r}")
    if older_than is not None and older_than.tzinfo is None:
        raise ConfigError(f"the time {older_than.isoformat()} names no zone")
    return ns_of(older_than)


def _place(store: Store) -> tuple[Path, float]:
    if isinstance(store, DuckDBRunLogStore):
        return Path(store.path), store.timeout_s
    return require_db(store), PATIENCE_S


def _is_store(file: str | os.PathLike[str]) -> bool:
    try:
        with Path(file).open("rb") as stream:
            return stream.read(_MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC
    except (OSError, ValueError):
        return False


def _kept_with_its_run(store: Store, run_id: str) -> Capture | None:
    """The capture that a store keeps of a run that it also lists; None also where there is no store yet."""
    path, timeout_s = _place(store)
    if not path.exists():
        return None
    with CaptureReader(path, timeout_s) as reader:
        return _kept_in(reader, run_id) if reader.has_run(run_id) else None


def _kept_in(reader: CaptureReader, run_id: str) -> Capture | None:
    document = reader.capture(run_id)
    return None if document is None else loads(document, name=f"the capture of run {run_id}")


def _former_in(reader: CaptureReader, run_id: str) -> Capture | None:
    document = reader.former_capture(run_id)
    return None if document is None else loads(document, name=f"the capture that run {run_id} had before")


def _capture_in(reader: CaptureReader, run_id: str) -> Capture:
    """The capture of a run: the one that is kept, or, where that is outdated or there is none, one made anew."""
    kept = _kept_in(reader, run_id)
    try:
        run = reader.run(run_id)
    except RunNotFoundError:
        if kept is None:
            raise
        return kept
    told = reader.telemetry(run)
    received_ns = _received_ns(run, told)
    if kept is not None and not _is_outdated(kept, run, received_ns):
        return kept
    if received_ns is None:
        raise CaptureMissingError(
            f"run {run_id} was put into this store without its spans, and no capture of it is kept: nothing says what "
            "its calls were asked and answered"
        )
    made = _made(run, told, received_ns, kept or _former_in(reader, run_id))
    return kept if kept is not None and _is_less(made, kept) else made


def _is_outdated(kept: Capture, run: RunLog, received_ns: int | None) -> bool:
    """Whether something came since, or the run was still running then and is over."""
    if received_ns is None:
        return False
    is_over_now = kept.run.status is RunStatus.RUNNING and run.status is not RunStatus.RUNNING
    return is_over_now or (ns_of(kept.captured_at) or 0) < _microseconds(received_ns)


def _is_less(made: Capture, kept: Capture) -> bool:
    """A capture that was told by hand may hold what no span carries: one without it, of no more calls, is no gain."""
    rank = _MOST_COMPLETE_FIRST.index
    return rank(made.completeness) > rank(kept.completeness) and len(made.llm_io) <= len(kept.llm_io)


def _received_ns(run: RunLog, told: Telemetry) -> int | None:
    """When the newest of a run's telemetry was received: of its steps' spans, and of the records of its traces."""
    keys = {(step.trace_id, step.span_id) for step in run.steps}
    spans = [stored.received_ns for stored in told.spans if (stored.span.trace_id, stored.span.span_id) in keys]
    return max([*spans, *(log.received_ns for log in told.logs)], default=None)


def _microseconds(ns: int) -> int:
    """Nanoseconds, cut as times in captures are."""
    return ns // 1000 * 1000


def _made(run: RunLog, told: Telemetry, received_ns: int, before: Capture | None) -> Capture:
    spans = {key_of(span): span for span in resolve([stored.span for stored in told.spans])}
    messages = StepMessages(spans, [log.record for log in told.logs])
    captured_at = utc(received_ns)
    assert captured_at is not None
    return capture_of(
        run,
        messages,
        captured_at=captured_at,
        memory_ref=before.memory_ref if before else None,
    )


def _previews(capture: Capture) -> Previews:
    """The first thing a user said and the last thing that was answered, as runs made of spans have them."""
    requests = [call.request for call in capture.llm_io if call.request]
    asked = (turn.text for request in requests for turn in request.turns if turn.role is Role.USER and turn.text)
    said = (call.answer.text for call in reversed(capture.llm_io) if call.answer and call.answer.text)
    return preview(next(asked, None)), preview(next(said, None))
