"""`otel-runlog capture`, `export`, `import` and `verify`."""

from __future__ import annotations

import enum
import os
from pathlib import Path
from typing import Final

import click

from otel_runlog.capture import Capture
from otel_runlog.captures.document import dumps, problems_of, read_capture, write_capture
from otel_runlog.captures.keeping import import_capture, load_capture, persist_capture
from otel_runlog.cli.group import ANSWER_IS_NO
from otel_runlog.cli.opened import load_pending, patience_s
from otel_runlog.cli.options import db_option
from otel_runlog.cli.progress import progress_line
from otel_runlog.errors import CaptureError, RunNotFoundError
from otel_runlog.show import text
from otel_runlog.show.captures import summary
from otel_runlog.store.duckdb_store import DuckDBRunLogStore


class Format(enum.StrEnum):
    """What a run can be exported as."""

    CAPTURE = "capture"


FORMATS: Final = tuple(map(str, Format))
LATER: Final = ("otlp", "session", "parquet", "text")
"""Formats that a later version will have (CONTRACT)."""


def _format(ctx: click.Context, option: click.Parameter, value: str) -> Format:
    if value in FORMATS:
        return Format(value)
    why = f"{value} is not written by this version yet" if value in LATER else f"{value!r} is no format"
    raise click.BadParameter(f"{why}, only {', '.join(FORMATS)}", ctx, option)


def _output(ctx: click.Context, option: click.Parameter, value: str | None) -> Path | None:
    """The file or folder to write to; None is stdout."""
    if value in (None, "-"):
        return None
    if value.endswith(os.sep) and not Path(value).is_dir():
        raise click.BadParameter(f"there is no folder {value}", ctx, option)
    return Path(value)


@click.command(epilog="Example: otel-runlog capture last --pin")
@click.argument("run", metavar="RUN")
@click.option("--pin/--unpin", "pinned", default=None, help="Whether `gc` leaves it, however old and large it is.")
@click.option("--memory-ref", metavar="TEXT", help="What the agent's memory was at the start, in your own words.")
@db_option
def capture(run: str, *, pinned: bool | None, memory_ref: str | None, db: Path) -> None:
    """Keep the capture of a run in the store: it replays after its spans are gone.

    RUN is the beginning of a run id, 4 characters or more, or `last`. A capture that was kept before is replaced.
    """
    kept = persist_capture(_opened(db), run, memory_ref=memory_ref, pinned=pinned)
    click.echo(f"{summary(kept)}, kept in {text.clean(str(db))}")


@click.command(epilog="Example: otel-runlog export last -o run.capture.json")
@click.argument("run", metavar="RUN")
@click.option(
    "--format", "form", metavar="[capture]", default=str(Format.CAPTURE), callback=_format, help="What is written."
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    callback=_output,
    help="A new file, or a folder: there it is called after the run.  [default: stdout, as is -]",
)
@click.option("--force", is_flag=True, help="Replace a file that is there.")
@db_option
def export(run: str, form: Format, output: Path | None, *, force: bool, db: Path) -> None:
    """Write a run as one file, which replays without a store.

    RUN is the beginning of a run id, 4 characters or more, or `last`. The file holds the prompts and answers of the
    run; only you can read it. A run that does not change gives the same bytes every time.
    """
    del form  # there is one
    found = load_capture(_opened(db), run)
    if output is None:
        click.echo(dumps(found), nl=False)
        return
    try:
        written = write_capture(output, found, replace=force)
    except CaptureError as error:
        is_there = isinstance(error.__context__, FileExistsError)
        raise CaptureError(f"{error}: --force replaces it" if is_there else str(error)) from error
    click.echo(f"{summary(found)}, written to {text.clean(str(written))}")


@click.command("import", epilog="Example: otel-runlog import run.capture.json")
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@db_option
@click.pass_context
def import_(ctx: click.Context, files: tuple[Path, ...], db: Path) -> None:
    """Keep the captures in files, each with its run: `runs`, `show` and `replay` find it.

    What is no capture, or one that does not fit together, is named and left out, the rest is kept, and the exit code
    is 1. A run that is there already stays as it is.
    """
    store = DuckDBRunLogStore(db, timeout_s=patience_s(db))
    refused = 0
    with progress_line() as say:
        for number, file in enumerate(files):
            say(f"{text.count(number)} of {text.count(len(files))} files read")
            try:
                found, outcome = import_capture(store, file)
            except CaptureError as error:
                refused += 1
                click.echo(text.clean(str(error)), err=True)
            else:
                click.echo(f"{summary(found)}, {outcome}")
    if refused:
        ctx.exit(ANSWER_IS_NO)


@click.command(epilog="Example: otel-runlog verify run.capture.json")
@click.argument("names", metavar="FILE|RUN...", nargs=-1, required=True)
@db_option
@click.pass_context
def verify(ctx: click.Context, names: tuple[str, ...], db: Path) -> None:
    """Check captures: their form, the digests of their contents, and their fingerprints, which are derived again.

    What is no file is looked for in the store. What is wrong is named, and the exit code is 1.
    """
    wrong = False
    for name in names:
        try:
            found = _named(name, db)
            problems = problems_of(found)
        except (CaptureError, RunNotFoundError) as error:
            problems = [str(error)]
        for problem in problems:
            click.echo(text.clean(problem if problem.startswith(name) else f"{name}: {problem}"), err=True)
        if not problems:
            click.echo(f"{text.clean(name)}: {summary(found)}")
        wrong = wrong or bool(problems)
    if wrong:
        ctx.exit(ANSWER_IS_NO)


def _named(name: str, db: Path) -> Capture:
    """The capture in a file of this name, else that of a run."""
    if Path(name).exists() or "/" in name or not db.exists():
        return read_capture(name)
    return load_capture(_opened(db), name)


def _opened(db: Path) -> DuckDBRunLogStore:
    """The store, with what is pending loaded into it.

    Raises:
        StoreError: there is none.
    """
    held_by = load_pending(db)
    return DuckDBRunLogStore(db, timeout_s=0.0 if held_by else patience_s(db))
