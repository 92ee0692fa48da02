"""`otel-runlog tail`."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import click

from otel_runlog.cli.opened import reading
from otel_runlog.cli.options import TableOrJson, db_option, table_or_json_option
from otel_runlog.errors import ServerError, StoreLockedError
from otel_runlog.model import RunLog, RunLogQuery, RunStatus
from otel_runlog.show.data import to_json
from otel_runlog.show.records import run_record
from otel_runlog.show.screen import Screen
from otel_runlog.show.tail import show_finished

EVERY_S: Final = 1.0
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

    JSON is one object a line. Without a server the store is opened for a moment every second.
    """
    screen = Screen()
    query = RunLogQuery(agent=agent, session_id=session, limit=NEWEST)
    for run in finishing(lambda: _newest(db, query), lambda: time.sleep(EVERY_S)):
        if form is TableOrJson.TABLE:
            show_finished(screen, run)
        else:
            click.echo(to_json(run_record(run)))
        sys.stdout.flush()


def finishing(newest: Callable[[], list[RunLog]], pause: Callable[[], object]) -> Iterator[RunLog]:
    """The runs that finish from now on, the earliest end first; without end.

    Args:
        newest: gives the newest runs.
        pause: called between looking twice.
    """
    seen = {_ending(run) for run in newest()}
    while True:
        pause()
        found = [run for run in newest() if run.status is not RunStatus.RUNNING and _ending(run) not in seen]
        seen |= {_ending(run) for run in found}
        yield from sorted(found, key=lambda run: (run.finished_at is None, run.finished_at))


def _ending(run: RunLog) -> tuple[str, RunStatus]:
    """A late span may tell that a run ended otherwise: that is told too."""
    return run.run_id, run.status


def _newest(db: Path, query: RunLogQuery) -> list[RunLog]:
    """The newest runs; none, and a warning, while another process holds the store or the server starts anew."""
    try:
        with reading(db) as reader:
            return reader.runs(query)
    except (StoreLockedError, ServerError) as error:
        logger.warning("%s", error)
        return []
