"""Options that several commands have, and the types of their values."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from otel_runlog.config import DB_VARIABLE, DEFAULT_DB, PRICES_VARIABLE, StoreConfig, require_db
from otel_runlog.errors import ConfigError
from otel_runlog.moment import moment
from otel_runlog.server_config import Size

_Command = TypeVar("_Command", bound=Callable[..., Any])


class Format(enum.StrEnum):
    """How rows are written."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


class TableOrJson(enum.StrEnum):
    """How an answer that is no list of rows is written."""

    TABLE = "table"
    JSON = "json"


def db_option(command: _Command) -> _Command:
    """`--db FILE`, handed on as `db: Path`."""
    return click.option(
        "--db",
        metavar="FILE",
        callback=lambda _ctx, _option, value: StoreConfig.from_env().db if value is None else path_of_db(value),
        help=f"The store.  [default: ${DB_VARIABLE}, else {DEFAULT_DB}]",
    )(command)


def format_option(command: _Command) -> _Command:
    """`--format table|json|csv`, handed on as `form`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice([str(form) for form in Format]),
        default=str(Format.TABLE),
        show_default=True,
        callback=lambda _ctx, _option, value: Format(value),
        help="How rows come out.",
    )(command)


def table_or_json_option(command: _Command) -> _Command:
    """`--format table|json`, handed on as `form`."""
    return click.option(
        "--format",
        "form",
        type=click.Choice([str(form) for form in TableOrJson]),
        default=str(TableOrJson.TABLE),
        show_default=True,
        callback=lambda _ctx, _option, value: TableOrJson(value),
        help="How the answer comes out.",
    )(command)


def prices_option(command: _Command) -> _Command:
    """`--prices FILE`, repeatable, handed on as `prices: tuple[Path, ...]`; without it $OTEL_RUNLOG_PRICES."""
    return click.option(
        "--prices",
        metavar="FILE",
        type=click.Path(path_type=Path),
        multiple=True,
        callback=lambda _ctx, _option, value: value or StoreConfig.from_env().prices,
        help=f"A price table over the default one, repeatable.  [default: ${PRICES_VARIABLE}]",
    )(command)


def path_of_db(value: str) -> Path:
    """The path of a store that was named.

    Raises:
        ConfigError: it is empty, or a store in memory.
    """
    return require_db(value)


class Moment(click.ParamType[dt.datetime]):
    """A time: ISO 8601, in UTC where it names no zone, or how long ago: 30m, 2h, 7d, 1w.

    Args:
        now: the clock.
    """

    name = "time"

    def __init__(self, now: Callable[[], dt.datetime] = lambda: dt.datetime.now(dt.UTC)) -> None:
        self._now = now

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> dt.datetime:
        """The time that a text means."""
        if isinstance(value, dt.datetime):
            return value
        try:
            return moment(value, self._now())
        except ConfigError as error:
            self.fail(str(error), param, ctx)


class Bytes(click.ParamType[int]):
    """A number of bytes, also with a unit: 512MiB, 2GB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number that a text means."""
        try:
            return Size.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class Label(click.ParamType[tuple[str, str]]):
    """A label, `key=value`."""

    name = "k=v"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        """The label's key and value."""
        if isinstance(value, tuple):
            return value
        key, equals, label = str(value).partition("=")
        if not (key and equals):
            self.fail(f"{value!r} is no label: write key=value", param, ctx)
        return key, label
