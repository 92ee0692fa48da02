"""What the doctor found, for people."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from otel_runlog.doctor import Examination, Finding, Journal
from otel_runlog.server_status import DestinationStatus, ServerStatus
from otel_runlog.show import cells, text
from otel_runlog.show.runs import short_id
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell, Column, Fit
from otel_runlog.store.health import Book, Service

SERVICE_COLUMNS = (
    Column("SERVICE", fit=Fit.SHORTEN, least=10),
    Column("RUNS", right=True),
    Column("IN A SESSION", right=True, rank=1),
    Column("MODEL CALLS", right=True),
    Column("WITH CONTENT", right=True),
    Column("WITH USAGE", right=True),
    Column("WITH COST", right=True),
    Column("CONVENTIONS", fit=Fit.SHORTEN, least=10, rank=2),
)
BOOK_COLUMNS = (
    Column("SOURCE", fit=Fit.SHORTEN, least=8),
    Column("RECEIVED", right=True),
    Column("STORED", right=True),
    Column("DUPLICATE", right=True),
    Column("CONFLICT", right=True),
    Column("SUPERSEDED", right=True),
    Column("REJECTED", fit=Fit.SHORTEN, least=8),
    Column("DROPPED", fit=Fit.SHORTEN, least=8),
)
_SHOWN_NAMES = 5


def show_examination(screen: Screen, found: Examination) -> None:
    """Show what is captured, what is missing and how to get it, the journal and the books."""
    screen.line(Cell("store    ", "dim"), f"{text.clean(found.db)}, {text.size(found.db_bytes)}")
    screen.line(Cell("journal  ", "dim"), _journal(found.journal))
    for path in found.journal.damaged:
        screen.line(Cell("damaged  ", "red"), text.clean(path))
    for path in found.journal.newer:
        screen.line(Cell("newer    ", "yellow"), f"{text.clean(path)}: upgrade otel-runlog to load it")
    for path in found.orphans:
        screen.line(Cell("orphan   ", "yellow"), f"{text.clean(path)}: the log of a store that is gone")
    if found.server is not None:
        _show_server(screen, found.server)
    screen.line()
    if found.services:
        screen.table(SERVICE_COLUMNS, [_service_row(service) for service in found.services])
    else:
        screen.note("nothing is recorded yet")
    screen.line()
    _show_findings(screen, found.findings)
    if found.books:
        screen.line()
        screen.table(BOOK_COLUMNS, [_book_row(book) for book in found.books])


def _journal(journal: Journal) -> str:
    if not journal.segments:
        return "nothing pending"
    written = f", {journal.living} being written" if journal.living else ""
    return f"{text.count(journal.segments)} segments, {text.size(journal.pending_bytes)}{written}"


def _show_server(screen: Screen, server: ServerStatus) -> None:
    state = "ready" if server.ready else "not ready"
    received, requests = text.count(server.totals["received"]), text.count(server.totals["requests"])
    lag = f", {server.load_lag_s:.1f} s behind" if server.load_lag_s else ""
    screen.line(Cell("server   ", "dim"), f"{state}, {received} spans and records in {requests} requests{lag}")
    for reason in server.reasons:
        screen.line(Cell("         ", "dim"), Cell(text.clean(reason), "yellow"))
    for destination in server.destinations:
        screen.line(Cell("forward  ", "dim"), _destination(destination))


def _destination(destination: DestinationStatus) -> Cell:
    parts = [f"{destination.name}: {text.count(destination.forwarded)} sent"]
    if destination.pending_bytes:
        parts.append(f"{text.size(destination.pending_bytes)} waiting")
    parts += [f"{text.count(number)} lost ({reason})" for reason, number in destination.dropped.items()]
    parts += [destination.error] if destination.error else []
    return Cell(text.clean(", ".join(parts)), "yellow" if destination.error or destination.dropped else "")


def _show_findings(screen: Screen, findings: Sequence[Finding]) -> None:
    if not findings:
        screen.line(Cell("Nothing is missing.", "green"))
        return
    for (what, setting), alike in itertools.groupby(findings, key=lambda finding: (finding.text, finding.setting)):
        screen.line(Cell(what, "yellow"))
        screen.line(Cell("  remedy  ", "dim"), setting)
        for finding in alike:
            screen.line(f"  {text.count(finding.number):>6}  {_where(finding)}")


def _where(finding: Finding) -> str:
    names = ", ".join(finding.names[:_SHOWN_NAMES]) + (", ..." if len(finding.names) > _SHOWN_NAMES else "")
    example = f"such as run {short_id(finding.example)}" if finding.example else ""
    parts = (finding.service or "without a service name", names, example)
    return text.clean("  ".join(part for part in parts if part))


def _service_row(service: Service) -> list[Cell]:
    return [
        cells.plain(service.service or "-"),
        cells.count(service.runs),
        cells.count(service.runs_with_session),
        cells.count(service.model_calls),
        _part(service.calls_with_content, service.model_calls),
        _part(service.calls_with_usage, service.model_calls),
        _part(service.calls_with_cost, service.model_calls),
        cells.plain(", ".join(service.conventions)),
    ]


def _part(number: int, of: int) -> Cell:
    return Cell(text.count(number), "" if number == of else "yellow")


def _book_row(book: Book) -> list[Cell]:
    counts = (book.received, book.stored, book.duplicate, book.conflict, book.superseded)
    return [cells.plain(book.source), *map(cells.count, counts), _reasons(book.rejected), _reasons(book.dropped)]


def _reasons(reasons: dict[str, int]) -> Cell:
    return cells.plain(", ".join(f"{text.count(spans)} {reason}" for reason, spans in reasons.items()), "yellow")
