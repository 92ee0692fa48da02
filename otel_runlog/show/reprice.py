"""What repricing changed, for people."""

from __future__ import annotations

from collections.abc import Sequence

from otel_runlog.reprice import CostChange, RepriceReport
from otel_runlog.show import cells, text
from otel_runlog.show.runs import short_id
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell, Column, Fit

COLUMNS = (
    Column("SPAN"),
    Column("RUN", rank=2),
    Column("MODEL", fit=Fit.SHORTEN, least=8),
    Column("COST BEFORE", right=True),
    Column("COST AFTER", right=True),
    Column("TABLE", fit=Fit.SHORTEN, least=8, rank=1),
)


def show_changes(screen: Screen, changes: Sequence[CostChange], number: int) -> None:
    """Show the first of so many changes as a table."""
    if not changes:
        return
    screen.table(COLUMNS, [_row(change) for change in changes])
    if number > len(changes):
        screen.note(f"and {text.count(number - len(changes))} more: --format json or csv has all")


def summary(report: RepriceReport, *, dry_run: bool) -> str:
    """One sentence on the whole."""
    changed = "would change" if dry_run else "changed"
    parts = (
        (report.kept, "keep an estimate that no table has a price for now"),
        (report.covered, "stay without a price, as another step of their run reports a cost"),
    )
    rest = "".join(f"; {text.count(number)} {what}" for number, what in parts if number)
    return (
        f"{text.count(report.steps)} steps priced again, {text.count(report.changed)} {changed} in "
        f"{text.count(report.runs_changed)} of {text.count(report.runs)} runs{rest}"
    )


def _row(change: CostChange) -> list[Cell]:
    return [
        cells.plain(change.span_id),
        cells.plain(short_id(change.run_id)),
        cells.plain(change.model),
        Cell(text.usd(change.cost_before) or "-"),
        Cell(text.usd(change.cost_after) or "-"),
        cells.plain(" ".join(filter(None, (change.price_table, change.price_version)))),
    ]
