"""The journal's folder: where it is, which segments lie in it, and what becomes of them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
from pathlib import Path
from typing import Final

import msgspec

from otel_runlog.errors import JournalError

SEGMENT_SUFFIX: Final = ".seg"
DAMAGED_SUFFIX: Final = ".damaged"
FOLDER_MODE: Final = 0o700
_NAME_PARTS: Final = 3


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
        if found.st_uid != os.geteuid() and os.geteuid() != 0:
            raise JournalError(f"{folder} belongs to uid {found.st_uid}, not to uid {os.geteuid()}: use another --db")
        if stat.S_IMODE(found.st_mode) != FOLDER_MODE:
            folder.chmod(FOLDER_MODE)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise JournalError(f"cannot use {folder} as the journal's folder: {error}") from error


def segments(folder: Path) -> list[Segment]:
    """The segments in `folder`, oldest first; none where there is no such folder.

    Raises:
        JournalError: the folder is there but cannot be read.
    """
    try:
        found = [_segment(path) for path in folder.glob("*" + SEGMENT_SUFFIX)]
    except OSError as error:
        raise JournalError(f"cannot read the journal {folder}: {error}") from error
    return sorted((segment for segment in found if segment), key=_age)


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
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
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


def set_aside(segment: Path) -> Path:
    """Rename a damaged segment so that nothing reads it again; it is never deleted. Returns its new path.

    Raises:
        JournalError: it cannot be renamed.
    """
    aside = segment.with_name(segment.name + DAMAGED_SUFFIX)
    try:
        segment.rename(aside)
    except OSError as error:
        raise JournalError(f"cannot set the damaged segment {segment} aside: {error}") from error
    return aside


def _segment(path: Path) -> Segment | None:
    try:
        # living before size: the size of a dead writer's segment is final.
        return Segment(path, is_living(path), path.stat().st_size)
    except (JournalError, FileNotFoundError):
        if not path.exists():  # another loader retired it between the listing and now
            return None
        raise


def _age(segment: Segment) -> tuple[int, str]:
    parts = parse_segment_name(segment.name)
    return (parts.started_ns if parts else 0, segment.name)
