"""How a segment looks on disk: a header, records, and a footer where the writer closed it cleanly.

    header  magic, version, pid, started_ns, seed, crc
    record  marker, crc, length, sequence, received_ns, signal, encoding, body
    footer  marker, crc, records, checksum (crc over the records' crcs)
    let go  marker, crc, records, 0: all that is left of a segment whose records were dropped unread

All integers are little-endian. A record's crc covers what follows it, a footer's its marker too. Every crc is CRC-32
started from the segment's random `seed`, so bytes of a segment that
come to lie inside another one's body can never pass for a record when a reader resynchronises. The seed stands in the
file's name too, so a damaged header does not cost the records. Sequence numbers count from 0 in every segment.
"""

from __future__ import annotations

import struct
from typing import Final
from zlib import crc32

import msgspec

from otel_runlog.otlp.wire import Encoding, Signal

MAGIC: Final = b"RUNLOGJ"
VERSION: Final = 1
RECORD_MARKER: Final = b"\xf1RL\x01"
FOOTER_MARKER: Final = b"\xf1RL\xff"
LET_GO_MARKER: Final = b"\xf1RL\xfe"
_MARKER_START: Final = RECORD_MARKER[:3]
MAX_BODY_BYTES: Final = 1 << 30
"""A longer body is refused by the writer; a longer length read back is damage."""

_HEADER = struct.Struct("<7sBIQI")
_CRC = struct.Struct("<I")
_RECORD = struct.Struct("<IQQBB")
_FOOTER = struct.Struct("<QI")
HEADER_BYTES: Final = _HEADER.size + _CRC.size
_PREFIX_BYTES: Final = len(RECORD_MARKER) + _CRC.size
RECORD_HEAD_BYTES: Final = _PREFIX_BYTES + _RECORD.size
FOOTER_BYTES: Final = _PREFIX_BYTES + _FOOTER.size

# The numbers are on disk: append only.
_SIGNALS: Final = (Signal.TRACES, Signal.LOGS, Signal.METRICS, Signal.STARTS)
_ENCODINGS: Final = (Encoding.PROTOBUF, Encoding.JSON)


class Header(msgspec.Struct, frozen=True):
    """Who wrote the segment, and since when."""

    pid: int
    started_ns: int
    seed: int
    version: int = VERSION


class Record(msgspec.Struct, frozen=True):
    """One journalled request: the OTLP bytes as they came, and when. `end_offset` is where the next record begins."""

    signal: Signal
    encoding: Encoding
    received_ns: int
    sequence: int
    body: bytes
    end_offset: int = 0


class Footer(msgspec.Struct, frozen=True):
    """What a clean close says: how many records stand before it, and the checksum over their crcs.

    `let_go`: they stood there once, and were dropped because the journal was over its limit.
    """

    records: int
    checksum: int
    end_offset: int = 0
    let_go: bool = False


def pack_header(header: Header) -> bytes:
    """The header's bytes."""
    head = _HEADER.pack(MAGIC, header.version, header.pid, header.started_ns, header.seed)
    return head + _CRC.pack(crc32(head))


def unpack_header(data: bytes) -> Header | None:
    """The header at the beginning of `data`; None where there is none, or a damaged one."""
    if len(data) < HEADER_BYTES:
        return None
    magic, version, pid, started_ns, seed = _HEADER.unpack_from(data)
    (crc,) = _CRC.unpack_from(data, _HEADER.size)
    if magic != MAGIC or crc != crc32(data[: _HEADER.size]):
        return None
    return Header(pid=pid, started_ns=started_ns, seed=seed, version=version)


def pack_record_head(
    signal: Signal, encoding: Encoding, received_ns: int, body: bytes, *, seed: int, sequence: int
) -> tuple[bytes, int]:
    """The bytes that stand before a record's body, and the crc among them."""
    # `index` finds a member by its identity; to look it up in a dict takes 0.2 us, for an enum's hash is Python's.
    codes = _SIGNALS.index(signal), _ENCODINGS.index(encoding)
    fields = _RECORD.pack(len(body), sequence, received_ns, *codes)
    crc = crc32(body, crc32(fields, seed))
    return RECORD_MARKER + _CRC.pack(crc) + fields, crc


