"""Rows that come batch by batch, and may be more than memory holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

import click
import msgspec

from otel_runlog.cli.options import Format
from otel_runlog.show.data import to_csv, to_json

RowT = TypeVar("RowT", bound=msgspec.Struct)


class RowStream(Generic[RowT]):
    """Writes records as one JSON array or as CSV; of a table it keeps the first rows and counts the rest.

    Args:
        form: how rows are written.
        columns: the names of the fields, in order.
        kept: so many rows are kept for a table.
    """

    def __init__(self, form: Format, columns: Sequence[str], kept: int) -> None:
        self._form, self._columns, self._limit = form, columns, kept
        self.kept: list[RowT] = []
        self.count = 0
        if form is Format.CSV:
            click.echo(to_csv(columns, ()))

    def write(self, rows: Sequence[RowT]) -> None:
        """Write some rows."""
        records = [msgspec.structs.asdict(row) for row in rows if self._form is not Format.TABLE]
        if self._form is Format.TABLE:
            self.kept += rows[: self._limit - len(self.kept)]
        elif records and self._form is Format.CSV:
            click.echo(to_csv(self._columns, records).split("\n", 1)[1])
        elif records:
            click.echo(",\n" if self.count else "[\n", nl=False)
            click.echo(",\n".join(map(to_json, records)), nl=False)
        self.count += len(rows)

    def end(self) -> None:
        """Write what comes after the last row."""
        if self._form is Format.JSON:
            click.echo("\n]" if self.count else "[]")
