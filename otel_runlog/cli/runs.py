"""`otel-runlog runs`, `show` and `sessions`."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Final, get_args

import click
import msgspec

from otel_runlog.cli.opened import reading
from otel_runlog.cli.options import (
    Format,
    Label,
    Moment,
    db_option,
    format_option,
)
from otel_runlog.cli.output import write_rows
from otel_runlog.model import RunLogQuery, RunStatus
from otel_runlog.show.data import to_json
from otel_runlog.show.records import RUN_FIELDS, STEP_FIELDS, run_record, run_with_steps, step_record
from otel_runlog.show.run import show_run
from otel_runlog.show.runs import show_runs, show_sessions
from otel_runlog.show.screen import Screen
from otel_runlog.store.details import Session
from otel_runlog.store.reader import RunOrder

TABLE_LIMIT: Final = 50
"""So many runs a table shows unless told otherwise; JSON and CSV have all."""
ORDERS: Final = get_args(RunOrder)


@click.command(epilog="Example: otel-runlog runs --agent planner --status failed --since 7d")
@click.option("--agent", metavar="NAME", help="Runs of this agent.")
@click.option("--status", type=click.Choice([str(status) for status in RunStatus]), help="Runs that ended so.")
@click.option("--session", metavar="ID", help="Runs of this session.")
@click.option("--label", "labels", type=Label(), multiple=True, help="Runs with this label, repeatable.")
@click.option("--since", type=Moment(), help="Runs that started then or later: 2h, 7d, 2026-11-05, ...")
@click.option("--until", type=Moment(), help="Runs that started earlier.")
@click.option("--limit", type=click.IntRange(min=0), help=f"At most so many.  [default: {TABLE_LIMIT} in a table]")
@click.option("--sort", type=click.Choice(ORDERS), default="started", show_default=True, help="The largest first.")
@format_option
@db_option
def runs(  # noqa: PLR0917 - one argument an option
    agent: str | None,
    status: str | None,
    session: str | None,
    labels: tuple[tuple[str, str], ...],
    since: dt.datetime | None,
    until: dt.datetime | None,
    limit: int | None,
    sort: RunOrder,
    form: Format,
    db: Path,
) -> None:
    """List runs, the newest first.

    Times are UTC. ~ stands before a cost that was estimated from a price table, ! before one that is not all.
    """
    shown = TABLE_LIMIT if limit is None else limit
    query = RunLogQuery(
        agent=agent,
        status=status,
        session_id=session,
        labels=dict(labels) or None,
        since=since,
        until=until,
        limit=shown + 1 if form is Format.TABLE else limit,
    )
    with reading(db) as reader:
        found = reader.runs(query, order=sort)
        previews = {} if form is Format.TABLE else reader.previews([run.run_id for run in found])
    if form is Format.TABLE:
        show_runs(Screen(), found[:shown], more=len(found) > shown)
    else:
        write_rows(form, RUN_FIELDS, [run_record(run, previews.get(run.run_id)) for run in found])


@click.command(epilog="Example: otel-runlog show last")
@click.argument("run", metavar="RUN")
@format_option
@db_option
def show(run: str, form: Format, db: Path) -> None:
    """Show one run: what it did, step by step, what that cost and what failed.

    RUN is the beginning of a run id, 4 characters or more, or `last`. JSON is one object, CSV has the steps.
    """
    with reading(db) as reader:
        found = reader.run(reader.find(run))
        parents = reader.parents(found.run_id) if form is Format.TABLE else {}
        previews = reader.previews([found.run_id]) if form is Format.JSON else {}
    if form is Format.CSV:
        write_rows(form, STEP_FIELDS, [step_record(step) for step in found.steps])
    elif form is Format.TABLE:
        show_run(Screen(), found, parents)
    else:
        click.echo(to_json(run_with_steps(found, previews.get(found.run_id))))


@click.command(epilog="Example: otel-runlog sessions --limit 10")
@click.option("--limit", type=click.IntRange(min=0), help="At most so many.")
@format_option
@db_option
def sessions(limit: int | None, form: Format, db: Path) -> None:
    """List sessions, the newest first: the conversations that runs belong to."""
    with reading(db) as reader:
        found = reader.sessions()[:limit]
    if form is Format.TABLE:
        show_sessions(Screen(), found)
    else:
        write_rows(form, Session.__struct_fields__, [msgspec.structs.asdict(session) for session in found])
