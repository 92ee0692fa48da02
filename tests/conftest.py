"""What holds in every test."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from otel_runlog.errors import RunLogError

DISK_BYTES = 12 << 20


@pytest.fixture(autouse=True)
def books_balance(request: pytest.FixtureRequest) -> Iterator[None]:
    """Of whatever stores a test leaves behind: every span received is in one column of the books (DESIGN rule 3)."""
    folder = request.getfixturevalue("tmp_path") if "tmp_path" in request.fixturenames else None
    yield
    for db in sorted(folder.glob("*.duckdb")) if folder else ():
        assert unbalanced(db) == [], db


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 12 MB, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True)
    except FileNotFoundError:
        pytest.skip("there is no mount here")
    if mounted.returncode:
        pytest.skip(f"nothing may be mounted here: {mounted.stderr.decode().strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def unbalanced(db: Path) -> list[str]:
    """The sources whose books do not balance; none where the test left no store that can be read."""
    from otel_runlog.store.health import HealthReader

    try:
        with HealthReader(db) as store:
            books = store.books()
    except (RunLogError, OSError):
        return []
    return [b.source for b in books if b.received != _kept(b) + sum(b.rejected.values()) + sum(b.dropped.values())]


def _kept(book: object) -> int:
    return sum(int(getattr(book, name)) for name in ("stored", "duplicate", "conflict", "superseded"))
