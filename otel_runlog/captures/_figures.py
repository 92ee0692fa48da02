"""Which figures of a stranger's run a store takes in: views add and subtract them, and one too large fails them all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Final

import msgspec

from otel_runlog.capture import Capture
from otel_runlog.errors import CaptureError
from otel_runlog.model import RunLog, Step

LARGEST_COUNT: Final = 10**12
"""Of tokens, calls and the like: a million such runs can be added up in 64 bits."""
_FIRST, _LAST = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.datetime(2262, 1, 1, tzinfo=dt.UTC)
"""The times that nanoseconds since the epoch hold in 64 bits."""
_LAST_NS: Final = (_LAST - _FIRST) // dt.timedelta(microseconds=1) * 1000
_TIMES: Final = ("started_ns", "ended_ns")


def check_figures(capture: Capture) -> None:
    """Raise CaptureError where a number or a time of the capture's run is none that telemetry can hold."""
    times = {"captured_at": capture.captured_at}
    times |= {f"run.{name}": at for name in ("started_at", "finished_at") if (at := getattr(capture.run, name))}
    for label, at in times.items():
        if not _FIRST <= at < _LAST:
            raise CaptureError(f"{label} is out of range: {at.isoformat()}")
    for label, number in _numbers(capture.run):
        limit = _LAST_NS if label.endswith(_TIMES) else LARGEST_COUNT
        if not 0 <= number <= limit:
            raise CaptureError(f"{label} is out of range: {str(number)[:40]}")


def _numbers(run: RunLog) -> Iterator[tuple[str, int]]:
    yield from _of("run", run)
    yield from _of("run.tokens", run.tokens)
    for number, agent in enumerate(run.agents):
        for usage in (agent.own, agent.inclusive):
            yield from _of(f"run.agents[{number}]", usage)
        yield from _of(f"run.agents[{number}]", agent)
    for number, step in enumerate(run.steps):
        yield from _of_step(f"run.steps[{number}]", step)


def _of_step(label: str, step: Step) -> Iterator[tuple[str, int]]:
    yield from _of(label, step)
    yield from _of(label, step.usage)


def _of(label: str, struct: msgspec.Struct) -> Iterator[tuple[str, int]]:
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, int) and not isinstance(value, bool):
            yield f"{label}.{name}", value
