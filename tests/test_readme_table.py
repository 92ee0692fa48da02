"""README's tables are those of the code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from readme_block import written

from otel_runlog import conventions
from otel_runlog.conventions.known_faults import KNOWN_FAULTS
from otel_runlog.counting import LAST_CALL_ONLY

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def printed() -> str:
    done = subprocess.run(
        [sys.executable, "-m", "tests.readme_table"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(text: str) -> dict[str, list[str]]:
    found = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| `")]
    return {cells[0].strip("`"): cells[1:] for cells in found}


def test_the_readme_is_up_to_date(printed: str) -> None:
    assert written("conventions") == printed.strip(), "python -m tests.readme_table --write brings it up to date"


def test_every_convention_and_every_fault_has_a_row(printed: str) -> None:
    names = [convention.NAME for convention in conventions.CONVENTIONS] + [fault.name for fault in KNOWN_FAULTS]
    assert list(rows(printed)) == [*names, *["last_call_only"] * len(LAST_CALL_ONLY)]


def test_a_row_says_what_the_corpus_shows(printed: str) -> None:
    seen = rows(printed)
    assert seen["claude_code"][1:] == ["✓", "✓", "–", "–", "✓", "✓", "✓"]  # noqa: RUF001
    assert set(seen["spring_ai"][1:]) == {"n/a"}
    assert seen["openlit_estimate"] == [
        "`openlit.*`",
        "OpenLIT estimated N and N tokens itself, the stream told none",
        "put right or left out, with a note",
    ]
