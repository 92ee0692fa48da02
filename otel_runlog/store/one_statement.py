"""Whether a text is one SQL statement."""

from __future__ import annotations

import duckdb

from otel_runlog.errors import StoreError


def require_one_statement(sql: str) -> str:
    """The text, if it is exactly one statement.

    Raises:
        StoreError: it is none, several, or no SQL; the reason is DuckDB's.
    """
    with duckdb.connect(":memory:") as parser:
        try:
            statements = parser.extract_statements(sql)
        except duckdb.Error as error:
            raise StoreError(str(error)) from error
    if len(statements) != 1:
        raise StoreError(f"one SQL statement is answered at a time, not {len(statements)}")
    return sql
