"""The list of runs, and the list of sessions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from otel_runlog.model import RunLog
from otel_runlog.show import cells, text
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell, Column, Fit
from otel_runlog.store.details import Session

SHORT_ID = 8
"""Digits of a run id that a list shows."""
_HASHED_ID = re.compile(r"[0-9a-f]{32}")


def short_id(run_id: str) -> str:
    """The digits that are enough of an id made by hashing; an id that somebody gave is shown whole."""
    return run_id[:SHORT_ID] if _HASHED_ID.fullmatch(run_id) else run_id


def _cost(run: RunLog) -> Cell:
    """What the run cost; nothing where there was nothing to price."""
    return cells.cost(run.cost_estimate) if run.llm_calls or run.step_count else Cell()


class _RunColumn(NamedTuple):
    column: Column
    cell: Callable[[RunLog], Cell]


RUN_COLUMNS = (
    _RunColumn(Column("RUN", fit=Fit.SHORTEN, least=SHORT_ID), lambda run: cells.plain(short_id(run.run_id))),
    _RunColumn(Column("AGENT", fit=Fit.SHORTEN, least=10), lambda run: cells.plain(run.agent)),
    _RunColumn(Column("STATUS"), lambda run: cells.status(run.status)),
    _RunColumn(Column("STARTED (UTC)", rank=4), lambda run: Cell(text.moment(run.started_at))),
    _RunColumn(Column("TIME", right=True, rank=2), lambda run: Cell(text.duration(run.duration_ms))),
    _RunColumn(Column("LLM", right=True, rank=6), lambda run: cells.count(run.llm_calls)),
    _RunColumn(Column("TOOL", right=True, rank=7), lambda run: cells.count(run.tool_calls)),
    _RunColumn(Column("TOKENS IN", right=True, rank=3), lambda run: cells.count(run.tokens.input_tokens)),
    _RunColumn(Column("OUT", right=True, rank=3), lambda run: cells.count(run.tokens.output_tokens)),
    _RunColumn(Column("COST", right=True), _cost),
    _RunColumn(Column("WARN", right=True, rank=5), lambda run: cells.few(len(run.warnings), "yellow")),
)
_COST = next(i for i, item in enumerate(RUN_COLUMNS) if item.column.title == "COST")


def show_runs(screen: Screen, runs: Sequence[RunLog], *, more: bool = False) -> None:
    """Show runs as a table; `more`: there are others that were not asked for."""
    if not runs:
        screen.note("no runs")
        return
    rows = [[item.cell(run) for item in RUN_COLUMNS] for run in runs]
    screen.table([item.column for item in RUN_COLUMNS], rows)
    for meaning in cells.marks_in(row[_COST] for row in rows):
        screen.note(meaning)
    if more:
        screen.note(f"more than {len(runs)} runs: --limit shows more")


SESSION_COLUMNS = (
    Column("SESSION", fit=Fit.SHORTEN, least=12),
    Column("USER", fit=Fit.SHORTEN, least=6, rank=1),
    Column("RUNS", right=True),
    Column("STARTED (UTC)", rank=3),
    Column("LAST END (UTC)", rank=4),
    Column("TOKENS IN", right=True, rank=2),
    Column("OUT", right=True, rank=2),
    Column("COST", right=True),
)


def show_sessions(screen: Screen, sessions: Sequence[Session]) -> None:
    """Show sessions as a table."""
    if not sessions:
        screen.note("no sessions: no run has a session id")
        return
    rows = [_session_row(session) for session in sessions]
    screen.table(SESSION_COLUMNS, rows)
    for meaning in cells.marks_in(row[-1] for row in rows):
        screen.note(meaning)


def _session_row(session: Session) -> list[Cell]:
    return [
        cells.plain(session.session_id),
        cells.plain(session.user_id),
        cells.count(session.run_count),
        Cell(text.moment(session.started_at)),
        Cell(text.moment(session.finished_at)),
        cells.count(session.input_tokens),
        cells.count(session.output_tokens),
        cells.amount(session.cost_usd, session.cost_status),
    ]
