"""The store as a command sees it: what is pending is loaded first, then it is open for reading."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_runlog.config import StoreConfig
from otel_runlog.errors import StoreError
from otel_runlog.journal.folder import journal_folder, segments

if TYPE_CHECKING:
    from otel_runlog.loader import Loader
    from otel_runlog.store.reader import StoreReader

PATIENCE_S: Final = 2.0
"""How long a command waits for another process to let go of the store (CONTRACT, CLI)."""


def load_pending(db: Path) -> str | None:
    """Load what lies in the journal. Returns why that could not be done, where another process holds the store.

    Raises:
        StoreError: there is neither a store nor a journal, or the store cannot be used.
    """
    pending = segments(journal_folder(db))
    if pending:
        return new_loader(db, StoreConfig.from_env().prices).turn(PATIENCE_S).held_by
    if not db.exists():
        raise StoreError(f"there is no store at {db}: --db names another one, `ingest` and `demo` make one")
    return None


def new_loader(db: Path, prices: Sequence[Path]) -> Loader:
    """A loader with the price tables that lie over the default one."""
    from otel_runlog.loader import Loader
    from otel_runlog.pricing import PriceTable

    return Loader(db, prices=PriceTable.load(prices) if prices else None)


@contextlib.contextmanager
def reading(db: Path) -> Iterator[StoreReader]:
    """The store with all that is pending, open for reading.

    Raises:
        StoreLockedError: another process holds it for longer than `PATIENCE_S`.
        StoreError: there is none, or it cannot be read.
    """
    held_by = load_pending(db)
    from otel_runlog.store.reader import StoreReader

    with StoreReader(db, timeout_s=0.0 if held_by else PATIENCE_S) as reader:
        yield reader
