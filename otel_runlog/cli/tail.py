"""`otel-runlog tail`."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click

from otel_runlog.cli.opened import asked, reading
from otel_runlog.cli.options import TableOrJson, db_option, table_or_json_option
from otel_runlog.errors import RunLogError, ServerError, StoreLockedError
from otel_runlog.model import RunLog, RunLogQuery, RunStatus
from otel_runlog.show.data import to_json
from otel_runlog.show.records import run_record
from otel_runlog.show.screen import Screen
from otel_runlog.show.tail import show_finished

EVERY_S: Final = 1.0
SERVED_EVERY_S: Final = 20
"""The longest that a server is waited for: what no span tells, such as the end of quiet runs, is seen then."""
NEWEST: Final = 500
"""So many of the newest runs are looked at every time; one that started before them is not seen to finish."""

logger = logging.getLogger("otel_runlog")


@click.command(epilog="Example: otel-runlog tail --agent planner")
@click.option("--agent", metavar="NAME", help="Runs of this agent.")
@click.option("--session", metavar="ID", help="Runs of this session.")
@table_or_json_option
@db_option
def tail(agent: str | None, session: str | None, form: TableOrJson, db: Path) -> None:
    """Print runs as they finish, one a line, until Ctrl-C.

    JSON is one object a line. A server tells when there is something new; without one the store is opened for a moment
    every second.
    """
    screen = Screen()
    query = RunLogQuery(agent=agent, session_id=session, limit=NEWEST)
    for run in finishing(lambda: _newest(db, query), Waiting(db)):
        if form is TableOrJson.TABLE:
            show_finished(screen, run)
        else:
            click.echo(to_json(run_record(run)))
        sys.stdout.flush()


def finishing(newest: Callable[[], list[RunLog] | None], pause: Callable[[], object]) -> Iterator[RunLog]:
    """The runs that finish from now on, the earliest end first; without end.

    Args:
        newest: gives the newest runs; None while they cannot be looked at.
        pause: called between looking twice.
    """
    while (before := newest()) is None:
        pause()
    seen = {_ending(run) for run in before}
    while True:
        pause()
        found = [run for run in newest() or () if run.status is not RunStatus.RUNNING and _ending(run) not in seen]
        seen |= {_ending(run) for run in found}
        yield from sorted(found, key=lambda run: (run.finished_at is None, run.finished_at))


class Waiting:
    """Waits until a run may have finished: until the server of a store says so, a second where there is none."""

    def __init__(self, db: Path) -> None:
        self._db = db
        self._seen: int | None = None

    def __call__(self) -> None:
        """Wait."""
        with contextlib.suppress(RunLogError):  # a server that ends; what it cannot be asked is told by the next look
            if (server := asked(self._db)) is not None:
                with server:
                    self._seen = server.finished(self._seen, SERVED_EVERY_S)
                return
        time.sleep(EVERY_S)


def _ending(run: RunLog) -> tuple[str, RunStatus]:
    """A late span may tell that a run ended otherwise: that is told too."""
    return run.run_id, run.status


def _newest(db: Path, query: RunLogQuery) -> list[RunLog] | None:
    """The newest runs; None, and a warning, while another process holds the store or the server starts anew."""
    try:
        with reading(db) as reader:
            return reader.runs(query)
    except (StoreLockedError, ServerError) as error:
        logger.warning("%s", error)
        return None
