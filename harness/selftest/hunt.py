"""Hunting a twin: the smallest schedule that convicts a candidate, in the order in which campaigns explore."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass

from harness.campaign.bench import Bench, BenchSpec
from harness.explore.singles import Planned, Singles, SiteFacts
from harness.judge.judge import judge
from harness.judge.telling import most_telling_first
from harness.judge.triggered import PREDICATES
from harness.model.cell import Cell
from harness.model.event import History
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome, Verdict
from harness.scenario_files.loader import find, load


@dataclass(frozen=True, slots=True)
class Caught:
    """One run of a twin: which of the three happened, and what was violated, the most telling first."""

    reached: bool
    triggered: bool
    violated: tuple[str, ...]
    verdicts: tuple[Verdict, ...]
    unknown: str = ""


@dataclass(frozen=True, slots=True)
class Hunt:
    """The outcome of a hunt. `schedule` is "" when the whole space was explored and nothing found: the bug is masked here."""

    twin: str
    cell: str
    schedule: str
    violated: tuple[str, ...]
    explored: int
    first: int
    """Schedules to the first violation of any kind; 0 when there was none."""
    milliseconds: float
    control: str


def make_bench(candidate: str, scenario: str, cell: str) -> Bench:
    return Bench(BenchSpec(candidate, load(find(scenario)), Cell.parse(cell) if cell else None, "simulation", ""))


def look_at(bench: Bench, schedule: Schedule, predicate: str = "") -> tuple[Caught, History, dict[str, SiteFacts]]:
    """Run and judge one schedule of a twin; measure reached, triggered, detected."""
    ran = bench.rig.run(schedule)
    history = ran.history
    bad = most_telling_first(v for v in judge(history, bench.scenario) if v.outcome is not Outcome.HOLDS)
    violated = tuple(v.guarantee for v in bad if v.outcome is Outcome.VIOLATED)
    unknown = next((v.explanation for v in bad if v.outcome is Outcome.UNKNOWN), "")
    caught = Caught(
        reached=bool(history.of_kind("bug-reached")),
        triggered=PREDICATES[predicate](history, bench.scenario) if predicate else False,
        violated=violated,
        verdicts=bad,
        unknown=unknown,
    )
    return caught, history, dict(ran.sites)


def hunt(twin: str, candidate: str, scenario: str, cell: str, predicate: str = "") -> Hunt:
    """Explore singles, recovery paths included, until a violation. Runs in a process of its own or here.

    With a `predicate` the hunt goes on until a run in which the planted line was reached, the harm triggered and the guarantee
    violated: that run shows the planted bug and nothing else. `first` then still counts the schedules to the first violation of any kind.
    """
    started = time.perf_counter()
    bench = make_bench(candidate, scenario, cell)
    try:
        base = Schedule(bench.scenario.id, bench.scenario.seed, (), Cell.parse(cell) if cell else None)
        explored, first, control = 0, 0, ""
        for planned, caught in _explore(bench, base, predicate):
            if not planned.fault:
                control = "violated" if caught.violated else "unknown" if caught.unknown else "holds"
                if control != "holds":
                    return Hunt(twin, cell, str(base), caught.violated, 0, 0, _ms(started), control)
                continue
            explored += 1
            first = first or (explored if caught.violated else 0)
            if caught.violated and (not predicate or (caught.reached and caught.triggered)):
                return Hunt(twin, cell, str(planned.schedule), caught.violated, explored, first, _ms(started), control)
        return Hunt(twin, cell, "", (), explored, first, _ms(started), control)
    finally:
        bench.close()


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 1)


def _explore(bench: Bench, base: Schedule, predicate: str) -> Iterator[tuple[Planned, Caught]]:
    singles = Singles(bench.scenario, bench.rig.cells, base, bench.abilities)
    control = singles.control()
    caught, _, sites = look_at(bench, base)
    yield control, caught
    ran: list[tuple[Planned, dict[str, SiteFacts]]] = []
    for planned in singles.first_round(sites):
        caught, _, sites = look_at(bench, planned.schedule, predicate)
        yield planned, caught
        ran.append((planned, sites))
    for planned in singles.second_round(ran):
        caught, _, _ = look_at(bench, planned.schedule, predicate)
        yield planned, caught
