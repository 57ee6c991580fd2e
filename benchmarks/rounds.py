"""Interleaved rounds: every subject is timed once a round, in turn, so that a busy machine is busy for all of them.

Here: the one place of this folder that reads clocks, and what is made of the readings. Never here: what is timed.
In-process subjects are timed in processor time, which other programs disturb least; whole processes in wall time.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

Subject = Callable[[], object]
Clock = Callable[[], float]

cpu: Clock = time.process_time
wall: Clock = time.perf_counter


@dataclass(frozen=True, slots=True)
class Timed:
    """Seconds of one call of one subject, one entry per round, in round order. Never empty."""

    seconds: tuple[float, ...]

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return median(self.seconds)

    def ratio_best(self, base: Timed) -> float:
        """Best against best: what is left when nothing disturbed either."""
        return self.best / base.best

    def ratio_median(self, base: Timed) -> float:
        """The median of the rounds' own ratios: both sides of each were taken within one round."""
        return median(own / other for own, other in zip(self.seconds, base.seconds, strict=True))


def interleaved(
    subjects: Mapping[str, Subject], rounds: int, *, calls: int = 1, clock: Clock = cpu
) -> dict[str, Timed]:
    """Time each subject in each round, `calls` calls together; the order turns, so that no one always comes first."""
    names = list(subjects)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for subject in subjects.values():
        subject()  # imports, caches and compiled statements are no part of what repeats
    for number in range(rounds):
        gc.collect()
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            taken[name].append(_seconds(subjects[name], calls, clock))
    return {name: Timed(tuple(seconds)) for name, seconds in taken.items()}


def _seconds(subject: Subject, calls: int, clock: Clock) -> float:
    started = clock()
    for _ in range(calls):
        subject()
    return (clock() - started) / calls
