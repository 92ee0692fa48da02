"""The store as a command sees it: what is pending is loaded first, then it is open for reading."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from otel_runlog.config import StoreConfig
from otel_runlog.errors import StoreError
from otel_runlog.journal.folder import journal_folder, segments
from otel_runlog.server.address import find

if TYPE_CHECKING:
    from otel_runlog.loader import Loader
    from otel_runlog.server.remote import RemoteReader
    from otel_runlog.server_status import ServerStatus
    from otel_runlog.store.reader import StoreReader

PATIENCE_S: Final = 2.0
"""How long a command waits for another process to let go of the store (CONTRACT, CLI)."""
SERVED_PATIENCE_S: Final = 35.0
"""How long it waits where a server lives: the longest question may take 30 s, and a turn of its loader 1 s."""


def load_pending(db: Path) -> str | None:
    """Load what lies in the journal. Returns why that could not be done, where another process holds the store.

    Raises:
        StoreError: there is neither a store nor a journal, or the store cannot be used.
    """
    pending = segments(journal_folder(db))
    if pending:
        return new_loader(db, StoreConfig.from_env().prices).turn(patience_s(db)).held_by
    if not db.exists():
        raise StoreError(f"there is no store at {db}: --db names another one, `ingest` and `demo` make one")
    return None


def new_loader(db: Path, prices: Sequence[Path]) -> Loader:
    """A loader with the price tables that lie over the default one."""
    from otel_runlog.loader import Loader
    from otel_runlog.pricing import PriceTable

    return Loader(db, prices=PriceTable.load(prices) if prices else None)


@contextlib.contextmanager
def reading(db: Path) -> Iterator[StoreReader | RemoteReader]:
    """The store with all that is pending, as its living server answers, else open for reading.

    Raises:
        StoreLockedError: another process holds it for longer than `PATIENCE_S`.
        StoreError: there is none, or it cannot be read.
        ServerError: its server does not answer.
    """
    with asked(db) or _opened(db) as reader:
        yield reader


def asked(db: Path) -> RemoteReader | None:
    """The server of a store; None where none lives, or none that listens: it is about to start, or to end."""
    address = find(db)
    if address is None or not address.http:
        return None
    from otel_runlog.server.remote import RemoteReader

    with contextlib.suppress(OSError):
        return RemoteReader(address, lambda: _opened(db))
    return None


def _opened(db: Path) -> StoreReader:
    held_by = load_pending(db)
    from otel_runlog.store.reader import StoreReader

    return StoreReader(db, timeout_s=0.0 if held_by else patience_s(db))


def server_status(db: Path) -> ServerStatus | None:
    """What the store's living server says of itself; None where there is none that listens.

    Raises:
        ServerError: it does not answer.
    """
    server = asked(db)
    if server is None:
        return None
    with server:
        return server.status()


def patience_s(db: Path) -> float:
    """How long to wait for another process to let go of the store; a server lets go of it after every turn."""
    return PATIENCE_S if find(db) is None else SERVED_PATIENCE_S
