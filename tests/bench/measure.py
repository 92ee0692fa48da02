"""Taking samples: variants interleaved, so that a busy moment of the machine hits all of them; medians are reported."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec

Clock = Callable[[], float]
Key = TypeVar("Key")


class Scale(msgspec.Struct, frozen=True):
    """How much work a run of the benchmark does. `warm_up`: whether a first round is made that does not count."""

    repeats: int
    warm_up: bool
    spans_on_end: int
    spans_per_stage: int
    spans_end_to_end: int
    repeats_end_to_end: int
    steps_stored: int
    steps_repriced: int
    calls_of_history: int


FULL = Scale(
    repeats=9,
    warm_up=True,
    spans_on_end=1_000,
    spans_per_stage=2_048,
    spans_end_to_end=12_288,
    repeats_end_to_end=3,
    steps_stored=5_000_000,
    steps_repriced=1_000_000,
    calls_of_history=50,
)
SHORT = Scale(
    repeats=1,
    warm_up=False,
    spans_on_end=100,
    spans_per_stage=256,
    spans_end_to_end=512,
    repeats_end_to_end=1,
    steps_stored=50_000,
    steps_repriced=8_000,
    calls_of_history=10,
)


class Sample(msgspec.Struct, frozen=True):
    """One variant: median and best of what its clock said, and all CPU the process spent on all repeats, in seconds."""

    median_s: float
    best_s: float
    cpu_s: float

    def us_each(self, items: int) -> float:
        """Microseconds for each of `items`, the median."""
        return self.median_s * 1e6 / items

    def best_us_each(self, items: int) -> float:
        """The same of the fastest repeat, which other programs disturb least."""
        return self.best_s * 1e6 / items


class Timer:
    """Adds up what runs inside `with`: by its clock, and the CPU time of the whole process."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.spent_s = self.cpu_s = 0.0

    def __enter__(self) -> None:
        self._at, self._cpu_at = self._clock(), time.process_time()

    def __exit__(self, *_: object) -> None:
        self.spent_s += self._clock() - self._at
        self.cpu_s += time.process_time() - self._cpu_at


Variant = Callable[[Timer], object]
"""Does its work once, the part to be measured inside `with timer`."""


def interleaved(
    variants: Mapping[Key, Variant], repeats: int, clock: Clock = time.process_time, *, warm_up: bool
) -> dict[Key, Sample]:
    """Run all variants in turn, `repeats` times over.

    Args:
        variants: what to measure.
        repeats: how often.
        clock: `time.thread_time` for what an application's thread pays, `time.process_time` for all CPU.
        warm_up: whether there is a first round that does not count.
    """
    rounds: dict[Key, list[Timer]] = {key: [] for key in variants}
    gc.collect()
    gc.freeze()  # what the benchmark itself keeps is not walked through again and again
    for _ in range(repeats + warm_up):
        for key, variant in variants.items():
            timer = Timer(clock)
            gc.collect()
            variant(timer)
            rounds[key].append(timer)
    gc.unfreeze()
    return {key: _sample(timers[warm_up:]) for key, timers in rounds.items()}


def _sample(timers: list[Timer]) -> Sample:
    spent_s = [t.spent_s for t in timers]
    return Sample(statistics.median(spent_s), min(spent_s), sum(t.cpu_s for t in timers))
