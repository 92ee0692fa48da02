"""OTLP requests out of files and folders, whatever wrote them, one at a time and in bounded memory.

Told apart by content: gzip and zstd by their magic bytes, JSON by its first character, signals by keys and fields.
What cannot be read is named with its place and reason, and the rest goes on.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec

from otel_runlog.errors import OtlpError
from otel_runlog.model import LogRecord, Span
from otel_runlog.otlp import from_json
from otel_runlog.otlp.decode import read_logs, read_traces
from otel_runlog.otlp.inflate import MAX_FILE_BYTES, InflatedFile
from otel_runlog.otlp.protowire import signal_of
from otel_runlog.otlp.wire import Encoding, Signal

MAX_REQUEST_BYTES = 64 << 20
"""The longest line, and the longest body printed over several lines: 64 MiB, OTLP's limit for a request."""
_BLANK = b" \t\r\n"
_PEEK_BYTES = 4096
_PROTOBUF_START = b"\x0a"
"""Field 1, length-delimited: each request starts with its first block."""


class RawRequest(msgspec.Struct, frozen=True):
    """One request as it lies in a file.

    `where` is "path:line", or the path alone for a body that is the whole file. `end_offset` is the byte after it in
    the decompressed file, so that what was read up to there can be left out the next time.
    """

    signal: Signal
    encoding: Encoding
    body: bytes
    where: str
    end_offset: int


class BadInput(msgspec.Struct, frozen=True):
    """Something in a file that is no OTLP request, and why."""

    where: str
    reason: str


class OtlpSpans(list[Span]):
    """The spans of a file or folder, with all else that was found there.

    Attributes:
        logs: the log records.
        rejected: spans and records that could not be kept, by reason.
        bad: what was no request at all.
        metrics_requests: requests of metrics, which are not read.
    """

    def __init__(self) -> None:
        super().__init__()
        self.logs: list[LogRecord] = []
        self.rejected: Counter[str] = Counter()
        self.bad: list[BadInput] = []
        self.metrics_requests = 0


def read_otlp(path: str | Path, *, max_bytes: int = MAX_FILE_BYTES) -> OtlpSpans:
    """All spans and log records of a file or folder; see `iter_requests` for what it may hold.

    Raises:
        OtlpError: there is no such file or folder.
    """
    if not Path(path).exists():
        raise OtlpError(f"{path}: no such file or folder")
    read = OtlpSpans()
    for request in iter_requests(path, max_bytes=max_bytes):
        if isinstance(request, BadInput):
            read.bad.append(request)
        else:
            _take(request, read)
    return read


def _take(request: RawRequest, read: OtlpSpans) -> None:
    try:
        if request.signal is Signal.TRACES:
            traces = read_traces(request.body, request.encoding)
            read.extend(traces.spans)
            read.rejected.update(traces.rejected)
        elif request.signal is Signal.LOGS:
            logs = read_logs(request.body, request.encoding)
            read.logs.extend(logs.records)
            read.rejected.update(logs.rejected)
        else:
            read.metrics_requests += 1
    except OtlpError as error:
        read.bad.append(BadInput(request.where, str(error)))


def iter_requests(path: str | Path, *, max_bytes: int = MAX_FILE_BYTES) -> Iterator[RawRequest | BadInput]:
    """The requests in a file, or in all files of a folder (recursive, sorted by path, hidden ones left out).

    A file holds OTLP/JSON lines, signals mixed, as the Collector's file exporter writes them; or one OTLP/JSON body,
    over however many lines; or one protobuf body; or gzip or zstd of any of these.

    Args:
        path: a file or folder; a missing one is a BadInput.
        max_bytes: how much of each file is read, decompressed.
    """
    for file in files_in(Path(path)):
        try:
            yield from _iter_file(file, max_bytes)
        except OSError as error:
            yield BadInput(str(file), error.strerror or str(error))


