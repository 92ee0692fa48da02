"""Which recorded calls have come again: the one place that decides it, for model calls and tool calls alike. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from otel_runlog.replaying.divergence import StepDivergence


class Ledger:
    """Recorded calls by number, each with the key it is found by (None: only by hand), in the order they were started.

    A call is *taken* when it came again. It is *claimed* when one that was not recorded is thought to stand in its
    place; a call that comes again after all takes it from the claimant, who then has none.
    """

    def __init__(self, keys: Sequence[str | None]) -> None:
        self._of_key: dict[str, list[int]] = defaultdict(list)
        for number, key in enumerate(keys):
            if key is not None:
                self._of_key[key].append(number)
        self._size = len(keys)
        self._taken: set[int] = set()
        self._claimants: dict[int, int] = {}

    def numbers(self, key: str | None) -> Sequence[int]:
        """All calls with this key."""
        return self._of_key.get(key, ()) if key is not None else ()

    def take(self, key: str | None) -> int | None:
        """The next call with this key that has not come: one that nobody claims, if there is any."""
        left = [number for number in self.numbers(key) if number not in self._taken]
        if not left:
            return None
        number = next((number for number in left if number not in self._claimants), left[0])
        self.take_number(number)
        return number

    def take_number(self, number: int) -> None:
        """This call has come."""
        self._taken.add(number)
        self._claimants.pop(number, None)

    def claim(self, number: int, claimant: int) -> None:
        """This claimant stands in the place of this call."""
        self._claimants[number] = claimant

    def claims(self) -> dict[int, int]:
        """The calls by claimant."""
        return {claimant: number for number, claimant in self._claimants.items()}

    def free(self) -> Iterator[int]:
        """The calls that have not come and that nobody claims."""
        return (number for number in range(self._size) if not (number in self._taken or number in self._claimants))

    @property
    def taken(self) -> int:
        """How many calls have come."""
        return len(self._taken)


class Unfound(Protocol):
    """A call that found nothing recorded.

    `settled`: its divergence can no longer change, whatever comes. `lacking`: it was found, and only its answer is not
    in the capture, which says nothing against the program.
    """

    divergence: StepDivergence
    settled: bool
    lacking: bool


U = TypeVar("U", bound=Unfound)


def settle(
    ledger: Ledger,
    misses: Sequence[U],
    free: list[int],
    place: Callable[[U, list[int]], int | None],
    tell: Callable[[U, int | None], StepDivergence],
) -> list[tuple[U, StepDivergence]]:
    """What each miss comes to. One whose place another call took after all finds another, as far as there are any.

    Args:
        ledger: who stands in whose place, misses by their number.
        misses: in the order they came.
        free: recorded calls that nobody stands for; those that are found here are taken out.
        place: which of the free calls a miss could stand for; None for none.
        tell: the divergence of a miss that stands there.
    """
    places = ledger.claims()
    found = []
    for number, miss in enumerate(misses):
        if miss.lacking:
            continue
        divergence = miss.divergence
        if not (miss.settled or number in places):
            if (at := place(miss, free)) is not None:
                free.remove(at)
            divergence = tell(miss, at)
        found.append((miss, divergence))
    return found
