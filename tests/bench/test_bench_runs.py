"""The benchmark runs and prints what it measured. How fast anything is, is asserted nowhere."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]


def bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.bench", *arguments], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )


def test_a_short_run_prints_one_table_and_writes_the_same_facts(tmp_path: Path) -> None:
    # All of them are what `.ci/run` measures in short.
    done = bench("on_end", "replay", "--short", "--json", str(tmp_path / "facts.json"))
    assert done.returncode == 0, done.stderr
    facts = json.loads((tmp_path / "facts.json").read_bytes())
    table = done.stdout.split("\n\n")[1].splitlines()
    assert table[0].split()[:3] == ["section", "figure", "unit"]
    assert len(table) == 1 + len(facts["lines"])
    assert {line["section"] for line in facts["lines"]} == {"on_end", "replay"}
    for row, line in zip(table[1:], facts["lines"], strict=True):
        assert line["figure"] in row
        assert line["ours"] > 0
    assert facts["machine"]["cores"] >= 1
    assert facts["machine"]["cpu"] in done.stdout


def test_a_section_that_there_is_not_is_refused_by_name() -> None:
    done = bench("on_end", "lunch")
    assert done.returncode == 2
    assert "there is no section lunch; there are on_end, ingest, history, queries, replay, server" in done.stderr
