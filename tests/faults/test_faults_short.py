"""Some scenarios of `python -m tests.faults` in their short form: nothing acknowledged is lost or doubled.

`.ci/run` runs all of them by the command: here they would take two minutes of every test run once more.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from .nursery import Nursery
from .registry import SCENARIOS, Scenario
from .work import at_work


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Nursery]:
    with Nursery(tmp_path_factory.mktemp("nursery") / "errors") as nursery:
        yield nursery


QUICK = ("conflict", "flipped", "poison")


@pytest.mark.parametrize(
    "scenario", [pytest.param(s, id=s.name, marks=pytest.mark.fault(*s.faults)) for s in SCENARIOS if s.name in QUICK]
)
def test_nothing_is_lost_or_doubled(scenario: Scenario, nursery: Nursery) -> None:
    with at_work(nursery, short=True) as work:
        outcome = scenario.function(work)
    said = nursery.errors.read_text("utf-8")
    assert (outcome.lost, outcome.doubled, outcome.wrong) == (0, 0, []), said
    assert outcome.tried > 0


def faults(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tests.faults", *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_table_has_a_line_for_each_scenario_asked_for() -> None:
    done = faults("burst", "--short")
    assert done.returncode == 0, done.stderr
    head, line = done.stdout.splitlines()
    assert head.split()[:3] == ["fault", "name", "what"]
    assert line.split()[:2] == ["1", "burst"]
    assert "2,000" in line


def test_a_scenario_that_there_is_not_is_refused_by_name() -> None:
    done = faults("lunch")
    assert done.returncode == 2
    assert "there is no scenario lunch" in done.stderr


def test_the_list_names_every_fault_and_where_it_is_shown() -> None:
    done = faults("--list")
    assert done.returncode == 0, done.stderr
    assert " 1 kill -9 after a burst\n     python -m tests.faults burst\n" in done.stdout
    assert "\n56 secrets in prompts\n" in done.stdout
