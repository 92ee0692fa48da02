"""`otel-runlog ingest`."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import click

from otel_runlog.cli.group import ANSWER_IS_NO
from otel_runlog.cli.opened import new_loader, patience_s
from otel_runlog.cli.options import db_option, prices_option
from otel_runlog.ingest import IngestReport, rare_collections
from otel_runlog.ingest import ingest as ingest_files
from otel_runlog.show import text


@click.command(epilog="Example: otel-runlog ingest traces.jsonl.gz more/ --db runs.duckdb")
@click.argument("paths", metavar="PATH...", nargs=-1, required=True, type=click.Path(path_type=Path))
@db_option
@prices_option
@click.pass_context
def ingest(ctx: click.Context, paths: tuple[Path, ...], db: Path, prices: tuple[Path, ...]) -> None:
    """Load OTLP files, or all files of folders.

    OTLP/JSON lines as the Collector's file exporter writes them, JSON or protobuf bodies, gzip or zstd of any; traces
    and logs are told apart by content. What cannot be read is named, the rest is stored, and the exit code is 1.
    """
    with _bar() as progress, rare_collections():
        report = ingest_files(new_loader(db, prices), paths, progress, timeout_s=patience_s(db))
    for bad in report.bad:
        click.echo(f"{text.clean(bad.where)}: {text.clean(bad.reason)}", err=True)
    click.echo(_summary(report, db))
    if report.bad or report.rejected:
        ctx.exit(ANSWER_IS_NO)


def _summary(report: IngestReport, db: Path) -> str:
    parts = (
        (report.stored, "spans stored"),
        (report.duplicates, "duplicates"),
        (report.rejected, "spans rejected"),
        (report.logs, "log records"),
        (report.metrics_skipped, "metrics requests skipped"),
        (report.files_known, "files already loaded"),
        (len(report.bad), "inputs not read in full"),
    )
    always = f"{text.count(report.stored)} spans stored, {text.count(report.runs)} runs"
    rest = [f"{text.count(number)} {what}" for number, what in parts[1:] if number]
    return f"{', '.join((always, *rest))} in {text.clean(str(db))}"


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[IngestReport], None] | None]:
    """A progress bar over bytes, on a terminal only."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("loading", total=None)

        def show(report: IngestReport) -> None:
            spans = f"{text.count(report.spans)} spans"
            progress.update(task, completed=report.bytes_done, total=report.bytes_total, description=spans)

        yield show
