"""`otel-runlog sql`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from otel_runlog.cli.opened import reading
from otel_runlog.cli.options import Format, db_option, format_option
from otel_runlog.cli.output import write_rows
from otel_runlog.show.answer import records, show_answer, unique_names
from otel_runlog.show.screen import Screen
from otel_runlog.store.one_statement import require_one_statement


@click.command(epilog='Example: otel-runlog sql "select agent, sum(cost_usd) as cost_usd from runs group by agent"')
@click.argument("query", metavar="QUERY")
@format_option
@db_option
def sql(query: str, form: Format, db: Path) -> None:
    """Answer one SQL statement over the views; `-` reads it from stdin.

    The views are runs, steps, llm_calls, tool_calls, agents, models, sessions, messages, spans, logs and books, and of
    captures captures, llm_io, tool_io and divergences. The store is open read-only.
    """
    statement = require_one_statement(sys.stdin.read() if query == "-" else query)
    with reading(db) as reader:
        answer = reader.query(statement)
    if form is Format.TABLE:
        show_answer(Screen(), answer.columns, answer.types, answer.rows)
    else:
        names = unique_names(answer.columns)
        write_rows(form, names, records(names, answer.types, answer.rows))
