"""Request bodies decompressed within bounds: gzip of any number of members, deflate with or without a header, zstd.

Never more is made at once than 8 MiB beyond the limit, whatever a bomb would hold: 1 GB from 0.97 MB of gzip is refused
after the limit's worth.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Generator, Iterator
from typing import Final, Protocol

import zstandard

from otel_runlog.server.answers import Outcome, RefusedError

MAX_MEMBERS: Final = 10_000
"""gzip members or zstd frames of one body: each costs as much as a kilobyte, and 64 MiB could hold 3 million."""
_PIECE_BYTES: Final = 1 << 20
_INPUT_BYTES: Final = 1 << 16
_GZIP_WINDOW: Final = 31
_RAW_WINDOW: Final = -15
_ZSTD_INPUT_BYTES: Final = 256
"""zstandard has no limit on what it makes at once; a block of 4 bytes makes 128 KiB, so these make at most 8 MiB."""
_ZSTD_WINDOW_BYTES: Final = 8 << 20
"""The largest window of zstd in HTTP (RFC 9659)."""
_ZLIB_METHOD, _ZLIB_CHECK = 8, 31

Grow = Callable[[int], None]
"""Called before so many bytes more are kept; raises RefusedError where there is no room."""


def decompressed(body: bytes, encoding: str, max_bytes: int, grow: Grow) -> bytes:
    """The body without its Content-Encoding, which must be one of ENCODINGS.

    Raises:
        RefusedError: MALFORMED for broken data, TOO_LARGE beyond `max_bytes`, or what `grow` says.
    """
    inflate = ENCODINGS[encoding]
    if inflate is None:
        return body
    pieces, size_bytes = [], 0
    try:
        for piece in inflate(body):
            size_bytes += len(piece)
            if size_bytes > max_bytes:
                raise too_large(max_bytes, "once decompressed")
            grow(len(piece))
            pieces.append(piece)
    except (zlib.error, zstandard.ZstdError) as error:
        raise RefusedError(Outcome.MALFORMED, f"broken {encoding} data: {error}") from None
    return b"".join(pieces)


def too_large(max_bytes: int, what: str) -> RefusedError:
    """What a body over the limit is told, with the way to a larger one."""
    return RefusedError(
        Outcome.TOO_LARGE,
        f"more than {max_bytes} bytes {what}: send smaller batches, or raise --max-request (max_request in the file)",
    )


def _gunzipped(body: bytes) -> Iterator[bytes]:
    """Member after member (RFC 1952), with zeros after the last as padding."""
    yield from _members(body, _end_of_padding(body, 0), lambda: zlib.decompressobj(_GZIP_WINDOW))


def _inflated(body: bytes) -> Iterator[bytes]:
    """RFC 9110 means zlib's format; some clients send bare deflate."""
    has_header = len(body) > 1 and body[0] & 15 == _ZLIB_METHOD and not (body[0] << 8 | body[1]) % _ZLIB_CHECK
    stream = zlib.decompressobj(zlib.MAX_WBITS if has_header else _RAW_WINDOW)
    end = yield from _whole(stream, body, 0)
    if end < len(body):
        raise zlib.error(f"{len(body) - end} bytes after its end")


def _unpacked(body: bytes) -> Iterator[bytes]:
    """Frame after frame (RFC 8878)."""
    decompressor = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
    yield from _members(body, 0, lambda: _ZstdFrame(decompressor))


ENCODINGS: Final[dict[str, Callable[[bytes], Iterator[bytes]] | None]] = {
    "": None,
    "identity": None,
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,  # RFC 9110: the same
    "deflate": _inflated,
    "zstd": _unpacked,
}
"""What Content-Encoding may say; one at a time."""


class _Stream(Protocol):
    """One gzip member, zlib stream or zstd frame on its way."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def unconsumed_tail(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


class _ZstdFrame:
    """A frame that is fed so little at a time that what it makes of it is bounded."""

    unconsumed_tail = b""

    def __init__(self, decompressor: zstandard.ZstdDecompressor) -> None:
        self._frame = decompressor.decompressobj()

    @property
    def eof(self) -> bool:
        return self._frame.eof

    @property
    def unused_data(self) -> bytes:
        return self._frame.unused_data

    def decompress(self, data: bytes, max_length: int, /) -> bytes:  # noqa: ARG002 - it knows no such limit
        return self._frame.decompress(data)


def _members(body: bytes, at: int, start: Callable[[], _Stream]) -> Iterator[bytes]:
    for _ in range(MAX_MEMBERS):
        at = yield from _whole(start(), body, at)
        at = _end_of_padding(body, at)
        if at == len(body):
            return
    raise zlib.error(f"more than {MAX_MEMBERS} members or frames")


def _end_of_padding(body: bytes, at: int) -> int:
    while body.startswith(b"\0", at):
        at += 1
    return at


def _whole(stream: _Stream, body: bytes, at: int) -> Generator[bytes, None, int]:
    """What one stream holds that begins at `at`, a piece at a time; returns where it ends."""
    input_bytes = _ZSTD_INPUT_BYTES if isinstance(stream, _ZstdFrame) else _INPUT_BYTES
    while not stream.eof:
        data = body[at : at + input_bytes]
        at += len(data)
        piece = stream.decompress(data, _PIECE_BYTES)
        if not (data or piece):
            raise zlib.error("it ends too early")
        yield piece
        while stream.unconsumed_tail and not stream.eof:
            yield stream.decompress(stream.unconsumed_tail, _PIECE_BYTES)
    return at - len(stream.unused_data)
