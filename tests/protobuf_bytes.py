"""Protobuf by hand, for requests that no library would write."""

from __future__ import annotations


def varint(value: int) -> bytes:
    """A number of any size."""
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field."""
    return varint(number << 3 | 2) + varint(len(content)) + content
