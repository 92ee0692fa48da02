"""What a generator writes into the README: the text between `<!-- name -->` and `<!-- /name -->`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

README = Path(__file__).parents[1] / "README.md"


def written(name: str) -> str:
    """What stands there now."""
    return README.read_text("utf-8").partition(f"<!-- {name} -->")[2].partition(f"<!-- /{name} -->")[0].strip()


def print_or_write(name: str, make: Callable[[], str], arguments: list[str], *, prog: str, about: str | None) -> None:
    """Print what is to stand there, or with --write put it there."""
    parser = argparse.ArgumentParser(prog=prog, description=about)
    parser.add_argument("--write", action="store_true", help="write it into README.md")
    if not parser.parse_args(arguments).write:
        print(make())
        return
    start, end, text = f"<!-- {name} -->", f"<!-- /{name} -->", README.read_text("utf-8")
    if start not in text or end not in text:
        parser.error(f"{README} has no {start} and {end} to write between")
    before, _, rest = text.partition(start)
    README.write_text(f"{before}{start}\n{make()}\n{end}{rest.partition(end)[2]}", "utf-8")
