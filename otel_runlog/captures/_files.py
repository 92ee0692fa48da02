"""Captures in files. Nobody else may read what is written, and no name of a file comes out of a capture as it is."""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from otel_runlog.capture import Capture
from otel_runlog.captures._names import file_name_of
from otel_runlog.captures._reading import MAX_BYTES, loads
from otel_runlog.captures._writing import dumps
from otel_runlog.errors import CaptureError

_NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def read_capture(path: str | os.PathLike[str], *, max_bytes: int = MAX_BYTES) -> Capture:
    """The capture in a file, which may be a stranger's.

    Raises:
        CaptureError: the file cannot be read, or is no capture: see `loads`.
    """
    try:
        handle = os.open(path, _OLD)  # a pipe without a writer must not hold us
        with os.fdopen(handle, "rb") as file:
            about = os.fstat(handle)
            if not stat.S_ISREG(about.st_mode):
                raise CaptureError(f"{os.fspath(path)}: it is no file")
            if about.st_size > max_bytes:
                raise CaptureError(
                    f"{os.fspath(path)}: it has {about.st_size} bytes, more than the {max_bytes} that are read"
                )
            data = file.read(max_bytes + 1)
    except (OSError, ValueError) as error:
        raise CaptureError(f"{os.fspath(path)}: {_reason(error)}") from None
    return loads(data, name=os.fspath(path), max_bytes=max_bytes)


def write_capture(path: str | os.PathLike[str], capture: Capture, *, replace: bool = False) -> Path:
    """Write a capture to a file that only its owner can read.

    Args:
        path: of the file; in a folder it gets the run's id as its name.
        capture: what to write.
        replace: whether a file that is there goes, at once and only when the new one is whole. What a symbolic link
            points to is never touched, and neither are devices and pipes.

    Returns:
        The file's path.

    Raises:
        CaptureError: it cannot be written, or is there already.
    """
    target = Path(path)
    if target.is_dir():
        target = target / file_name_of(capture.run_id)
    data = dumps(capture)
    try:
        _check_is_file(target)
        if replace:
            _replace(target, data)
        else:
            _create(target, data)
    except FileExistsError:
        raise CaptureError(f"{target}: it is there already") from None
    except (OSError, ValueError) as error:
        raise CaptureError(f"{target}: {_reason(error)}") from None
    return target


def _reason(error: OSError | ValueError) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def _check_is_file(target: Path) -> None:
    if not os.path.lexists(target):
        return
    mode = target.lstat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        raise CaptureError(f"{target}: it is no file")


def _create(target: Path, data: bytes) -> None:
    handle = os.open(target, _NEW, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _replace(target: Path, data: bytes) -> None:
    beside = target.with_name(f".{secrets.token_hex(8)}.tmp")
    _create(beside, data)
    try:
        beside.replace(target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
