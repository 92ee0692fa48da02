"""Many rows at once by way of Arrow, where pyarrow is installed (the extra `fast`); the same rows are stored without.

Of a commit of 2,048 spans DuckDB's appender takes 55 us a span, this 29. Half of that is JSON: what the appender is
given it parses again.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import duckdb

MANY_ROWS = 512
"""For fewer the appender is as good, and importing pyarrow takes 30 ms."""
UNSTORABLE = (ValueError, TypeError, OverflowError)
"""What Arrow raises where a value is not of its column's type; Unicode errors are ValueErrors."""


def append(duck: duckdb.DuckDBPyConnection, table: str, names: Sequence[str], columns: Sequence[Sequence[Any]]) -> bool:
    """Append rows, given as all columns of a table in their order; False where they are few, or pyarrow is not there.

    JSON is stored as it is: it must be JSON.

    Raises:
        duckdb.Error: a value does not fit its column; no row of this call is kept.
        ValueError: as above; so do the others of `UNSTORABLE`.
    """
    if len(columns[0]) < MANY_ROWS or (pa := _pyarrow()) is None:
        return False
    types = _types(pa)
    kinds = [types.get(str(kind), types["VARCHAR"]) for kind in duck.table(table).types]
    arrays = [pa.array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    duck.from_arrow(pa.table(arrays, list(names))).insert_into(table)
    return True


@functools.cache
def _pyarrow() -> Any:
    """The library; None where it is not there, or a version before 19 that knows no JSON."""
    try:
        import pyarrow as pa
    except ImportError:
        return None
    return pa if hasattr(pa, "json_") else None


@functools.cache
def _types(pa: Any) -> dict[str, Any]:
    """Arrow's types by DuckDB's; of any other the values are texts, which DuckDB casts."""
    return {
        "VARCHAR": pa.string(),
        "JSON": pa.json_(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "BOOLEAN": pa.bool_(),
        "BLOB": pa.binary(),
        "VARCHAR[]": pa.list_(pa.string()),
    }
