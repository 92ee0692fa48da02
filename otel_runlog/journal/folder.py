"""The journal's folder: where it is, which segments lie in it, and what becomes of them."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import logging
import os
import stat
import time
from pathlib import Path
from typing import Final

import msgspec

from otel_runlog.errors import JournalError

SEGMENT_SUFFIX: Final = ".seg"
DAMAGED_SUFFIX: Final = ".damaged"
TEMPORARY_SUFFIX: Final = ".new"
"""Of a segment that no reader may see yet: it has no header, or no lock."""
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
_NAME_PARTS: Final = 3
_SURELY_LOCKED_S: Final = 60.0

logger = logging.getLogger("otel_runlog")


class Segment(msgspec.Struct, frozen=True):
    """One segment file. `living`: its writer still holds the flock, so more may come."""

    path: Path
    living: bool
    size_bytes: int

    @property
    def name(self) -> str:
        """The file's name, which no other segment ever has."""
        return self.path.name


class SegmentName(msgspec.Struct, frozen=True):
    """What a segment's name says: `<pid>-<started_ns>-<seed in hex>.seg`."""

    pid: int
    started_ns: int
    seed: int

    def __str__(self) -> str:
        return f"{self.pid}-{self.started_ns}-{self.seed:08x}{SEGMENT_SUFFIX}"


def parse_segment_name(name: str) -> SegmentName | None:
    """The parts of a segment's name (`.damaged` may follow it); None where it is not one of ours."""
    parts = name.removesuffix(DAMAGED_SUFFIX).removesuffix(SEGMENT_SUFFIX).split("-")
    if len(parts) != _NAME_PARTS:
        return None
    try:
        return SegmentName(int(parts[0]), int(parts[1]), int(parts[2], 16))
    except ValueError:
        return None


def journal_folder(db: str | os.PathLike[str]) -> Path:
    """The journal of a store: `<db>.journal` beside it, absolute, so that a later chdir does not move it."""
    return Path(os.path.abspath(os.fspath(db)) + ".journal")  # noqa: PTH100 - Path.absolute keeps `..`


def make_folder(folder: Path) -> None:
    """Make sure `folder` is a directory of this user with mode 0700, whatever the umask.

    Raises:
        JournalError: it cannot be made, or it belongs to another user (who could read prompts or swap segments).
    """
    try:
        with contextlib.suppress(FileExistsError):
            folder.mkdir(mode=FOLDER_MODE)
        found = folder.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise JournalError(f"{folder} is no folder: move it away, the journal goes there")
        _require_ours(folder, found)
        if stat.S_IMODE(found.st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise JournalError(f"cannot use {folder} as the journal's folder: {error}") from error


def segments(folder: Path) -> list[Segment]:
    """The segments in `folder`, oldest first; none where there is no such folder. What is no file is no segment.

    Raises:
        JournalError: the folder is there but cannot be read, or it belongs to another user.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            _require_ours(folder, folder.stat())
        found = [_segment(path) for path in folder.glob("*" + SEGMENT_SUFFIX)]
    except (OSError, ValueError) as error:
        raise JournalError(f"cannot read the journal {folder}: {error}") from error
    return sorted((segment for segment in found if segment), key=_age)


def size_bytes(folder: Path) -> int:
    """How large the segments are together, loaded or not; without opening one, as the application's thread asks too."""
    found = 0
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.endswith(SEGMENT_SUFFIX):
                with contextlib.suppress(OSError):  # it went meanwhile: the others still count
                    found += entry.stat().st_size
    return found


def damaged(folder: Path) -> list[Path]:
    """The segments that were set aside, by name."""
    return sorted(folder.glob("*" + SEGMENT_SUFFIX + DAMAGED_SUFFIX + "*"))


def is_living(path: Path) -> bool:
    """Whether a writer still holds the segment's flock.

    Ask before reading: what a writer that was gone at this moment has written is all there.

    Raises:
        JournalError: the file cannot be opened.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a pipe is never waited for
    except OSError as error:
        raise JournalError(f"cannot open the segment {path}: {error}") from error
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False


def retire(segment: Path) -> None:
    """Remove a segment whose records are all where they belong. One that is gone already is fine.

    Raises:
        JournalError: it cannot be removed.
    """
    try:
        segment.unlink(missing_ok=True)
    except OSError as error:
        raise JournalError(f"cannot remove the segment {segment}: {error}") from error


def set_aside(segment: Path) -> Path | None:
    """Rename a damaged segment so that nothing reads it again; it is never deleted or overwritten.

    Returns:
        Its new path; None where it is gone.

    Raises:
        JournalError: it cannot be renamed.
    """
    aside = _free_name(segment.with_name(segment.name + DAMAGED_SUFFIX))
    try:
        segment.rename(aside)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise JournalError(f"cannot set the damaged segment {segment} aside: {error}") from error
    return aside


def sweep(folder: Path) -> None:
    """Remove the unfinished segments that killed processes left. They hold no record yet; what may live stays."""
    for path in folder.glob("*" + TEMPORARY_SUFFIX):
        with contextlib.suppress(OSError, JournalError):
            found = path.stat()
            # it is locked before its header is written, and without one it may be about to be locked
            unlocked_for_good = found.st_size > 0 or time.time() - found.st_mtime > _SURELY_LOCKED_S
            if unlocked_for_good and not is_living(path):
                path.unlink()


def _require_ours(folder: Path, found: os.stat_result) -> None:
    if found.st_uid != os.geteuid() and os.geteuid() != 0:
        raise JournalError(f"{folder} belongs to uid {found.st_uid}, not to uid {os.geteuid()}: use another --db")


def _free_name(path: Path) -> Path:
    taken = (path.with_name(f"{path.name}.{number}") for number in itertools.count(1))
    return path if not path.exists() else next(name for name in taken if not name.exists())


def _segment(path: Path) -> Segment | None:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        # living before size: the size of a dead writer's segment is final.
        return Segment(path, is_living(path), path.stat().st_size)
    except (JournalError, OSError):
        if not path.exists():  # another loader retired it between the listing and now
            return None
        logger.warning("cannot open the journal segment %s, it stays as it is", path)
        return None


def _age(segment: Segment) -> tuple[int, str]:
    parts = parse_segment_name(segment.name)
    return (parts.started_ns if parts else 0, segment.name)
