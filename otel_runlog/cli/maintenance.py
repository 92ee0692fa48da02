"""`otel-runlog compact` and `otel-runlog gc`."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path

import click

from otel_runlog.cli.opened import load_pending, patience_s
from otel_runlog.cli.options import Moment, db_option
from otel_runlog.cli.progress import progress_line
from otel_runlog.maintenance import compact as compact_store
from otel_runlog.maintenance import gc as collect_old
from otel_runlog.show import text
from otel_runlog.show.maintenance import compacted, contents


@click.command(epilog="Example: otel-runlog compact --db runs.duckdb")
@db_option
def compact(db: Path) -> None:
    """Remove from the store what no longer counts: earlier versions of runs.

    Every view answers as before. It works in turns of less than a second and lets others have the store in between.
    DuckDB cuts a file only at its end; what is free inside is used again before the file grows.
    """
    load_pending(db)
    with progress_line() as say:
        report = compact_store(
            db, on_turn=lambda so_far: say(f"{text.count(so_far.steps)} steps removed"), timeout_s=patience_s(db)
        )
    click.echo(compacted(report))


@click.command(epilog="Example: otel-runlog gc --older-than 90d --keep-runs 1000 --yes")
@click.option("--older-than", metavar="AGE", type=Moment(), required=True, help="90d, 12w, or a day: 2026-08-01.")
@click.option("--keep-runs", type=click.IntRange(min=0), default=0, help="So many of the newest runs stay anyway.")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal to ask on.")
@db_option
@click.pass_context
def gc(ctx: click.Context, older_than: dt.datetime, keep_runs: int, *, dry_run: bool, yes: bool, db: Path) -> None:
    """Remove old runs for good, with their spans, log records and messages.

    A run is as old as its last sign. One that shares a trace with a younger run stays; the newest --keep-runs stay.
    """
    if not (dry_run or yes or _can_ask()):
        raise click.UsageError(
            "nobody can be asked here: --dry-run counts what would be removed, --yes removes it", ctx
        )
    load_pending(db)
    if not yes:
        found = collect_old(db, older_than, keep_runs=keep_runs, dry_run=True, timeout_s=patience_s(db))
        click.echo(f"{contents(found)} would be removed from {text.clean(str(db))}")
        if dry_run or not found.is_anything:
            return
        click.confirm("Remove them for good?", abort=True)
    with progress_line() as say:
        report = collect_old(
            db,
            older_than,
            keep_runs=keep_runs,
            on_turn=lambda so_far: say(f"{text.count(so_far.runs)} runs removed"),
            timeout_s=patience_s(db),
        )
    click.echo(f"{contents(report)} removed from {text.clean(str(db))}")


def _can_ask() -> bool:
    return sys.stdin.isatty()
