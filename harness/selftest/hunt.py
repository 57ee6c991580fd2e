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
from harness.model.schedule import Schedule
from harness.model.verdict import Outcome
from harness.scenario_files.loader import find, load


@dataclass(frozen=True, slots=True)
class Caught:
    """One run of a twin: which of the three happened, and what was violated, the most telling first."""

    reached: bool
    triggered: bool
    violated: tuple[str, ...]
    unknown: str = ""
    """Why something could not be judged, or ""."""

    @property
    def outcome(self) -> Outcome:
        return Outcome.VIOLATED if self.violated else Outcome.UNKNOWN if self.unknown else Outcome.HOLDS


@dataclass(frozen=True, slots=True)
class Hunt:
    """The outcome of a hunt. `schedule` is "" when the whole space was explored and nothing found: the bug is masked here.

    `explored` schedules, the convicting one included, took `milliseconds`, the making of the bench included: the price of the first
    detection, or of the certainty that there is none among the singles.
    """

    twin: str
    cell: str
    schedule: str
    violated: tuple[str, ...]
    explored: int
    milliseconds: float
    control: str


def make_bench(candidate: str, scenario: str, cell: str) -> Bench:
    return Bench(BenchSpec(candidate, load(find(scenario)), Cell.parse(cell) if cell else None, "simulation", ""))


def look_at(bench: Bench, schedule: Schedule, predicate: str = "") -> tuple[Caught, dict[str, SiteFacts]]:
    """Run and judge one schedule of a twin; measure reached, triggered, detected. With the sites it crossed."""
    ran = bench.rig.run(schedule)
    history = ran.history
    bad = most_telling_first(v for v in judge(history, bench.scenario) if v.outcome is not Outcome.HOLDS)
    caught = Caught(
        reached=bool(history.of_kind("bug-reached")),
        triggered=PREDICATES[predicate](history, bench.scenario) if predicate else False,
        violated=tuple(v.guarantee for v in bad if v.outcome is Outcome.VIOLATED),
        unknown=next((v.explanation for v in bad if v.outcome is Outcome.UNKNOWN), ""),
    )
    return caught, dict(ran.sites)


def hunt(twin: str, candidate: str, scenario: str, cell: str, predicate: str = "") -> Hunt:
    """Explore singles, recovery paths included, until a violation. Runs in a process of its own or here.

    With a `predicate` of `harness.judge.triggered` the hunt goes on to the first violating run in which the planted line was reached and
    the harm is in the world too: the run that shows the planted bug itself, and the one a pin should name.
    """
    started = time.perf_counter()
    bench = make_bench(candidate, scenario, cell)
    explored, control, schedule = 0, "", ""
    violated: tuple[str, ...] = ()
    try:
        for planned, caught in _explore(bench, Cell.parse(cell) if cell else None, predicate):
            if planned.fault:
                explored += 1
            else:
                control = caught.outcome.value
            shown = not predicate or (caught.reached and caught.triggered)
            if (caught.violated and shown) or control != "holds":
                schedule, violated = str(planned.schedule), caught.violated
                break
    finally:
        bench.close()
    milliseconds = round((time.perf_counter() - started) * 1000, 1)
    return Hunt(twin, cell, schedule, violated, explored, milliseconds, control)


def _explore(bench: Bench, cell: Cell | None, predicate: str) -> Iterator[tuple[Planned, Caught]]:
    scenario = bench.spec.scenario
    singles = Singles(scenario, bench.rig.cells, Schedule(scenario.id, scenario.seed, (), cell), bench.abilities)
    caught, sites = look_at(bench, singles.base)
    yield singles.control(), caught
    ran: list[tuple[Planned, dict[str, SiteFacts]]] = []
    for planned in singles.first_round(sites):
        caught, sites = look_at(bench, planned.schedule, predicate)
        yield planned, caught
        ran.append((planned, sites))
    for planned in singles.second_round(ran):
        caught, _ = look_at(bench, planned.schedule, predicate)
        yield planned, caught
