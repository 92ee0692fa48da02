"""python -m tests.bench [section...] [--short] [--json FILE]."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from . import history, ingest, on_end, queries, replay, server
from .measure import FULL, SHORT, Scale
from .report import Line, Machine, show, write_json

SECTIONS: dict[str, Callable[[Scale], list[Line]]] = {
    on_end.SECTION: on_end.lines,
    ingest.SECTION: ingest.lines,
    history.SECTION: history.lines,
    queries.SECTION: queries.lines,
    replay.SECTION: replay.lines,
    server.SECTION: server.lines,
}


def main(arguments: list[str]) -> None:
    """Measure the sections asked for and print them."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description="What a span costs, beside the floor.")
    parser.add_argument("sections", nargs="*", metavar="section", help=f"{', '.join(SECTIONS)}; all by default")
    parser.add_argument("--short", action="store_true", help="a few seconds: to see that it runs, not to compare")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same facts there")
    options = parser.parse_args(arguments)
    unknown = set(options.sections) - SECTIONS.keys()
    if unknown:
        parser.error(f"there is no section {', '.join(sorted(unknown))}; there are {', '.join(SECTIONS)}")
    machine, scale = Machine.here(), SHORT if options.short else FULL
    chosen = options.sections or list(SECTIONS)
    lines = [line for name in chosen for line in SECTIONS[name](scale)]
    show(machine, lines)
    if options.json:
        write_json(options.json, machine, lines)


if __name__ == "__main__":
    main(sys.argv[1:])
