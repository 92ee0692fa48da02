"""`otel-runlog prices`."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import click
import msgspec

from otel_runlog.cli.group import ANSWER_IS_NO
from otel_runlog.cli.opened import patience_s
from otel_runlog.cli.options import Format, Moment, format_option, path_of_db, prices_option
from otel_runlog.cli.output import write_rows
from otel_runlog.pricing import PriceTable
from otel_runlog.show import text
from otel_runlog.show.prices import PriceRow, TableRow, price_rows, show_prices, show_tables, table_rows
from otel_runlog.show.screen import Screen


@click.command(epilog="Example: otel-runlog prices gpt-4o-mini --on 2026-01-31")
@click.argument("model", metavar="[MODEL]", required=False)
@click.option("--provider", metavar="NAME", help="As the telemetry names it.")
@click.option("--db", metavar="FILE", help="Take the provider that most of the model's calls in this store name.")
@click.option("--on", type=Moment(), default="0s", help="The day that counts.  [default: today, UTC]")
@prices_option
@format_option
@click.pass_context
def prices(  # noqa: PLR0917 - one argument an option
    ctx: click.Context,
    model: str | None,
    provider: str | None,
    db: str | None,
    on: dt.datetime,
    prices: tuple[Path, ...],
    form: Format,
) -> None:
    """Show what a model costs, and which entry of which price table says so.

    Without MODEL the tables in force are shown. The exit code is 1 where no table has the model.
    """
    table = PriceTable.load(prices)
    if model is None:
        _write_tables(form, table_rows(table))
        return
    day = on.astimezone(dt.UTC).date()
    if provider is None and db is not None:
        provider = _provider_in(path_of_db(db), model)
    rows = price_rows(table, provider, model, day)
    if form is not Format.TABLE:
        write_rows(form, PriceRow.__struct_fields__, [msgspec.structs.asdict(row) for row in rows])
    elif rows:
        show_prices(Screen(), rows, day)
    if not rows:
        click.echo(
            f"error: no price table has {text.clean(model)}: name it in one of your own, --prices FILE", err=True
        )
        ctx.exit(ANSWER_IS_NO)


def _provider_in(db: Path, model: str) -> str | None:
    from otel_runlog.store.details import provider_of_model

    return provider_of_model(db, model, patience_s(db))


def _write_tables(form: Format, rows: list[TableRow]) -> None:
    if form is Format.TABLE:
        show_tables(Screen(), rows)
    else:
        write_rows(form, TableRow.__struct_fields__, [msgspec.structs.asdict(row) for row in rows])
