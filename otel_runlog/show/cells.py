"""The cells that several tables share: money with its marks, statuses in their colours, counts."""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal

from otel_runlog.model import Cost, CostStatus
from otel_runlog.show import text
from otel_runlog.show.table import Cell

STATUS_STYLES = {"failed": "red", "cancelled": "yellow", "incomplete": "yellow", "running": "cyan"}
"""By the status of a run or step; what is not here needs no colour."""

ESTIMATED, PARTIAL = "~", "!"
COST_MARKS = {
    CostStatus.ESTIMATED: ESTIMATED,
    CostStatus.MIXED: ESTIMATED,
    CostStatus.PARTIAL: PARTIAL,
    CostStatus.UNPRICED: PARTIAL,
}
MARK_MEANINGS = {
    ESTIMATED: f"{ESTIMATED} estimated from a price table",
    PARTIAL: f"{PARTIAL} not all calls have a price and usage: the cost is at least this",
}


def status(name: str) -> Cell:
    """A status in its colour."""
    return Cell(name, STATUS_STYLES.get(name, ""))


def cost(known: Cost | None) -> Cell:
    """An amount with the mark of where it comes from."""
    return Cell() if known is None else amount(known.usd, known.status)


def amount(usd: Decimal | None, cost_status: str | None) -> Cell:
    """An amount with the mark that its cost status has."""
    mark = COST_MARKS.get(CostStatus(cost_status), "") if cost_status else ""
    return Cell(mark + text.usd(usd), "yellow" if mark == PARTIAL else "")


def count(number: int | None) -> Cell:
    """A count."""
    return Cell(text.count(number))


def few(number: int, style: str = "") -> Cell:
    """A count of what is better absent: nothing where there is none."""
    return Cell(text.count(number), style) if number else Cell()


def plain(value: str | None, style: str = "") -> Cell:
    """A text from telemetry."""
    return Cell(text.clean(value or ""), style)


def marks_in(cells: Iterable[Cell]) -> list[str]:
    """What the marks mean that stand before these amounts."""
    found = {cell.text[:1] for cell in cells}
    return [meaning for mark, meaning in MARK_MEANINGS.items() if mark in found]
