"""How far each destination has been sent the journal: a file per destination, beside the segments it holds.

`<journal>/cursors/<name>.json` says for every segment that is there up to which byte its records were sent. Several
processes write segments at once, so one place in one file would not do. Whoever would remove a segment, in whichever
process, asks `are_past` of `all_of` the cursors first: a segment goes when it is loaded and every cursor is past it
(DESIGN rule 2). A cursor file that cannot be read holds every segment: that costs space, and nothing is lost by it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from otel_runlog.errors import ConfigError, JournalError
from otel_runlog.journal.folder import FILE_MODE, FOLDER_MODE, make_folder

FOLDER: Final = "cursors"
SUFFIX: Final = ".json"
TOLD_SUFFIX: Final = ".told"
"""Of what a destination was told beside the journal's records; it goes with the cursor."""
_NEW: Final = ".new"
_NAME: Final = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9_.:-]{0,99}")


class Place(msgspec.Struct, frozen=True):
    """How far one segment was sent: `offset` is where the next record begins, `sequence` the number it must have.

    `ended`: nothing will follow, all that could be read of it was.
    """

    offset: int = 0
    sequence: int | None = None
    ended: bool = False


class Cursor(msgspec.Struct, frozen=True):
    """How far one destination is: a place for each segment that it has begun and that is still there."""

    places: dict[str, Place] = {}

    def is_past(self, segment: str, end_offset: int) -> bool:
        """Whether nothing of a segment of that name, which ends at `end_offset`, is still to be sent."""
        place = self.places.get(segment)
        return place is not None and (place.ended or place.offset >= end_offset)


def check_name(name: str) -> str:
    """The name of a destination, which names its cursor's file too.

    Raises:
        ConfigError: it cannot be the name of a file in the cursors' folder.
    """
    if not _NAME.fullmatch(name):
        raise ConfigError(f"a destination cannot be called {name!r}: take 1 to 100 of A-Z a-z 0-9 _ : . -")
    return name


def load(folder: Path, name: str) -> Cursor | None:
    """The cursor of a destination; None where it has none yet.

    Raises:
        JournalError: it cannot be read. Until a forwarder replaces it, or it is removed, it holds all segments.
    """
    path = _path(folder, name)
    try:
        return msgspec.json.decode(path.read_bytes(), type=Cursor)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError) as error:
        raise JournalError(
            f"cannot read the cursor {path}, so all of the journal is yet to be sent: {error}"
        ) from error


def save(folder: Path, name: str, cursor: Cursor) -> None:
    """Put a cursor in the place of the one before, on the disk when this returns.

    Raises:
        JournalError: it cannot be written; the one before stands.
    """
    path = _path(folder, name)
    try:
        make_folder(folder)
        path.parent.mkdir(mode=FOLDER_MODE, exist_ok=True)
        replace_file(path, msgspec.json.encode(cursor))
    except OSError as error:
        raise JournalError(f"cannot write the cursor {path}: {error}") from error


def replace_file(path: Path, content: bytes) -> None:
    """Replace a file in one step, on the disk when this returns. Raises OSError; what was there before stands then."""
    temporary = path.with_name(path.name + _NEW)
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    try:
        os.fchmod(fd, FILE_MODE)
        with os.fdopen(fd, "wb", closefd=False) as file:
            file.write(content)
        os.fsync(fd)
    finally:
        os.close(fd)
    temporary.rename(path)
    folder_fd = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(folder_fd)
    finally:
        os.close(folder_fd)


def configured(folder: Path, names: Iterable[str]) -> None:
    """Say which destinations there are, before anything is loaded.

    A new one gets a cursor at the beginning of the journal, so that what is there waits for it. One that is there no
    more holds no segment any longer: its cursor goes, and should it come back it begins at what the journal then has.

    Raises:
        ConfigError: a name cannot be one.
        JournalError: the cursors cannot be written.
    """
    wanted = {check_name(name) for name in names}
    for path in _files(folder):
        if path.name.removesuffix(SUFFIX) not in wanted:
            for file in (path, path.with_suffix(TOLD_SUFFIX)):
                file.unlink(missing_ok=True)
    for name in sorted(wanted):
        if not _path(folder, name).exists():
            save(folder, name, Cursor())


def all_of(folder: Path) -> list[Cursor]:
    """Every destination's cursor. One that cannot be read is as one that has sent nothing."""
    found = []
    for path in _files(folder):
        try:
            cursor = load(folder, path.name.removesuffix(SUFFIX))
        except JournalError:
            cursor = Cursor()
        if cursor is not None:
            found.append(cursor)
    return found


def are_past(cursors: Iterable[Cursor], segment: str, end_offset: int) -> bool:
    """Whether every destination was sent all of the segment of that name, which ends at `end_offset`."""
    return all(cursor.is_past(segment, end_offset) for cursor in cursors)


def _files(folder: Path) -> list[Path]:
    return sorted((folder / FOLDER).glob("*" + SUFFIX))


def _path(folder: Path, name: str) -> Path:
    return folder / FOLDER / (check_name(name) + SUFFIX)
