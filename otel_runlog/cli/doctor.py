"""`otel-runlog doctor`."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec

from otel_runlog.cli.group import ANSWER_IS_NO
from otel_runlog.cli.opened import load_pending, patience_s, server_status
from otel_runlog.cli.options import TableOrJson, db_option, table_or_json_option
from otel_runlog.doctor import examine
from otel_runlog.show.data import to_json
from otel_runlog.show.doctor import show_examination
from otel_runlog.show.screen import Screen


@click.command(epilog="Example: otel-runlog doctor --db runs.duckdb")
@table_or_json_option
@db_option
@click.pass_context
def doctor(ctx: click.Context, form: TableOrJson, db: Path) -> None:
    """Check what is captured, what is missing, and what turns it on.

    Also shows what is pending in the journal and the books: where every received span went. The exit code is 1 while
    the journal has damaged segments.
    """
    load_pending(db)
    found = msgspec.structs.replace(examine(db, patience_s(db)), server=server_status(db))
    if form is TableOrJson.TABLE:
        show_examination(Screen(), found)
    else:
        click.echo(to_json(msgspec.to_builtins(found)))
    if not found.is_sound:
        ctx.exit(ANSWER_IS_NO)
