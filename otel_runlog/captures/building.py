"""From a run and its messages to a capture. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Final

from otel_runlog.capture import Capture, CapturedLlm, PriceTableRef, RedactionRules
from otel_runlog.captures._calls import calls_of
from otel_runlog.captures._hashed import Readable
from otel_runlog.captures._told import NOTHING, Told
from otel_runlog.captures._tools import tools_of
from otel_runlog.llm_io import StepMessages
from otel_runlog.model import Content, LogRecord, RunLog, Span, utc
from otel_runlog.pricing import PriceTable
from otel_runlog.redaction import TOLD_AS, rules_of
from otel_runlog.runs import project_with_messages

MEMORY_REF: Final = "runlog.memory_ref"
"""The attribute by which an application says, on any span of a run, what the agent's memory was at the start."""
_RANKS: Final = {content: rank for rank, content in enumerate(Content)}


def captures_of(
    spans: Iterable[Span],
    *,
    logs: Iterable[LogRecord] = (),
    prices: PriceTable | None = None,
    now: dt.datetime | None = None,
    captured_at: dt.datetime | None = None,
    told: Told = NOTHING,
) -> list[Capture]:
    """A capture of each run in `spans`, oldest first; the arguments are those of `project`.

    Args:
        spans: in any order, repeated or not; what `read_otlp` gives brings its log records along.
        logs: log records that fill what spans lack.
        prices: the price table; default is genai-prices' data.
        now: with it, runs that were quiet for 15 minutes are `incomplete`; without it they stay `running`.
        captured_at: when the telemetry came in; None: when the run ended, for nothing else is known.
        told: what the application said of some of the calls; it wins over what their spans carry.
    """
    runs, messages = project_with_messages(spans, logs=logs, prices=prices, now=now)
    return [capture_of(run, messages, captured_at=captured_at or _end(run), told=told) for run in runs]


def _end(run: RunLog) -> dt.datetime:
    last = max((t for s in run.steps for t in (s.started_ns, s.ended_ns) if t is not None), default=0)
    return run.finished_at or utc(last) or dt.datetime.fromtimestamp(0, dt.UTC)


def capture_of(
    run: RunLog,
    messages: StepMessages,
    *,
    captured_at: dt.datetime,
    memory_ref: str | None = None,
    redaction: RedactionRules | None = None,
    told: Told = NOTHING,
) -> Capture:
    """The capture of one run.

    Args:
        run: as `project` gives it.
        messages: those of its steps, with their spans.
        captured_at: when the newest of its telemetry came in, UTC.
        memory_ref: what the agent's memory was at the start; None: what a span of the run says (`runlog.memory_ref`).
        redaction: the rules by which the telemetry was redacted; None: what its resources say (`runlog.redaction`).
        told: as for `captures_of`.
    """
    messages = Readable(messages)
    calls = calls_of(run, messages, told)
    return Capture(
        run_id=run.run_id,
        captured_at=captured_at,
        completeness=completeness_of(calls),
        run=run,
        llm_io=tuple(calls),
        tool_io=tuple(tools_of(run, messages, calls, told)),
        memory_ref=memory_ref or _memory_ref(run),
        price_table=_price_table(run),
        redaction=redaction or _redaction(run, messages),
    )


def completeness_of(calls: Iterable[CapturedLlm]) -> Content:
    """Of some model calls the least complete one's; `full` where there are none."""
    return max((call.completeness for call in calls), key=_RANKS.__getitem__, default=Content.FULL)


def _memory_ref(run: RunLog) -> str | None:
    said = run.attributes.get(MEMORY_REF)
    return said if isinstance(said, str) and said else None


def _price_table(run: RunLog) -> PriceTableRef | None:
    cost = run.cost_estimate
    return PriceTableRef(cost.table, cost.version) if cost and cost.table else None


def _redaction(run: RunLog, messages: StepMessages) -> RedactionRules | None:
    """The rules that the resource of a step says, the first that says any."""
    said = dict.fromkeys(s.resource.text(TOLD_AS) for step in run.steps if (s := messages.span_of(step)))
    return next((rules for text in said if (rules := rules_of(text))), None)
