"""Rows for programs, in the format that was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import click

from otel_runlog.cli.options import Format
from otel_runlog.show.data import Record, to_csv, to_json_array


def write_rows(form: Format, columns: Sequence[str], records: Sequence[Record]) -> None:
    """Write records as one JSON array or as CSV."""
    click.echo(to_csv(columns, records) if form is Format.CSV else to_json_array(records))
