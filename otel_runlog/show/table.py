"""Tables as lines of text. A width makes texts shorter and leaves columns out; a number is whole or not there."""

from __future__ import annotations

import enum
from collections.abc import Sequence

import msgspec
from rich.cells import cell_len, set_cell_size

GAP = "  "
_ELLIPSIS = "…"


class Fit(enum.Enum):
    """What may happen to a column that does not fit: nothing, or its texts are shortened."""

    WHOLE = enum.auto()
    SHORTEN = enum.auto()


class Column(msgspec.Struct, frozen=True):
    """One column.

    Attributes:
        title: what stands above it.
        right: numbers stand at the right.
        fit: whether its texts may be shortened.
        least: no shorter than this many cells.
        rank: columns of the highest rank are left out first where all cannot fit; 0 stays.
    """

    title: str
    right: bool = False
    fit: Fit = Fit.WHOLE
    least: int = 8
    rank: int = 0


class Cell(msgspec.Struct, frozen=True):
    """A text, already clean, and the style that a terminal shows it in."""

    text: str = ""
    style: str = ""


Line = tuple[Cell, ...]


class Laid(msgspec.Struct, frozen=True):
    """A table as lines, the titles first, and the titles of the columns that did not fit."""

    lines: list[Line]
    left_out: list[str]


def lay_out(columns: Sequence[Column], rows: Sequence[Sequence[Cell]], width: int | None = None) -> Laid:
    """Lay a table out in `width` cells; None leaves every text whole."""
    needed = [_widest(column, [row[i] for row in rows]) for i, column in enumerate(columns)]
    kept = list(range(len(columns)))
    if width is not None:
        kept = _that_fit(columns, needed, width)
        needed = _shrunk(columns, needed, kept, width)
    chosen = [(columns[i], needed[i], i) for i in kept]
    titles = [Cell(column.title, "bold") for column in columns]
    return Laid(
        lines=[_line([(c, w, row[i]) for c, w, i in chosen]) for row in (titles, *rows)],
        left_out=[column.title for i, column in enumerate(columns) if i not in kept],
    )


def cut(line: Sequence[Cell], width: int) -> Line:
    """A line in at most `width` cells."""
    kept: list[Cell] = []
    left = width
    for cell in line:
        kept.append(Cell(shortened(cell.text, left), cell.style))
        left -= cell_len(kept[-1].text)
    return tuple(kept)


def shortened(text: str, width: int) -> str:
    """A text in at most `width` cells, with a sign that it was longer."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + _ELLIPSIS if width > 0 else ""


def _widest(column: Column, cells: Sequence[Cell]) -> int:
    return max(cell_len(text) for text in (column.title, *(cell.text for cell in cells)))


def _that_fit(columns: Sequence[Column], needed: Sequence[int], width: int) -> list[int]:
    """Which columns stay: the highest rank goes until the rest fits at its shortest."""
    kept = list(range(len(columns)))
    while sum(_shortest(columns[i], needed[i]) for i in kept) + len(GAP) * (len(kept) - 1) > width:
        last = max(kept, key=lambda i: (columns[i].rank, i))
        if columns[last].rank == 0:
            break
        kept.remove(last)
    return kept


def _shortest(column: Column, needed: int) -> int:
    return needed if column.fit is Fit.WHOLE else min(needed, max(column.least, cell_len(column.title)))


def _shrunk(columns: Sequence[Column], needed: Sequence[int], kept: Sequence[int], width: int) -> list[int]:
    """Take the cells that are too many from the columns that can be shortened, always from the widest."""
    widths = list(needed)
    too_many = sum(widths[i] for i in kept) + len(GAP) * (len(kept) - 1) - width
    for _ in range(max(too_many, 0)):
        can = [i for i in kept if widths[i] > _shortest(columns[i], needed[i])]
        if not can:
            break
        widths[max(can, key=lambda i: widths[i])] -= 1
    return widths


def _line(cells: Sequence[tuple[Column, int, Cell]]) -> Line:
    """The cells with gaps between them and nothing behind the last that says something."""
    line: list[Cell] = []
    for column, width, cell in cells:
        line += [Cell(_fitted(cell.text, width, column), cell.style), Cell(GAP)]
    while line and not line[-1].text.strip():
        line.pop()
    if line:
        line[-1] = Cell(line[-1].text.rstrip(), line[-1].style)
    return tuple(line)


def _fitted(text: str, width: int, column: Column) -> str:
    text = shortened(text, width)
    padding = " " * (width - cell_len(text))
    return padding + text if column.right else text + padding
