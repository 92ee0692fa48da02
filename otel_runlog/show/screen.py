"""Where answers go: a terminal, with styles and a width, or a pipe, which gets everything whole and plain."""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, TextIO

from otel_runlog.show.table import Cell, Column, Line, cut, lay_out

if TYPE_CHECKING:
    from rich.console import Console

_SHOWN_TITLES = 6


class Screen:
    """Writes lines of styled cells to a stream. Styles and the width count only where it is a terminal."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = sys.stdout if stream is None else stream

    @functools.cached_property
    def _console(self) -> Console | None:
        if not self._stream.isatty():
            return None
        from rich.console import Console

        return Console(file=self._stream, highlight=False, markup=False, emoji=False)

    @property
    def width(self) -> int | None:
        """How many cells a line may have; None where there is no limit."""
        return None if self._console is None else self._console.width

    @property
    def draws(self) -> bool:
        """Whether lines of box drawing may be used."""
        return self._console is not None and (self._stream.encoding or "").lower().replace("-", "") == "utf8"

    def line(self, *cells: Cell | str) -> None:
        """Write one line."""
        styled = [Cell(cell) if isinstance(cell, str) else cell for cell in cells]
        if self._console is None:
            self._stream.write("".join(cell.text for cell in styled) + "\n")
            return
        from rich.text import Text

        text = Text.assemble(*((cell.text, cell.style) for cell in styled))
        self._console.print(text, soft_wrap=True)

    def short_line(self, *cells: Cell) -> None:
        """Write one line, shortened where it would not fit."""
        self.line(*(cells if self.width is None else cut(cells, self.width)))

    def lines(self, lines: Sequence[Line]) -> None:
        """Write lines."""
        for line in lines:
            self.line(*line)

    def fits(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> bool:
        """Whether a table needs to leave no column out."""
        return not lay_out(columns, rows, self.width).left_out

    def table(self, columns: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> None:
        """Write a table that fits, and say which columns did not."""
        laid = lay_out(columns, rows, self.width)
        self.lines(laid.lines)
        if laid.left_out:
            self.note(f"no room for {_names(laid.left_out)}: widen the terminal, or use --format json")

    def note(self, text: str) -> None:
        """Write a remark on what stands above."""
        self.line(Cell(text, "dim"))


def _names(titles: Sequence[str]) -> str:
    shown = ", ".join(titles[:_SHOWN_TITLES])
    return shown if len(titles) <= _SHOWN_TITLES else f"{shown} and {len(titles) - _SHOWN_TITLES} more"
