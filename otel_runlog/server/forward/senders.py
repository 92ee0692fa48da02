"""The two ways in which requests go out: OTLP/HTTP by urllib3, OTLP/gRPC by grpcio, both as bytes.

opentelemetry-exporter-otlp cannot do this job. It takes span objects of the SDK, so that every request would be decoded
and encoded again (97 us a span); it gives a batch up after 10 s; it takes a redirect (3xx) for success; it ignores
partial_success; and it reads answers of any length. Measured with 1.45.2.

Neither sender follows redirects, reads ~/.netrc or takes a proxy from the environment, and certificates are verified:
a backend is where the settings say it is, and nowhere else.
"""

from __future__ import annotations

import datetime as dt
import gzip
import ssl
import time
from collections.abc import Iterable
from typing import Final, Protocol, cast

import grpc
import urllib3
from urllib3.response import BaseHTTPResponse

from otel_runlog.config import DestinationConfig
from otel_runlog.errors import ConfigError
from otel_runlog.otlp.wire import Encoding, Signal
from otel_runlog.server.forward.answers import (
    MAX_ANSWER_BYTES,
    Answer,
    Later,
    grpc_answer,
    http_answer,
    read_success,
)
from otel_runlog.server.forward.endpoint import Endpoint, endpoint_of, read_file

USER_AGENT: Final = "otel-runlog"
GZIP_LEVEL: Final = 1
_CHUNK_BYTES: Final = 1 << 16
_CONTENT_TYPES: Final = {Encoding.PROTOBUF: "application/x-protobuf", Encoding.JSON: "application/json"}
_METHODS: Final = {
    Signal.TRACES: "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    Signal.LOGS: "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}


class Sender(Protocol):
    """Sends one request at a time; for one thread."""

    @property
    def takes_json(self) -> bool:
        """Whether a request may be in JSON."""
        ...

    def send(self, signal: Signal, encoding: Encoding, body: bytes) -> Answer:
        """Send a request and say what became of it; never raises for what the other side does."""
        ...

    def close(self) -> None:
        """Let go of the connection."""
        ...


def sender_for(destination: DestinationConfig) -> Sender:
    """The sender that a destination's URL asks for.

    Raises:
        ConfigError: the destination's settings cannot be used.
    """
    endpoint = endpoint_of(destination)
    return GrpcSender(destination, endpoint) if endpoint.is_grpc else HttpSender(destination, endpoint)


class HttpSender:
    """OTLP/HTTP over one connection that is kept open."""

    takes_json = True

    def __init__(self, destination: DestinationConfig, endpoint: Endpoint) -> None:
        self._urls = endpoint.urls
        self._timeout_s = destination.timeout_s
        self._is_gzip = destination.compression == "gzip"
        self._headers = {"user-agent": USER_AGENT, "accept-encoding": "identity"} | destination.headers
        self._pool = urllib3.PoolManager(
            num_pools=2,
            maxsize=1,
            retries=False,
            timeout=urllib3.Timeout(connect=self._timeout_s, read=self._timeout_s),
            ssl_context=_tls(destination) if endpoint.tls else None,
        )

    def send(self, signal: Signal, encoding: Encoding, body: bytes) -> Answer:
        """Send a request and say what became of it."""
        headers = self._headers | {"content-type": _CONTENT_TYPES[encoding]}
        if self._is_gzip:
            headers["content-encoding"] = "gzip"
            body = gzip.compress(body, GZIP_LEVEL, mtime=0)
        deadline = time.monotonic() + self._timeout_s
        try:
            response = self._pool.request(
                *("POST", self._urls[signal]), body=body, headers=headers, redirect=False, preload_content=False
            )
        except urllib3.exceptions.HTTPError as error:
            return Later(f"{type(error).__name__}: {error}")
        answer = _read(response, deadline)
        response.release_conn()
        return http_answer(response.status, response.headers, answer, dt.datetime.now(dt.UTC))

    def close(self) -> None:
        """Let go of the connection."""
        self._pool.clear()


def _read(response: BaseHTTPResponse, deadline: float) -> bytes | None:
    """The body of an answer; None where it is too long, or cannot be read in time."""
    found = bytearray()
    try:
        while chunk := response.read1(_CHUNK_BYTES, decode_content=False):  # read waits for all of them
            found += chunk
            if len(found) > MAX_ANSWER_BYTES or time.monotonic() > deadline:
                response.close()
                return None
    except urllib3.exceptions.HTTPError:
        response.close()
        return None
    return bytes(found)


def _tls(destination: DestinationConfig) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=destination.ca_file)
        if destination.cert_file:
            context.load_cert_chain(destination.cert_file, destination.key_file)
    except OSError as error:  # an SSLError is one
        raise ConfigError(f"the certificates of {destination.label} cannot be used: {error}") from error
    return context


class GrpcSender:
    """OTLP/gRPC over one channel, with requests and answers as bytes."""

    takes_json = False

    def __init__(self, destination: DestinationConfig, endpoint: Endpoint) -> None:
        self._timeout_s = destination.timeout_s
        self._metadata = tuple((name.lower(), value) for name, value in destination.headers.items())
        gzip_or_none = grpc.Compression.Gzip if destination.compression == "gzip" else grpc.Compression.NoCompression
        options = (
            ("grpc.max_receive_message_length", MAX_ANSWER_BYTES),
            ("grpc.max_send_message_length", -1),
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
            ("grpc.initial_reconnect_backoff_ms", 500),
            ("grpc.max_reconnect_backoff_ms", 5000),
            ("grpc.primary_user_agent", USER_AGENT),
        )
        if endpoint.tls:
            credentials = _grpc_credentials(destination)
            self._channel = grpc.secure_channel(endpoint.target, credentials, options, gzip_or_none)
        else:
            self._channel = grpc.insecure_channel(endpoint.target, options, gzip_or_none)
        self._calls = {signal: self._channel.unary_unary(method) for signal, method in _METHODS.items()}

    def send(self, signal: Signal, encoding: Encoding, body: bytes) -> Answer:
        """Send a request, which is protobuf whatever `encoding` says, and say what became of it."""
        del encoding
        try:
            answer = self._calls[signal](body, timeout=self._timeout_s, metadata=self._metadata)
        except grpc.RpcError as error:
            call = cast("grpc.Call", error)  # what a stub raises is both
            trailers = cast("Iterable[tuple[str, str | bytes]]", call.trailing_metadata() or ())
            return grpc_answer(call.code(), call.details() or "", trailers)
        return read_success(answer)

    def close(self) -> None:
        """Let go of the connection."""
        self._channel.close()


def _grpc_credentials(destination: DestinationConfig) -> grpc.ChannelCredentials:
    files = (destination.ca_file, destination.key_file, destination.cert_file)
    return grpc.ssl_channel_credentials(*(read_file(path) if path else None for path in files))
