"""The table, on a terminal and in a pipe, and the same as JSON."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

from .registry import Scenario
from .work import Outcome

COLUMNS = ("fault", "name", "what", "tried", "acknowledged", "lost", "doubled", "block ms", "memory MB", "s", "")
NUMBERS = frozenset({"tried", "acknowledged", "lost", "doubled", "block ms", "memory MB", "s"})


class Line(msgspec.Struct, frozen=True):
    """One scenario and what it showed, in `seconds`."""

    scenario: Scenario
    outcome: Outcome
    seconds: float

    def cells(self) -> tuple[str, ...]:
        """The line as text."""
        s, o = self.scenario, self.outcome
        return (
            ", ".join(map(str, s.faults)),
            s.name,
            s.what,
            f"{o.tried:,}",
            f"{o.acknowledged:,}",
            f"{o.lost:,}",
            f"{o.doubled:,}",
            f"{o.block_ms:.1f}",
            f"{o.growth_mb:.1f}",
            f"{self.seconds:.1f}",
            "; ".join([*(f"WRONG: {w}" for w in o.wrong), *o.notes]),
        )


def show(lines: Sequence[Line]) -> None:
    """Print the table: with colours on a terminal, plain elsewhere."""
    if sys.stdout.isatty():
        Console().print(_rich_table(lines))
    else:
        print("\n".join(_plain_table(lines)))


def _rich_table(lines: Sequence[Line]) -> Table:
    table = Table(header_style="bold")
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in NUMBERS else "left")
    for line in lines:
        table.add_row(*line.cells(), style=None if line.outcome.is_good else "red")
    return table


def _plain_table(lines: Sequence[Line]) -> list[str]:
    rows = [COLUMNS, *(line.cells() for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    return ["  ".join(_aligned(row, widths)).rstrip() for row in rows]


def _aligned(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    return [
        cell.rjust(width) if name in NUMBERS else cell.ljust(width)
        for name, cell, width in zip(COLUMNS, row, widths, strict=True)
    ]


def write_json(path: Path, lines: Sequence[Line]) -> None:
    """Write the same facts as JSON."""
    facts = [
        {
            "faults": line.scenario.faults,
            "name": line.scenario.name,
            **msgspec.structs.asdict(line.outcome),
            "seconds": line.seconds,
        }
        for line in lines
    ]
    path.write_bytes(msgspec.json.format(msgspec.json.encode(facts)) + b"\n")
