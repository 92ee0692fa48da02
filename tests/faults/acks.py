"""The side file: which spans a process had acknowledged, however it ended. Shared memory, so that kill -9 keeps it."""

from __future__ import annotations

import mmap
import os
import struct
from pathlib import Path

CAPACITY = 1 << 18
"""More spans than any one writer makes; the file is sparse."""
_HEAD = struct.Struct("<Qdqq")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_RSS_EVERY = 64


def rss_bytes() -> int:
    """How much memory this process has now."""
    return int(Path("/proc/self/statm").read_text("ascii").split()[1]) * _PAGE_BYTES


class Acks:
    """Written by one thread of one process: a byte for every span it has tried, 1 once `on_end` had returned for it."""

    def __init__(self, folder: Path, who: str) -> None:
        fd = os.open(folder / who, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        os.ftruncate(fd, _HEAD.size + CAPACITY)
        self._bytes = mmap.mmap(fd, _HEAD.size + CAPACITY)
        os.close(fd)
        self.folder, self.who = folder, who
        self.tried = 0
        self._longest_s = 0.0
        self._rss_start = rss_bytes()
        self._rss_peak = self._rss_start

    def next(self) -> int:
        """The number of the span that is tried now."""
        self.tried += 1
        return self.tried - 1

    def acknowledge(self, number: int, took_s: float, *, kept: bool = True) -> None:
        """`on_end` has returned for span `number`; `kept` is False where the processor counted it as dropped."""
        self._bytes[_HEAD.size + number] = kept
        self.blocked(took_s)
        if number % _RSS_EVERY == 0:
            self.weigh()

    def blocked(self, took_s: float) -> None:
        """The application's thread was held up for so long."""
        self._longest_s = max(self._longest_s, took_s)
        _HEAD.pack_into(self._bytes, 0, self.tried, self._longest_s, self._rss_start, self._rss_peak)

    def weigh(self) -> None:
        """Look at this process's memory."""
        self._rss_peak = max(self._rss_peak, rss_bytes())


class Acknowledged:
    """What a side file says."""

    def __init__(self, path: Path) -> None:
        content = path.read_bytes()
        self.who = path.name
        self.tried, self.longest_s, rss_start, rss_peak = _HEAD.unpack_from(content)
        self.growth_bytes = rss_peak - rss_start
        body = content[_HEAD.size : _HEAD.size + self.tried]
        self.numbers = {number for number, byte in enumerate(body) if byte}


def so_far(path: Path) -> int:
    """How many spans the writer of a side file has tried up to now; 0 where it has not begun."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD.size)
    except FileNotFoundError:
        return 0
    return int(_HEAD.unpack(head)[0]) if len(head) == _HEAD.size else 0
