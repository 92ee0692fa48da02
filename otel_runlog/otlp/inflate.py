"""Files as they are or compressed (gzip with any number of members, zstd), read in bounded memory."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, Self

import zstandard

from otel_runlog.errors import OtlpError

MAX_FILE_BYTES = 1 << 30
"""Decompressed bytes read of one file unless told otherwise: 1 GiB."""
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHUNK_BYTES = 1024
"""Compressed bytes inflated at once; zstd makes at most 32 MiB of them, gzip 1 MiB."""
_BUFFER_BYTES = 1 << 16
_GZIP_WINDOW = 31
"""zlib's way to say: the largest window, and a gzip header and trailer."""


class _Decompressor(Protocol):
    """One gzip member or zstd frame on its way; zlib and zstandard agree on these."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, /) -> bytes: ...


class InflatedFile:
    """The decompressed bytes of a file, counted, and stopped at a limit. Use as a context manager.

    Raises:
        OtlpError: from every reading method, when the compressed data is broken or inflates beyond the limit.
        OSError: when the file cannot be opened or read.
    """

    def __init__(self, path: Path, *, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._file = path.open("rb")
        self._max_bytes = max_bytes
        self._stream = _stream(self._file)
        self.offset = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def peek(self, size: int) -> bytes:
        """Up to `size` (at most 64 KiB) of the bytes that come next, without reading them."""
        return self._stream.peek(size)[:size]

    def readline(self, limit: int) -> bytes:
        """The next line with its end, or `limit` bytes of it; empty at the end of the file."""
        return self._counted(self._stream.readline(limit))

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        return self._counted(self._stream.read(size))

    def _counted(self, data: bytes) -> bytes:
        self.offset += len(data)
        if self.offset > self._max_bytes:
            raise OtlpError(f"more than {self._max_bytes} bytes once decompressed; the rest was not read")
        return data


def _stream(file: io.BufferedReader) -> io.BufferedReader:
    magic = file.peek(4)
    if magic.startswith(GZIP_MAGIC):
        return io.BufferedReader(_Inflating(file, lambda: zlib.decompressobj(_GZIP_WINDOW)), _BUFFER_BYTES)
    if magic.startswith(ZSTD_MAGIC):
        return io.BufferedReader(_Inflating(file, zstandard.ZstdDecompressor().decompressobj), _BUFFER_BYTES)
    return file


class _Inflating(io.RawIOBase):
    """Members or frames, one after the other.

    The readers of gzip and zstandard are not used: the one gives nothing of what came before a break, the other takes
    a break for the end.
    """

    def __init__(self, file: io.BufferedReader, start: Callable[[], _Decompressor]) -> None:
        self._file = file
        self._start = start
        self._member: _Decompressor | None = None
        self._rest = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._ready and self._inflate_some():
            pass
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def _inflate_some(self) -> bool:
        """Inflate the next chunk; False at the end of the file."""
        if self._member is None:
            data = self._next_member()
            if not data:
                return False
            self._member = self._start()
        else:
            data = self._file.read(_CHUNK_BYTES)
        if not data:
            raise OtlpError("broken compressed data: it ends too early")
        self._ready = memoryview(_inflated(self._member, data))
        if self._member.eof:
            self._rest, self._member = self._member.unused_data, None
        return True

    def _next_member(self) -> bytes:
        """The start of the next member, past the zeros that gzip files may be padded with; empty at the end."""
        data = self._rest or self._file.read(_CHUNK_BYTES)
        while data and not data.strip(b"\0"):
            data = self._file.read(_CHUNK_BYTES)
        return data.lstrip(b"\0")


def _inflated(member: _Decompressor, data: bytes) -> bytes:
    try:
        return member.decompress(data)
    except (zlib.error, zstandard.ZstdError) as error:
        raise OtlpError(f"broken compressed data: {error}") from None
