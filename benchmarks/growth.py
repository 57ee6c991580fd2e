"""How the time of one single-fault schedule grows with the workflow: chains of 4, 8 and 16 operations.

Twice the operations should take twice the time, exponent 1. The bare run's exponent stands beside it, since what the
candidate itself adds by growing is no fault of the harness.
"""

from __future__ import annotations

import gc
from math import log
from statistics import median

from benchmarks.finding import Finding, Section
from benchmarks.rounds import cpu
from benchmarks.subjects import Pair, chain, pair
from benchmarks.sweep import spread
from harness.model.schedule import Schedule

LENGTHS = (4, 8, 16)
SAMPLE = 60
"""Schedules of each length that are timed, evenly spread over all of its singles."""
GOAL = 1.1


def measure(rounds: int) -> Section:
    pairs = {length: pair(chain(length)) for length in LENGTHS}
    try:
        plans = {length: _sample(both) for length, both in pairs.items()}
        passes = max(2, rounds // 5)
        taken = [{length: _seconds(both, plans[length]) for length, both in pairs.items()} for _ in range(passes)]
    finally:
        for both in pairs.values():
            both.close()
    faulted = {length: [one[length][0] for one in taken] for length in LENGTHS}
    bare = {length: [one[length][1] for one in taken] for length in LENGTHS}
    return Section(
        "Growth with the workflow: a chain of 4, 8 and 16 operations",
        (
            Finding("time of a schedule, 16 / 4 operations, / 4", "x", *_growth(faulted), GOAL),
            Finding("the same of the bare run", "x", *_growth(bare)),
        ),
        (
            f"Exponent {_exponent(faulted):.2f}, of the bare run {_exponent(bare):.2f} (1 is linear).",
            "Best per schedule and operation: "
            + ", ".join(f"{min(seconds) / length * 1e6:.0f} us of {length}" for length, seconds in faulted.items())
            + ".",
        ),
    )


def _sample(both: Pair) -> list[Schedule]:
    singles = both.singles()
    planned = singles.first_round(both.rig.run(both.control).sites)
    return [p.schedule for p in spread(planned, SAMPLE)]


def _seconds(both: Pair, schedules: list[Schedule]) -> tuple[float, float]:
    """Mean seconds of a schedule (run, encoded, judged), and of a bare run timed right after."""
    gc.collect()
    started = cpu()
    for schedule in schedules:
        both.judged(schedule)
    between = cpu()
    for _ in schedules:
        both.bare.run()
    return (between - started) / len(schedules), (cpu() - between) / len(schedules)


def _growth(seconds: dict[int, list[float]]) -> tuple[float, float]:
    """(best against best, median of the passes' own ratios), each over the growth of the workflow."""
    first, last = LENGTHS[0], LENGTHS[-1]
    factor = last / first
    own = [long / short / factor for long, short in zip(seconds[last], seconds[first], strict=True)]
    return min(seconds[last]) / min(seconds[first]) / factor, median(own)


def _exponent(seconds: dict[int, list[float]]) -> float:
    first, last = LENGTHS[0], LENGTHS[-1]
    return log(min(seconds[last]) / min(seconds[first])) / log(last / first)
