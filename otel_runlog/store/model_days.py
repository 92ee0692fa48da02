"""The model calls of a closed run added up by day and model: rows of `closed_models`."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import msgspec

from otel_runlog.model import CostStatus, Step, StepStatus
from otel_runlog.store.batch import RunVersion
from otel_runlog.store.columns import storable_usd, stored_usd
from otel_runlog.tree import MODEL_KINDS

DAY_NS = 86_400_000_000_000


class ModelDay(msgspec.Struct):
    """A row; the fields are the columns. What no call tells is None, and not 0."""

    run_id: str
    version: int
    day: int | None
    provider: str | None
    model: str | None
    calls: int = 0
    failed_calls: int = 0
    unpriced_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: Decimal | None = None
    durations_ns: list[int] = []

    def add(self, step: Step) -> None:
        """Count a call. Its cost counts as it is stored, so that sums of rows are sums of steps."""
        self.calls += 1
        self.failed_calls += step.status is StepStatus.FAILED
        self.unpriced_calls += step.cost.status is CostStatus.UNPRICED
        if (tokens := step.usage.input_tokens) is not None:
            self.input_tokens = (self.input_tokens or 0) + tokens
        if (tokens := step.usage.output_tokens) is not None:
            self.output_tokens = (self.output_tokens or 0) + tokens
        if (usd := storable_usd(step.cost.usd)) is not None:
            self.cost_usd = usd if self.cost_usd is None else self.cost_usd + usd
        if step.started_ns is not None and step.ended_ns is not None and step.ended_ns >= step.started_ns:
            self.durations_ns.append(step.ended_ns - step.started_ns)


def model_days(item: RunVersion) -> list[ModelDay]:
    """The counted model calls of a run by day, provider and model."""
    days: dict[tuple[int | None, str | None, str | None], ModelDay] = {}
    for step in item.run.steps:
        if step.counted and step.kind in MODEL_KINDS:
            key = (day_of(step.started_ns), step.provider, step.model)
            if key not in days:
                days[key] = ModelDay(item.run.run_id, item.version, *key)
            days[key].add(step)
    return list(days.values())


def day_of(at_ns: int | None) -> int | None:
    """The day of a time in UTC, from 1970-01-01."""
    return None if at_ns is None else at_ns // DAY_NS


def pack_model_days(item: RunVersion) -> Iterator[tuple[object, ...]]:
    """The rows of a run."""
    for day in model_days(item):
        *sums, usd, durations_ns = msgspec.structs.astuple(day)
        yield (*sums, stored_usd(usd), durations_ns or None)
