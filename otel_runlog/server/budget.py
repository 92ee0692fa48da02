"""How much memory the requests that are being taken in may use, over all doors together."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Final, Self

from otel_runlog.server.answers import Outcome, RefusedError

BYTES_PER_BODY_BYTE: Final = 2
"""A body is in memory twice for a moment: in pieces and joined, then whole and parsed."""
PART_OF_MEMORY: Final = 4
"""A quarter of `--memory` is for requests; the interpreter, grpc's buffers and the loader have the rest."""


class Budget:
    """Counts bytes. A request that finds it empty is let in whatever its size, so that none is refused for ever.

    Args:
        memory_bytes: what the whole process may take.

    Attributes:
        memory_bytes: as given.
        limit_bytes: the part of it that is for requests.
    """

    def __init__(self, memory_bytes: int) -> None:
        self.memory_bytes = memory_bytes
        self.limit_bytes = memory_bytes // PART_OF_MEMORY
        self._used_bytes = 0
        self._lock = threading.Lock()

    @property
    def used_bytes(self) -> int:
        """What is in use."""
        return self._used_bytes

    def lease(self) -> Lease:
        """A share for one request, empty as yet."""
        return Lease(self)

    def take(self, size_bytes: int, own_bytes: int) -> bool:
        """Whether so many bytes more could be had by somebody who has `own_bytes` already."""
        with self._lock:
            wanted = self._used_bytes + size_bytes
            if wanted > self.limit_bytes and self._used_bytes > own_bytes:
                return False
            self._used_bytes = wanted
            return True

    def give(self, size_bytes: int) -> None:
        """Have so many bytes back."""
        with self._lock:
            self._used_bytes -= size_bytes


class Lease:
    """One request's share of the budget; a context manager that gives it back."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def grow(self, body_bytes: int) -> None:
        """Make room for so many more bytes of a body.

        Raises:
            RefusedError: UNAVAILABLE, others have it.
        """
        size_bytes = body_bytes * BYTES_PER_BODY_BYTE
        if not self._budget.take(size_bytes, self._bytes):
            raise self._none_left(size_bytes)
        self._bytes += size_bytes

    def check(self, body_bytes: int) -> None:
        """See whether there is room now. A body is given room as it comes, so that a stalled client holds none.

        Raises:
            RefusedError: UNAVAILABLE, others have it.
        """
        size_bytes = body_bytes * BYTES_PER_BODY_BYTE
        if not self._budget.take(size_bytes, self._bytes):
            raise self._none_left(size_bytes)
        self._budget.give(size_bytes)

    def _none_left(self, size_bytes: int) -> RefusedError:
        used, limit = self._budget.used_bytes, self._budget.limit_bytes
        return RefusedError(
            Outcome.UNAVAILABLE,
            f"{used} of the {limit} bytes for requests are in use and {size_bytes} more are wanted: try again in a "
            f"moment, or raise --memory, of which that is 1/{PART_OF_MEMORY}",
        )

    def release(self) -> None:
        """Give all back; again is fine."""
        size_bytes, self._bytes = self._bytes, 0
        if size_bytes:
            self._budget.give(size_bytes)
