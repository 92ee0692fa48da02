"""Every fault that must be shown is shown by a test that carries its number."""

from __future__ import annotations

from .marks import marked_tests
from .registry import FAULTS, REQUIRED, SCENARIOS


def test_every_required_fault_is_carried_by_a_test() -> None:
    """The scenarios are tests too: `.ci/run` runs each of them under its numbers."""
    carried = {*marked_tests(), *(n for s in SCENARIOS for n in s.faults)}
    missing = {n: FAULTS[n] for n in sorted(REQUIRED - carried)}
    assert missing == {}


def test_every_number_that_is_carried_is_a_fault() -> None:
    assert {n: tests for n, tests in marked_tests().items() if n not in FAULTS} == {}


def test_scenarios_have_names_of_their_own_and_known_faults() -> None:
    names = [s.name for s in SCENARIOS]
    assert sorted(names) == sorted(set(names))
    assert {n for s in SCENARIOS for n in s.faults} <= FAULTS.keys()
