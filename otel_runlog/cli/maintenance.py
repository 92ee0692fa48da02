"""`otel-runlog compact` and `otel-runlog gc`."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from otel_runlog.cli.opened import load_pending, patience_s
from otel_runlog.cli.options import Bytes, Moment, db_option
from otel_runlog.cli.progress import progress_line
from otel_runlog.maintenance import GcReport
from otel_runlog.maintenance import compact as compact_store
from otel_runlog.maintenance import gc as collect_old
from otel_runlog.show import text
from otel_runlog.show.maintenance import compacted, contents, gone

if TYPE_CHECKING:
    from otel_runlog.captures.keeping import CapturesGone


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


@click.command(epilog="Example: otel-runlog gc --older-than 90d --keep-runs 1000 --captures-max-bytes 2GB --yes")
@click.option(
    "--older-than", metavar="AGE", type=Moment(), help="Runs that are so old: 90d, 12w, or a day: 2026-08-01."
)
@click.option("--keep-runs", type=click.IntRange(min=0), default=0, help="So many of the newest runs stay anyway.")
@click.option("--captures-older-than", metavar="AGE", type=Moment(), help="Captures that are so old.")
@click.option(
    "--captures-keep", metavar="N", type=click.IntRange(min=0), help="All captures but so many of the newest."
)
@click.option("--captures-max-bytes", metavar="SIZE", type=Bytes(), help="The oldest captures over this: 2GB, 512MiB.")
@click.option("--dry-run", is_flag=True, help="Count what would be removed, and remove nothing.")
@click.option("--yes", is_flag=True, help="Do not ask. Needed where there is no terminal to ask on.")
@db_option
@click.pass_context
def gc(  # noqa: PLR0917 - one argument an option
    ctx: click.Context,
    older_than: dt.datetime | None,
    keep_runs: int,
    captures_older_than: dt.datetime | None,
    captures_keep: int | None,
    captures_max_bytes: int | None,
    *,
    dry_run: bool,
    yes: bool,
    db: Path,
) -> None:
    """Remove old runs for good, with their spans, log records and messages, or old captures.

    A run is as old as its last sign. One that shares a trace with a younger run stays; the newest --keep-runs stay.
    Captures stay when their runs go, and replay without them; they go by limits of their own, unless they are pinned
    (see `capture`).
    """
    limits = CaptureLimits(captures_older_than, captures_keep, captures_max_bytes)
    if older_than is None and not limits.are_any:
        raise click.UsageError("nothing says what is old: --older-than for runs, --captures-... for captures", ctx)
    if not (dry_run or yes or _can_ask()):
        raise click.UsageError(
            "nobody can be asked here: --dry-run counts what would be removed, --yes removes it", ctx
        )
    load_pending(db)
    work = _Collecting(db, older_than, keep_runs, limits)
    if not yes:
        found, is_anything = work.count()
        click.echo(f"{found} would be removed from {text.clean(str(db))}")
        if dry_run or not is_anything:
            return
        click.confirm("Remove them for good?", abort=True)
    click.echo(f"{work.remove()} removed from {text.clean(str(db))}")


class CaptureLimits(NamedTuple):
    """The limits on captures; None where there is none."""

    older_than: dt.datetime | None
    keep: int | None
    max_bytes: int | None

    @property
    def are_any(self) -> bool:
        """Whether there is any limit."""
        return any(limit is not None for limit in self)


class _Collecting:
    """What is to be removed from a store: runs, captures, or both."""

    def __init__(self, db: Path, older_than: dt.datetime | None, keep_runs: int, limits: CaptureLimits) -> None:
        self._db, self._older_than, self._keep_runs, self._limits = db, older_than, keep_runs, limits

    def count(self) -> tuple[str, bool]:
        """What would be removed, and whether that is anything."""
        runs, captures = self._collect(dry_run=True)
        is_anything = (runs is not None and runs.is_anything) or (captures is not None and bool(captures.run_ids))
        return _said(runs, captures), is_anything

    def remove(self) -> str:
        """Remove it; what that was."""
        return _said(*self._collect(dry_run=False))

    def _collect(self, *, dry_run: bool) -> tuple[GcReport | None, CapturesGone | None]:
        captures = self._captures(dry_run=dry_run) if self._limits.are_any else None
        if self._older_than is None:
            return None, captures
        with progress_line() as say:
            runs = collect_old(
                self._db,
                self._older_than,
                keep_runs=self._keep_runs,
                dry_run=dry_run,
                on_turn=lambda so_far: say(f"{text.count(so_far.runs)} runs {'found' if dry_run else 'removed'}"),
                timeout_s=patience_s(self._db),
            )
        return runs, captures

    def _captures(self, *, dry_run: bool) -> CapturesGone:
        from otel_runlog.captures.keeping import gc_captures
        from otel_runlog.store.duckdb_store import DuckDBRunLogStore

        store = DuckDBRunLogStore(self._db, timeout_s=patience_s(self._db))
        older_than, keep, max_bytes = self._limits
        return gc_captures(store, older_than=older_than, keep=keep, max_bytes=max_bytes, dry_run=dry_run)


def _said(runs: GcReport | None, captures: CapturesGone | None) -> str:
    return ", ".join([*([contents(runs)] if runs else []), *([gone(captures)] if captures else [])])


def _can_ask() -> bool:
    return sys.stdin.isatty()
