"""OTel metrics of finished runs."""

import datetime as dt
from decimal import Decimal

from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from otel_runlog.metrics import RunMetrics
from otel_runlog.model import Cost, CostStatus, RunLog, RunStatus, Usage

NOON = dt.datetime(2026, 11, 29, 12, tzinfo=dt.UTC)


def finished(run_id, **fields):
    fields = {
        "agent": "planner",
        "started_at": NOON,
        "finished_at": NOON + dt.timedelta(seconds=2.5),
        "tokens": Usage(input_tokens=100, output_tokens=20, reasoning_tokens=0),
        "cost_estimate": Cost(Decimal("0.25"), CostStatus.ESTIMATED),
        **fields,
    }
    return RunLog(run_id=run_id, **fields)


def measured(*runs):
    """(instrument, unit, attributes) -> value after recording the runs."""
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    metrics = RunMetrics(provider)
    for run in runs:
        metrics.record(run)
    found = {}
    data = reader.get_metrics_data()
    for metric in [m for r in (data.resource_metrics if data else []) for s in r.scope_metrics for m in s.metrics]:
        for point in metric.data.data_points:
            value = getattr(point, "value", None)
            key = (metric.name, metric.unit, *sorted(point.attributes.values()))
            found[key] = (point.count, point.sum) if value is None else value
    provider.shutdown()
    return found


def test_a_run_is_counted_with_duration_tokens_and_cost():
    assert measured(finished("r1")) == {
        ("runlog.runs", "{run}", "completed", "planner"): 1,
        ("runlog.run.duration", "s", "completed", "planner"): (1, 2.5),
        ("runlog.run.tokens", "{token}", "input", "planner"): 100,
        ("runlog.run.tokens", "{token}", "output", "planner"): 20,
        ("runlog.run.cost", "USD", "estimated", "planner"): 0.25,
    }


def test_a_replay_counts_as_a_run_and_served_no_tokens():
    assert measured(finished("r1", replay_of="r0")) == {
        ("runlog.runs", "{run}", "completed", "planner"): 1,
        ("runlog.run.duration", "s", "completed", "planner"): (1, 2.5),
    }


def test_a_repaired_run_that_finishes_again_counts_once():
    assert (
        measured(finished("r1"), finished("r1", status=RunStatus.FAILED))[
            ("runlog.runs", "{run}", "completed", "planner")
        ]
        == 1
    )


def test_what_is_unknown_is_not_recorded():
    unknown = finished("r1", agent=None, finished_at=None, tokens=Usage(), cost_estimate=None)
    assert measured(unknown) == {("runlog.runs", "{run}", "completed"): 1}


def test_runs_are_told_apart_by_status():
    found = measured(finished("r1"), finished("r2", status=RunStatus.FAILED))
    assert found[("runlog.runs", "{run}", "completed", "planner")] == 1
    assert found[("runlog.runs", "{run}", "failed", "planner")] == 1


def test_a_meter_that_raises_stays_inside(caplog):
    metrics = RunMetrics()
    metrics._runs = None
    metrics.record(finished("r1"))
    assert "cannot record the metrics of run r1" in caplog.text
