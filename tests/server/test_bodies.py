"""Compressed bodies: every form that clients send, and no bomb."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from otel_runlog.server.answers import Outcome, RefusedError
from otel_runlog.server.bodies import ENCODINGS, decompressed

MIB = 1 << 20
LIMIT = 4 * MIB


def raw_deflate(data: bytes) -> bytes:
    stream = zlib.compressobj(wbits=-15)
    return stream.compress(data) + stream.flush()


def streamed_zstd(data: bytes) -> bytes:
    stream = zstandard.ZstdCompressor().compressobj()
    return stream.compress(data) + stream.flush()


PACKED: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "identity": ("identity", bytes),
    "none": ("", bytes),
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "two members": ("gzip", lambda data: gzip.compress(data[:10]) + gzip.compress(data[10:])),
    "member with padding": ("gzip", lambda data: gzip.compress(data) + bytes(600)),
    "empty members": ("gzip", lambda data: gzip.compress(b"") * 3 + gzip.compress(data) + gzip.compress(b"")),
    "zlib": ("deflate", zlib.compress),
    "raw deflate": ("deflate", raw_deflate),
    "zstd": ("zstd", zstandard.compress),
    "two frames": ("zstd", lambda data: zstandard.compress(data[:10]) + zstandard.compress(data[10:])),
    "zstd of unknown size": ("zstd", streamed_zstd),
}


def no_limit(_: int) -> None:
    """Room for everything."""


@pytest.mark.fault(27)
@pytest.mark.parametrize("form", PACKED)
@given(data=st.binary(max_size=3_000))
def test_what_was_packed_comes_out(form: str, data: bytes) -> None:
    encoding, pack = PACKED[form]
    assert decompressed(pack(data), encoding, LIMIT, no_limit) == data


@pytest.mark.parametrize("form", ["gzip", "zlib", "raw deflate", "zstd", "two members"])
@pytest.mark.parametrize("size", [0, 1, MIB - 1, MIB, MIB + 1, LIMIT])
def test_sizes_around_a_piece_and_the_limit(form: str, size: int) -> None:
    encoding, pack = PACKED[form]
    grown: list[int] = []
    assert len(decompressed(pack(bytes(size)), encoding, LIMIT, grown.append)) == size
    assert sum(grown) == size


@pytest.mark.fault(27)
@pytest.mark.parametrize("form", ["gzip", "zlib", "zstd", "two members", "two frames"])
@given(cut=st.integers(1, 30))
def test_what_ends_too_early_is_malformed(form: str, cut: int) -> None:
    encoding, pack = PACKED[form]
    body = pack(bytes(range(256)) * 4)[:-cut]
    with pytest.raises(RefusedError, match=f"broken {encoding} data") as refused:
        decompressed(body, encoding, LIMIT, no_limit)
    assert refused.value.answer.outcome is Outcome.MALFORMED


@pytest.mark.fault(27)
@pytest.mark.parametrize("encoding", [name for name, inflate in ENCODINGS.items() if inflate])
@given(body=st.binary(max_size=100))
def test_other_bytes_are_malformed_if_they_are_no_stream_by_chance(encoding: str, body: bytes) -> None:
    try:
        decompressed(body, encoding, LIMIT, no_limit)
    except RefusedError as refused:
        outcome = refused.answer.outcome
    else:
        outcome = Outcome.ACCEPTED
    assert outcome in {Outcome.MALFORMED, Outcome.ACCEPTED}


@pytest.mark.fault(27)
@pytest.mark.parametrize("form", ["gzip", "zlib", "raw deflate", "zstd"])
def test_bytes_after_the_end_are_malformed(form: str) -> None:
    encoding, pack = PACKED[form]
    with pytest.raises(RefusedError, match="broken"):
        decompressed(pack(b"data") + b"more", encoding, LIMIT, no_limit)


@pytest.mark.fault(31)
@pytest.mark.parametrize("form", ["gzip", "zlib", "zstd"])
def test_a_bomb_of_a_gigabyte_takes_little_more_than_the_limit(form: str) -> None:
    encoding, _ = PACKED[form]
    bomb = _bomb(form, 1 << 30)
    assert len(bomb) < 2 * MIB
    tracemalloc.start()
    try:
        with pytest.raises(RefusedError, match=f"more than {LIMIT} bytes once decompressed") as refused:
            decompressed(bomb, encoding, LIMIT, no_limit)
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert refused.value.answer.outcome is Outcome.TOO_LARGE
    assert peak_bytes < LIMIT + 12 * MIB


def _bomb(form: str, size: int) -> bytes:
    """A stream without its end, of one block of zeros again and again: to pack a gigabyte takes ten seconds."""
    if form == "zstd":
        stream = zstandard.ZstdCompressor().compressobj()
        return b"".join(stream.compress(bytes(8 * MIB)) for _ in range(size // (8 * MIB)))
    deflate = zlib.compressobj(9, wbits=-15)
    block = deflate.compress(bytes(8 * MIB)) + deflate.flush(zlib.Z_FULL_FLUSH)
    head = {"gzip": b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff", "zlib": b"\x78\xda"}[form]
    return head + block * (size // (8 * MIB))


@pytest.mark.fault(31)
def test_members_without_number_are_malformed() -> None:
    with pytest.raises(RefusedError, match="more than 10000 members"):
        decompressed(gzip.compress(b"") * 10_001, "gzip", LIMIT, no_limit)


def test_where_there_is_no_room_inflating_ends() -> None:
    def full(_: int) -> None:
        raise RefusedError(Outcome.UNAVAILABLE, "full")

    with pytest.raises(RefusedError, match="full"):
        decompressed(gzip.compress(b"data"), "gzip", LIMIT, full)
