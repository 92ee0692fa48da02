"""The floor of the store: what DuckDB takes for the columns that ours would write, and nothing around it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias
from unittest import mock

from otel_runlog.store.connection import StoreConnection, open_for_write

Commit: TypeAlias = list[tuple[str, Sequence[str], Sequence[Sequence[object]]]]
"""(table, names, columns) of each append in one transaction."""


def new_stores(folder: Path) -> Iterator[Path]:
    """Empty stores, as many as are asked for; made once and copied."""
    first = folder / "empty.duckdb"
    open_for_write(first).close()
    for number in itertools.count():
        store = folder / f"store-{number}.duckdb"
        shutil.copy(first, store)
        yield store


@contextmanager
def recorded() -> Iterator[list[Commit]]:
    """Gathers what any store appends meanwhile."""
    commits: list[Commit] = []
    append, transaction = StoreConnection.append_columns, StoreConnection.transaction

    def recording(
        store: StoreConnection, table: str, names: Sequence[str], columns: Sequence[Sequence[object]]
    ) -> None:
        commits[-1].append((table, names, columns))
        append(store, table, names, columns)

    def beginning(store: StoreConnection) -> AbstractContextManager[None]:
        commits.append([])
        return transaction(store)

    with mock.patch.multiple(StoreConnection, append_columns=recording, transaction=beginning):
        yield commits


def append_bare(
    db: Path,
    commits: Sequence[Commit],
    *,
    appending: AbstractContextManager[None] | None = None,
    closing: AbstractContextManager[None] | None = None,
) -> None:
    """Append to a new store with the same schema, inside `appending`, and close it, inside `closing`."""
    store = open_for_write(db)
    with appending or nullcontext():
        for commit in commits:
            with store.transaction():
                for table, names, columns in commit:
                    store.append_columns(table, names, columns)
    with closing or nullcontext():
        store.close()
