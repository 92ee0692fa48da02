"""What a model costs, entry by entry, and which tables are in force."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from decimal import Decimal

import msgspec

from otel_runlog.pricing import PriceTable, Quote
from otel_runlog.pricing.genai import GenaiPrices
from otel_runlog.pricing.quotes import Source
from otel_runlog.pricing.rates import TokenRates
from otel_runlog.pricing.tables import OwnTable
from otel_runlog.show import cells, text
from otel_runlog.show.data import plain_decimal
from otel_runlog.show.screen import Screen
from otel_runlog.show.table import Cell, Column, Fit


class PriceRow(msgspec.Struct, frozen=True, kw_only=True):
    """The rates of one entry for requests of one size and service tier, in US dollars per 1M tokens.

    `factor` is what a service tier multiplies the entry's rates with, where the table has factors and no lists.
    """

    table: str
    version: str
    provider: str | None
    entry: str
    in_force: bool
    first_day: dt.date | None
    hours: str | None
    input_tokens: str | None = None
    service_tier: str | None = None
    factor: Decimal | None = None
    input: Decimal | None = None
    output: Decimal | None = None
    cache_read: Decimal | None = None
    cache_write_5m: Decimal | None = None
    cache_write_1h: Decimal | None = None
    reasoning: Decimal | None = None
    request: Decimal | None = None


class TableRow(msgspec.Struct, frozen=True):
    """A price table in force, the uppermost first."""

    table: str
    version: str
    entries: int | None


def price_rows(prices: PriceTable, provider: str | None, model: str, on: dt.date) -> list[PriceRow]:
    """Every entry for a model, the one in force on a UTC day first; none where no table has the model."""
    chosen = prices.lookup(provider, model, on)
    others = [quote for quote in prices.quotes(model) if not _is_same(quote, chosen)]
    rows = [] if chosen is None else list(_rows(chosen, in_force=True))
    return rows + [row for quote in others for row in _rows(quote, in_force=False)]


def _is_same(quote: Quote, chosen: Quote | None) -> bool:
    return chosen is not None and msgspec.structs.replace(chosen, tier_rates={}) == msgspec.structs.replace(
        quote, tier_rates={}
    )


def _rows(quote: Quote, *, in_force: bool) -> Iterator[PriceRow]:
    plain = PriceRow(
        table=quote.table,
        version=quote.version,
        provider=quote.provider,
        entry=quote.entry,
        in_force=in_force,
        first_day=quote.first_day,
        hours=quote.hours,
    )
    yield _priced(plain, quote.rates, request=quote.rates.request)
    for tier in quote.rates.tiers:
        sizes = f"{'>=' if tier.inclusive else '>'} {tier.threshold}"
        yield _priced(msgspec.structs.replace(plain, input_tokens=sizes), tier, request=quote.rates.request)
    for name, rates in quote.tier_rates.items():
        if rates == quote.rates:
            continue
        yield _priced(msgspec.structs.replace(plain, service_tier=name), rates, request=rates.request)
    for name, factor in quote.rates.service_tiers.items():
        yield msgspec.structs.replace(plain, service_tier=name, factor=factor)


def _priced(row: PriceRow, rates: TokenRates, *, request: Decimal | None) -> PriceRow:
    return msgspec.structs.replace(
        row,
        input=rates.input,
        output=rates.output,
        cache_read=rates.cache_read,
        cache_write_5m=rates.cache_write_5m,
        cache_write_1h=rates.cache_write_1h,
        reasoning=rates.reasoning,
        request=request,
    )


PRICE_COLUMNS = (
    Column("", rank=0),
    Column("PROVIDER", fit=Fit.SHORTEN, least=6),
    Column("ENTRY", fit=Fit.SHORTEN, least=10),
    Column("FROM", rank=1),
    Column("FOR", fit=Fit.SHORTEN, least=8),
    Column("INPUT", right=True),
    Column("OUTPUT", right=True),
    Column("CACHE READ", right=True, rank=2),
    Column("WRITE 5M", right=True, rank=3),
    Column("WRITE 1H", right=True, rank=4),
    Column("REASONING", right=True, rank=5),
    Column("A CALL", right=True, rank=6),
    Column("TABLE", fit=Fit.SHORTEN, least=8),
)


def show_prices(screen: Screen, rows: Sequence[PriceRow], on: dt.date) -> None:
    """Show the entries for a model as a table."""
    cut = [_cells(row) for row in rows]
    kept = [i for i, column in enumerate(PRICE_COLUMNS) if column.rank == 0 or any(row[i].text for row in cut)]
    screen.table([PRICE_COLUMNS[i] for i in kept], [[row[i] for i in kept] for row in cut])
    screen.note(f"US dollars per 1M tokens; * is in force on {on}, unless the telemetry names another provider")


def _cells(row: PriceRow) -> list[Cell]:
    style = "" if row.in_force else "dim"
    rates = (row.input, row.output, row.cache_read, row.cache_write_5m, row.cache_write_1h, row.reasoning, row.request)
    texts = (
        "*" if row.in_force else " ",
        row.provider or "any",
        row.entry,
        str(row.first_day or ""),
        _condition(row),
        *("" if rate is None else plain_decimal(rate) for rate in rates),
        f"{row.table} {row.version}",
    )
    return [cells.plain(value, style) for value in texts]


def _condition(row: PriceRow) -> str:
    """What a request must be for these rates to hold."""
    parts = (
        row.input_tokens and f"{row.input_tokens} input tokens",
        row.service_tier and f"tier {row.service_tier}",
        row.factor is not None and f"x {plain_decimal(row.factor)}",
        row.hours and f"{row.hours} UTC",
    )
    return " ".join(part for part in parts if part)


def table_rows(prices: PriceTable) -> list[TableRow]:
    """The tables in force."""
    return [TableRow(source.name, source.version, _entry_count(source)) for source in prices.sources]


def _entry_count(source: Source) -> int | None:
    if isinstance(source, OwnTable):
        return len(source.entries)
    if isinstance(source, GenaiPrices):
        from genai_prices.data import providers

        return sum(len(provider.models) for provider in providers)
    return None


TABLE_COLUMNS = (Column("TABLE", fit=Fit.SHORTEN), Column("VERSION", fit=Fit.SHORTEN), Column("ENTRIES", right=True))


def show_tables(screen: Screen, rows: Sequence[TableRow]) -> None:
    """Show the tables in force."""
    screen.table(
        TABLE_COLUMNS,
        [[cells.plain(row.table), cells.plain(row.version), Cell(text.count(row.entries))] for row in rows],
    )
    if len(rows) > 1:
        screen.note("the first table that has a model prices it")
