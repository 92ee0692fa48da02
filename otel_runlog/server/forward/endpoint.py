"""Where a destination's URL says that requests go: CONTRACT, `--forward URL`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final
from urllib.parse import SplitResult, urlsplit

import msgspec

from otel_runlog.config import DestinationConfig
from otel_runlog.errors import ConfigError
from otel_runlog.journal.cursors import check_name
from otel_runlog.otlp.wire import Signal

_TLS_OF_SCHEME: Final = {"http": False, "https": True, "grpc": False, "grpcs": True}
_GRPC: Final = frozenset({"grpc", "grpcs"})
_DEFAULT_PORTS: Final = {"http": 80, "https": 443, "grpc": 4317, "grpcs": 4317}
_HTTP_PATHS: Final = {Signal.TRACES: "/v1/traces", Signal.LOGS: "/v1/logs"}
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


class Endpoint(msgspec.Struct, frozen=True):
    """A destination's address.

    Attributes:
        name: what the destination is called.
        is_grpc: OTLP/gRPC, else OTLP/HTTP.
        tls: whether the connection is encrypted, and the other side's certificate verified.
        target: host:port.
        urls: of HTTP, where each signal goes.
    """

    name: str
    is_grpc: bool
    tls: bool
    target: str
    urls: dict[Signal, str] = {}


def endpoint_of(destination: DestinationConfig) -> Endpoint:
    """The address that a destination's URL means, after looking at what else can be wrong with its settings.

    Raises:
        ConfigError: the URL is none of http, https, grpc and grpcs with a host, or has a user in it; or a name, a
            header or a file cannot be used.
    """
    destination.validate()
    url = _split(destination.url)
    host = f"[{url.hostname}]" if ":" in (url.hostname or "") else str(url.hostname)
    is_grpc, tls = url.scheme in _GRPC, _TLS_OF_SCHEME[url.scheme]
    _check_headers(destination)
    _check_files(destination, tls=tls)
    return Endpoint(
        name=check_name(destination.label),
        is_grpc=is_grpc,
        tls=tls,
        target=f"{host}:{url.port or _DEFAULT_PORTS[url.scheme]}",
        urls={} if is_grpc else _http_urls(url),
    )


def _split(text: str) -> SplitResult:
    url = urlsplit(text)
    try:
        is_possible = url.port != 0
    except ValueError:
        is_possible = False
    if not is_possible:
        raise ConfigError(f"cannot forward to {text!r}: a port is a number from 1 to 65535")
    if url.scheme in _GRPC and (url.path.strip("/") or url.query):
        raise ConfigError(f"cannot forward to {text!r}: OTLP/gRPC has no path")
    return url


def _http_urls(url: SplitResult) -> dict[Signal, str]:
    """The path of traces stands in the URL or is added; that of logs stands beside it."""
    base = url.path.rstrip("/").removesuffix(_HTTP_PATHS[Signal.TRACES])
    return {signal: url._replace(path=base + path, fragment="").geturl() for signal, path in _HTTP_PATHS.items()}


def _check_headers(destination: DestinationConfig) -> None:
    for name, value in destination.headers.items():
        if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise ConfigError(  # without the value, which may be a secret
                f"{destination.label}: the header {name!r} cannot be sent, as its name or value is not plain ASCII"
            )


def _check_files(destination: DestinationConfig, *, tls: bool) -> None:
    named = [path for path in (destination.ca_file, destination.cert_file, destination.key_file) if path is not None]
    if named and not tls:
        raise ConfigError(
            f"{destination.label} is not encrypted, so {named[0]} means nothing: write https:// or grpcs://"
        )
    for path in named:
        read_file(path)


def read_file(path: Path) -> bytes:
    """The content of a file of certificates.

    Raises:
        ConfigError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot read the certificates {path}: {error}") from error
