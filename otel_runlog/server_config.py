"""The server's settings: one TOML file, every key of it an option of `otel-runlog serve` too.

    db = "runs.duckdb"
    http = "127.0.0.1:4318"
    memory = "512MiB"

    [sql]
    time_s = 30

    [[forward]]
    url = "https://backend.example:4318"
    headers = { authorization = "Bearer ${env:BACKEND_TOKEN}" }

Paths are taken as they stand, `${env:NAME}` in any text is that variable's value. Options win over the file.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec

from otel_runlog.config import JOURNAL_MAX_BYTES, LONGEST_S, DestinationConfig, StoreConfig, expand, require_db
from otel_runlog.errors import ConfigError

GRPC_BIND: Final = "127.0.0.1:4317"
HTTP_BIND: Final = "127.0.0.1:4318"
"""OTLP's ports (OTLP 1.11, default ports), on loopback (DESIGN rule 10)."""
_MIB: Final = 1 << 20
SMALLEST_MEMORY_BYTES: Final = 192 * _MIB
"""Python, grpc, DuckDB and one batch take about 150 MiB; below this nothing would ever be accepted."""
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?)\s*(B|KIB|MIB|GIB|KB|MB|GB)?", re.IGNORECASE | re.ASCII)
_UNITS: Final = {"B": 1, "KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
_PORT_LIMIT: Final = 65536


class Size(int):
    """A number of bytes; in files and options also with a unit, as in "512MiB" or "1.5GB"."""

    @classmethod
    def parse(cls, value: object) -> Size:
        """The size that a number or a text means.

        Raises:
            ValueError: it means none, or nothing above 0.
        """
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return cls(value)
        found = _SIZE.fullmatch(value.strip()) if isinstance(value, str) else None
        size = float(found[1]) * _UNITS[(found[2] or "B").upper()] if found else 0
        if size < 1:
            raise ValueError(f"{value!r} is no size: write a number of bytes, or one with a unit as in 512MiB")
        return cls(size)

    def __str__(self) -> str:
        """The size with the largest unit that leaves a whole number."""
        for unit in ("GiB", "MiB", "KiB"):
            if self % _UNITS[unit.upper()] == 0:
                return f"{self // _UNITS[unit.upper()]}{unit}"
        return f"{int(self)}B"


class SqlConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one question over HTTP may take (CONTRACT: 30 s, 1 GiB, one statement).

    Attributes:
        time_s: so long may it run.
        memory: so much may its process take, DuckDB and Python included.
        result: so large may its answer be.
        concurrent: so many run at once; more wait.
    """

    time_s: float = 30.0
    memory: Size = Size(1 << 30)
    result: Size = Size(64 * _MIB)
    concurrent: int = 2


class ServerConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`otel-runlog serve`.

    Attributes:
        db: the store's file; the journal lies beside it.
        prices: price tables that lie over the default one, the first match wins.
        grpc: where OTLP/gRPC is served, host:port; port 0 picks a free one, an empty text serves none.
        http: where OTLP/HTTP and all else is served, as `grpc`.
        token_file: its first line is the token; it is made, 0600, where it is not there.
        insecure: serve addresses beyond loopback without a token.
        hosts: names beside localhost's under which the server may be asked (the Host header).
        memory: what the process may take: requests are refused for a while before it is more.
        max_request: the largest request, before and after it is decompressed.
        max_spans_per_request: a request with more is refused whole.
        max_attributes_per_span: a request with a span that has more is refused whole.
        redact: secrets are left out before anything is written (see otel_runlog.redaction).
        journal_max: over this the journal drops its oldest records, and counts them.
        load_every_s: what was received is queryable after this time, while the store can be had.
        sql: what one question may take.
        forward: where spans go on to.
    """

    db: Path
    prices: tuple[Path, ...] = ()
    grpc: str = GRPC_BIND
    http: str = HTTP_BIND
    token_file: Path | None = None
    insecure: bool = False
    hosts: tuple[str, ...] = ()
    memory: Size = Size(512 * _MIB)
    max_request: Size = Size(64 * _MIB)
    max_spans_per_request: int = 100_000
    max_attributes_per_span: int = 10_000
    redact: bool = False
    journal_max: Size = Size(JOURNAL_MAX_BYTES)
    load_every_s: float = 0.5
    sql: SqlConfig = SqlConfig()
    forward: tuple[DestinationConfig, ...] = ()

    @classmethod
    def load(
        cls,
        file: Path | None = None,
        given: Mapping[str, object] | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> ServerConfig:
        """Put the settings together: what is given, else the file's, else the environment's, else the default.

        Args:
            file: a TOML file.
            given: by key; keys of tables as `sql.time_s`. A destination may be a URL, or a TOML table as text.
            environ: for OTEL_RUNLOG_DB, OTEL_RUNLOG_PRICES and `${env:NAME}`.

        Raises:
            ConfigError: the file cannot be read, or a key or value is wrong: it is named.
        """
        store = StoreConfig.from_env(environ)
        raw: dict[str, Any] = {"db": str(store.db), "prices": [str(path) for path in store.prices]}
        raw.update(_read(file) if file else {})
        for key, value in (given or {}).items():
            _put(raw, key.split("."), value)
        try:
            raw["forward"] = [_destination(item) for item in _listed(raw.get("forward", ()))]
            config = msgspec.convert(_expanded(raw, environ), cls, strict=False, dec_hook=_decode)
        except (msgspec.ValidationError, ValueError) as error:
            raise ConfigError(f"{file or 'the settings'}: {_in_words(error)}") from None
        config.validate()
        return config

    def to_toml(self) -> str:
        """The settings as a file that `load` takes, without what may be secrets: values of headers, queries of URLs."""
        lines = _lines(self, leave_out=("sql", "forward"))
        lines += ["", "[sql]", *_lines(self.sql)]
        for destination in self.forward:
            url = urlsplit(destination.url)
            shown = msgspec.structs.replace(destination, url=url._replace(query=url.query and "...").geturl())
            lines += ["", "[[forward]]", *_lines(shown)]
        return "\n".join(lines) + "\n"

    def validate(self) -> None:
        """Raises ConfigError for what can be seen to be wrong before anything starts."""
        require_db(self.db)
        for name, bind in (("grpc", self.grpc), ("http", self.http)):
            if bind:
                host_and_port(name, bind)
        if not (self.grpc or self.http):
            raise ConfigError("neither grpc nor http is served: give one of them an address")
        if self.memory < SMALLEST_MEMORY_BYTES:
            raise ConfigError(f"memory is {self.memory}; the server needs {Size(SMALLEST_MEMORY_BYTES)} at least")
        numbers = ("max_spans_per_request", "max_attributes_per_span")
        wrong = [name for name in numbers if getattr(self, name) <= 0]
        wrong += ["sql.concurrent"] if self.sql.concurrent <= 0 else []
        if wrong:
            raise ConfigError(f"{', '.join(wrong)} must be above 0")
        for name, seconds in (("load_every_s", self.load_every_s), ("sql.time_s", self.sql.time_s)):
            if not 0 < seconds <= LONGEST_S:
                raise ConfigError(f"{name} must be above 0 and at most {LONGEST_S}, not {seconds}")
        for destination in self.forward:
            destination.validate()
        if doubled := _doubled([destination.label for destination in self.forward]):
            raise ConfigError(
                f"two destinations are called {doubled!r}: give one of them another `name`, as an option "
                '--forward \'{ url = "...", name = "..." }\''
            )


def host_and_port(name: str, bind: str) -> tuple[str, int]:
    """The parts of `host:port`, an IPv6 address in brackets.

    Raises:
        ConfigError: it has no such form.
    """
    host, colon, port = bind.rpartition(":")
    is_bare_ipv6 = ":" in host and not (host.startswith("[") and host.endswith("]"))
    if not (colon and host and port.isascii() and port.isdecimal() and int(port) < _PORT_LIMIT) or is_bare_ipv6:
        raise ConfigError(f"{name} must be host:port, as in {HTTP_BIND} or [::1]:0, not {bind!r}")
    return host.strip("[]"), int(port)


def _read(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            return tomllib.load(stream)
    except OSError as error:
        raise ConfigError(f"cannot read the settings {file}: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is no TOML: {error}") from None


def _put(raw: dict[str, Any], path: list[str], value: object) -> None:
    *tables, key = path
    for table in tables:
        raw = raw.setdefault(table, {})
        if not isinstance(raw, dict):
            raise ConfigError(f"{table} must be a table of settings, not {raw!r}")
    raw[key] = value


def _listed(value: object) -> list[object]:
    if not isinstance(value, list | tuple):
        raise ConfigError(f'forward must be a list of URLs or tables, as in forward = ["http://..."], not {value!r}')
    return list(value)


def _destination(item: object) -> object:
    if not isinstance(item, str):
        return item
    return tomllib.loads(f"x = {item}")["x"] if item.lstrip().startswith("{") else {"url": item}


def _expanded(value: Any, environ: Mapping[str, str] | None) -> Any:
    if isinstance(value, str):
        return expand(value, environ)
    if isinstance(value, Mapping):
        return {key: _expanded(item, environ) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_expanded(item, environ) for item in value]
    return value


def _decode(kind: type, value: object) -> object:
    if kind is Size:
        return Size.parse(value)
    if kind is Path and isinstance(value, str | Path) and str(value):
        return Path(value)
    raise ValueError(f"{value!r} is no {kind.__name__.lower()}")


def _lines(settings: msgspec.Struct, leave_out: tuple[str, ...] = ()) -> list[str]:
    values = {name: getattr(settings, name) for name in settings.__struct_fields__ if name not in leave_out}
    return [f"{name} = {_toml(value)}" for name, value in values.items() if value is not None]


def _toml(value: object) -> str:
    """A value as TOML; JSON's text, numbers and booleans are TOML's, but for JSON's surrogate pairs."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f'{_toml(key)} = "..."' for key in value) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(str(value) if isinstance(value, Size | Path) else value, ensure_ascii=False)


def _in_words(error: Exception) -> str:
    """`Object contains unknown field `x` - at `$.sql`` as `sql: unknown field `x``."""
    what, _, place = str(error).partition(" - at `$")
    key = place.rstrip("`").lstrip(".")
    said = what.removeprefix("Object contains ").removeprefix("Object ")
    return f"{key}: {said}" if key else said


def _doubled(names: list[str]) -> str | None:
    return next((name for i, name in enumerate(names) if name in names[:i]), None)
