"""`otel-runlog serve`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import click
import msgspec

from otel_runlog.server.address import ServerAddress
from otel_runlog.server_config import ServerConfig

_Command = TypeVar("_Command", bound=Callable[..., Any])
_TABLE: Final = "__"
"""Stands for the dot of `sql.time_s`, which no name of an argument can have."""


class Setting(NamedTuple):
    """A key of the settings that is an option: its name, what its value is called, and what it does."""

    key: str
    value: str
    help: str
    is_flag: bool = False
    is_repeatable: bool = False


SETTINGS: Final = (
    Setting("db", "FILE", "The store.  [default: $OTEL_RUNLOG_DB, else runs.duckdb]"),
    Setting("grpc", "HOST:PORT", "Where OTLP/gRPC is served; port 0 is a free one, '' serves none."),
    Setting("http", "HOST:PORT", "Where OTLP/HTTP, SQL and /metrics are served."),
    Setting("prices", "FILE", "A price table over the default one.  [$OTEL_RUNLOG_PRICES]", is_repeatable=True),
    Setting("forward", "URL", "Where spans go on to: http(s)://, grpc(s)://, or a TOML table.", is_repeatable=True),
    Setting("token_file", "FILE", "Its first line is the token; it is made where it is not there."),
    Setting("insecure", "", "Serve addresses beyond loopback without a token.", is_flag=True),
    Setting("hosts", "NAME", "A name beside localhost's under which the server may be asked.", is_repeatable=True),
    Setting("redact", "", "Leave secrets out before anything is written.", is_flag=True),
    Setting("memory", "SIZE", "What the process may take, as in 512MiB."),
    Setting("max_request", "SIZE", "The largest request, also once decompressed."),
    Setting("max_spans_per_request", "N", "A request with more spans is refused."),
    Setting("max_attributes_per_span", "N", "A request with a span of more attributes is refused."),
    Setting("journal_max", "SIZE", "Over this the journal drops its oldest records."),
    Setting("load_every_s", "SECONDS", "What was received is queryable after this time."),
    Setting("sql.time_s", "SECONDS", "So long may a question over HTTP take."),
    Setting("sql.memory", "SIZE", "So much memory may it take."),
    Setting("sql.result", "SIZE", "So large may its answer be."),
    Setting("sql.concurrent", "N", "So many questions run at once."),
)
"""Every key of ServerConfig (a test holds it)."""


def _setting_options(command: _Command) -> _Command:
    for setting in reversed(SETTINGS):
        command = _option(setting)(command)
    return command


def _option(setting: Setting) -> Callable[[_Command], _Command]:
    name = "--" + setting.key.replace("_", "-").replace(".", "-")
    place = setting.key.replace(".", _TABLE)
    if setting.is_flag:
        return click.option(name, place, is_flag=True, default=None, help=setting.help)
    return click.option(name, place, metavar=setting.value, multiple=setting.is_repeatable, help=setting.help)


@click.command(epilog="Example: otel-runlog serve --db runs.duckdb --forward https://backend.example:4318")
@click.option("--config", "file", metavar="FILE", type=click.Path(path_type=Path), help="Settings in TOML.")
@_setting_options
@click.option("--print-config", is_flag=True, help="Print the settings as they would be used, and end.")
def serve(file: Path | None, *, print_config: bool, **given: Any) -> None:
    """Take OTLP from any SDK or Collector, keep runs, and send spans on.

    The first line of output is one JSON object with the addresses, once the server listens; what happens later is told
    on stderr. SIGTERM or Ctrl-C drains and ends it.
    """
    settings = {place.replace(_TABLE, "."): value for place, value in given.items() if value not in (None, ())}
    config = ServerConfig.load(file, settings)
    if print_config:
        click.echo(config.to_toml(), nl=False)
        return
    from otel_runlog.server.app import serve_until_told

    serve_until_told(config, _say)


def _say(address: ServerAddress) -> None:
    """The token stays in its file: output ends up in logs."""
    public = {name: getattr(address, name) for name in ("grpc", "http", "db", "pid")}
    click.echo(msgspec.json.encode(public).decode())
