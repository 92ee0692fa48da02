"""`otel-runlog reprice`."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

from otel_runlog.cli.opened import load_pending, patience_s
from otel_runlog.cli.options import Format, Moment, db_option, format_option, prices_option
from otel_runlog.cli.progress import progress_line
from otel_runlog.cli.streamed import RowStream
from otel_runlog.pricing import PriceTable
from otel_runlog.reprice import CostChange, RepriceReport
from otel_runlog.reprice import reprice as reprice_store
from otel_runlog.show import text
from otel_runlog.show.reprice import show_changes, summary
from otel_runlog.show.screen import Screen

TABLE_LIMIT: Final = 50
"""So many changes a table shows; JSON and CSV have all."""


@click.command(epilog="Example: otel-runlog reprice --prices acme.toml --since 2026-11-01 --dry-run")
@prices_option
@click.option("--since", type=Moment(), help="Only steps that started then or later: 7d, 2026-11-05, ...")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing: with --prices, a what-if.")
@format_option
@db_option
def reprice(prices: tuple[Path, ...], since: dt.datetime | None, *, dry_run: bool, form: Format, db: Path) -> None:
    """Estimate the cost of stored calls again, each with the prices of its day.

    Runs, agents and models follow; reported costs stay. An estimate stays too where no table has a price any more.
    Every change is a row of the view cost_changes, with the price table before and after. Done again, nothing changes.
    """
    table = PriceTable.load(prices)
    load_pending(db)
    rows = RowStream[CostChange](form, CostChange.__struct_fields__, TABLE_LIMIT)
    with progress_line() as say:

        def on_batch(changes: Sequence[CostChange], so_far: RepriceReport) -> None:
            rows.write(changes)
            say(f"{text.count(so_far.steps)} steps priced, {text.count(so_far.changed)} changed")

        report = reprice_store(db, table, since=since, dry_run=dry_run, on_batch=on_batch, timeout_s=patience_s(db))
    rows.end()
    if form is Format.TABLE:
        show_changes(Screen(), rows.kept, rows.count)
    click.echo(summary(report, dry_run=dry_run), err=form is not Format.TABLE)