def files_in(path: Path) -> Iterator[Path]:
    """The path itself, or all that a folder holds, by path, hidden files and links to folders left out.

    What is missing or cannot be listed comes as it is, so that reading it says why.
    """
    try:
        inner = sorted(path.iterdir()) if path.is_dir() else None
    except OSError:
        inner = None
    if inner is None:
        yield path
        return
    for found in inner:
        # A link to a folder may lead back up.
        if not found.name.startswith(".") and not (found.is_symlink() and found.is_dir()):
            yield from files_in(found)


def _iter_file(path: Path, max_bytes: int) -> Iterator[RawRequest | BadInput]:
    if not path.exists():
        yield BadInput(str(path), "no such file or folder")
    elif path.is_dir():
        yield BadInput(str(path), "the folder cannot be listed")
    elif not path.is_file():
        yield BadInput(str(path), "neither a file nor a folder")
    else:
        lines = _Lines(path, max_bytes)
        try:
            yield from lines.requests()
        except OtlpError as error:
            yield BadInput(lines.where, str(error))


class _Lines:
    """One file on its way through, with the place that was reached."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.where = str(path)

    def requests(self) -> Iterator[RawRequest | BadInput]:
        with InflatedFile(self.path, max_bytes=self.max_bytes) as file:
            head = file.peek(_PEEK_BYTES).removeprefix(from_json.BOM).lstrip(_BLANK)
            if head and not head.startswith((b"{", b"[")):
                yield self._protobuf(file)
                return
            if body := _body_over_lines(file):
                yield from _json(body, str(self.path), file.offset)
                return
        with InflatedFile(self.path, max_bytes=self.max_bytes) as file:
            yield from self._by_line(file)

    def _protobuf(self, file: InflatedFile) -> RawRequest | BadInput:
        if file.peek(1) != _PROTOBUF_START:
            return BadInput(self.where, "neither OTLP/JSON nor OTLP protobuf")
        body = file.read(self.max_bytes + 1)
        signal = signal_of(body)
        if signal is None:
            return BadInput(self.where, "no span, log record or metric can be told in this protobuf body")
        return RawRequest(signal, Encoding.PROTOBUF, body, self.where, file.offset)

    def _by_line(self, file: InflatedFile) -> Iterator[RawRequest | BadInput]:
        for number in itertools.count(1):
            self.where = f"{self.path}:{number}"
            line = file.readline(MAX_REQUEST_BYTES + 1)
            if not line:
                return
            if len(line) > MAX_REQUEST_BYTES:
                yield BadInput(self.where, f"a line longer than {MAX_REQUEST_BYTES} bytes")
                _skip_line(file, line)
            elif body := line.removeprefix(from_json.BOM).strip(_BLANK):
                yield from _json(body, self.where, file.offset)


def _body_over_lines(file: InflatedFile) -> bytes | None:
    """The whole file where it is one JSON body over several lines; None where its lines stand alone."""
    try:
        first = file.readline(MAX_REQUEST_BYTES)
        if _is_json(first):
            return None
        body = first + file.read(MAX_REQUEST_BYTES - len(first) + 1)
    except OtlpError:
        return None
    return body if len(body) <= MAX_REQUEST_BYTES and _is_json(body) else None


def _is_json(body: bytes) -> bool:
    try:
        from_json.signals(body)
    except OtlpError:
        return False
    return True


def _json(body: bytes, where: str, end_offset: int) -> Iterator[RawRequest | BadInput]:
    try:
        found = from_json.signals(body)
    except OtlpError as error:
        yield BadInput(where, str(error))
        return
    for signal in found:
        yield RawRequest(signal, Encoding.JSON, body, where, end_offset)
    if not found:
        yield BadInput(where, "no resourceSpans, resourceLogs or resourceMetrics in this JSON object")


def _skip_line(file: InflatedFile, line: bytes) -> None:
    while line and not line.endswith(b"\n"):
        line = file.readline(MAX_REQUEST_BYTES)
