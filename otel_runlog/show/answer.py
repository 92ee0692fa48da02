"""The answer to a query: a table of whatever columns it has."""

from __future__ import annotations

import datetime as dt
import itertools
from collections.abc import Sequence
from decimal import Decimal

from otel_runlog.show import text
from otel_runlog.show.data import Json, Record, Value, plain_decimal, to_json
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell, Column, Fit

_NUMBERS = ("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "DECIMAL", "DOUBLE", "FLOAT", "UTINYINT")
_NUMBER_STARTS = (*_NUMBERS, "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT")


_PAIR = (Column("COLUMN"), Column("VALUE", fit=Fit.SHORTEN))


def unique_names(columns: Sequence[str]) -> list[str]:
    """The names of columns, a repeated one numbered as DuckDB does in tables: id, id_1, id_2."""
    names: dict[str, None] = {}
    for column in columns:
        numbered = (f"{column}_{number}" for number in itertools.count(1))
        names[next(name for name in itertools.chain([column], numbered) if name not in names)] = None
    return list(names)


def records(columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Value]]) -> list[Record]:
    """The rows by column name, JSON columns marked as such. Names must differ."""
    is_json = [kind == "JSON" for kind in types]
    return [
        {
            name: Json(str(v)) if json and v is not None else v
            for name, json, v in zip(columns, is_json, row, strict=True)
        }
        for row in rows
    ]


def show_answer(screen: Screen, columns: Sequence[str], types: Sequence[str], rows: Sequence[Sequence[Value]]) -> None:
    """Show the answer to a query as a table; one row that does not fit stands upright."""
    if not columns:
        return
    titles = [_column(name, kind) for name, kind in zip(columns, types, strict=True)]
    cells = [[_cell(name, v) for name, v in zip(columns, row, strict=True)] for row in rows]
    if len(rows) == 1 and not screen.fits(titles, cells):
        screen.table(_PAIR, [(Cell(title.title), cell) for title, cell in zip(titles, cells[0], strict=True)])
    else:
        screen.table(titles, cells)


def _column(name: str, kind: str) -> Column:
    number = kind.startswith(_NUMBER_STARTS) and not kind.endswith("]")
    return Column(text.clean(name), right=number, fit=Fit.WHOLE if number else Fit.SHORTEN, least=4, rank=1)


def _cell(name: str, value: Value) -> Cell:
    return Cell("" if value is None else text.clean(_text(name, value)))


def _text(name: str, value: Value) -> str:  # noqa: PLR0911 - one line a type
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value) if name.endswith("_ns") else text.count(value)
    if isinstance(value, Decimal):
        return text.usd(value) if name.endswith("_usd") else plain_decimal(value)
    if isinstance(value, float):
        return f"{value:,.6g}"
    if isinstance(value, dt.datetime):
        return value.isoformat(" ") if value.tzinfo is None else text.moment(value)
    if isinstance(value, (list, dict)):
        return to_json(value)
    return str(value)
