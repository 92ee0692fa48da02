"""python -m tests.faults [NAME...] [--short] [--json FILE] [--list]."""

from __future__ import annotations

import argparse
import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from .marks import marked_tests
from .nursery import Nursery
from .registry import FAULTS, SCENARIOS, Scenario
from .report import Line, show, write_json
from .work import at_work

MOST_SAID = 4000
"""So much of what the applications said is shown where something is wrong."""


def main(arguments: list[str]) -> int:
    """Make the faults happen that are asked for; 1 where anything was lost, doubled or not as required."""
    options = _options(arguments)
    if options.list:
        print("\n".join(listed()))
        return 0
    logging.getLogger("otel_runlog").addHandler(logging.NullHandler())  # what is counted need not be told as well
    chosen = [s for s in SCENARIOS if not options.names or s.name in options.names]
    with TemporaryDirectory(prefix="runlog-faults-") as folder, Nursery(Path(folder, "errors")) as nursery:
        lines = [_run(scenario, nursery, short=options.short) for scenario in chosen]
        good = all(line.outcome.is_good for line in lines)
        if not good:
            print(nursery.errors.read_text("utf-8")[-MOST_SAID:], file=sys.stderr)
    show(lines)
    if options.json:
        write_json(options.json, lines)
    return 0 if good else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description="What is lost when all goes wrong.")
    known = {s.name for s in SCENARIOS}
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(s.name for s in SCENARIOS)}; all of them")
    parser.add_argument("--short", action="store_true", help="each fault a few times only")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the same facts there")
    parser.add_argument("--list", action="store_true", help="the faults, and where each is shown")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - known:
        parser.error(f"there is no scenario {', '.join(sorted(unknown))}: see --list")
    return options


def listed() -> list[str]:
    """Every fault with the scenarios and tests that show it."""
    tests, lines = marked_tests(), list[str]()
    for number, name in FAULTS.items():
        lines.append(f"{number:>2} {name}")
        lines += [f"     python -m tests.faults {s.name}" for s in SCENARIOS if number in s.faults]
        lines += [f"     {test}" for test in tests.get(number, ())]
    return lines


def _run(scenario: Scenario, nursery: Nursery, *, short: bool) -> Line:
    started = time.perf_counter()
    with at_work(nursery, short=short, progress=_progress(scenario.name)) as work:
        outcome = scenario.function(work)
    _clear_line()
    return Line(scenario, outcome, time.perf_counter() - started)


def _progress(name: str) -> Callable[[int, int], None]:
    def tell(done: int, total: int) -> None:
        if sys.stderr.isatty():
            print(f"\r\x1b[K{name}: {done} of {total}", end="", file=sys.stderr, flush=True)

    tell(0, 1)
    return tell


def _clear_line() -> None:
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
