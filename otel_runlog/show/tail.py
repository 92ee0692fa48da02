"""Runs as they finish, one a line."""

from __future__ import annotations

from otel_runlog.model import RunLog
from otel_runlog.show import cells, text
from otel_runlog.show.runs import short_id
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell

_STATUS_CELLS, _TIME_CELLS, _COST_CELLS = 10, 8, 9


def show_finished(screen: Screen, run: RunLog) -> None:
    """Show one run: when it ended, how, how long it took, what it cost, whose it is, and what it used."""
    status = cells.status(run.status)
    cost = cells.cost(run.cost_estimate)
    screen.short_line(
        Cell(text.moment(run.finished_at or run.started_at), "dim"),
        Cell(f"  {status.text:<{_STATUS_CELLS}}", status.style),
        Cell(f"  {text.duration(run.duration_ms):>{_TIME_CELLS}}"),
        Cell(f"  {cost.text:>{_COST_CELLS}}", cost.style),
        Cell(f"  {text.clean(short_id(run.run_id))}  ", "dim"),
        cells.plain(run.agent, "bold"),
        Cell(f"  {_used(run)}"),
        Cell(text.clean(f"  {run.status_message}") if run.status_message else "", status.style),
    )


def _used(run: RunLog) -> str:
    counts = (
        (run.llm_calls, "model"),
        (run.tool_calls, "tool"),
        (run.error_count, "failed"),
        (run.tokens.input_tokens, "in"),
        (run.tokens.output_tokens, "out"),
    )
    return ", ".join(f"{text.count(number)} {what}" for number, what in counts if number)
