"""OpenTelemetry metrics of finished runs.

| instrument | kind | unit | attributes |
|---|---|---|---|
| runlog.runs | counter | {run} | runlog.run.status, gen_ai.agent.name |
| runlog.run.duration | histogram | s | runlog.run.status, gen_ai.agent.name |
| runlog.run.tokens | counter | {token} | gen_ai.token.type, gen_ai.agent.name |
| runlog.run.cost | counter | USD | runlog.cost.status, gen_ai.agent.name |

A replay costs nothing, and what it asked was answered before: it counts among the runs alone.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from opentelemetry import metrics

from otel_runlog.containment import is_applications, warn
from otel_runlog.model import RunLog

REMEMBERED_RUNS: Final = 10_000
"""A run that is repaired by a late span finishes again; among so many it still counts once."""
TOKEN_TYPES: Final = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
"""`cache_read` and `cache_write` are part of `input`, `reasoning` of `output`."""


class RunMetrics:
    """Counts every finished run once. `record` never raises.

    Args:
        provider: where the instruments are made; None is the global one, also if it is set later.
    """

    def __init__(self, provider: metrics.MeterProvider | None = None) -> None:
        meter = metrics.get_meter("otel_runlog", meter_provider=provider)
        self._runs = meter.create_counter("runlog.runs", "{run}", "Finished runs")
        self._duration = meter.create_histogram("runlog.run.duration", "s", "From a run's start to its latest end")
        self._tokens = meter.create_counter("runlog.run.tokens", "{token}", "Tokens of finished runs")
        self._cost = meter.create_counter("runlog.run.cost", "USD", "Known cost of finished runs")
        self._seen: OrderedDict[str, None] = OrderedDict()

    def record(self, run: RunLog) -> None:
        """Count `run`, unless it was counted before."""
        if run.run_id in self._seen:
            return
        self._seen[run.run_id] = None
        if len(self._seen) > REMEMBERED_RUNS:
            self._seen.popitem(last=False)
        try:
            self._record(run)
        except BaseException as error:  # readers, views and exporters are the application's
            if is_applications(error):
                raise
            warn("cannot record the metrics of run %s: %r", run.run_id, error, exc_info=error)

    def _record(self, run: RunLog) -> None:
        agent = {"gen_ai.agent.name": run.agent} if run.agent else {}
        outcome = {"runlog.run.status": str(run.status), **agent}
        self._runs.add(1, outcome)
        if run.duration_ms is not None:
            self._duration.record(run.duration_ms / 1000, outcome)
        if run.replay_of is not None:
            return
        for name, field in TOKEN_TYPES.items():
            if count := getattr(run.tokens, field):
                self._tokens.add(count, {"gen_ai.token.type": name, **agent})
        cost = run.cost_estimate
        if cost is not None and cost.usd:
            self._cost.add(float(cost.usd), {"runlog.cost.status": str(cost.status), **agent})
