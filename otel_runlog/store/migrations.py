"""Schema versions: what a file has, what this package needs, and the way from one to the other."""

from __future__ import annotations

import duckdb

from otel_runlog.errors import SchemaError, StoreError
from otel_runlog.store import statements
from otel_runlog.store.connection import StoreConnection
from otel_runlog.store.said import using_error

SCHEMA_VERSION = len(statements.SCHEMA_SCRIPTS)
_NO_STORE = (0, 0)


def is_current(connection: StoreConnection) -> bool:
    """Whether tables and views are those of this package, or those of a newer one that only added views.

    Raises:
        SchemaError: the tables are a newer version's, or the file is no runlog store.
    """
    schema, views = _versions(connection)
    return schema == SCHEMA_VERSION and views >= statements.VIEWS_VERSION


def migrate(connection: StoreConnection) -> None:
    """Take the store to this package's schema and views in one transaction, or not at all.

    Raises:
        SchemaError: as in `is_current`.
        StoreError: it could not be done, for want of space for instance; the store is as it was.
    """
    schema, views = _versions(connection)
    if schema == SCHEMA_VERSION and views >= statements.VIEWS_VERSION:
        return
    try:
        _migrate_from(connection, schema)
    except duckdb.Error as error:
        raise using_error(connection.path, error) from error


def _migrate_from(connection: StoreConnection, schema: int) -> None:
    with connection.transaction():
        for script in statements.SCHEMA_SCRIPTS[schema:]:
            connection.duck.execute(statements.schema_script(script))
        for view in statements.VIEWS:
            connection.duck.execute(statements.view(view))
        connection.rows("set_meta", {"key": "schema_version", "value": str(SCHEMA_VERSION)})
        connection.rows("set_meta", {"key": "views_version", "value": str(statements.VIEWS_VERSION)})


def _versions(connection: StoreConnection) -> tuple[int, int]:
    try:
        meta = {str(key): str(value) for key, value in connection.rows("meta")}
    except StoreError as error:
        if not isinstance(error.__cause__, duckdb.CatalogException):
            raise
        return _no_versions(connection)
    schema, views = _number(connection, meta, "schema_version"), _number(connection, meta, "views_version")
    if schema > SCHEMA_VERSION:
        raise SchemaError(
            f"{connection.path} has schema version {schema}, this otel-runlog knows versions up to {SCHEMA_VERSION}: "
            "upgrade otel-runlog, or choose another file"
        )
    return schema, views


def _number(connection: StoreConnection, meta: dict[str, str], key: str) -> int:
    if not (found := meta.get(key, "")).isdecimal():
        raise SchemaError(
            f"{connection.path} has a table `meta` with {found or 'nothing'!r} as its {key}: it is no otel-runlog "
            "store, or was changed by hand; it was left as it is, choose another file"
        )
    return int(found)


def _no_versions(connection: StoreConnection) -> tuple[int, int]:
    [(tables,)] = connection.rows("table_count")
    if tables:
        raise SchemaError(
            f"{connection.path} is a DuckDB database of something else ({tables} tables, none of them otel-runlog's) "
            "and was left as it is: choose another file"
        )
    return _NO_STORE
