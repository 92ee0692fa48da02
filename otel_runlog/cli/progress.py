"""A line that says how far a command is, on a terminal only."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def progress_line() -> Iterator[Callable[[str], None]]:
    """Gives a function that replaces the line on stderr; what is no terminal gets nothing."""
    if not sys.stderr.isatty():
        yield lambda _text: None
        return
    from rich.console import Console
    from rich.status import Status

    with Status("", console=Console(stderr=True)) as status:
        yield status.update
