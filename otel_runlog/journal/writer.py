"""The writing end: one segment at a time per process, one system call a record."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from pathlib import Path
from typing import Final

from otel_runlog.errors import JournalError
from otel_runlog.journal import layout
from otel_runlog.journal.folder import make_folder
from otel_runlog.journal.limit import keep_below
from otel_runlog.journal.segment import OpenSegment
from otel_runlog.otlp.wire import Encoding, Signal

SEGMENT_BYTES: Final = 64 << 20
"""A segment is closed and a new one begun before it would grow beyond this."""


class JournalWriter:
    """Appends records to segments of this process; any thread may call it.

    A record is with the kernel once `append` returned, so it outlives kill -9, os._exit and whatever else ends only the
    process; with `fsync` it is on the disk as well, threads that wait sharing one fdatasync. A segment is made by the
    first append and never shared: after a fork the child begins one of its own. A signal handler or finalizer that
    appends while it interrupts an append of its own thread gets a segment apart.

    Args:
        folder: the journal's folder; it is made, 0700, when the first record comes.
        fsync: fdatasync before `append` returns.
        segment_bytes: when to begin a new segment.
        max_bytes: how large the journal may grow, segments of other processes included, before the oldest records are
            dropped (DESIGN rule 2); None is no limit.
    """

    def __init__(
        self,
        folder: Path,
        *,
        fsync: bool = False,
        segment_bytes: int = SEGMENT_BYTES,
        max_bytes: int | None = None,
    ) -> None:
        self.folder = Path(folder)
        self._fsync = fsync
        self._segment_bytes = segment_bytes
        self._max_bytes = max_bytes
        self._segment: OpenSegment | None = None
        self._begin()
        _drop_in_forked_child(weakref.ref(self))

    @property
    def path(self) -> Path | None:
        """The open segment; None before the first append and after `close`."""
        return self._segment.path if self._segment else None

    def append(self, signal: Signal, encoding: Encoding, received_ns: int, body: bytes) -> None:
        """Write one record.

        Args:
            signal: what the request carries.
            encoding: how it is written.
            received_ns: when it came, nanoseconds since the epoch.
            body: the OTLP request.

        Raises:
            JournalError: it could not be written and no part of it is left (after a failed fdatasync it may be there:
                the same bytes sent again are a duplicate). The next append may succeed.
        """
        if len(body) > layout.MAX_BODY_BYTES:
            raise JournalError(f"a request of {len(body)} bytes is over the journal's {layout.MAX_BODY_BYTES}")
        if os.getpid() != self._pid:  # a fork that ran no hooks
            self._after_fork()
        try:
            segment, size_bytes = self._append(signal, encoding, received_ns, body)
            if self._fsync:
                segment.sync(size_bytes)
        except OSError as error:
            raise JournalError(f"cannot write {len(body)} bytes to the journal {self.folder}: {error}") from error

    def close(self) -> None:
        """Close the segment with its footer; the next append opens a new one.

        Raises:
            JournalError: the footer could not be written; the records are as they were.
        """
        if os.getpid() != self._pid:
            self._after_fork()
        if self._interrupts_itself():
            self._close_soon = True
            return
        with self._lock:
            try:
                self._close_segment()
            except OSError as error:
                raise JournalError(f"cannot close a segment of the journal {self.folder}: {error}") from error

    def _append(self, *record: *tuple[Signal, Encoding, int, bytes]) -> tuple[OpenSegment, int]:
        if self._interrupts_itself():
            return self._append_apart(*record)
        with self._lock:
            try:
                segment = self._segment
                if segment is None or not segment.takes(len(record[-1]), self._segment_bytes):
                    segment = self._next_segment()
                return segment, segment.write(*record)
            finally:
                if self._close_soon:
                    self._close_soon = False
                    self._close_segment()

    def _append_apart(self, *record: *tuple[Signal, Encoding, int, bytes]) -> tuple[OpenSegment, int]:
        segment = self._new_segment()
        size_bytes = segment.write(*record)
        segment.finish(fsync=self._fsync)
        return segment, size_bytes

    def _next_segment(self) -> OpenSegment:
        with contextlib.suppress(OSError):  # a reader reports the missing footer; the record at hand goes on
            self._close_segment()
        segment = self._segment = self._new_segment()
        return segment

    def _new_segment(self) -> OpenSegment:
        make_folder(self.folder)
        if self._max_bytes is not None:
            with contextlib.suppress(JournalError):  # the record at hand goes on
                keep_below(self.folder, self._max_bytes)
        return OpenSegment.create(self.folder, fsync=self._fsync)

    def _close_segment(self) -> None:
        segment, self._segment = self._segment, None
        if segment is None:
            return
        if segment.broken or not segment.is_ours():
            segment.abandon()
        else:
            segment.finish(fsync=self._fsync)

    def _interrupts_itself(self) -> bool:
        owned: bool = self._lock._is_owned()  # type: ignore[attr-defined]  # noqa: SLF001 - as threading.Condition does
        return owned

    def _begin(self) -> None:
        self._lock = threading.RLock()
        self._pid = os.getpid()
        self._segment = None
        self._close_soon = False

    def _after_fork(self) -> None:
        inherited = self._segment
        self._begin()  # the lock may be held by a thread that is not in this process
        if inherited is not None:
            inherited.leave_to_parent()


def _drop_in_forked_child(writer: weakref.ref[JournalWriter]) -> None:
    def drop() -> None:
        if (living := writer()) is not None:
            living._after_fork()  # noqa: SLF001

    os.register_at_fork(after_in_child=drop)
