"""Sweeps: one candidate on one scenario, cut into named cases that a test runner can pick, share out and repeat.

Here: the bench of a sweep, its two rounds, and the names of its cases. Never here: pytest, and what a failure prints.

The control run is made first: it takes milliseconds and tells the boundaries, the same ones to every process.
Boundaries on recovery paths are found by running only, so one case stands for all those that a kind of fault leads to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar, cast

from harness.campaign.bench import Bench, BenchSpec, Examined
from harness.campaign.options import Options
from harness.explore.singles import Planned, Singles, SiteFacts
from harness.model.fault import FAULTS, Fault
from harness.model.schedule import Schedule
from harness.model.workflow import Expectation, Scenario

CONTROL, PINNED, VIOLATION = "control", "pinned", "expected-violation"
RECOVERY = "recovery-after-"
_T = TypeVar("_T")


class Sweep:
    """One candidate on one scenario: its bench, its control run, and its cases."""

    def __init__(self, scenario: Scenario, candidate: str, folder: Path, shard: tuple[int, int], items: str) -> None:
        self.scenario, self.candidate, self.items = scenario, candidate, items
        self.part = folder / f"{scenario.id}.jsonl.gz"
        self.bench = Bench(BenchSpec(candidate, scenario, None, "simulation", str(folder)), self.part)
        self.options = Options(folder, seed=scenario.seed, shard=shard)
        base = Schedule(scenario.id, scenario.seed)
        self.singles = Singles(scenario, self.bench.rig.cells, base, self.bench.abilities)
        self.control = self.bench.examine(base)
        self.first = self.singles.first_round(_facts(self.control))
        self._known = frozenset(self.singles.variants)
        self._rows = {str(base): self.control}
        self._second: list[Planned] | None = None

    def examine(self, schedule: Schedule) -> Examined:
        """Run, write and judge. The first round's rows are kept: the second is planned from them."""
        row = self._rows.get(str(schedule)) or self.bench.examine(schedule, self._known)
        if len(schedule.injections) < 2:
            self._rows[str(schedule)] = row
        return row

    def second(self) -> Sequence[Planned]:
        """The schedules of the recovery paths. The first round's runs tell them: what is left of it is run."""
        if self._second is None:
            ran = [(planned, _facts(self.examine(planned.schedule))) for planned in self.first]
            self._second = self.singles.second_round(ran)
        return self._second

    def cases(self) -> list[Case]:
        """In the order of the plan; names are unique and hold no seed."""
        if self.scenario.schedule:
            return [_one(self, PINNED, Schedule.parse(self.scenario.schedule))]
        if self.scenario.expect is Expectation.VIOLATION:
            return [Case(self, VIOLATION, self._everything)]
        return [_one(self, CONTROL, self.singles.base), *self._first_cases(), *self._recovery_cases()]

    def _everything(self) -> Iterator[Schedule]:
        """Whatever the shard: one violation among all is enough, and not every share holds one."""
        yield from (p.schedule for p in self.first)
        yield from (p.schedule for p in self.second())

    def _share(self, planned: Iterable[Planned]) -> list[Schedule]:
        return [p.schedule for p in planned if self.options.in_shard(p.schedule)]

    def _first_cases(self) -> list[Case]:
        if self.items == "boundary":
            return [_one(self, _name(s), s) for s in self._share(self.first)]
        groups = _grouped(self._share(self.first), lambda s: _family(s.injections[-1].fault.value))
        return [Case(self, f"{family}-faults", _these(own)) for family, own in groups.items()]

    def _recovery_cases(self) -> list[Case]:
        return [Case(self, f"{RECOVERY}{cause}", self._after(cause)) for cause in _grouped(self.first, self._cause)]

    def _cause(self, planned: Planned) -> str:
        fault = planned.schedule.injections[0].fault.value
        return fault if self.items == "boundary" else f"{_family(fault)}-faults"

    def _after(self, cause: str) -> Callable[[], list[Schedule]]:
        return lambda: self._share(p for p in self.second() if self._cause(p) == cause)


@dataclass(frozen=True, slots=True)
class Case:
    """One test item: a name that is the same under every seed, and the schedules it examines."""

    sweep: Sweep
    name: str
    schedules: Callable[[], Iterable[Schedule]]
    only: Schedule | None = None
    """The one schedule, when there is one and it is known before anything is run."""


def _one(sweep: Sweep, name: str, schedule: Schedule) -> Case:
    return Case(sweep, name, _these((schedule,)), schedule)


def _these(schedules: Sequence[Schedule]) -> Callable[[], Iterable[Schedule]]:
    return lambda: schedules


def _name(schedule: Schedule) -> str:
    """The injection without the workflow's name (the scenario's): `billing.charge/attempt-1/committed=crash`."""
    return str(schedule.injections[-1]).partition("/")[2]


def _family(fault: str) -> str:
    return FAULTS[Fault(fault)].family.value


def _grouped(values: Iterable[_T], key: Callable[[_T], str]) -> Mapping[str, list[_T]]:
    groups: dict[str, list[_T]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def _facts(row: Examined) -> dict[str, SiteFacts]:
    return {path: cast(SiteFacts, tuple(facts)) for path, facts in row.sites.items()}
