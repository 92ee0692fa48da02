"""One open segment: the file, its lock, and what was written to it so far."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import secrets
import threading
import time
from pathlib import Path
from typing import Final

import msgspec

from otel_runlog.journal import layout
from otel_runlog.journal.folder import FILE_MODE, TEMPORARY_SUFFIX, SegmentName
from otel_runlog.otlp.wire import Encoding, Signal

_FRAME_BYTES: Final = layout.RECORD_HEAD_BYTES + layout.FOOTER_BYTES


class _Written(msgspec.Struct, frozen=True):
    records: int
    size_bytes: int
    checksum: int


class OpenSegment:
    """A segment this process appends to. Its methods raise OSError; whoever holds it takes care that one thread writes.

    The state is one object, set in one step, and after any exception it is settled by the size of the file: an
    interrupt between the system call and the bookkeeping neither doubles nor loses a sequence number.
    """

    def __init__(self, fd: int, path: Path, seed: int) -> None:
        self.path = path
        self.broken = False
        self._fd = fd
        self._seed = seed
        self._written = _Written(0, layout.HEADER_BYTES, 0)
        self._inode = os.fstat(fd).st_ino
        self._sync_lock = threading.RLock()
        self._synced_bytes = 0

    @classmethod
    def create(cls, folder: Path, *, fsync: bool) -> OpenSegment:
        """Make a new segment, locked and with its header before any reader can see its name."""
        header = layout.Header(os.getpid(), time.time_ns(), secrets.randbits(32))
        path = folder / str(SegmentName(header.pid, header.started_ns, header.seed))
        temporary = path.with_suffix(TEMPORARY_SUFFIX)
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, FILE_MODE)
        try:
            os.fchmod(fd, FILE_MODE)  # a umask may have taken bits away
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _write_all(fd, layout.pack_header(header))
            temporary.rename(path)
            if fsync:
                _sync_folder(folder)
            return cls(fd, path, header.seed)
        except BaseException:
            os.close(fd)
            temporary.unlink(missing_ok=True)
            raise

    @property
    def size_bytes(self) -> int:
        """How long the file is."""
        return self._written.size_bytes

    def takes(self, body_bytes: int, most_bytes: int) -> bool:
        """Whether a record is to be appended: it keeps the file below `most_bytes` or is its first, and all is well."""
        written = self._written
        has_room = written.size_bytes + body_bytes + _FRAME_BYTES <= most_bytes or written.records == 0
        return has_room and not self.broken and self.is_ours()

    def is_ours(self) -> bool:
        """Whether the descriptor still is this file and the file still has a name.

        A daemon that closes all descriptors makes the number free for another file, which must never be written to.
        """
        try:
            found = os.fstat(self._fd)
        except OSError:
            return False
        return found.st_ino == self._inode and found.st_nlink > 0

    def write(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> int:
        """Append one record with one system call; returns the size of the file after it."""
        before = self._written
        head, crc = layout.pack_record_head(
            signal, encoding, received_ns, body, seed=self._seed, sequence=before.records
        )
        record_bytes = len(head) + len(body)
        size = before.size_bytes + record_bytes
        after = _Written(before.records + 1, size, layout.next_checksum(before.checksum, crc))
        try:
            _require_whole(os.writev(self._fd, (head, body)), record_bytes)
            self._written = after
        except BaseException:
            self._settle(before, after)
            raise
        return size

    def sync(self, size_bytes: int) -> None:
        """Return once the first `size_bytes` of the file are on the disk; threads that wait share one fdatasync."""
        with self._sync_lock:
            if self._synced_bytes >= size_bytes:
                return
            if self.broken:  # the kernel reports a lost page once; a second fdatasync would say all is well
                raise OSError(errno.EIO, "an earlier fdatasync failed")
            written = self._written.size_bytes
            try:
                os.fdatasync(self._fd)
            except OSError:
                self.broken = True
                raise
            self._synced_bytes = written

    def finish(self, *, fsync: bool) -> None:
        """Write the footer and close the file; it is closed in any case."""
        try:
            _write_all(self._fd, layout.pack_footer(self._seed, layout.Footer(*self._footer())))
            if fsync:
                size_bytes = self.size_bytes + layout.FOOTER_BYTES
                self._written = msgspec.structs.replace(self._written, size_bytes=size_bytes)
                self.sync(self.size_bytes)
        finally:
            self.abandon()

    def abandon(self) -> None:
        """Close the file without a footer."""
        with self._sync_lock:
            self._close()

    def leave_to_parent(self) -> None:
        """Drop a forked child's copy. The parent's lock stays: a flock ends with the last copy of the descriptor."""
        self._close()

    def _close(self) -> None:
        with contextlib.suppress(OSError):
            if os.fstat(self._fd).st_ino == self._inode:  # else the number is another file's by now
                os.close(self._fd)
        self._fd = -1

    def _footer(self) -> tuple[int, int]:
        return self._written.records, self._written.checksum

    def _settle(self, before: _Written, after: _Written) -> None:
        self.broken = True
        with contextlib.suppress(OSError):
            if os.fstat(self._fd).st_size == after.size_bytes:
                self._written = after
            else:
                os.ftruncate(self._fd, before.size_bytes)
                self._written = before
            self.broken = False


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
    _require_whole(os.write(fd, data), len(data))


def _require_whole(written: int, wanted: int) -> None:
    if written != wanted:
        raise OSError(errno.ENOSPC, f"{os.strerror(errno.ENOSPC)}: only {written} of {wanted} bytes were taken")
