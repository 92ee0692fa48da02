"""Where the server of a store can be asked: `<db>.journal/server.json`, written by whoever holds `server.lock`.

A server holds the flock of `server.lock` as long as it lives, however it ends, so a file that a dead one left says
nothing. The pid is for people; nothing is concluded from it, as another process may have it by now.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import secrets
import stat
import time
from pathlib import Path
from typing import Final, Self

import msgspec

from otel_runlog.errors import ConfigError, ServerStartError
from otel_runlog.journal.folder import FILE_MODE, journal_folder, make_folder

ADDRESS_FILE: Final = "server.json"
LOCK_FILE: Final = "server.lock"
_TRIES, _RETRY_S = 20, 0.05  # whoever asks whether a server lives holds the lock for a moment
_TOKEN_BYTES: Final = 32

logger = logging.getLogger("otel_runlog")


class ServerAddress(msgspec.Struct, frozen=True):
    """Where a living server listens (`host:port`, empty where it does not), and the token that it wants.

    With `token_file` the token is that file's first line, and `token` is empty.
    """

    grpc: str
    http: str
    db: str
    pid: int
    token: str = ""
    token_file: str = ""

    def secret(self) -> str:
        """The token.

        Raises:
            ConfigError: the token's file cannot be read.
        """
        return read_token(Path(self.token_file)) if self.token_file else self.token


class ServerClaim:
    """The right to serve a store: one living server a store. `claim` gives it, before anything listens."""

    def __init__(self, folder: Path, lock: int) -> None:
        self._folder = folder
        self._lock = lock

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.withdraw()

    def publish(self, address: ServerAddress) -> None:
        """Have commands find the server from now on."""
        _write_private(self._folder / ADDRESS_FILE, msgspec.json.encode(address))

    def withdraw(self) -> None:
        """No command finds the server any more, and another may serve the store. Twice is fine."""
        if self._lock < 0:
            return
        (self._folder / ADDRESS_FILE).unlink(missing_ok=True)
        os.close(self._lock)
        self._lock = -1


def claim(db: str | os.PathLike[str]) -> ServerClaim:
    """Claim the right to serve a store.

    Raises:
        ServerStartError: a living server has it.
        JournalError: the journal's folder cannot be used.
    """
    folder = journal_folder(db)
    make_folder(folder)
    lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    for attempt in range(_TRIES):
        if _try_lock(lock, fcntl.LOCK_EX):
            os.ftruncate(lock, 0)
            os.pwrite(lock, str(os.getpid()).encode(), 0)
            return ServerClaim(folder, lock)
        time.sleep(_RETRY_S if attempt < _TRIES - 1 else 0)
    pid = os.pread(lock, 32, 0).decode("ascii", "replace") or "unknown"
    os.close(lock)
    raise ServerStartError(f"{os.fspath(db)} is served by process {pid} already: ask that server, or stop it first")


def find(db: str | os.PathLike[str]) -> ServerAddress | None:
    """Where the living server of a store can be asked; None where there is none, or it is not ours to ask."""
    folder = journal_folder(db)
    with contextlib.suppress(OSError, msgspec.DecodeError):
        text = (folder / ADDRESS_FILE).read_bytes()
        if _is_held(folder / LOCK_FILE):
            return msgspec.json.decode(text, type=ServerAddress)
    return None


def new_token() -> str:
    """A token that nobody guesses."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def read_token(file: Path) -> str:
    """The first line of a token file.

    Raises:
        ConfigError: it cannot be read, or its first line is empty or no ASCII.
    """
    try:
        with file.open("rb") as stream:
            line = stream.readline().strip()
    except OSError as error:
        raise ConfigError(f"cannot read the token file {file}: {error.strerror or error}") from error
    if not line or not line.isascii():
        raise ConfigError(f"the first line of the token file {file} must be the token, in ASCII")
    return line.decode("ascii")


def token_of(file: Path) -> str:
    """The token of a file that is made, with a new token and mode 0600, where it is not there.

    Raises:
        ConfigError: it can neither be read nor made, or holds no token.
    """
    try:
        fd = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
    except FileExistsError:
        _tell_if_open(file)
        return read_token(file)
    except OSError as error:
        raise ConfigError(f"cannot make the token file {file}: {error.strerror or error}") from error
    _fill(fd, new_token().encode() + b"\n")
    return read_token(file)


def _tell_if_open(file: Path) -> None:
    with contextlib.suppress(OSError):
        if (mode := stat.S_IMODE(file.stat().st_mode)) & 0o077:
            logger.warning("others may read the token file %s (mode %04o): chmod 600 it", file, mode)


def _try_lock(fd: int, kind: int) -> bool:
    try:
        fcntl.flock(fd, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_held(lock_file: Path) -> bool:
    fd = os.open(lock_file, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return not _try_lock(fd, fcntl.LOCK_SH)
    finally:
        os.close(fd)


def _write_private(file: Path, data: bytes) -> None:
    """Nobody sees half of it, and nobody else may read it, whatever the umask."""
    draft = file.with_name(f"{file.name}.{os.getpid()}.part")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, FILE_MODE)
    _fill(fd, data)
    draft.replace(file)


def _fill(fd: int, data: bytes) -> None:
    with os.fdopen(fd, "wb") as stream:
        os.fchmod(fd, FILE_MODE)
        stream.write(data)
