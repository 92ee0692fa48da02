"""Captures in the store: the rows that one makes, and reading one back, or the telemetry that it is made of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

import msgspec

from otel_runlog.capture import Capture
from otel_runlog.model import AttrValue, RunLog, RunStatus
from otel_runlog.replaying.divergence import DivergenceReport, StepDivergence
from otel_runlog.store import plain_json, telemetry
from otel_runlog.store.batch import (
    Batch,
    CapturedRefs,
    KeptCapture,
    KeptDivergence,
    RunVersion,
    StoredLog,
    StoredSpan,
    counting,
)
from otel_runlog.store.columns import ns_of
from otel_runlog.store.connection import StoreConnection
from otel_runlog.store.reader import StoreReader, picked_id
from otel_runlog.store.rows import pack_foreign_traces
from otel_runlog.store.writer import StoreWriter

Previews: TypeAlias = tuple[str | None, str | None]
_MAX_INT = 2**63 - 1


class Telemetry(msgspec.Struct):
    """What was received of the traces that a run has steps in."""

    spans: list[StoredSpan]
    logs: list[StoredLog]


class CaptureWriter(StoreWriter):
    """The store's one writer, for captures and what goes with them; each call is one transaction."""

    def keep(
        self,
        capture: Capture,
        document: bytes,
        *,
        kept_ns: int,
        pinned: bool | None = None,
        previews: Previews = (None, None),
    ) -> None:
        """Keep a capture in place of the one before; its run too where the store has none of that id.

        Args:
            capture: what `document` says.
            document: the bytes that `dumps` wrote.
            kept_ns: now.
            pinned: whether retention leaves it; None leaves that as it is.
            previews: the beginnings of what the run was asked and answered.
        """
        batch = Batch()
        self._add_capture(batch, capture, document, kept_ns, pinned)
        if not _has_run(self._store, capture.run_id):
            self._add_run(batch, capture.run, previews)
        self.append(batch)

    def keep_report(self, report: DivergenceReport, replay_run_id: str, run: RunLog | None, previews: Previews) -> None:
        """Keep a replay's differences in place of those before, and its run in place of the one before."""
        versions = self._versions("versions_of_divergences", {"replay_run_id": replay_run_id})
        batch = Batch(
            divergences=kept_divergences(report, replay_run_id, max(versions, default=0) + 1),
            superseded_divergences=counting(replay_run_id, versions),
        )
        if run is not None:
            self._add_run(batch, run, previews)
        self.append(batch)

    def _add_capture(self, batch: Batch, capture: Capture, document: bytes, kept_ns: int, pinned: bool | None) -> None:
        run_id = capture.run_id
        versions = self._versions("versions_of_capture", {"run_id": run_id})
        version = max(versions, default=0) + 1
        former = self._store.rows("former_captures", {"run_id": run_id})
        if pinned is None:
            pinned = any(row[-1] for row in (*self._store.rows("capture_of_run", {"run_id": run_id}), *former))
        batch.captures = [kept_capture(capture, document, version=version, kept_ns=kept_ns, pinned=pinned)]
        batch.captured_refs = captured_refs(run_id, version, document)
        outdated = [row for name, kept, _ in former for row in counting(str(name), {cast("int", kept): True})]
        batch.superseded_captures = [*counting(run_id, versions), *outdated]

    def _add_run(self, batch: Batch, run: RunLog, previews: Previews) -> None:
        """A run that still runs is open: it becomes incomplete when the quiet time is over, as any other."""
        versions = self.versions_of(run.run_id)
        version = RunVersion(run, max(versions, default=0) + 1, *previews, last_ns=_last_ns(run))
        (batch.open if run.status is RunStatus.RUNNING else batch.closed).append(version)
        batch.superseded = counting(run.run_id, versions)
        batch.foreign_traces = list(pack_foreign_traces(run))

    def _versions(self, query: str, name: dict[str, object]) -> dict[int, bool]:
        return dict(cast("list[tuple[int, bool]]", self._store.rows(query, name)))


def _has_run(store: StoreConnection, run_id: str) -> bool:
    return any(is_exact for _, is_exact in store.rows("run_id_by_prefix", {"name": run_id}))


def _last_ns(run: RunLog) -> int | None:
    times = [ns for step in run.steps for ns in (step.started_ns, step.ended_ns) if ns is not None]
    return max(times, default=ns_of(run.finished_at or run.started_at))


