"""Files as they are or compressed (gzip with any number of members, zstd), read in bounded memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Self

import zstandard

from otel_runlog.errors import OtlpError

MAX_FILE_BYTES = 1 << 30
"""Decompressed bytes read of one file unless told otherwise: 1 GiB."""
GZIP_MAGIC = b"\x1f\x8b"
ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_BUFFER_BYTES = 1 << 16


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
        return self._guarded(self._stream.peek, size)[:size]

    def readline(self, limit: int) -> bytes:
        """The next line with its end, or `limit` bytes of it; empty at the end of the file."""
        return self._counted(self._guarded(self._stream.readline, limit))

    def read(self, size: int) -> bytes:
        """Up to `size` bytes; fewer only at the end of the file."""
        return self._counted(self._guarded(self._stream.read, size))

    def _counted(self, data: bytes) -> bytes:
        self.offset += len(data)
        if self.offset > self._max_bytes:
            raise OtlpError(f"more than {self._max_bytes} bytes once decompressed; the rest was not read")
        return data

    @staticmethod
    def _guarded(read: Callable[[int], bytes], size: int) -> bytes:
        try:
            return read(size)
        except (EOFError, gzip.BadGzipFile, zlib.error, zstandard.ZstdError) as error:
            raise OtlpError(f"broken compressed data: {error}") from None


def _stream(file: io.BufferedReader) -> io.BufferedReader:
    magic = file.peek(4)
    if magic.startswith(GZIP_MAGIC):
        return io.BufferedReader(gzip.GzipFile(fileobj=file), _BUFFER_BYTES)
    if magic.startswith(ZSTD_MAGIC):
        frames = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
        return io.BufferedReader(frames, _BUFFER_BYTES)
    return file
