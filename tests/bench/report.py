"""The lines of the benchmark: as a table for people, as JSON for comparing commits."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table

LIBRARIES = ("otel-runlog", "opentelemetry-sdk", "protobuf", "duckdb", "msgspec", "genai-prices")
COLUMNS = ("figure", "unit", "floor is", "floor", "ours", "best", "times floor", "target", "", "CPU s")
NUMBERS = frozenset({"floor", "ours", "best", "times floor", "CPU s"})
RATE = "spans/core-s"
"""The one unit of which more is better."""


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One figure.

    Attributes:
        section: the part of the benchmark it belongs to.
        figure: what was done.
        unit: of floor, ours and target.
        ours: what it costs with us, the median of the repeats.
        best: the best of the repeats: on a busy machine compare this; None where there is one value.
        floor: what the machine takes without us for the least that has to be done; None where nothing has to be.
        floor_is: what that is.
        target: the goal, at most (at least for rates); None where there is none.
        target_text: how the goal was stated.
        cpu_s: CPU seconds that the process spent on measuring `ours`, all repeats and threads.
    """

    section: str
    figure: str
    unit: str
    ours: float
    best: float | None = None
    floor: float | None = None
    floor_is: str = ""
    target: float | None = None
    target_text: str = ""
    cpu_s: float = 0.0

    @property
    def times_floor(self) -> float | None:
        """How many times the floor's cost ours is, also where the unit is a rate."""
        if not self.floor or not self.ours:
            return None
        return self.floor / self.ours if self.unit == RATE else self.ours / self.floor

    @property
    def is_met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.target is None:
            return None
        return self.ours >= self.target if self.unit == RATE else self.ours <= self.target


class Machine(msgspec.Struct, frozen=True):
    """Where and with what the figures were taken. `load` is the load average over one minute at the start."""

    date: str
    commit: str | None
    cpu: str
    cores: int
    load: float
    system: str
    python: str
    libraries: dict[str, str]

    @classmethod
    def here(cls) -> Machine:
        """This machine, now."""
        return cls(
            date=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            commit=_commit(),
            cpu=_cpu_model(),
            cores=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1,
            load=round(os.getloadavg()[0], 2),
            system=platform.platform(terse=True),
            python=f"{platform.python_implementation()} {platform.python_version()}",
            libraries={name: importlib.metadata.version(name) for name in LIBRARIES},
        )

    def head(self) -> list[str]:
        """The lines above the table."""
        commit = f", commit {self.commit}" if self.commit else ""
        return [
            f"{self.date}{commit}",
            f"{self.cpu}, {self.cores} cores, load {self.load}, {self.system}, {self.python}",
            ", ".join(f"{name} {version}" for name, version in self.libraries.items()),
        ]


def _commit() -> str | None:
    """The commit that is measured, with `+` where files differ from it; None where there is no git."""
    try:
        found = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--exclude=*"],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return found.stdout.strip()


def _cpu_model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def show(machine: Machine, lines: Sequence[Line]) -> None:
    """Print the table: with rules and colours on a terminal, plain text with tabs' worth of blanks elsewhere."""
    if sys.stdout.isatty():
        Console().print(*machine.head(), sep="\n", highlight=False)
        Console().print(_rich_table(lines))
    else:
        print("\n".join([*machine.head(), "", *_plain_table(lines)]))


def _rich_table(lines: Sequence[Line]) -> Table:
    table = Table("section", header_style="bold")
    for name in COLUMNS:
        table.add_column(name, justify="right" if name in NUMBERS else "left")
    before = None
    for line in lines:
        if line.section != before and before is not None:
            table.add_section()
        colour = {True: "green", False: "red", None: None}[line.is_met]
        table.add_row("" if line.section == before else line.section, *_cells(line), style=colour)
        before = line.section
    return table


def _plain_table(lines: Sequence[Line]) -> list[str]:
    rows = [("section", *COLUMNS), *((line.section, *_cells(line)) for line in lines)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def _cells(line: Line) -> tuple[str, ...]:
    met = {True: "met", False: "missed", None: ""}[line.is_met]
    times = _number(line.times_floor)
    return (
        line.figure,
        line.unit,
        line.floor_is,
        _number(line.floor),
        _number(line.ours),
        _number(line.best),
        times,
        line.target_text,
        met,
        f"{line.cpu_s:.2f}",
    )


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if value >= 1_000 else f"{value:.{0 if value >= 100 else 1}f}"


def write_json(path: Path, machine: Machine, lines: Sequence[Line]) -> None:
    """Write the same facts as JSON."""
    facts = [{**msgspec.structs.asdict(x), "times_floor": x.times_floor, "is_met": x.is_met} for x in lines]
    path.write_bytes(msgspec.json.format(msgspec.json.encode({"machine": machine, "lines": facts})) + b"\n")