class CaptureReader(StoreReader):
    """A reader that also knows of runs of which nothing but a capture is left."""

    def find(self, name: str) -> str:
        """The id of the run that a name means, as `StoreReader.find` has it; the run may be gone and its capture kept.

        Raises:
            RunNotFoundError: no run and no capture, or more than one, goes by that name.
        """
        if name == "last":
            return super().find(name)
        found = self._store.rows("run_id_by_prefix", {"name": name})
        return picked_id(name, [*found, *self._store.rows("captured_id_by_prefix", {"name": name})])

    def has_run(self, run_id: str) -> bool:
        """Whether a run has this id, or had it before."""
        return _has_run(self._store, run_id)

    def capture(self, run_id: str) -> bytes | None:
        """The document that is kept of a run; None where none is."""
        for document, _ in self._store.rows("capture_of_run", {"run_id": run_id}):
            return str(document).encode()
        return None

    def former_capture(self, run_id: str) -> bytes | None:
        """The document that is kept of a run under a name it had before; None where none is."""
        for name, _, _ in self._store.rows("former_captures", {"run_id": run_id}):
            return self.capture(str(name))
        return None

    def telemetry(self, run: RunLog) -> Telemetry:
        """The spans and log records of all traces that the run has steps in."""
        traces = telemetry.traces_of_runs(self._store, [run.run_id]) | {step.trace_id for step in run.steps}
        return Telemetry(telemetry.spans_of(self._store, traces), telemetry.logs_of(self._store, traces))


def kept_capture(capture: Capture, document: bytes, *, version: int, kept_ns: int, pinned: bool) -> KeptCapture:
    """The row of a capture. What its calls do not agree on is not known: the seed; several models are all named."""
    models = dict.fromkeys(call.model_version for call in capture.llm_io if call.model_version)
    prices = capture.price_table
    return KeptCapture(
        run_id=capture.run_id,
        version=version,
        captured_ns=ns_of(capture.captured_at) or 0,
        kept_ns=kept_ns,
        schema=capture.schema,
        completeness=str(capture.completeness),
        llm_calls=len(capture.llm_io),
        tool_calls=len(capture.tool_io),
        bytes=len(document),
        pinned=pinned,
        model_version=", ".join(models) or None,
        seed=_agreed(call.seed for call in capture.llm_io),
        memory_ref=capture.memory_ref,
        price_table=prices.name if prices else None,
        price_version=prices.version if prices else None,
        capture=document.decode(),
    )


def _agreed(seeds: Iterable[int | None]) -> int | None:
    known = {seed for seed in seeds if seed is not None}
    seed = known.pop() if len(known) == 1 else None
    return None if seed is None or abs(seed) > _MAX_INT else seed


class _Request(msgspec.Struct):
    continues: int | None = None
    turns: list[str] = []
    tools: list[str] | None = None


class _Answer(msgspec.Struct):
    message: str | None = None


class _Entry(msgspec.Struct):
    request: _Request | None = None
    answer: _Answer | None = None


class _Document(msgspec.Struct):
    llm_io: list[_Entry] = []
    contents: dict[str, msgspec.Raw] = {}


def captured_refs(run_id: str, version: int, document: bytes) -> list[CapturedRefs]:
    """Where the messages of each call of a document stand in its `contents`; `document` is one that `dumps` wrote."""
    read = msgspec.json.decode(document, type=_Document)
    places = {digest: place for place, digest in enumerate(read.contents, 1)}
    sent: list[list[int] | None] = []
    refs = []
    for position, entry in enumerate(read.llm_io, 1):
        sent.append(_sent(entry.request, sent, places))
        tools = entry.request.tools if entry.request else None
        message = entry.answer.message if entry.answer else None
        refs.append(
            CapturedRefs(
                run_id=run_id,
                version=version,
                position=position,
                turns=sent[-1],
                tools=None if tools is None else [places[digest] for digest in tools],
                answer=None if message is None else places[message],
            )
        )
    return refs


def _sent(request: _Request | None, before: list[list[int] | None], places: dict[str, int]) -> list[int] | None:
    if request is None:
        return None
    known = before[request.continues] if request.continues is not None else None
    return [*(known or ()), *(places[digest] for digest in request.turns)]


def kept_divergences(report: DivergenceReport, replay_run_id: str, version: int) -> list[KeptDivergence]:
    """The rows of a report's differences, in its order."""
    return [
        _kept_divergence(found, report, replay_run_id, version, position)
        for position, found in enumerate(report.divergences, 1)
    ]


def _kept_divergence(
    found: StepDivergence, report: DivergenceReport, replay_run_id: str, version: int, position: int
) -> KeptDivergence:
    return KeptDivergence(
        replay_run_id=replay_run_id,
        version=version,
        position=position,
        run_id=report.run_id,
        call_index=found.call_index,
        kind=str(found.kind),
        path=found.path,
        recorded=_json(found.recorded),
        got=_json(found.got),
        resolution=str(found.resolution),
        nearest=found.nearest,
        lane=found.lane,
        cause=None if found.cause is None else str(found.cause),
        detail=found.detail,
    )


def _json(value: object) -> str | None:
    return None if value is None else plain_json.dumps(cast("AttrValue", value))
