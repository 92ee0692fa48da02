"""The floor of the store: DuckDB's appender with the rows that ours would write, and nothing around it."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TypeAlias
from unittest import mock

from otel_runlog.store.connection import StoreConnection, open_for_write

Commit: TypeAlias = list[tuple[str, Sequence[str], list[Sequence[object]]]]
"""(table, columns, rows) of each append in one transaction."""


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
    append, transaction = StoreConnection.append, StoreConnection.transaction

    def recording(store: StoreConnection, table: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        kept = list(rows)
        commits[-1].append((table, columns, kept))
        append(store, table, columns, kept)

    def beginning(store: StoreConnection) -> AbstractContextManager[None]:
        commits.append([])
        return transaction(store)

    with mock.patch.multiple(StoreConnection, append=recording, transaction=beginning):
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
                for table, columns, rows in commit:
                    store.append(table, columns, rows)
    with closing or nullcontext():
        store.close()