def record_crc(data: bytes, at: int = 0) -> int:
    """The crc that the record (or footer) at `at` carries."""
    crc: int = _CRC.unpack_from(data, at + len(RECORD_MARKER))[0]
    return crc


def next_checksum(checksum: int, crc: int) -> int:
    """The footer's checksum after one more record."""
    return crc32(_CRC.pack(crc), checksum)


def unpack_record(data: bytes, at: int, seed: int, base: int = 0) -> Record | None:
    """The record at `data[at:]`; None where no whole, sound record stands. `base` is the file offset of `data[0]`."""
    if len(data) - at < RECORD_HEAD_BYTES or not data.startswith(RECORD_MARKER, at):
        return None
    length, sequence, received_ns, signal, encoding = _RECORD.unpack_from(data, at + _PREFIX_BYTES)
    start, end = at + RECORD_HEAD_BYTES, at + RECORD_HEAD_BYTES + length
    if end > len(data) or signal >= len(_SIGNALS) or encoding >= len(_ENCODINGS):
        return None
    body = data[start:end]
    if record_crc(data, at) != crc32(body, crc32(data[at + _PREFIX_BYTES : start], seed)):
        return None
    return Record(_SIGNALS[signal], _ENCODINGS[encoding], received_ns, sequence, body, base + end)


def pack_footer(seed: int, footer: Footer) -> bytes:
    """The footer's bytes."""
    fields = _FOOTER.pack(footer.records, footer.checksum)
    marker = LET_GO_MARKER if footer.let_go else FOOTER_MARKER
    return marker + _CRC.pack(crc32(fields, crc32(marker, seed))) + fields


def unpack_footer(data: bytes, at: int, seed: int, base: int = 0) -> Footer | None:
    """The footer at `data[at:]`; None where there is none. `base` is the file offset of `data[0]`."""
    end = at + FOOTER_BYTES
    if end > len(data) or not data.startswith((FOOTER_MARKER, LET_GO_MARKER), at):
        return None
    marker, fields = data[at : at + len(FOOTER_MARKER)], data[at + _PREFIX_BYTES : end]
    if record_crc(data, at) != crc32(fields, crc32(marker, seed)):
        return None
    records, checksum = _FOOTER.unpack(fields)
    return Footer(records, checksum, base + end, let_go=marker == LET_GO_MARKER)


def is_bad_footer(data: bytes, at: int, records: int | None) -> bool:
    """Whether the rest of `data` once was the footer after so many records. No record is as short as that."""
    rest = len(data) - at
    if rest == FOOTER_BYTES and _FOOTER.unpack_from(data, at + _PREFIX_BYTES)[0] == records:
        return True
    return rest <= FOOTER_BYTES and data.startswith(FOOTER_MARKER, at)


def claims_more_than(data: bytes, at: int) -> bool:
    """Whether what stands at `data[at:]` says it is longer than `data`, as a write that was cut short does."""
    rest = len(data) - at
    if data.startswith(FOOTER_MARKER, at):
        return rest < FOOTER_BYTES
    if rest < RECORD_HEAD_BYTES:
        return True
    return bool(_RECORD.unpack_from(data, at + _PREFIX_BYTES)[0] > rest - RECORD_HEAD_BYTES)


def claimed_bytes(data: bytes) -> int:
    """How long the record at the beginning of `data` says it is, its head included; 0 where no record begins there."""
    if len(data) < RECORD_HEAD_BYTES or not data.startswith(RECORD_MARKER):
        return 0
    return RECORD_HEAD_BYTES + int(_RECORD.unpack_from(data, _PREFIX_BYTES)[0])


def find_next(data: bytes, after: int, seed: int) -> int | None:
    """Where the first sound record or footer behind `after` begins; None where there is none."""
    at = data.find(_MARKER_START, after + 1)
    while at != -1:
        if unpack_record(data, at, seed) or unpack_footer(data, at, seed):
            return at
        at = data.find(_MARKER_START, at + 1)
    return None
