"""What a sweep of all single faults costs against as many bare runs (goals G2 and G4 of a Core ledger).

A faulted run does more than a bare one: it restarts, looks up, waits, sometimes undoes. So the same ratio is also shown
per ledger transaction, and the mean work of a schedule stands beside it. The bare runs are timed between the schedules,
in small batches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.finding import Finding, Section
from benchmarks.rounds import cpu
from benchmarks.subjects import Pair, onboarding, pair, work_of
from harness.explore.singles import Planned
from harness.model.schedule import Schedule

GOAL = 1.2
BATCH = 20
RECOVERY_SAMPLE = 400
"""Schedules of the second round that are timed in each pass, evenly spread: all of them would take minutes."""


@dataclass(frozen=True, slots=True)
class Swept:
    """One pass over some schedules: seconds of all, seconds of as many bare runs, and the mean work of a schedule."""

    count: int
    seconds: float
    bare_seconds: float
    commits: float
    calls: float

    @property
    def ratio(self) -> float:
        return self.seconds / self.bare_seconds


def measure(rounds: int) -> Section:
    both = pair(onboarding())
    try:
        passes = max(1, rounds // 10)
        first, second = plan(both)
        sample = spread(second, RECOVERY_SAMPLE)
        firsts = [swept(both, [p.schedule for p in first]) for _ in range(passes)]
        seconds = [swept(both, [p.schedule for p in sample]) for _ in range(passes)]
        commits, calls = both.bare.work_done()
    finally:
        both.close()
    return Section(
        f"Every single fault of {both.scenario.id} against as many bare runs",
        (
            *_findings("on the sound path", firsts, commits, goal=GOAL),
            *_findings(
                "on recovery paths too",
                [_joined(a, b, len(second)) for a, b in zip(firsts, seconds, strict=True)],
                commits,
            ),
        ),
        (
            f"A bare run makes {commits} transactions and {calls} calls.",
            _note("on the sound path", firsts[0]),
            _note("reached by a first fault", seconds[0])
            + (f" ({len(sample)} of {len(second)} were timed, evenly spread)." if len(sample) < len(second) else "."),
        ),
    )


def plan(both: Pair) -> tuple[list[Planned], list[Planned]]:
    """Both rounds of singles, as a campaign plans them."""
    singles = both.singles()
    first = singles.first_round(both.rig.run(both.control).sites)
    return first, singles.second_round((p, both.rig.run(p.schedule).sites) for p in first)


def spread(planned: Sequence[Planned], count_max: int) -> list[Planned]:
    """At most `count_max` of them, at even distances."""
    count = min(count_max, len(planned))
    return [planned[position * len(planned) // count] for position in range(count)]


def swept(both: Pair, schedules: Sequence[Schedule]) -> Swept:
    """Run, encode and judge each schedule, a batch at a time, and as many bare runs after each batch."""
    seconds = bare_seconds = 0.0
    commits = calls = 0
    for batch in _batches(schedules):
        started = cpu()
        done = [both.judged(schedule) for schedule in batch]
        between = cpu()
        for _ in batch:
            both.bare.run()
        seconds, bare_seconds = seconds + between - started, bare_seconds + cpu() - between
        for ran in done:
            made, sent = work_of(ran)
            commits, calls = commits + made, calls + sent
    count = len(schedules)
    return Swept(count, seconds, bare_seconds, commits / count, calls / count)


def _batches(schedules: Sequence[Schedule]) -> Iterator[Sequence[Schedule]]:
    for start in range(0, len(schedules), BATCH):
        yield schedules[start : start + BATCH]


def _joined(first: Swept, sample: Swept, second_count: int) -> Swept:
    """Both rounds as one sweep, the second scaled from its sample to all of its schedules."""
    scale = second_count / sample.count
    count = first.count + second_count

    def mean(a: float, b: float) -> float:
        return (a * first.count + b * second_count) / count

    return Swept(
        count,
        first.seconds + sample.seconds * scale,
        first.bare_seconds + sample.bare_seconds * scale,
        mean(first.commits, sample.commits),
        mean(first.calls, sample.calls),
    )


def _findings(name: str, passes: Sequence[Swept], bare_commits: int, goal: float | None = None) -> tuple[Finding, ...]:
    ratios = sorted(p.ratio for p in passes)
    work = passes[0].commits / bare_commits
    middle = ratios[len(ratios) // 2]
    return (
        Finding(f"{passes[0].count} schedules {name}", "x", ratios[0], middle, goal),
        Finding("  the same per ledger transaction", "x", ratios[0] / work, middle / work),
    )


def _note(name: str, sweep: Swept) -> str:
    each = sweep.seconds / sweep.count
    return (
        f"A schedule {name} makes {sweep.commits:.1f} transactions and {sweep.calls:.1f} calls on average and takes "
        f"{each * 1e3:.2f} ms ({1 / each:.0f} a second)"
    )
